//! Fuzz target: reads files with `everything`; no reader may panic, hang or use unbounded memory.
//!
//! Run `run.sh`; or, with the address sanitizer, `cargo +nightly fuzz run read -- -max_len=65536
//! -timeout=10 -rss_limit_mb=512` in the folder of the crate.

#![no_main]

#[path = "../../examples/everything/mod.rs"]
mod everything;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    everything::read(file);
});
