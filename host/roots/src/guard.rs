//! Opens files beneath an open directory. Refuses the host's own files and the kernel's virtual file systems, by
//! whatever path they are named.
//!
//! On Linux, one system call opens a path if no mount point is on the path and no file of the host is beneath the
//! directory. The result is then in the file system of the directory, which was checked when the directory was opened.
//! All other paths are walked name by name, until one system call can open the rest.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Component, Path};

use cap_std::fs::{Dir, Metadata};

use super::host_files::{HostFiles, Id, Restriction};
use super::open::{
    Attempt, OpenHow, Opened, classify, open_directory_in_one_call, open_in_one_call, open_name,
};
use super::protected::ProtectedFile;
use super::virtual_file_systems::refuse_virtual_file_systems;
use super::walk::{Level, Step, Walk, ends_in_separator, not_a_directory};

/// Refuses the host's files beneath an open directory.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    host_files: HostFiles,
    /// Whether files of the host are beneath the directory.
    holds_host_files: bool,
    /// Whether secret files of the host are beneath the directory.
    holds_secret_files: bool,
}

/// The parent directory of a path, and the name of the entry in this directory.
#[derive(Debug)]
pub struct NameInParent {
    /// The directory. On Linux, the handle may be `O_PATH`, which allows only operations on names in the directory.
    pub directory: File,
    /// The name. `None`: the path is the directory itself.
    pub name: Option<OsString>,
    host_files: HostFiles,
    /// The identity of the directory, if files of the host are beneath the directory.
    parent_of_host_files: Option<Id>,
}

impl Guard {
    /// The guard of an open directory.
    fn of(host_files: &HostFiles, id: Id) -> Self {
        let (holds_host_files, holds_secret_files) =
            (host_files.holds_file_beneath(id), host_files.holds_secret_beneath(id));
        Self { host_files: host_files.clone(), holds_host_files, holds_secret_files }
    }

    /// Checks an open directory and returns its guard.
    ///
    /// # Errors
    ///
    /// [`ProtectedFile`], or an error of the system.
    pub(super) fn begin(host_files: &HostFiles, dir: &Dir) -> io::Result<Self> {
        let id = Id::of(&dir.dir_metadata()?);
        refuse_virtual_file_systems(dir, id)?;
        if host_files.is_folder(id) {
            return Err(ProtectedFile::HostFile.into());
        }
        Ok(Self::of(host_files, id))
    }

    /// Whether a program that is confined to the directory could change files of the host, or read secret files of
    /// the host. `write`: the program may write in the directory.
    pub fn must_stay_closed_to_programs(&self, write: bool) -> bool {
        self.holds_secret_files || (write && self.holds_host_files)
    }

    /// Opens a path beneath a directory without blocking: a FIFO without a writer or a device does not delay the
    /// host. Also returns the guard of the result, if the result is a directory.
    ///
    /// # Errors
    ///
    /// An error of the system. For a path that leads out of the directory, and for a [`ProtectedFile`], the error's
    /// kind is `PermissionDenied`.
    pub fn open(&self, dir: &File, path: &Path, how: OpenHow) -> io::Result<(Opened, Self)> {
        if !self.holds_host_files
            && let Some(attempt) = open_in_one_call(dir, path, how)?
        {
            return self.finish_one_call(attempt, how, || {
                open_in_one_call(dir, path, without_writing(how))
            });
        }
        let mut walk = Walk::new(&self.host_files, dir, path, !how.nofollow)?;
        loop {
            match walk.step()? {
                Step::Moved { try_rest: false } => {}
                Step::Moved { try_rest: true } => {
                    let (rest, dir) = (walk.rest(), &walk.here().dir);
                    if let Some(attempt) = open_in_one_call(dir, &rest, how)? {
                        let open_without_writing =
                            || open_in_one_call(dir, &rest, without_writing(how));
                        return self.finish_one_call(attempt, how, open_without_writing);
                    }
                }
                Step::Arrived(name) => {
                    let names_directory = walk.names_directory;
                    return self.open_in(walk.into_here(), name, how, names_directory);
                }
            }
        }
    }

    /// Checks the result of one system call in a directory without files of the host beneath it. If the path is a
    /// directory, `open_without_writing` opens the directory without writing.
    fn finish_one_call(
        &self,
        attempt: Attempt,
        how: OpenHow,
        open_without_writing: impl FnOnce() -> io::Result<Option<Attempt>>,
    ) -> io::Result<(Opened, Self)> {
        let unguarded = Self {
            host_files: self.host_files.clone(),
            holds_host_files: false,
            holds_secret_files: false,
        };
        let attempt = match attempt {
            Attempt::IsDirectory => open_without_writing()?.unwrap_or(Attempt::Special),
            attempt @ (Attempt::Open(_) | Attempt::Special) => attempt,
        };
        let Attempt::Open(file) = attempt else { return Ok((Opened::Special, unguarded)) };
        let (opened, metadata) = classify(file)?;
        if let Opened::File(file) = &opened {
            self.finish_file(file, &metadata, how, false)?;
        }
        Ok((opened, unguarded))
    }

    /// Opens a name in the directory where a walk arrived.
    fn open_in(
        &self,
        level: Level,
        name: Option<OsString>,
        how: OpenHow,
        names_directory: bool,
    ) -> io::Result<(Opened, Self)> {
        let Some(name) = name else {
            let guard = Self::of(&self.host_files, level.id);
            return Ok((Opened::Directory(level.dir.open_dir(".")?.into_std_file()), guard));
        };
        if level.holds_host_files {
            match self.host_files.restriction(level.id, &name) {
                Some(Restriction::Ancestor) if how.create => {
                    return Err(ProtectedFile::HostFile.into());
                }
                Some(Restriction::NoAccess | Restriction::NoAccessToPrefix) => {
                    return Err(ProtectedFile::HostFile.into());
                }
                Some(Restriction::Ancestor) | None => {}
            }
        }
        let attempt = match open_name(&level.dir, Path::new(&name), how)? {
            Attempt::IsDirectory => open_name(&level.dir, Path::new(&name), without_writing(how))?,
            attempt @ (Attempt::Open(_) | Attempt::Special) => attempt,
        };
        let Attempt::Open(file) = attempt else { return Ok((Opened::Special, self.clone())) };
        let (opened, metadata) = classify(file)?;
        let id = Id::of(&metadata);
        match &opened {
            Opened::File(_) if names_directory => return Err(not_a_directory()),
            Opened::File(file) => {
                if id.dev != level.id.dev {
                    refuse_virtual_file_systems(file, id)?;
                }
                self.finish_file(file, &metadata, how, level.holds_host_files)?;
            }
            Opened::Directory(dir) => {
                if id.dev != level.id.dev {
                    refuse_virtual_file_systems(dir, id)?;
                }
                if self.host_files.is_folder(id) {
                    return Err(ProtectedFile::HostFile.into());
                }
            }
            Opened::Special => {}
        }
        Ok((opened, Self::of(&self.host_files, id)))
    }

    /// Refuses a file of the host, whatever its name is. Then truncates the file if requested: a file is truncated only
    /// once it is known to be a regular file.
    fn finish_file(
        &self,
        file: &File,
        metadata: &Metadata,
        how: OpenHow,
        holds_host_files: bool,
    ) -> io::Result<()> {
        use cap_fs_ext::MetadataExt as _;
        if (holds_host_files || metadata.nlink() > 1) && self.host_files.is_file(Id::of(metadata)) {
            return Err(ProtectedFile::HostFile.into());
        }
        if how.truncate { file.set_len(0) } else { Ok(()) }
    }

    /// Refuses to create or replace a file of the host in a directory.
    pub(super) fn check_create(&self, dir: &Dir, name: &str) -> io::Result<()> {
        if !self.holds_host_files {
            return Ok(());
        }
        let parent_of_host_files = Some(Id::of(&dir.dir_metadata()?));
        let directory = dir.try_clone()?.into_std_file();
        let (name, host_files) = (Some(name.into()), self.host_files.clone());
        NameInParent { directory, name, host_files, parent_of_host_files }.check_change()
    }

    /// Finds the parent directory of a path. `None`: no file of the host is beneath `dir`, and the path is `dir`
    /// itself, or is one name in `dir` while `follow` is false.
    ///
    /// # Errors
    ///
    /// As for [`Self::open`]. The entry of this name is accessed only to follow a link.
    pub fn place(&self, dir: &File, path: &Path, follow: bool) -> io::Result<Option<NameInParent>> {
        let mut parts = path.components();
        let last = parts.next_back();
        // The directory itself, as `.` or `./`.
        let is_here = last == Some(Component::CurDir) && parts.as_path().as_os_str().is_empty();
        if !self.holds_host_files && (is_here || last.is_none()) {
            return Ok(None);
        }
        let follow = follow || ends_in_separator(path);
        if let (false, Some(Component::Normal(name))) = (self.holds_host_files, last) {
            let parent = parts.as_path();
            if parent.as_os_str().is_empty() && !follow {
                return Ok(None);
            }
            let directory = match parent.as_os_str().is_empty() {
                true => Some(dir.try_clone()?),
                false => open_directory_in_one_call(dir, parent)?,
            };
            if let Some(directory) = directory {
                let directory = Dir::from_std_file(directory);
                let is_link = |dir: &Dir| {
                    dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink())
                };
                if !follow || !is_link(&directory) {
                    let (directory, name) = (directory.into_std_file(), Some(name.to_owned()));
                    let host_files = self.host_files.clone();
                    return Ok(Some(NameInParent {
                        directory,
                        name,
                        host_files,
                        parent_of_host_files: None,
                    }));
                }
            }
        }
        let mut walk = Walk::new(&self.host_files, dir, path, follow)?;
        let name = loop {
            if let Step::Arrived(name) = walk.step()? {
                break name;
            }
        };
        let Level { dir, id, holds_host_files } = walk.into_here();
        let (host_files, parent_of_host_files) =
            (self.host_files.clone(), holds_host_files.then_some(id));
        Ok(Some(NameInParent {
            directory: dir.into_std_file(),
            name,
            host_files,
            parent_of_host_files,
        }))
    }
}

impl NameInParent {
    /// Refuses any access to a file of the host.
    ///
    /// # Errors
    ///
    /// [`ProtectedFile::HostFile`].
    pub fn check_access(&self) -> io::Result<()> {
        match self.restriction() {
            Some(Restriction::NoAccess | Restriction::NoAccessToPrefix) => {
                Err(ProtectedFile::HostFile.into())
            }
            Some(Restriction::Ancestor) | None => Ok(()),
        }
    }

    /// Refuses to create, move, replace, change or remove a file of the host, or a directory above such a file.
    ///
    /// # Errors
    ///
    /// [`ProtectedFile::HostFile`], or an error of the system.
    pub fn check_change(&self) -> io::Result<()> {
        if self.restriction().is_some() {
            return Err(ProtectedFile::HostFile.into());
        }
        let (Some(_), Some(name)) = (self.parent_of_host_files, &self.name) else { return Ok(()) };
        // The file system may treat another spelling as the same name, so the identity is checked, too.
        let dir = Dir::from_std_file(self.directory.try_clone()?);
        let Some(id) = id_of_entry(&dir, Path::new(name)) else { return Ok(()) };
        let host_files = &self.host_files;
        if host_files.is_folder(id) || host_files.holds_file_beneath(id) || host_files.is_file(id) {
            return Err(ProtectedFile::HostFile.into());
        }
        Ok(())
    }

    fn restriction(&self) -> Option<Restriction> {
        self.host_files.restriction(self.parent_of_host_files?, self.name.as_ref()?)
    }
}

/// The identity of an entry of a directory, without following a link.
fn id_of_entry(dir: &Dir, name: &Path) -> Option<Id> {
    if cfg!(unix) {
        return dir.symlink_metadata(name).ok().map(|metadata| Id::of(&metadata));
    }
    let how = OpenHow::default();
    let Ok(Attempt::Open(file)) = open_name(dir, name, how) else { return None };
    Metadata::from_file(&file).ok().map(|metadata| Id::of(&metadata))
}

/// The options without writing, for a directory.
fn without_writing(how: OpenHow) -> OpenHow {
    OpenHow { nofollow: how.nofollow, ..OpenHow::default() }
}
