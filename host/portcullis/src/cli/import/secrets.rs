//! Writes the secrets of imported servers into files that only the user can read.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use portcullis_checked_files::{create_durably, create_private_folder};

/// The folder of the files.
pub(super) struct SecretFiles<'a> {
    folder: &'a Path,
}

impl<'a> SecretFiles<'a> {
    pub(super) fn new(folder: &'a Path) -> Self {
        Self { folder }
    }

    /// Writes a secret and returns the path of its file. A file with another secret is not overwritten.
    pub(super) fn write(&mut self, name: &str, secret: &str) -> anyhow::Result<String> {
        create_private_folder(self.folder)
            .with_context(|| format!("creating {}", self.folder.display()))?;
        let path = path(self.folder, name);
        let shown = path.display();
        let mut bytes = Vec::new();
        let read = std::fs::File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes));
        let existing = match read {
            Ok(_) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                let why = format!(
                    "reading {shown}, which may contain another secret: remove the file, and run the command again"
                );
                return Err(anyhow::Error::new(error).context(why));
            }
        };
        match existing {
            Some(bytes) if bytes == secret.as_bytes() => {}
            Some(_) => {
                bail!(
                    "{shown} already contains another secret: remove the file, and run the command again"
                )
            }
            // The new file is one that only its owner can read.
            None => {
                let is_new = create_durably(&path, secret.as_bytes())
                    .with_context(|| format!("writing {shown}"))?;
                if !is_new {
                    bail!(
                        "{shown} cannot be created, because it is a link to a missing file, or another process has just written it: remove it, and run the command again"
                    )
                }
            }
        }
        let text = path.to_str().map(str::to_owned);
        text.with_context(|| format!("{shown} is not UTF-8"))
    }
}

/// The file of a secret.
pub(super) fn path(folder: &Path, name: &str) -> PathBuf {
    let fits = |letter: char| {
        if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' }
    };
    folder.join(name.chars().map(fits).take(150).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_once_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("secrets");
        let mut files = SecretFiles::new(&folder);
        let file = files.write("a.TOKEN", "first").unwrap();
        assert_eq!(files.write("a.TOKEN", "first").unwrap(), file);
        let refused = files.write("a.TOKEN", "second").unwrap_err().to_string();
        assert!(refused.contains("already contains another secret"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_read_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = SecretFiles::new(folder.path());
        // Opening a link to itself fails, and opening a link to a missing file finds nothing.
        for (name, target) in [("loop", "loop"), ("dangling", "missing")] {
            let link = folder.path().join(name);
            std::os::unix::fs::symlink(target, &link).unwrap();
            let refused = files.write(name, "secret").unwrap_err().to_string();
            assert!(refused.contains("remove"), "{refused}");
            assert_eq!(std::fs::read_link(&link).unwrap(), Path::new(target));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
