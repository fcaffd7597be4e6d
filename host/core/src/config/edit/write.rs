//! Replaces the configuration file by its edited text.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use portcullis_checked_files::{Lost, create_private_folder, replace_durably, replace_like};

/// Why a configuration file was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file is not the one that was read.
    #[error("{} changed while it was edited: nothing is written; run the command again", .0.display())]
    Changed(PathBuf),
    /// The file cannot be written.
    #[error("{} cannot be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
}

/// Writes a configuration file atomically and durably. The file keeps its permissions, and its owner and group if
/// this process may set them. A symbolic link stays a symbolic link. `before`: the text that was read, `None` if
/// there was no file. Returns whether the owner or the group was lost.
///
/// # Errors
///
/// The file changed since it was read, or cannot be written: [`WriteError`]. The file is then unchanged, unless the
/// error came from flushing its folder to the disk.
pub fn write(path: &Path, before: Option<&str>, after: &str) -> Result<Lost, WriteError> {
    let failed = |cause| WriteError::Io { path: path.to_owned(), cause };
    let written = match before {
        Some(before) => overwrite(path, before, after).map_err(failed)?,
        None => create(path, after).map_err(failed)?.then(Lost::default),
    };
    written.ok_or_else(|| WriteError::Changed(path.to_owned()))
}

/// Overwrites an existing file. Returns whether the owner or the group was lost. `None`: the text of the file is not
/// `before`, so nothing is written.
#[expect(clippy::disallowed_methods, reason = "this function writes the configuration")]
fn overwrite(path: &Path, before: &str, after: &str) -> io::Result<Option<Lost>> {
    let path = std::fs::canonicalize(path)?;
    let mut file = File::open(&path)?;
    // Another process that edits the file waits here, and then finds a changed text.
    file.lock()?;
    let mut now = Vec::new();
    file.read_to_end(&mut now)?;
    if now != before.as_bytes() || std::fs::read(&path)? != now {
        return Ok(None);
    }
    replace_like(&path, after.as_bytes(), &file.metadata()?).map(Some)
}

/// Creates the file and its folder. Returns `false` if a file exists, which is not changed.
fn create(path: &Path, after: &str) -> io::Result<bool> {
    // A symbolic link without a target is not replaced either.
    if path.is_symlink() || path.exists() {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    replace_durably(path, after.as_bytes())?;
    Ok(true)
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "tests look at the files")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_keeps_its_permissions_and_a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real.toml"), folder.path().join("link.toml"));
        fs::write(&file, "before").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real.toml", &link).unwrap();
        write(&link, Some("before"), "after").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_keeps_its_owner_and_group() {
        use std::os::unix::fs::{MetadataExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        fs::write(&file, "before").unwrap();
        // Only root may give a file away.
        let is_given = chown(&file, Some(12345), Some(23456)).is_ok();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&file).unwrap();
        assert_eq!(write(&file, Some("before"), "after").unwrap(), Lost::default());
        let after = fs::metadata(&file).unwrap();
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert_eq!(is_given, after.uid() == 12345);
        assert_eq!(after.permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_file_that_changed_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        fs::write(&file, "of another program").unwrap();
        for before in [Some("before"), None] {
            let error = write(&file, before, "after").unwrap_err();
            assert!(matches!(error, WriteError::Changed(_)), "{error}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "of another program");
        symlink("nowhere", folder.path().join("dangling.toml")).unwrap();
        write(&folder.path().join("dangling.toml"), None, "after").unwrap_err();
    }

    #[test]
    fn a_missing_file_is_made_with_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("portcullis").join("portcullis.toml");
        write(&file, None, "after").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");
    }
}
