//! Checks each path that a guest uses against its descriptor, and asks the judge for a permit. Reading the
//! metadata of an accessible path needs no permit.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use portcullis_roots::{Guard, OpenHow, Opened};
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::filesystem::{Descriptor, FsPerms, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{DynOutputStream, FsResult};

use super::file_failure::FileFailure;
use super::permit::Permit;
use super::preopen::{AccessRules, AccessibleEntry};
use super::quota::Metered;
use super::{Access, FileUse, Files, Node, Origin};

/// wasmtime-wasi may block the current thread for operations on open files: see [`FilesView::blocking`].
pub(super) const ALLOW_BLOCKING: bool = true;

/// The type by which the linker gets the files of a call.
pub struct FilesData;

impl HasData for FilesData {
    type Data<'a> = FilesView<'a>;
}

/// The files of a call together with the table of its resources.
pub struct FilesView<'a> {
    pub(super) files: &'a mut Files,
    pub(super) table: &'a mut wasmtime_wasi::ResourceTable,
}

/// Maximum length of a file's name, in bytes, on every system.
const MAX_NAME_BYTES: usize = 255;
/// Maximum length of a path, in bytes, on every system.
const MAX_PATH_BYTES: usize = 4096;

/// The target of a path beneath a descriptor.
pub(super) struct Target {
    pub path: PathBuf,
    origin: Origin,
    opened_for: Access,
    pub depth: u32,
    /// Why the path is invalid in every directory: the reason in a word for the record, and the guest's error code.
    invalid: Option<(&'static str, ErrorCode)>,
    /// `None`: the descriptor gives no access to the target.
    pub reached: Option<ReachedEntry>,
}

pub(super) enum ReachedEntry {
    /// Something beneath the directory.
    Beneath,
    /// The directory itself, which is not open as a whole: it can be opened again, but its entries cannot be listed.
    Itself,
    /// The designated file. `None`: it does not exist.
    File(Option<std::fs::File>),
}

impl Target {
    /// The data of a new descriptor of this target. `start`: the data of the descriptor that the path begins at.
    pub(super) fn node(self, start: &Node, guard: Guard) -> Node {
        let reach = match self.reached {
            Some(ReachedEntry::Itself) => start.reach.clone(),
            Some(ReachedEntry::Beneath | ReachedEntry::File(_)) | None => {
                AccessRules::all(self.opened_for)
            }
        };
        Node { path: self.path, reach, guard, origin: self.origin, depth: self.depth }
    }
}

pub(super) fn perms(access: Access) -> FsPerms {
    match access {
        Access::Read => FsPerms::ReadOnly,
        Access::Write => FsPerms::ReadWrite,
    }
}

impl<'a> FilesView<'a> {
    /// A view for one call of an import.
    pub fn new(files: &'a mut Files, table: &'a mut wasmtime_wasi::ResourceTable) -> Self {
        Self { files, table }
    }

    /// wasmtime-wasi's implementation, for uses that were permitted.
    pub(super) fn wasi(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView { ctx: &mut self.files.ctx, table: self.table }
    }

    /// As [`Self::wasi`], for operations that may block. A call begins on the thread that serves clients, and moves
    /// to another thread at its first wait (`Guests` of `portcullis_engine`). So this function waits once. After
    /// that, the call may block its own thread, which is much cheaper than a change of threads for each operation.
    pub(super) async fn blocking(&mut self) -> WasiFilesystemCtxView<'_> {
        if !std::mem::replace(&mut self.files.has_left_client_thread, true) {
            tokio::task::yield_now().await;
        }
        self.wasi()
    }

    pub(super) fn node(&self, fd: &Resource<Descriptor>) -> FsResult<&Node> {
        Ok(self.files.nodes.get(&fd.rep()).ok_or(ErrorCode::BadDescriptor)?)
    }

    /// The target of a path beneath a descriptor.
    pub(super) fn target(&self, fd: &Resource<Descriptor>, path: &str) -> FsResult<Target> {
        Self::target_in(self.node(fd)?, Path::new(path))
    }

    /// The target of a path beneath a directory of the call.
    pub(super) fn target_in(node: &Node, relative: &Path) -> FsResult<Target> {
        let parts = u32::try_from(relative.components().count()).unwrap_or(u32::MAX);
        let (reached, opened_for) = reach(&node.reach, relative)?;
        Ok(Target {
            path: node.path.join(relative).components().collect(),
            origin: if reached.is_some() { node.origin } else { Origin::Beside },
            opened_for,
            depth: node.depth.saturating_add(parts),
            invalid: why_invalid(relative),
            reached,
        })
    }

    /// Asks the judge for one use of a target.
    pub(super) fn ask(&self, target: &Target, access: Access) -> FsResult<Permit> {
        let wanted = wanted(target, access);
        if let Some((why, code)) = target.invalid {
            self.files.judge.refuse(wanted, why);
            return Err(code.into());
        }
        let permit = Permit::ask(&*self.files.judge, wanted);
        permit.ok_or_else(|| {
            if target.reached.is_some() && target.opened_for < access {
                ErrorCode::ReadOnly.into()
            } else {
                ErrorCode::NotPermitted.into()
            }
        })
    }

    /// Records the refusal of an operation that no guest may use, such as creating a link.
    pub(super) fn refuse(&self, fd: &Resource<Descriptor>, path: &str, why: &'static str) {
        if let Ok(target) = self.target(fd, path) {
            self.files.judge.refuse(wanted(&target, Access::Write), why);
        }
    }

    /// A target beneath the descriptor's directory, with a permit.
    pub(super) fn permitted_target(
        &self,
        fd: &Resource<Descriptor>,
        path: &str,
        access: Access,
    ) -> FsResult<(Target, Permit)> {
        let target = self.target(fd, path)?;
        let permit = self.ask(&target, access)?;
        match target.reached {
            Some(ReachedEntry::Beneath) => Ok((target, permit)),
            // The operations that use this function must not remove, rename or replace a designated file. Only its
            // contents can change.
            Some(ReachedEntry::File(_) | ReachedEntry::Itself) | None => {
                Ok(permit.record(Err(ErrorCode::NotPermitted.into()))?)
            }
        }
    }

    /// A target whose metadata may be read without a permit.
    pub(super) fn target_to_inspect(
        &self,
        fd: &Resource<Descriptor>,
        path: &str,
    ) -> FsResult<Target> {
        let target = self.target(fd, path)?;
        if target.reached.is_none() || target.invalid.is_some() {
            let permit = self.ask(&target, Access::Read)?;
            return Ok(permit.record(Err(ErrorCode::NotPermitted.into()))?);
        }
        Ok(target)
    }

    /// Records a refusal, if reading metadata failed because the path leads out of its directory or is protected.
    pub(super) fn record_escape<T>(&self, target: &Target, result: FsResult<T>) -> FsResult<T> {
        if let Err(error) = &result
            && matches!(error.downcast_ref(), Some(ErrorCode::NotPermitted))
        {
            self.files.judge.refuse(wanted(target, Access::Read), "not-permitted");
        }
        result
    }

    /// Checks that the entries of a directory may be listed.
    pub(super) fn listable(&self, fd: &Resource<Descriptor>) -> FsResult<()> {
        if self.node(fd)?.reach.all.is_some() {
            return Ok(());
        }
        let permit = self.ask_for_open_entry(fd, Access::Read)?;
        Ok(permit.record(Err(ErrorCode::NotPermitted.into()))?)
    }

    /// Asks the judge for one use of the file or directory that is open as `fd`.
    pub(super) fn ask_for_open_entry(
        &self,
        fd: &Resource<Descriptor>,
        access: Access,
    ) -> FsResult<Permit> {
        let node = self.node(fd)?;
        // If only single entries of a directory are designated, the directory itself counts as beside them.
        let (origin, reached) = match node.reach.all {
            Some(_) => (node.origin, Some(ReachedEntry::Itself)),
            None => (Origin::Beside, None),
        };
        let target = Target {
            path: node.path.clone(),
            origin,
            opened_for: node.reach.all.unwrap_or(Access::Read),
            depth: node.depth,
            invalid: None,
            reached,
        };
        self.ask(&target, access)
    }

    pub(super) fn push(
        &mut self,
        descriptor: Descriptor,
        node: Node,
    ) -> FsResult<Resource<Descriptor>> {
        let fd = self.table.push(descriptor)?;
        self.files.nodes.insert(fd.rep(), node);
        Ok(fd)
    }

    pub(super) fn dir(&self, fd: &Resource<Descriptor>) -> FsResult<Arc<std::fs::File>> {
        match self.table.get(fd)? {
            Descriptor::Dir(dir) => Ok(dir.dir.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// Opens a target. `only_directory`: the target must be a directory.
    pub(super) async fn open(
        &mut self,
        permit: Permit,
        fd: &Resource<Descriptor>,
        path: String,
        target: &Target,
        how: OpenHow,
        only_directory: bool,
    ) -> Result<(Opened, Guard), FileFailure> {
        let opened = self.open_unrecorded(fd, path, target, how).await;
        permit.record(opened.and_then(|(opened, guard)| match opened {
            Opened::File(_) if only_directory => Err(ErrorCode::NotDirectory.into()),
            Opened::Directory(_) if how.write => Err(ErrorCode::IsDirectory.into()),
            Opened::Special => Err(ErrorCode::NotPermitted.into()),
            Opened::File(_) | Opened::Directory(_) => Ok((opened, guard)),
        }))
    }

    /// The part of [`Self::open`] before the outcome is recorded.
    async fn open_unrecorded(
        &mut self,
        fd: &Resource<Descriptor>,
        path: String,
        target: &Target,
        how: OpenHow,
    ) -> Result<(Opened, Guard), FileFailure> {
        self.blocking().await;
        let guard = self.node(fd)?.guard.clone();
        match &target.reached {
            Some(ReachedEntry::File(None)) => Err(ErrorCode::NoEntry.into()),
            Some(ReachedEntry::File(Some(_))) if how.exclusive => Err(ErrorCode::Exist.into()),
            Some(ReachedEntry::File(Some(file))) => {
                let file = file.try_clone().map_err(|error| FileFailure::from(&error))?;
                if how.truncate {
                    file.set_len(0).map_err(|error| FileFailure::from(&error))?;
                }
                Ok((Opened::File(file), guard))
            }
            Some(ReachedEntry::Beneath | ReachedEntry::Itself) => {
                let dir = self.dir(fd)?;
                if how.create {
                    let handle = dir.try_clone().map_err(|error| FileFailure::from(&error))?;
                    if Dir::from_std_file(handle).symlink_metadata(&path).is_err() {
                        let place = self.place(fd, &path, !how.nofollow, Access::Write).await?;
                        self.take_quota_of_new_entry(fd, place.as_ref(), target)?;
                    }
                }
                let opened = guard.open(&dir, Path::new(&path), how);
                opened.map_err(|error| FileFailure::from(&error))
            }
            None => Err(ErrorCode::NotPermitted.into()),
        }
    }

    /// Limits writing to a stream by the quota.
    pub(super) fn meter(
        &mut self,
        stream: Resource<DynOutputStream>,
        position: u64,
    ) -> FsResult<Resource<DynOutputStream>> {
        let inner = self.table.delete(stream)?;
        let quota = self.files.quota.clone();
        let metered: DynOutputStream = Box::new(Metered { inner, quota, position });
        Ok(self.table.push(metered)?)
    }
}

fn wanted(target: &Target, access: Access) -> FileUse {
    FileUse {
        path: target.path.clone(),
        access,
        origin: target.origin,
        opened_for: target.opened_for,
    }
}

/// Why a path is invalid in every directory: the reason in a word for the record, and the guest's error code.
fn why_invalid(path: &Path) -> Option<(&'static str, ErrorCode)> {
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Some(("malformed", ErrorCode::Invalid));
    }
    let is_long = |part: Component<'_>| part.as_os_str().len() > MAX_NAME_BYTES;
    if path.as_os_str().len() > MAX_PATH_BYTES || path.components().any(is_long) {
        return Some(("name-too-long", ErrorCode::NameTooLong));
    }
    if portcullis_roots::refused_name(path).is_some() {
        return Some(("malformed", ErrorCode::Invalid));
    }
    // Whether a later `..` leads out depends on links, and is checked when the path is opened.
    match path.components().find(|part| !matches!(part, Component::CurDir))? {
        Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
            Some(("leads-out", ErrorCode::NotPermitted))
        }
        Component::CurDir | Component::Normal(_) => None,
    }
}

/// The target of a relative path in a directory with these rules, and the access to the target.
fn reach(reach: &AccessRules, path: &Path) -> FsResult<(Option<ReachedEntry>, Access)> {
    let mut parts = path.components().filter(|part| !matches!(part, Component::CurDir));
    let first = parts.next();
    let rest: Vec<_> = parts.collect();
    for entry in &reach.names {
        if first != Some(Component::Normal(entry.name.as_ref())) {
            continue;
        }
        return Ok(match &entry.what {
            AccessibleEntry::File(file) if rest.is_empty() => {
                let file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let file = file.as_ref().map(std::fs::File::try_clone).transpose();
                let file = file.map_err(|error| ErrorCode::from(&error))?;
                (Some(ReachedEntry::File(file)), entry.access)
            }
            // A path with `..` would lead to the entries beside this entry.
            AccessibleEntry::Create
                if rest.iter().all(|part| matches!(part, Component::Normal(_))) =>
            {
                (Some(ReachedEntry::Beneath), entry.access)
            }
            AccessibleEntry::File(_) | AccessibleEntry::Create => (None, Access::Read),
        });
    }
    Ok(match (reach.all, first) {
        (Some(access), _) => (Some(ReachedEntry::Beneath), access),
        // Guests read the metadata of the directory before they open a file in it.
        (None, None) => (Some(ReachedEntry::Itself), Access::Read),
        (None, Some(_)) => (None, Access::Read),
    })
}
