//! What the tests are made of: a home of its own for each, guests, a client, a web.

pub mod client;
pub mod guests;
pub mod home;
pub mod http;
pub mod picture;
pub mod process;
pub mod web;
pub mod wire;

use std::path::PathBuf;
use std::time::Duration;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_portcullis");

/// When to give up on something that must happen. Far longer than it takes on a busy machine: a
/// test that waits for it has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    let host = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    host.parent().expect("the host lies in the workspace").to_owned()
}
