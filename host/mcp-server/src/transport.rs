//! The transports of MCP: HTTP and stdio.

pub mod http;
mod settings;
pub mod stdio;

pub use settings::SettingsError;

use std::time::Duration;

/// How long calls in flight may run on when the server is stopped, before they are cancelled.
const DRAIN: Duration = Duration::from_secs(3);
