//! Opens what lies beneath an open directory, and keeps the host's own files and the kernel's file
//! systems closed, whatever path leads there.
//!
//! On Linux one system call opens a path as long as no mount point lies on the way and nothing of the
//! host's beneath the directory: what is reached then lies in the same file system as the directory,
//! which was looked at when it was opened. Everything else is walked name by name.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Component, Path};

use cap_std::fs::{Dir, Metadata};

use super::host_files::{Bar, HostFiles, Id};
use super::kernel::{Closed, refuse_kernels};
use super::open::{OpenHow, Opened, Tried, directory_at_once, open_at_once, open_name, sort};
use super::walk::{Level, Step, Walk, ends_in_separator, not_a_directory};

/// What is closed beneath an open directory, and whether any of it lies there.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    own: HostFiles,
    /// Whether something of the host's lies beneath the directory.
    watch: bool,
    secret: bool,
}

/// The directory that holds what a path names, and its name there.
#[derive(Debug)]
pub struct Place {
    /// The directory. On Linux it may be open for nothing but what is done by name in it.
    pub directory: File,
    /// The name in it; `None`: the directory itself.
    pub name: Option<OsString>,
    own: HostFiles,
    /// What the directory is, where something of the host's lies beneath.
    watched: Option<Id>,
}

impl Guard {
    /// For a directory that is open: the same things are closed beneath it.
    fn of(own: &HostFiles, id: Id) -> Self {
        let (watch, secret) = (own.lies_beneath(id), own.secret_lies_beneath(id));
        Self { own: own.clone(), watch, secret }
    }

    /// For an open directory that nothing is known of yet.
    ///
    /// # Errors
    ///
    /// [`Closed`], or what the system says.
    pub(super) fn begin(own: &HostFiles, dir: &Dir) -> io::Result<Self> {
        let id = Id::of(&dir.dir_metadata()?);
        refuse_kernels(dir, id)?;
        if own.is_folder(id) {
            return Err(Closed::HostFile.into());
        }
        Ok(Self::of(own, id))
    }

    /// Whether a program that is confined to the directory could change something of the host's, or
    /// read something that is secret.
    pub fn must_stay_closed_to_programs(&self, write: bool) -> bool {
        self.secret || (write && self.watch)
    }

    /// Opens a path beneath a directory without ever blocking: neither a FIFO without a writer nor a
    /// device holds up the host. Also answers the guard of what was opened, which counts where that is
    /// a directory.
    ///
    /// # Errors
    ///
    /// What the system says; a way out of the directory is "permission denied", and so is what is
    /// [`Closed`].
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

    /// Looks at what was opened in one step; a directory is opened `again` to be looked at only.
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

    /// Refuses a file of the host's that has another name as well, and cuts what is to be cut: only now,
    /// as it has been seen to be a regular file.
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

    /// Refuses to make what is the host's in a directory, or to replace it.
    pub(super) fn may_make(&self, dir: &Dir, name: &str) -> io::Result<()> {
        if !self.watch {
            return Ok(());
        }
        let watched = Some(Id::of(&dir.dir_metadata()?));
        let directory = dir.try_clone()?.into_std_file();
        let (name, own) = (Some(name.into()), self.own.clone());
        Place { directory, name, own, watched }.may_change()
    }

    /// Finds the directory that holds what a path names. `None`: it is `dir` itself, the path is one
    /// name, and nothing of the host's is near.
    ///
    /// # Errors
    ///
    /// As for [`Self::open`]; the name itself is not looked at, but for links where they are followed.
    pub fn place(&self, dir: &File, path: &Path, follow: bool) -> io::Result<Option<Place>> {
        let mut parts = path.components();
        let last = parts.next_back();
        // The directory itself, however it is spelled.
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
    /// Refuses to look at what is the host's.
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

    /// Refuses to make, move, replace, change or remove what is the host's or leads there.
    ///
    /// # Errors
    ///
    /// [`Closed::HostFile`], or what the system says.
    pub fn may_change(&self) -> io::Result<()> {
        if self.bar().is_some() {
            return Err(Closed::HostFile.into());
        }
        let (Some(_), Some(name)) = (self.watched, &self.name) else { return Ok(()) };
        // Spelled in another way that this file system takes for the same.
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

/// What a name in a directory stands for, without following a link.
fn id_of_entry(dir: &Dir, name: &Path) -> Option<Id> {
    if cfg!(unix) {
        return dir.symlink_metadata(name).ok().map(|metadata| Id::of(&metadata));
    }
    let how = OpenHow::default();
    let Ok(Tried::Open(file)) = open_name(dir, name, how) else { return None };
    Metadata::from_file(&file).ok().map(|metadata| Id::of(&metadata))
}

/// To look at a directory that was to be opened for writing.
fn to_read(how: OpenHow) -> OpenHow {
    OpenHow { nofollow: how.nofollow, ..OpenHow::default() }
}
