//! Runs libFuzzer on the target that the environment variable `FUZZ_TARGET` names: see `run.sh`.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::targets::ALL;

fuzz_target!(|bytes: &[u8]| {
    static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
        ALL.iter().find(|(known, ..)| *known == name).expect("a target has this name").1
    });
    target(bytes);
});
