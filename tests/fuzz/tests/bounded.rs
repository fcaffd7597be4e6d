//! Runs each target on a fixed number of mutations, which is small enough for continuous integration. With
//! `FUZZ_SECONDS=60`, each target runs for 60 seconds instead.

use portcullis_fuzz::mutate::run;
use portcullis_fuzz::targets::{ALL, Target};

/// Number of mutations of each target.
const MUTATIONS: u32 = 20_000;

fn fuzz(name: &str) {
    let target: Option<&Target> = ALL.iter().find(|(known, ..)| *known == name);
    let (name, target, words) = target.expect("a target has this name");
    assert!(run(name, MUTATIONS, target, words) > 0);
}

#[test]
fn lines() {
    fuzz("lines");
}

#[test]
fn lock() {
    fuzz("lock");
}

#[test]
fn origin() {
    fuzz("origin");
}

#[test]
fn roots() {
    fuzz("roots");
}

#[test]
fn scrub() {
    fuzz("scrub");
}

#[test]
fn trail() {
    fuzz("trail");
}

#[test]
#[should_panic(expected = "found it")]
fn a_panic_of_a_target_is_a_failure() {
    run("roots", MUTATIONS, |bytes| assert!(!bytes.ends_with(b"%2e%2e"), "found it"), &["%2e%2e"]);
}
