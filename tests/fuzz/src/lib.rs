//! Fuzz targets for the host's parsers of outside bytes, and a small fuzzer that runs with the tests.
//!
//! A target is a function of bytes that panics where a promise about a parser is broken. Each target is used twice:
//! `cargo test -p portcullis-fuzz` runs the files of `corpus` and a fixed sequence of mutations of them
//! ([`mutate::run`]), in seconds; `run.sh TARGET SECONDS` runs libFuzzer, which is led by coverage, for as long as one
//! likes. What libFuzzer finds becomes a file of the corpus.

pub mod mutate;
pub mod targets;
