//! Folds the case of file names, so that names can be compared as case-insensitive file systems compare them.

use std::ffi::OsStr;

/// A name in folded case. On Windows also without the dots and spaces at its end, which Windows ignores.
pub(super) fn fold(name: &OsStr) -> String {
    // The name is converted twice, because some letters differ in lower case and have the same upper case (`ſ` and
    // `s`).
    let name = name.to_string_lossy().to_uppercase().to_lowercase();
    if cfg!(windows) { name.trim_end_matches(['.', ' ']).to_owned() } else { name }
}
