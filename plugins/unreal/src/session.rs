//! The folders that are open in the session.

use std::path::PathBuf;

/// The folders this call can see: those of the session if that is granted, and the one it names.
#[cfg(target_family = "wasm")]
pub fn folders() -> Vec<PathBuf> {
    let directories = wasip2::filesystem::preopens::get_directories();
    directories.into_iter().map(|(_, path)| path.into()).collect()
}

/// On a machine of one's own: what a test says.
#[cfg(not(target_family = "wasm"))]
pub fn folders() -> Vec<PathBuf> {
    FOLDERS.with_borrow(Clone::clone)
}

#[cfg(not(target_family = "wasm"))]
thread_local! {
    /// The folders of the session, in tests.
    pub static FOLDERS: std::cell::RefCell<Vec<PathBuf>> = const { std::cell::RefCell::new(Vec::new()) };
}
