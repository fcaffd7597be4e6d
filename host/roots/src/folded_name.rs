//! Names of files without case, as file systems without case compare names.

use std::ffi::OsStr;

/// A name in folded case, as case-insensitive file systems compare names.
pub(super) fn fold(name: &OsStr) -> String {
    // Folded twice, because some letters have only the same upper case (`ſ` and `s`).
    let name = name.to_string_lossy().to_uppercase().to_lowercase();
    if cfg!(windows) { name.trim_end_matches(['.', ' ']).to_owned() } else { name }
}
