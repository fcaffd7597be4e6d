//! Tests of components of WASI 0.3: cancelling, waiting for several things at once, and compiled code that is kept.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::PATIENCE;
use crate::support::client::{Client, Era};
use crate::support::home::Home;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.concurrent]\n[plugins.echo]\n";

fn home() -> Home {
    Home::with(&["concurrent", "echo"], CONFIG)
}

#[test]
fn a_call_that_waits_can_be_cancelled_and_delays_no_other() {
    for era in Era::BOTH {
        let home = home();
        let mut client = Client::start(&home, era);
        let waiting: Vec<_> = (0..8).map(|_| client.begin("hang", json!({}))).collect();
        assert_eq!(client.text("echo", json!({"text": "a"})), "a");
        assert_eq!(client.text("shout-async", json!({"text": "a"})), "A");
        for id in waiting {
            client.cancel(id);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let outcomes = home.outcomes();
            if outcomes.iter().filter(|(_, outcome)| outcome == "cancelled").count() == 8 {
                break;
            }
            assert!(Instant::now() < deadline, "{outcomes:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(client.text("shout-async", json!({"text": "b"})), "B");
    }
}

#[test]
fn a_guest_waits_for_two_things_at_once() {
    let home = home();
    let mut client = Client::start(&home, Era::Modern);
    let waited: u64 = client.text("wait-twice", json!({"ms": 300})).parse().expect("a number");
    // One after the other, they would take 600.
    assert!((300..600).contains(&waited), "{waited}");
}

#[test]
fn compiled_code_is_kept_for_both_kinds_of_engines() {
    let home = home();
    let compiled = home.path().join(".cache/portcullis/compiled");
    let call = || {
        let mut client = Client::start(&home, Era::Modern);
        assert_eq!(client.text("count", json!({"to": 2})), "[1,2]");
        assert_eq!(client.text("echo", json!({"text": "a"})), "a");
        let mut records = Vec::new();
        for entry in std::fs::read_dir(&compiled).expect("it was made") {
            let entry = entry.expect("it was made");
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            if entry.file_name().len() == 64 {
                records.push((entry.file_name(), modified.expect("the system knows it")));
            }
        }
        records.sort();
        records
    };
    call();
    std::fs::remove_dir_all(&compiled).expect("it was made");
    let first = call();
    assert_eq!(first.len(), 2, "one of each kind: {first:?}");
    assert_eq!(call(), first, "nothing is compiled again");
}
