//! The command line of Portcullis: its arguments, its commands, and what they print.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

pub mod cli;
