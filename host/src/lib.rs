//! Portcullis: an MCP server whose every tool is a sandboxed WebAssembly component.
//!
//! Start reading at [`call`], which serves one call from start to finish, and at [`gate`], which
//! everything that touches the world goes through. `docs/ARCHITECTURE.md` has the picture.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

pub mod call;
pub mod catalog;
pub mod cli;
pub mod config;
pub mod mcp;
pub mod plugins;
pub mod transport;

/// What stands beneath all of these.
pub use portcullis_sandbox::{bindings, capabilities, gate, sandbox};
