//! The Rust code of `docs/guides/write-a-plugin.md`, as the build script collects it: one plugin, and its tests.
#![allow(dead_code, unused_variables, reason = "a guide shows parts of programs")]
#![allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps, reason = "as above")]

use portcullis_plugin::prelude::*;

/// What `self` is where the guide shows statements of a tool.
struct Named {
    name: String,
}

include!(concat!(env!("OUT_DIR"), "/guide.rs"));
