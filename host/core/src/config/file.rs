//! Finds and reads the configuration file.

use std::io;
use std::path::{Path, PathBuf};

use super::Folders;

/// The configuration file.
#[derive(Debug)]
pub struct ConfigFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The text of the file. `None`: the file does not exist, and the operator did not name it.
    pub text: Option<String>,
}

/// The configuration file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}", path.display())]
pub struct UnreadableFile {
    path: PathBuf,
    #[source]
    cause: io::Error,
}

impl ConfigFile {
    /// Reads the file that `named` or `$PORTCULLIS_CONFIG` names, or else `portcullis.toml` in the user's configuration
    /// folder. The working directory is never searched: a cloned repository must not be able to grant anything.
    ///
    /// # Errors
    ///
    /// [`UnreadableFile`]: the file cannot be read, or a named file does not exist.
    #[expect(clippy::disallowed_methods, reason = "this function reads the configuration")]
    pub fn read(named: Option<&Path>, folders: &Folders) -> Result<Self, UnreadableFile> {
        let named = named.map(Path::to_owned).or_else(|| {
            std::env::var_os("PORTCULLIS_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from)
        });
        let may_be_missing = named.is_none();
        let path = named.unwrap_or_else(|| folders.config.clone());
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self { path, text: Some(text) }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_missing => {
                Ok(Self { path, text: None })
            }
            Err(cause) => Err(UnreadableFile { path, cause }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_must_exist() {
        let folders = Folders::of_user().unwrap();
        let error = ConfigFile::read(Some(Path::new("/nowhere/portcullis.toml")), &folders);
        assert_eq!(error.unwrap_err().cause.kind(), io::ErrorKind::NotFound);
    }
}
