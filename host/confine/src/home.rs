//! Expands `~` in paths that an operator writes.

use std::path::{Path, PathBuf};

/// Replaces a leading `~` by the home directory. The path is unchanged if there is no `~` or no home directory.
pub fn at_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        (Ok(_) | Err(_), _) => path.to_owned(),
    }
}
