//! Shared parts of the black-box tests: temporary homes, test plugins, clients, and stand-ins for servers and editors.

pub mod client;
#[expect(dead_code, reason = "what goes wrong with an editor is tried by the plugin's own tests")]
pub mod editor;
pub mod guests;
pub mod home;
pub mod http;
pub mod model;
pub mod picture;
pub mod process;
#[path = "../host/plugin-sources/tests/stand_in/mod.rs"]
pub mod registry;
pub mod web;
pub mod windows;
pub mod wire;

use std::path::PathBuf;
use std::time::Duration;

/// The binary under test. `PORTCULLIS_BINARY`, when the tests are built, names another one that this machine can run, such
/// as a static one, or one for another processor.
pub const BINARY: &str = match option_env!("PORTCULLIS_BINARY") {
    Some(other) => other,
    None => env!("CARGO_BIN_EXE_portcullis"),
};

/// How long to wait for an expected event: far longer than the event takes on a busy machine. A test that waits so
/// long has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The server of `host/mcp-client/examples/stand-in`, which is built with the tests.
pub fn stand_in() -> String {
    if let Some(wine) = windows::wine() {
        return windows::path(&wine.program("stand-in"));
    }
    let this = std::env::current_exe().expect("a test has a program");
    let target = this.parent().and_then(|deps| deps.parent()).expect("it is in target/…/deps");
    let program = target.join("examples/stand-in");
    assert!(
        program.is_file(),
        "{} is missing: cargo build --package portcullis-mcp-client --examples",
        program.display()
    );
    program.to_str().expect("a path is UTF-8").to_owned()
}

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    let host = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    host.ancestors().nth(2).expect("the host lies in the workspace").to_owned()
}
