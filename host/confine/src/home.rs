//! `~` in the paths that an operator writes.

use std::path::{Path, PathBuf};

/// A path in which a leading `~` is the user's home. As it is, where there is none.
pub fn at_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        (Ok(_) | Err(_), _) => path.to_owned(),
    }
}
