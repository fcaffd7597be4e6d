//! Single operations on the file system, such as renaming without replacing, exchanging two names, and flushing.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};

/// The identity of a file. A write to the file changes the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Id {
    /// The inode. The number of the device is left out, because it may change when the system restarts.
    pub inode: u64,
    size: u64,
    /// The time of the last write, in nanoseconds since 1970.
    modified: i128,
}

#[cfg(unix)]
impl Id {
    /// The identity of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = file.metadata()?;
        let modified = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        Ok(Self { inode: found.ino(), size: found.size(), modified })
    }

    /// The identity of the file with this name. `None`: there is no such file. Links are not followed.
    pub fn at(dir: &Dir, name: impl AsRef<Path>) -> io::Result<Option<Self>> {
        use cap_std::fs::MetadataExt;
        let Some(found) = absent(dir.symlink_metadata(name))? else { return Ok(None) };
        let modified = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        Ok(Some(Self { inode: found.ino(), size: found.size(), modified }))
    }
}

/// Where there are no inodes, the time of the last write takes the place of the inode.
#[cfg(not(unix))]
impl Id {
    fn new(size: u64, modified: io::Result<std::time::SystemTime>) -> io::Result<Self> {
        let since = modified?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let modified = i128::try_from(since.as_nanos()).unwrap_or(i128::MAX);
        Ok(Self { inode: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), size, modified })
    }

    /// The identity of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        Self::new(found.len(), found.modified())
    }

    /// The identity of the file with this name. `None`: there is no such file. Links are not followed.
    pub fn at(dir: &Dir, name: impl AsRef<Path>) -> io::Result<Option<Self>> {
        let Some(found) = absent(dir.symlink_metadata(name))? else { return Ok(None) };
        Self::new(found.len(), found.modified().map(cap_std::time::SystemTime::into_std)).map(Some)
    }
}

/// Turns the error "not found" into `None`.
pub fn absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a new file and flushes it to the disk. If `like` is given, the new file gets the permissions of
/// `like`, on Unix also the owner and the group, and on Linux also the extended attributes.
pub fn write_new(dir: &Dir, name: &Path, bytes: &[u8], like: Option<&File>) -> io::Result<Id> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(test)]
    crate::fault::step()?;
    let mut file = dir.open_with(name, &options)?.into_std();
    // A process that is killed here leaves an incomplete file.
    #[cfg(test)]
    crate::fault::step()?;
    file.write_all(bytes)?;
    if let Some(like) = like {
        keep_metadata(like, &file)?;
    }
    #[cfg(test)]
    crate::fault::step()?;
    file.sync_all()?;
    Id::of(&file)
}

#[cfg(unix)]
fn keep_metadata(like: &File, file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (old, new) = (like.metadata()?, file.metadata()?);
    let if_different = |old: u32, new: u32| (old != new).then_some(old);
    let (user, group) = (if_different(old.uid(), new.uid()), if_different(old.gid(), new.gid()));
    if user.is_some() || group.is_some() {
        let user = user.map(rustix::fs::Uid::from_raw);
        let group = group.map(rustix::fs::Gid::from_raw);
        rustix::fs::fchown(file, user, group).map_err(|error| {
            io::Error::new(
                io::Error::from(error).kind(),
                "it belongs to another user or group, and this process cannot give the new file this owner",
            )
        })?;
    }
    keep_attributes(like, file)?;
    file.set_permissions(std::fs::Permissions::from_mode(old.mode() & 0o777))
}

#[cfg(not(unix))]
fn keep_metadata(like: &File, file: &File) -> io::Result<()> {
    file.set_permissions(like.metadata()?.permissions())
}

/// Copies extended attributes, among them access control lists. Attributes `security.*` that this process may not set
/// are skipped.
#[cfg(target_os = "linux")]
fn keep_attributes(like: &File, file: &File) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    use rustix::io::Errno;
    const MAX_ATTRIBUTE_BYTES: usize = 64 * 1024;
    let mut names = vec![0_u8; MAX_ATTRIBUTE_BYTES];
    let length = match flistxattr(like, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut value = vec![0_u8; MAX_ATTRIBUTE_BYTES];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let copied = fgetxattr(like, name, &mut value[..])
            .and_then(|length| fsetxattr(file, name, &value[..length], XattrFlags::empty()));
        match copied {
            Ok(()) | Err(Errno::NOTSUP | Errno::NODATA) => {}
            Err(Errno::PERM | Errno::ACCESS) if name.starts_with(b"security.") => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(all(unix, not(target_os = "linux")))]
fn keep_attributes(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

/// Renames within a directory. Fails if the new name exists, and then replaces nothing.
pub fn rename_new(dir: &Dir, from: &str, to: &str) -> io::Result<()> {
    #[cfg(test)]
    crate::fault::step()?;
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    if let Some(done) = rename_with_flags(dir, from, to, rustix::fs::RenameFlags::NOREPLACE) {
        return done;
    }
    // This file system cannot rename without replacing. For a file, a hard link is made instead, which fails if the
    // name exists. For a directory, a plain rename can at most replace an empty directory.
    if !dir.symlink_metadata(from)?.is_dir() {
        dir.hard_link(from, dir, to)?;
        #[cfg(test)]
        crate::fault::step()?;
        return dir.remove_file(from);
    }
    match dir.symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => dir.rename(from, dir, to),
        Err(error) => Err(error),
    }
}

/// Exchanges the names of two files of a directory. Where the file system cannot exchange names, the file `old` gets
/// the name `backup`, and the file `new` gets the name `old`.
pub fn exchange(dir: &Dir, new: &str, old: &str, backup: &str) -> io::Result<()> {
    #[cfg(test)]
    crate::fault::step()?;
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    if let Some(done) = rename_with_flags(dir, new, old, rustix::fs::RenameFlags::EXCHANGE) {
        return done;
    }
    match dir.hard_link(old, dir, backup) {
        // An interrupted attempt made the link.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        linked => linked?,
    }
    #[cfg(test)]
    crate::fault::step()?;
    dir.rename(new, dir, old)
}

/// Renames with flags. `None`: the file system does not support them.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_with_flags(
    dir: &Dir,
    from: &str,
    to: &str,
    flags: rustix::fs::RenameFlags,
) -> Option<io::Result<()>> {
    use rustix::io::Errno;
    #[cfg(test)]
    if crate::fault::is_old() {
        return None;
    }
    match rustix::fs::renameat_with(dir, from, dir, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => None,
        done => Some(done.map_err(Into::into)),
    }
}

/// Flushes a directory to the disk, if its file system supports that.
pub fn sync(dir: &Dir) -> io::Result<()> {
    match dir.open(".")?.sync_all() {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        done => done,
    }
}
