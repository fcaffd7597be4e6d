//! The core of Portcullis: sources of tools, their catalog, the pipeline of a call, and the configuration.
//!
//! Start reading at [`call`], which serves one call from start to finish, and at [`gate`], which judges every effect of
//! a plugin. `docs/ARCHITECTURE.md` describes all crates.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

pub mod call;
pub mod catalog;
pub mod config;
pub mod definitions;
pub mod families;
pub mod host;
pub mod listing;
pub mod lock;
pub mod plugins;
pub mod projects;
pub mod schema;
pub mod source;
pub mod upstreams;

pub use portcullis_sandbox::{bindings, capabilities, gate, pattern, sandbox};
