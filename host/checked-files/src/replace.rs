//! Replaces a file whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Creates or replaces a file, whole or not at all. The folder of the file must exist.
///
/// # Errors
///
/// The file cannot be written. An existing file is then unchanged, and no temporary file is left.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_as(path, bytes, |_| Ok(()))
}

/// Writes a temporary file, passes it to `prepare`, and gives it the name `path`. Returns the result of `prepare`.
fn replace_as<T>(
    path: &Path,
    bytes: &[u8],
    prepare: impl FnOnce(&File) -> io::Result<T>,
) -> io::Result<T> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    let prepared = prepare(file.as_file())?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(prepared)
}

/// Like [`replace`]. In addition, the new contents survive a power failure after this function has returned.
///
/// # Errors
///
/// As [`replace`]. If only the folder cannot be flushed to the disk, the file is replaced, but a power failure may undo
/// the replacement.
pub fn replace_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes)?;
    flush_folder(path)
}

/// Creates a file, whole or not at all. After this function has returned, the file survives a power failure. Returns
/// `false`, and changes nothing, if the file exists.
///
/// # Errors
///
/// The file cannot be written. If only its folder cannot be flushed to the disk, the file exists, but a power
/// failure may undo its creation.
pub fn create_durably(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    match file.persist_noclobber(path) {
        Ok(_) => flush_folder(path).map(|()| true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// The metadata that a file lost when it was replaced, because this process may not set them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LostMetadata {
    /// Whether the owner was lost. The file then belongs to the user of this process.
    pub owner: bool,
    /// Whether the group was lost. The file then has the group that this process gives to new files, and that group has
    /// no permissions.
    pub group: bool,
}

/// Like [`replace_durably`], but the new file gets the permissions in `before`, which is the metadata of the replaced
/// file. On Unix, the new file also gets the owner and the group in `before`, if this process may set them.
///
/// # Errors
///
/// As [`replace_durably`].
pub fn replace_like(
    path: &Path,
    bytes: &[u8],
    before: &std::fs::Metadata,
) -> io::Result<LostMetadata> {
    let lost = replace_as(path, bytes, |file| {
        let (lost, permissions) = (keep_owner(file, before)?, before.permissions());
        #[cfg(unix)]
        let permissions = without_group(permissions, lost.group);
        file.set_permissions(permissions)?;
        Ok(lost)
    })?;
    flush_folder(path)?;
    Ok(lost)
}

/// Gives a file the owner and the group of another file. Returns which of them this process may not set.
#[cfg(unix)]
fn keep_owner(file: &File, before: &std::fs::Metadata) -> io::Result<LostMetadata> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let metadata = file.metadata()?;
    // Owner and group are set one at a time: a process that may not change the owner may still set a group of its
    // user.
    let owner = metadata.uid() != before.uid() && fchown(file, Some(before.uid()), None).is_err();
    let group = metadata.gid() != before.gid() && fchown(file, None, Some(before.gid())).is_err();
    Ok(LostMetadata { owner, group })
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &std::fs::Metadata) -> io::Result<LostMetadata> {
    Ok(LostMetadata::default())
}

/// The permissions, without those of the group if the group is not the same as before.
#[cfg(unix)]
fn without_group(permissions: std::fs::Permissions, is_other_group: bool) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    let mode = permissions.mode();
    std::fs::Permissions::from_mode(if is_other_group { mode & !0o070 } else { mode })
}

/// Flushes the folder of a new file to the disk.
#[cfg(unix)]
fn flush_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    match File::open(folder)?.sync_all() {
        // Some network file systems cannot flush folders.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Does nothing: only on Unix can a process open a folder to flush it.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn flush_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_replaced_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("is a folder");
        std::fs::create_dir_all(path.join("with something in it")).unwrap();
        assert!(replace(&path, b"text").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let path = folder.path().join("file");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        replace_durably(&path, b"three").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"three");
    }
}
