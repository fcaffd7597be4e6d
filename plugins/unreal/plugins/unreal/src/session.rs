//! Lists the folders in which this plugin looks for projects.

use std::path::PathBuf;

/// The folders that this call can access: the session's roots if they are granted, and the folder
/// that the call names.
#[cfg(target_family = "wasm")]
pub fn folders() -> Vec<PathBuf> {
    let directories = wasip2::filesystem::preopens::get_directories();
    directories.into_iter().map(|(_, path)| path.into()).collect()
}

/// The folders that a native test sets.
#[cfg(not(target_family = "wasm"))]
pub fn folders() -> Vec<PathBuf> {
    FOLDERS.with_borrow(Clone::clone)
}

#[cfg(not(target_family = "wasm"))]
thread_local! {
    /// The folders set by a test.
    pub static FOLDERS: std::cell::RefCell<Vec<PathBuf>> = const { std::cell::RefCell::new(Vec::new()) };
}
