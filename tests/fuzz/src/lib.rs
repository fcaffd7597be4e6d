//! Fuzz targets for the host's parsers of untrusted bytes, and a small fuzzer that runs with the tests.
//!
//! A target is a function that takes bytes, and panics if a parser breaks one of its guarantees. The tests of this
//! crate run each target for some seconds on the files of `corpus` and on a fixed sequence of mutations
//! ([`mutate::run`]). `run.sh TARGET SECONDS` runs libFuzzer, which is guided by coverage. Inputs on which a target
//! fails become files of the corpus.

pub mod mutate;
pub mod targets;
