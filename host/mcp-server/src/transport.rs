//! How clients reach the host. The caller owns listener and shutdown.

pub mod http;
mod settings;
pub mod stdio;

pub use settings::SettingsError;

use std::time::Duration;

/// When a server is asked to end: how long calls in flight may go on before they are cancelled.
const DRAIN: Duration = Duration::from_secs(3);
