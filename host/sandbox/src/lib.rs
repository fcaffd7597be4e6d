//! The sandbox: runs each round of a plugin's call in a fresh WebAssembly instance, with the granted capabilities only.
//!
//! Start reading at [`gate`], which every effect passes. [`capabilities`] defines what can be granted, [`sandbox`]
//! runs plugins, and [`bindings`] is generated from the contract in `wit/`. This crate does not know MCP,
//! does not read the configuration file, and does not look for plugins.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

pub mod bindings;
pub mod capabilities;
pub mod gate;
pub mod pattern;
pub mod sandbox;
