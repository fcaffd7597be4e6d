//! Portcullis: an MCP server whose every tool is a sandboxed WebAssembly component.
//!
//! Start reading at [`call`], which serves one call from start to finish, and at [`gate`], which
//! everything that touches the world goes through. `docs/ARCHITECTURE.md` has the picture.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

pub mod bindings;
pub mod call;
pub mod capabilities;
pub mod catalog;
pub mod cli;
pub mod config;
pub mod gate;
pub mod mcp;
pub mod plugins;
pub mod sandbox;
pub mod transport;
