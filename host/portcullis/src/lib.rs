//! The command line of Portcullis: its arguments, and what is printed.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

pub mod cli;
