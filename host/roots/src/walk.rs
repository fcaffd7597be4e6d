//! Walks a path name by name, and checks each directory before it is entered.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use super::host_files::{HostFiles, Id, Restriction};
use super::protected::ProtectedFile;
use super::virtual_file_systems::refuse_virtual_file_systems;

/// Maximum number of links that are followed in one path, as on Linux.
const MAX_LINKS: u32 = 40;

/// A directory on the path.
pub(super) struct Level {
    pub dir: Dir,
    pub id: Id,
    /// Whether files of the host are beneath the directory.
    pub holds_host_files: bool,
}

/// A walk along a path, beginning in a directory.
pub(super) struct Walk<'a> {
    host_files: &'a HostFiles,
    levels: Vec<Level>,
    names_left: VecDeque<OsString>,
    links_followed: u32,
    /// Whether a link at the end of the path is followed.
    follows_last_link: bool,
    /// Whether the path ends with a separator, so that it names a directory.
    pub names_directory: bool,
}

/// The result of one step of a walk.
pub(super) enum Step {
    /// Entered or left a directory, or followed a link. `try_rest`: it is worth trying now to open the rest of the path
    /// with one system call. This is so only after a directory was entered that has no file of the host beneath it, and
    /// if the call could not be tried in the previous directory, which has a file of the host beneath it or is on
    /// another device.
    Moved { try_rest: bool },
    /// Arrived in the parent directory of the last name. `None`: the path is this directory itself.
    Arrived(Option<OsString>),
}

impl<'a> Walk<'a> {
    /// Begins a walk in an open directory.
    pub(super) fn new(
        host_files: &'a HostFiles,
        dir: &File,
        path: &Path,
        follow: bool,
    ) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let dir = Dir::from_std_file(dir.try_clone()?);
        let id = Id::of(&dir.dir_metadata()?);
        let levels = vec![Level { dir, id, holds_host_files: host_files.holds_file_beneath(id) }];
        let names_directory = ends_in_separator(path);
        let mut walk = Self {
            host_files,
            levels,
            names_left: VecDeque::new(),
            links_followed: 0,
            follows_last_link: follow || names_directory,
            names_directory,
        };
        walk.prepend(path)?;
        Ok(walk)
    }

    /// The current directory.
    pub(super) fn here(&self) -> &Level {
        self.levels.last().expect("the first directory is never left")
    }

    /// The current directory, at the end of the walk.
    pub(super) fn into_here(mut self) -> Level {
        self.levels.pop().expect("the first directory is never left")
    }

    /// The rest of the path.
    pub(super) fn rest(&self) -> PathBuf {
        let mut rest: PathBuf = self.names_left.iter().collect();
        if self.names_directory {
            rest.push("");
        }
        rest
    }

    /// Puts the names of a path, such as the target of a link, before the rest of the walk. An absolute path is
    /// refused, because it leads out of the directory.
    fn prepend(&mut self, path: &Path) -> io::Result<()> {
        let rest = std::mem::take(&mut self.names_left);
        for part in path.components() {
            match part {
                Component::Prefix(_) | Component::RootDir => return Err(leads_out()),
                Component::CurDir => {}
                Component::ParentDir => self.names_left.push_back("..".into()),
                Component::Normal(name) => self.names_left.push_back(name.to_owned()),
            }
        }
        self.names_left.extend(rest);
        Ok(())
    }

    /// Walks the next name of the path.
    pub(super) fn step(&mut self) -> io::Result<Step> {
        let Some(name) = self.names_left.pop_front() else { return Ok(Step::Arrived(None)) };
        if name == ".." {
            if self.levels.len() == 1 {
                return Err(leads_out());
            }
            self.levels.pop();
            return Ok(Step::Moved { try_rest: false });
        }
        let is_last = self.names_left.is_empty();
        if is_last && (!self.follows_last_link || !self.is_link(&name)) {
            return Ok(Step::Arrived(Some(name)));
        }
        let Level { dir, id, holds_host_files } = self.here();
        if *holds_host_files
            && self.host_files.restriction(*id, &name) == Some(Restriction::NoAccess)
        {
            return Err(ProtectedFile::HostFile.into());
        }
        match enter(dir, Path::new(&name))? {
            NextEntry::Link(target) => {
                self.links_followed += 1;
                if self.links_followed > MAX_LINKS {
                    return Err(too_many_links());
                }
                self.prepend(&target)?;
                Ok(Step::Moved { try_rest: false })
            }
            NextEntry::Directory(dir) => {
                let (held_host_files, device_before) = (*holds_host_files, id.dev);
                let id = Id::of(&dir.dir_metadata()?);
                if id.dev != device_before {
                    refuse_virtual_file_systems(&dir, id)?;
                }
                if self.host_files.is_folder(id) {
                    return Err(ProtectedFile::HostFile.into());
                }
                let holds_host_files = self.host_files.holds_file_beneath(id);
                self.levels.push(Level { dir, id, holds_host_files });
                let could_try_before = !held_host_files && id.dev == device_before;
                let try_rest =
                    !holds_host_files && !could_try_before && !self.names_left.is_empty();
                Ok(Step::Moved { try_rest })
            }
        }
    }

    fn is_link(&self, name: &OsString) -> bool {
        self.here().dir.symlink_metadata(name).is_ok_and(|found| found.is_symlink())
    }
}

enum NextEntry {
    Directory(Dir),
    Link(PathBuf),
}

/// Enters a directory by its name, or returns the target of a link of that name. On Linux, a directory without read
/// permission can be entered, too.
#[cfg(target_os = "linux")]
fn enter(dir: &Dir, name: &Path) -> io::Result<NextEntry> {
    use rustix::fs::{FileType, Mode, OFlags, fstat, openat, readlinkat};
    use std::os::unix::ffi::OsStringExt as _;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let entry = openat(dir, name, flags, Mode::empty())?;
    let kind = FileType::from_raw_mode(fstat(&entry)?.st_mode);
    if kind.is_symlink() {
        let target = readlinkat(&entry, "", Vec::new())?.into_bytes();
        return Ok(NextEntry::Link(OsString::from_vec(target).into()));
    }
    if !kind.is_dir() {
        return Err(not_a_directory());
    }
    Ok(NextEntry::Directory(Dir::from_std_file(entry.into())))
}

#[cfg(not(target_os = "linux"))]
fn enter(dir: &Dir, name: &Path) -> io::Result<NextEntry> {
    use cap_fs_ext::DirExt as _;
    if dir.symlink_metadata(name)?.is_symlink() {
        return Ok(NextEntry::Link(dir.read_link_contents(name)?));
    }
    Ok(NextEntry::Directory(dir.open_dir_nofollow(name)?))
}

pub(super) fn ends_in_separator(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .last()
        .is_some_and(|&last| std::path::is_separator(char::from(last)))
}

/// The error for a path that leads out of its directory. Its kind is the one that cap-std returns.
fn leads_out() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "a path led out of its directory")
}

#[cfg(unix)]
pub(super) fn not_a_directory() -> io::Error {
    rustix::io::Errno::NOTDIR.into()
}

#[cfg(not(unix))]
pub(super) fn not_a_directory() -> io::Error {
    io::ErrorKind::NotADirectory.into()
}

#[cfg(unix)]
fn too_many_links() -> io::Error {
    rustix::io::Errno::LOOP.into()
}

#[cfg(not(unix))]
fn too_many_links() -> io::Error {
    io::Error::other("too many links in one path")
}
