//! Opening what lies beneath a directory, without ever blocking.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, OpenOptions};

/// How to open something beneath a directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenHow {
    /// Also for writing.
    pub write: bool,
    /// Make it where it is missing.
    pub create: bool,
    /// Fail where it is there.
    pub exclusive: bool,
    /// Cut it to nothing.
    pub truncate: bool,
    /// Do not follow a link in the last place.
    pub nofollow: bool,
}

/// What was opened.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File(File),
    /// A directory.
    Directory(File),
    /// A FIFO, socket or device: closed again.
    Special,
}

/// Opens a path beneath a directory without ever blocking: neither a FIFO without a writer nor a
/// device holds up the host.
///
/// # Errors
///
/// What the system says; a way out of the directory is "permission denied".
pub fn open_beneath(dir: &Dir, path: &Path, how: OpenHow) -> io::Result<Opened> {
    let mut options = OpenOptions::new();
    options.read(true).write(how.write);
    if how.exclusive {
        options.create_new(true);
    } else {
        options.create(how.create);
    }
    // Cut only after it has been seen to be a regular file.
    options.follow(if how.nofollow { FollowSymlinks::No } else { FollowSymlinks::Yes });
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = match dir.open_with(path, &options) {
        Ok(file) => file.into_std(),
        // A directory cannot be opened for writing.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory && !how.create => {
            return Ok(Opened::Directory(dir.open_dir(path)?.into_std_file()));
        }
        Err(error) if is_special(&error) => return Ok(Opened::Special),
        Err(error) => return Err(error),
    };
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Ok(Opened::Directory(file));
    }
    if !kind.is_file() {
        return Ok(Opened::Special);
    }
    if how.truncate {
        file.set_len(0)?;
    }
    Ok(Opened::File(file))
}

/// A FIFO without a reader, or a socket: the system refuses to open them at all.
#[cfg(unix)]
fn is_special(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

#[cfg(not(unix))]
fn is_special(_: &io::Error) -> bool {
    false
}
