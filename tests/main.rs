//! The black-box tests: the built binary, run as those who use it run it.
//!
//! Most of what there is to say is said by the folders in `tests/cases`: see [`cases`]. Tests in
//! Rust are for what a transcript cannot say.
#![expect(clippy::disallowed_methods, reason = "that list is about the host, not about its tests")]

mod architecture;
mod cases;
mod commands;
mod confined;
mod crowds;
mod documents;
mod front;
mod generation;
mod generation_faults;
mod generation_traces;
mod isolation;
mod offers;
mod paths;
mod plugins;
mod processes;
mod protocol;
mod secrets;
mod secured;
mod shops;
mod support;
mod transports;
mod unreal;
mod upstream_faults;
mod upstream_login;
mod upstreams;
mod views;
mod wrap;
