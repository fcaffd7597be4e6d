//! Opens files and directories relative to a handle.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsMaybeDirExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};

/// Options for opening a file beneath a directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenHow {
    /// Open the file for writing, too.
    pub write: bool,
    /// Create the file if it does not exist.
    pub create: bool,
    /// Create the file, and fail if it exists.
    pub exclusive: bool,
    /// Truncate the file.
    pub truncate: bool,
    /// Do not follow a link at the end of the path.
    pub nofollow: bool,
}

/// An opened file or directory.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File(File),
    /// A directory.
    Directory(File),
    /// A FIFO, a socket or a device, which was closed again.
    Special,
}

/// The result of an attempt to open a file, before its type is known.
pub(super) enum Attempt {
    Open(File),
    /// A directory, which cannot be opened for writing.
    IsDirectory,
    Special,
}

impl Attempt {
    /// Converts the result of a system call. The errors by which the system reports a directory or a special file
    /// become variants.
    fn of(result: io::Result<File>, how: OpenHow) -> io::Result<Self> {
        match result {
            Ok(file) => Ok(Self::Open(file)),
            Err(error) if error.kind() == io::ErrorKind::IsADirectory && !how.create => {
                Ok(Self::IsDirectory)
            }
            Err(error) if is_special(&error) => Ok(Self::Special),
            Err(error) => Err(error),
        }
    }
}

/// Opens a name in a directory, without following a link and without blocking.
pub(super) fn open_name(dir: &Dir, name: &Path, how: OpenHow) -> io::Result<Attempt> {
    let mut options = OpenOptions::new();
    options.read(true).write(how.write);
    if how.exclusive {
        options.create_new(true);
    } else {
        options.create(how.create);
    }
    options.follow(FollowSymlinks::No);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let opened = dir.open_with(name, &options).map(cap_std::fs::File::into_std);
    if cfg!(windows) && is_denied(&opened) && is_directory(dir, name) {
        return open_directory_on_windows(dir, name, how, options);
    }
    Attempt::of(opened, how)
}

fn is_denied(opened: &io::Result<File>) -> bool {
    opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

fn is_directory(dir: &Dir, name: &Path) -> bool {
    dir.symlink_metadata(name).is_ok_and(|found| found.is_dir())
}

/// Opens a directory, for which Windows needs a flag (`maybe_dir`). Files are opened without this flag, because a
/// file that is open with the flag could not be replaced.
fn open_directory_on_windows(
    dir: &Dir,
    name: &Path,
    how: OpenHow,
    mut options: OpenOptions,
) -> io::Result<Attempt> {
    if how.create || how.exclusive {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if how.write {
        return Ok(Attempt::IsDirectory);
    }
    options.maybe_dir(true);
    Attempt::of(dir.open_with(name, &options).map(cap_std::fs::File::into_std), how)
}

/// Opens a path beneath a directory with one system call. `None`: the path has to be walked, for example because it
/// crosses a mount point, or because the system has no such call.
#[cfg(target_os = "linux")]
pub(super) fn open_in_one_call(
    dir: impl std::os::fd::AsFd,
    path: &Path,
    how: OpenHow,
) -> io::Result<Option<Attempt>> {
    use rustix::fs::{Mode, OFlags};
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    flags |= if how.write { OFlags::RDWR } else { OFlags::RDONLY };
    let mut mode = Mode::empty();
    if how.create || how.exclusive {
        flags |= OFlags::CREATE;
        mode = Mode::from_raw_mode(0o666);
    }
    flags.set(OFlags::EXCL, how.exclusive);
    flags.set(OFlags::NOFOLLOW, how.nofollow);
    match beneath(dir, path, flags, mode) {
        Err(error) if has_to_be_walked(&error) => Ok(None),
        result => Attempt::of(result, how).map(Some),
    }
}

/// Opens a directory beneath another one with `O_PATH`, which allows only operations on names in the directory.
/// `None`: as for [`open_in_one_call`].
#[cfg(target_os = "linux")]
pub(super) fn open_directory_in_one_call(dir: &File, path: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags};
    match beneath(dir, path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()) {
        Err(error) if has_to_be_walked(&error) => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(target_os = "linux")]
fn beneath(
    dir: impl std::os::fd::AsFd,
    path: &Path,
    flags: rustix::fs::OFlags,
    mode: rustix::fs::Mode,
) -> io::Result<File> {
    use rustix::fs::{OFlags, ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    Ok(openat2(dir, path, flags | OFlags::CLOEXEC, mode, resolve)?.into())
}

/// Whether the path has to be walked, by the error of `openat2`: the path crosses a mount point or leads out
/// (EXDEV), a part of it was renamed meanwhile (EAGAIN), or the call is unknown to a kernel before 5.6 or blocked by
/// seccomp (ENOSYS, EPERM).
#[cfg(target_os = "linux")]
fn has_to_be_walked(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let walked = [Errno::XDEV, Errno::AGAIN, Errno::NOSYS, Errno::PERM];
    Errno::from_io_error(error).is_some_and(|errno| walked.contains(&errno))
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
pub(super) fn open_in_one_call<D>(_: D, _: &Path, _: OpenHow) -> io::Result<Option<Attempt>> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
pub(super) fn open_directory_in_one_call(_: &File, _: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Determines the type of an open file. A regular file is not truncated yet.
pub(super) fn classify(file: File) -> io::Result<(Opened, Metadata)> {
    let metadata = Metadata::from_file(&file)?;
    let opened = match metadata.file_type() {
        kind if kind.is_dir() => Opened::Directory(file),
        kind if kind.is_file() => Opened::File(file),
        _ => Opened::Special,
    };
    Ok((opened, metadata))
}

/// Whether the error is `ENXIO`: a FIFO without a reader, or a socket, which cannot be opened.
#[cfg(unix)]
fn is_special(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

#[cfg(not(unix))]
fn is_special(_: &io::Error) -> bool {
    false
}
