//! Replaces a text file with an edited text, unless another program changed the file after it was read.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::create_private_folder;
use super::replace::{LostMetadata, create_durably, replace_like};

/// Why an edited file was not written.
#[derive(Debug, thiserror::Error)]
pub enum EditedFileError {
    /// The file no longer has the text that was read.
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

/// Writes an edited file whole, or not at all. After this function has returned, the new text survives a power failure.
/// The file keeps its permissions, and its owner and group where this process may set them. A symbolic link stays a
/// link: its target is replaced. `before` is the text that was read; `None`: there was no file. Returns which metadata
/// the file lost.
///
/// # Errors
///
/// [`EditedFileError`]. The file is then unchanged, with one exception: if only its folder could not be flushed to the
/// disk, the file has the new text.
pub fn write_edited(
    path: &Path,
    before: Option<&str>,
    after: &str,
) -> Result<LostMetadata, EditedFileError> {
    let failed = |cause| EditedFileError::Io { path: path.to_owned(), cause };
    let written = match before {
        Some(before) => overwrite(path, before, after).map_err(failed)?,
        None => create(path, after).map_err(failed)?.then(LostMetadata::default),
    };
    written.ok_or_else(|| EditedFileError::Changed(path.to_owned()))
}

/// Returns which metadata the file lost. `None`: the file no longer had the text that was read, and is unchanged.
fn overwrite(path: &Path, before: &str, after: &str) -> io::Result<Option<LostMetadata>> {
    let path = std::fs::canonicalize(path)?;
    let Some(file) = open_unchanged(&path, before)? else { return Ok(None) };
    replace_like(&path, after.as_bytes(), &file.metadata()?).map(Some)
}

/// Removes a file that [`write_edited`] created, if the file still has the text `before`.
///
/// # Errors
///
/// [`EditedFileError`]. The file is then unchanged.
pub fn remove_edited(path: &Path, before: &str) -> Result<(), EditedFileError> {
    let failed = |cause| EditedFileError::Io { path: path.to_owned(), cause };
    let found = open_unchanged(path, before).map_err(failed)?;
    let locked = found.ok_or_else(|| EditedFileError::Changed(path.to_owned()))?;
    std::fs::remove_file(path).map_err(failed)?;
    drop(locked);
    Ok(())
}

/// The file at a path, locked. `None`: the file no longer has the text that was read.
fn open_unchanged(path: &Path, before: &str) -> io::Result<Option<File>> {
    let mut file = File::open(path)?;
    // A second process that edits the file waits here until the first one has replaced the file. The path is read again
    // below, because this handle then still has the old text.
    file.lock()?;
    let mut now = Vec::new();
    file.read_to_end(&mut now)?;
    let is_same = now == before.as_bytes() && std::fs::read(path)? == now;
    Ok(is_same.then_some(file))
}

/// Creates the file and its folder. Returns `false`, and changes nothing, if the file exists.
fn create(path: &Path, after: &str) -> io::Result<bool> {
    // `exists` is false for a symbolic link whose target is missing, and such a link is not replaced.
    if path.is_symlink() || path.exists() {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    create_durably(path, after.as_bytes())
}

#[cfg(all(test, unix))]
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
        write_edited(&link, Some("before"), "after").unwrap();
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
        // Only the superuser may change the owner of a file.
        let is_given = chown(&file, Some(12345), Some(23456)).is_ok();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&file).unwrap();
        assert_eq!(write_edited(&file, Some("before"), "after").unwrap(), LostMetadata::default());
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
            let error = write_edited(&file, before, "after").unwrap_err();
            assert!(matches!(error, EditedFileError::Changed(_)), "{error}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "of another program");
        symlink("nowhere", folder.path().join("dangling.toml")).unwrap();
        write_edited(&folder.path().join("dangling.toml"), None, "after").unwrap_err();
    }

    #[test]
    fn a_missing_file_is_made_with_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("portcullis").join("portcullis.toml");
        write_edited(&file, None, "after").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");
    }
}
