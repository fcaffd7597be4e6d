//! Finds the directory and the name that a path leads to, for operations that create, move, remove or inspect an
//! entry.

use std::fs::File;
use std::path::Path;

use cap_std::fs::Dir;
use portcullis_roots::NameInParent;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, Dir as DirDescriptor, OpenMode};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, ErrorCode, HostDescriptor as _, MetadataHashValue, NewTimestamp, PathFlags,
};

use super::Access;
use super::permit::Permit;
use super::view::{FilesView, Target};

/// Maximum number of entries, at any depth, of a directory that can be moved to a greater depth.
const MAX_MOVED_ENTRIES: usize = 100_000;

/// A name in its parent directory, for one operation.
pub(super) struct EntryInParent {
    /// The directory.
    pub fd: Resource<Descriptor>,
    /// The name.
    pub name: String,
    /// Whether the descriptor was made for this operation.
    is_temporary: bool,
}

impl EntryInParent {
    /// The descriptor, borrowed for one call of wasmtime-wasi.
    pub(super) fn fd(&self) -> Resource<Descriptor> {
        Resource::new_borrow(self.fd.rep())
    }
}

impl FilesView<'_> {
    /// Finds the parent directory of a path. Refuses access to the host's files, and changes of directories above them.
    /// `None`: the parent is the descriptor's own directory, and the path is a name in it or the directory itself.
    pub(super) async fn place(
        &mut self,
        fd: &Resource<Descriptor>,
        path: &str,
        follow: bool,
        access: Access,
    ) -> FsResult<Option<NameInParent>> {
        self.blocking().await;
        let dir = self.dir(fd)?;
        let place = self.node(fd)?.guard.place(&dir, Path::new(path), follow);
        let place = place.map_err(|error| ErrorCode::from(&error))?;
        let check = place.as_ref().map_or(Ok(()), |place| match access {
            Access::Read => place.check_access(),
            Access::Write => place.check_change(),
        });
        check.map_err(|error| ErrorCode::from(&error))?;
        Ok(place)
    }

    /// Makes a descriptor of the parent directory, unless the parent is `fd` itself. [`Self::release`] closes the
    /// descriptor.
    pub(super) fn entry_in_parent(
        &mut self,
        place: Option<NameInParent>,
        fd: &Resource<Descriptor>,
        path: String,
    ) -> FsResult<EntryInParent> {
        let Some(NameInParent { directory, name, .. }) = place else {
            return Ok(EntryInParent {
                fd: Resource::new_borrow(fd.rep()),
                name: path,
                is_temporary: false,
            });
        };
        let name = name.unwrap_or_else(|| ".".into());
        let mut name = name.into_string().map_err(|_| ErrorCode::IllegalByteSequence)?;
        if path.ends_with('/') {
            name.push('/');
        }
        let perms = match self.table.get(fd)? {
            Descriptor::Dir(dir) => dir.perms,
            Descriptor::File(_) => return Err(ErrorCode::NotDirectory.into()),
        };
        let dir = DirDescriptor::new(directory, perms, OpenMode::READ, super::view::ALLOW_BLOCKING);
        Ok(EntryInParent { fd: self.table.push(Descriptor::Dir(dir))?, name, is_temporary: true })
    }

    /// Closes a temporary descriptor.
    pub(super) fn release(&mut self, entry: EntryInParent) -> FsResult<()> {
        if entry.is_temporary {
            self.table.delete(entry.fd)?;
        }
        Ok(())
    }

    /// Makes a directory.
    pub(super) async fn make_directory(
        &mut self,
        permit: Permit,
        fd: &Resource<Descriptor>,
        path: String,
        target: &Target,
    ) -> FsResult<()> {
        let made = async {
            let place = self.place(fd, &path, false, Access::Write).await?;
            self.take_quota_of_new_entry(fd, place.as_ref(), target)?;
            let at = self.entry_in_parent(place, fd, path)?;
            let made = self.wasi().create_directory_at(at.fd(), at.name.clone()).await;
            self.release(at)?;
            made
        };
        permit.record_wasi(made.await)
    }

    /// Moves a file or a directory.
    pub(super) async fn rename(
        &mut self,
        (permit, fd, old, source): (Permit, &Resource<Descriptor>, String, &Target),
        (new_permit, new_fd, new, target): (Permit, &Resource<Descriptor>, String, &Target),
    ) -> FsResult<()> {
        let moved = async {
            let from = self.place(fd, &old, false, Access::Write).await?;
            let to = self.place(new_fd, &new, false, Access::Write).await?;
            self.check_depth_of_move(
                (fd, from.as_ref(), source),
                &old,
                (new_fd, to.as_ref(), target),
            )?;
            let (from, to) =
                (self.entry_in_parent(from, fd, old)?, self.entry_in_parent(to, new_fd, new)?);
            let (old, new) = (from.name.clone(), to.name.clone());
            let renamed = self.wasi().rename_at(from.fd(), old, to.fd(), new).await;
            self.release(from)?;
            self.release(to)?;
            renamed
        };
        let moved = permit.record_wasi(moved.await);
        new_permit.record_wasi(moved)
    }

    /// Removes a file.
    pub(super) async fn remove_file(
        &mut self,
        permit: Permit,
        fd: &Resource<Descriptor>,
        path: String,
    ) -> FsResult<()> {
        let removed = async {
            let place = self.place(fd, &path, false, Access::Write).await?;
            let at = self.entry_in_parent(place, fd, path)?;
            let removed = self.wasi().unlink_file_at(at.fd(), at.name.clone()).await;
            self.release(at)?;
            removed
        };
        permit.record_wasi(removed.await)
    }

    /// Removes a directory.
    pub(super) async fn remove_directory(
        &mut self,
        permit: Permit,
        fd: &Resource<Descriptor>,
        path: String,
    ) -> FsResult<()> {
        let removed = async {
            let place = self.place(fd, &path, false, Access::Write).await?;
            let at = self.entry_in_parent(place, fd, path)?;
            let removed = self.wasi().remove_directory_at(at.fd(), at.name.clone()).await;
            self.release(at)?;
            removed
        };
        permit.record_wasi(removed.await)
    }

    /// Sets the times of the last access and of the last change.
    pub(super) async fn set_times_of(
        &mut self,
        permit: Permit,
        fd: &Resource<Descriptor>,
        follow: bool,
        path: String,
        (accessed, modified): (NewTimestamp, NewTimestamp),
    ) -> FsResult<()> {
        let set = async {
            let place = self.place(fd, &path, follow, Access::Write).await?;
            let at = self.entry_in_parent(place, fd, path)?;
            let (fd, name) = (at.fd(), at.name.clone());
            let flags = PathFlags::empty();
            let set = self.wasi().set_times_at(fd, flags, name, accessed, modified).await;
            self.release(at)?;
            set
        };
        permit.record_wasi(set.await)
    }

    /// The metadata of the file at a path.
    pub(super) async fn stat_of(
        &mut self,
        fd: &Resource<Descriptor>,
        follow: bool,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let place = self.place(fd, &path, follow, Access::Read).await?;
        let at = self.entry_in_parent(place, fd, path)?;
        let stat = self.wasi().stat_at(at.fd(), PathFlags::empty(), at.name.clone()).await;
        self.release(at)?;
        stat
    }

    /// A hash of the metadata of the file at a path.
    pub(super) async fn hash_of(
        &mut self,
        fd: &Resource<Descriptor>,
        follow: bool,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let place = self.place(fd, &path, follow, Access::Read).await?;
        let at = self.entry_in_parent(place, fd, path)?;
        let hash = self.wasi().metadata_hash_at(at.fd(), PathFlags::empty(), at.name.clone()).await;
        self.release(at)?;
        hash
    }

    /// The target of a link.
    pub(super) async fn link_of(
        &mut self,
        fd: &Resource<Descriptor>,
        path: String,
    ) -> FsResult<String> {
        let place = self.place(fd, &path, false, Access::Read).await?;
        let at = self.entry_in_parent(place, fd, path)?;
        let target = self.wasi().readlink_at(at.fd(), at.name.clone()).await;
        self.release(at)?;
        target
    }

    /// Checks the depth of a new entry, and takes the entry from the quota.
    pub(super) fn take_quota_of_new_entry(
        &self,
        fd: &Resource<Descriptor>,
        place: Option<&NameInParent>,
        target: &Target,
    ) -> FsResult<()> {
        let depth = self.depth(fd, place, target)?;
        if !self.files.quota.allows_depth(depth) || !self.files.quota.take_entry() {
            return Err(ErrorCode::Quota.into());
        }
        Ok(())
    }

    /// Checks the quota of depth for moving a file, or a directory with all of its contents.
    pub(super) fn check_depth_of_move(
        &self,
        (fd, from, source): (&Resource<Descriptor>, Option<&NameInParent>, &Target),
        name: &str,
        (new_fd, to, target): (&Resource<Descriptor>, Option<&NameInParent>, &Target),
    ) -> FsResult<()> {
        let depth = self.depth(new_fd, to, target)?;
        let left = self.files.quota.depth_below(depth).ok_or(ErrorCode::Quota)?;
        if depth <= self.depth(fd, from, source)? {
            return Ok(());
        }
        let own = self.dir(fd)?;
        let (dir, name) = match from {
            Some(NameInParent { directory, name: Some(name), .. }) => (directory, Path::new(name)),
            Some(NameInParent { name: None, .. }) => return Ok(()),
            None => (&*own, Path::new(name)),
        };
        let dir = dir.try_clone().map_err(|error| ErrorCode::from(&error))?;
        if is_within_depth(&Dir::from_std_file(dir), name, left) {
            return Ok(());
        }
        Err(ErrorCode::Quota.into())
    }

    /// The current depth of a target below its preopened directory. An entry of this directory has depth 1.
    fn depth(
        &self,
        fd: &Resource<Descriptor>,
        place: Option<&NameInParent>,
        target: &Target,
    ) -> FsResult<u32> {
        let own = self.dir(fd)?;
        let dir = place.map_or(&*own, |place| &place.directory);
        let tops = self.files.preopens.iter().map(|(handle, _)| handle);
        Ok(depth_of(dir, tops).map_or(target.depth, |depth| depth.saturating_add(1)))
    }
}

/// The depth of a directory below the nearest of `tops`. The depth is found by opening `..` repeatedly. It cannot be
/// read from the path, because the directory may have been moved since it was opened, and a path with links has another
/// length. `None`: the depth is unknown.
#[cfg(unix)]
fn depth_of<'a>(dir: &File, tops: impl Iterator<Item = &'a File>) -> Option<u32> {
    use rustix::fs::{Mode, OFlags, fstat, openat};
    let id = |dir: &File| fstat(dir).ok().map(|stat| (stat.st_dev, stat.st_ino));
    let tops: Vec<_> = tops.filter_map(id).collect();
    let (mut depth, mut above, mut below) = (0_u32, None::<File>, None);
    loop {
        let here = above.as_ref().unwrap_or(dir);
        let now = id(here)?;
        if tops.contains(&now) {
            return Some(depth);
        }
        // This is the root of the file system, so the directory was moved out of all directories of the call.
        if below == Some(now) {
            return Some(u32::MAX);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        (above, below) = (Some(openat(here, "..", flags, Mode::empty()).ok()?.into()), Some(now));
        depth += 1;
    }
}

#[cfg(not(unix))]
fn depth_of<'a>(_: &File, _: impl Iterator<Item = &'a File>) -> Option<u32> {
    None
}

/// Whether the contents of a directory have at most this number of levels. True for files. A directory that cannot be
/// read, or has more than `MAX_MOVED_ENTRIES` entries at any depth, counts as too deep.
fn is_within_depth(dir: &Dir, name: &Path, levels: u32) -> bool {
    if !dir.symlink_metadata(name).is_ok_and(|found| found.is_dir()) {
        return true;
    }
    let (mut left, mut level, mut folders) = (MAX_MOVED_ENTRIES, 0, vec![name.to_owned()]);
    while !folders.is_empty() {
        let mut below = Vec::new();
        for folder in folders {
            let Ok(entries) = dir.read_dir(&folder) else { return false };
            for entry in entries {
                let (Some(rest), Ok(entry)) = (left.checked_sub(1), entry) else { return false };
                left = rest;
                if level == levels {
                    return false;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    below.push(folder.join(entry.file_name()));
                }
            }
        }
        (folders, level) = (below, level + 1);
    }
    true
}
