//! Opens files beneath an open directory, and refuses the host's own files and virtual file systems of the kernel on any
//! path.
//!
//! On Linux, one system call opens a path if no mount point is on the path and no file of the host is beneath the
//! directory. The result is then in the file system of the directory, which was checked when the directory was opened.
//! All other paths are walked name by name.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Component, Path};

use cap_std::fs::{Dir, Metadata};

use super::host_files::{Bar, HostFiles, Id};
use super::kernel::{Closed, refuse_kernels};
use super::open::{OpenHow, Opened, Tried, directory_at_once, open_at_once, open_name, sort};
use super::walk::{Level, Step, Walk, ends_in_separator, not_a_directory};

/// Refuses the host's files beneath an open directory.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    own: HostFiles,
    /// Whether files of the host are beneath the directory.
    watch: bool,
    secret: bool,
}

/// The parent directory of a path, and the name there.
#[derive(Debug)]
pub struct Place {
    /// The directory. On Linux, it may be open for operations on names in it only.
    pub directory: File,
    /// The name. `None`: the path is the directory itself.
    pub name: Option<OsString>,
    own: HostFiles,
    /// The identity of the directory, if files of the host are beneath it.
    watched: Option<Id>,
}

impl Guard {
    /// The guard of an open directory.
    fn of(own: &HostFiles, id: Id) -> Self {
        let (watch, secret) = (own.lies_beneath(id), own.secret_lies_beneath(id));
        Self { own: own.clone(), watch, secret }
    }

    /// Checks an open directory and returns its guard.
    ///
    /// # Errors
    ///
    /// [`Closed`], or an error of the system.
    pub(super) fn begin(own: &HostFiles, dir: &Dir) -> io::Result<Self> {
        let id = Id::of(&dir.dir_metadata()?);
        refuse_kernels(dir, id)?;
        if own.is_folder(id) {
            return Err(Closed::HostFile.into());
        }
        Ok(Self::of(own, id))
    }

    /// Whether a program that is confined to the directory could change files of the host, or read secret ones.
    pub fn must_stay_closed_to_programs(&self, write: bool) -> bool {
        self.secret || (write && self.watch)
    }

    /// Opens a path beneath a directory without blocking: a FIFO without a writer or a device does not delay the host. Also
    /// returns the guard of the result, for a directory.
    ///
    /// # Errors
    ///
    /// An error of the system. A path that leads out of the directory is "permission denied", and so is a [`Closed`]
    /// file.
    pub fn open(&self, dir: &File, path: &Path, how: OpenHow) -> io::Result<(Opened, Self)> {
        if !self.watch
            && let Some(tried) = open_at_once(dir, path, how)?
        {
            return self.finish_clear(tried, how, || open_at_once(dir, path, to_read(how)));
        }
        let mut walk = Walk::new(&self.own, dir, path, !how.nofollow)?;
        loop {
            match walk.step()? {
                Step::Entered { clear: false } => {}
                Step::Entered { clear: true } => {
                    let (rest, dir) = (walk.rest(), &walk.here().dir);
                    if let Some(tried) = open_at_once(dir, &rest, how)? {
                        let again = || open_at_once(dir, &rest, to_read(how));
                        return self.finish_clear(tried, how, again);
                    }
                }
                Step::Arrived(name) => {
                    let slash = walk.slash;
                    return self.open_in(walk.into_here(), name, how, slash);
                }
            }
        }
    }

    /// Checks the result of one system call. A directory is opened `again` without writing.
    fn finish_clear(
        &self,
        tried: Tried,
        how: OpenHow,
        again: impl FnOnce() -> io::Result<Option<Tried>>,
    ) -> io::Result<(Opened, Self)> {
        let clear = Self { own: self.own.clone(), watch: false, secret: false };
        let tried = match tried {
            Tried::IsDirectory => again()?.unwrap_or(Tried::Special),
            tried @ (Tried::Open(_) | Tried::Special) => tried,
        };
        let Tried::Open(file) = tried else { return Ok((Opened::Special, clear)) };
        let (opened, metadata) = sort(file)?;
        if let Opened::File(file) = &opened {
            self.finish_file(file, &metadata, how, false)?;
        }
        Ok((opened, clear))
    }

    /// Opens a name in the directory where a walk arrived.
    fn open_in(
        &self,
        at: Level,
        name: Option<OsString>,
        how: OpenHow,
        slash: bool,
    ) -> io::Result<(Opened, Self)> {
        let Some(name) = name else {
            let guard = Self::of(&self.own, at.id);
            return Ok((Opened::Directory(at.dir.open_dir(".")?.into_std_file()), guard));
        };
        if at.watch {
            match self.own.bar(at.id, &name) {
                Some(Bar::Way) if how.create => return Err(Closed::HostFile.into()),
                Some(Bar::Closed | Bar::Series) => return Err(Closed::HostFile.into()),
                Some(Bar::Way) | None => {}
            }
        }
        let tried = match open_name(&at.dir, Path::new(&name), how)? {
            Tried::IsDirectory => open_name(&at.dir, Path::new(&name), to_read(how))?,
            tried @ (Tried::Open(_) | Tried::Special) => tried,
        };
        let Tried::Open(file) = tried else { return Ok((Opened::Special, self.clone())) };
        let (opened, metadata) = sort(file)?;
        let id = Id::of(&metadata);
        match &opened {
            Opened::File(_) if slash => return Err(not_a_directory()),
            Opened::File(file) => {
                if id.dev != at.id.dev {
                    refuse_kernels(file, id)?;
                }
                self.finish_file(file, &metadata, how, at.watch)?;
            }
            Opened::Directory(dir) => {
                if id.dev != at.id.dev {
                    refuse_kernels(dir, id)?;
                }
                if self.own.is_folder(id) {
                    return Err(Closed::HostFile.into());
                }
            }
            Opened::Special => {}
        }
        Ok((opened, Self::of(&self.own, id)))
    }

    /// Refuses a host's file that has another name, and truncates the file if that was asked for: only now it is known to
    /// be a regular file.
    fn finish_file(
        &self,
        file: &File,
        metadata: &Metadata,
        how: OpenHow,
        watch: bool,
    ) -> io::Result<()> {
        use cap_fs_ext::MetadataExt as _;
        if (watch || metadata.nlink() > 1) && self.own.is_file(Id::of(metadata)) {
            return Err(Closed::HostFile.into());
        }
        if how.truncate { file.set_len(0) } else { Ok(()) }
    }

    /// Refuses to create or replace a host's file in a directory.
    pub(super) fn may_make(&self, dir: &Dir, name: &str) -> io::Result<()> {
        if !self.watch {
            return Ok(());
        }
        let watched = Some(Id::of(&dir.dir_metadata()?));
        let directory = dir.try_clone()?.into_std_file();
        let (name, own) = (Some(name.into()), self.own.clone());
        Place { directory, name, own, watched }.may_change()
    }

    /// Finds the parent directory of a path. `None`: it is `dir` itself, the path is one name, and no file of the host is
    /// beneath `dir`.
    ///
    /// # Errors
    ///
    /// As for [`Self::open`]. The name itself is only accessed to follow a link.
    pub fn place(&self, dir: &File, path: &Path, follow: bool) -> io::Result<Option<Place>> {
        let mut parts = path.components();
        let last = parts.next_back();
        // The directory itself, written in any way.
        let is_here = last == Some(Component::CurDir) && parts.as_path().as_os_str().is_empty();
        if !self.watch && (is_here || last.is_none()) {
            return Ok(None);
        }
        let follow = follow || ends_in_separator(path);
        if let (false, Some(Component::Normal(name))) = (self.watch, last) {
            let parent = parts.as_path();
            if parent.as_os_str().is_empty() && !follow {
                return Ok(None);
            }
            let directory = match parent.as_os_str().is_empty() {
                true => Some(dir.try_clone()?),
                false => directory_at_once(dir, parent)?,
            };
            if let Some(directory) = directory {
                let directory = Dir::from_std_file(directory);
                let is_link =
                    |dir: &Dir| dir.symlink_metadata(name).is_ok_and(|it| it.is_symlink());
                if !follow || !is_link(&directory) {
                    let (directory, name) = (directory.into_std_file(), Some(name.to_owned()));
                    let own = self.own.clone();
                    return Ok(Some(Place { directory, name, own, watched: None }));
                }
            }
        }
        let mut walk = Walk::new(&self.own, dir, path, follow)?;
        let name = loop {
            if let Step::Arrived(name) = walk.step()? {
                break name;
            }
        };
        let Level { dir, id, watch } = walk.into_here();
        let (own, watched) = (self.own.clone(), watch.then_some(id));
        Ok(Some(Place { directory: dir.into_std_file(), name, own, watched }))
    }
}

impl Place {
    /// Refuses access to a host's file.
    ///
    /// # Errors
    ///
    /// [`Closed::HostFile`].
    pub fn may_look(&self) -> io::Result<()> {
        match self.bar() {
            Some(Bar::Closed | Bar::Series) => Err(Closed::HostFile.into()),
            Some(Bar::Way) | None => Ok(()),
        }
    }

    /// Refuses to create, move, replace, change or remove a host's file or a directory above one.
    ///
    /// # Errors
    ///
    /// [`Closed::HostFile`], or an error of the system.
    pub fn may_change(&self) -> io::Result<()> {
        if self.bar().is_some() {
            return Err(Closed::HostFile.into());
        }
        let (Some(_), Some(name)) = (self.watched, &self.name) else { return Ok(()) };
        // The file system may treat another spelling as the same name.
        let dir = Dir::from_std_file(self.directory.try_clone()?);
        let Some(id) = id_of_entry(&dir, Path::new(name)) else { return Ok(()) };
        let own = &self.own;
        if own.is_folder(id) || own.lies_beneath(id) || own.is_file(id) {
            return Err(Closed::HostFile.into());
        }
        Ok(())
    }

    fn bar(&self) -> Option<Bar> {
        self.own.bar(self.watched?, self.name.as_ref()?)
    }
}

/// The identity of an entry of a directory, without following a link.
fn id_of_entry(dir: &Dir, name: &Path) -> Option<Id> {
    if cfg!(unix) {
        return dir.symlink_metadata(name).ok().map(|metadata| Id::of(&metadata));
    }
    let how = OpenHow::default();
    let Ok(Tried::Open(file)) = open_name(dir, name, how) else { return None };
    Metadata::from_file(&file).ok().map(|metadata| Id::of(&metadata))
}

/// The options without writing, for a directory.
fn to_read(how: OpenHow) -> OpenHow {
    OpenHow { nofollow: how.nofollow, ..OpenHow::default() }
}
