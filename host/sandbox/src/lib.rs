//! What a plugin can do, and nothing else: a fresh instance for each call, what it was granted, and the
//! one door that everything passes.
//!
//! Start reading at [`gate`]. What can be granted is in [`capabilities`], what runs it in [`sandbox`],
//! and what plugins and host say to each other in `wit/`, of which [`bindings`] is the Rust. Nothing here
//! knows MCP, the configuration's file, or where plugins come from.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

pub mod bindings;
pub mod capabilities;
pub mod gate;
pub mod sandbox;
