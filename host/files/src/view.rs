//! A guest's use of its files: each path is checked against what its descriptor reaches. Every use except reading
//! metadata of a reachable path needs a permit of the judge, too.

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
use super::preopen::{Reach, What};
use super::quota::Metered;
use super::{Access, FileUse, Files, Node, Origin};

/// wasmtime-wasi may block the thread of the guest for operations on open files: see [`FilesView::apart`].
pub(super) const AT_ONCE: bool = true;

/// How the linker finds the files of a call.
pub struct FilesData;

impl HasData for FilesData {
    type Data<'a> = FilesView<'a>;
}

/// The files of a call together with the table of its resources.
pub struct FilesView<'a> {
    pub(super) files: &'a mut Files,
    pub(super) table: &'a mut wasmtime_wasi::ResourceTable,
}

/// Most bytes of a file's name, and of a path. Longer ones are refused on every system.
const MAX_NAME: usize = 255;
const MAX_PATH: usize = 4096;

/// What a path beneath a descriptor leads to.
pub(super) struct Target {
    pub path: PathBuf,
    origin: Origin,
    opened_for: Access,
    pub depth: u32,
    /// Why it can lie beneath no directory, in a word for the record, and what the guest is told.
    astray: Option<(&'static str, ErrorCode)>,
    /// `None`: the descriptor does not reach it.
    pub reached: Option<Reached>,
}

pub(super) enum Reached {
    /// Something beneath the directory.
    Beneath,
    /// The directory itself, of which not all is open: to be looked at only.
    Itself,
    /// The designated file; `None`: there is none.
    File(Option<std::fs::File>),
}

impl Target {
    /// What a descriptor of this target stands for, beneath which this is closed.
    pub(super) fn node(self, of: &Node, guard: Guard) -> Node {
        let reach = match self.reached {
            Some(Reached::Itself) => of.reach.clone(),
            Some(Reached::Beneath | Reached::File(_)) | None => Reach::all(self.opened_for),
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
    /// A view for the duration of one import.
    pub fn new(files: &'a mut Files, table: &'a mut wasmtime_wasi::ResourceTable) -> Self {
        Self { files, table }
    }

    /// wasmtime-wasi's own implementation, for what has been judged.
    pub(super) fn wasi(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView { ctx: &mut self.files.ctx, table: self.table }
    }

    /// The same, for what may have to wait for a disk. A call begins on the thread that speaks with clients,
    /// and leaves it when it first has to wait (`Guests` of `portcullis_engine`): so it waits, once. From then
    /// on it may as well block its thread, which costs less by far than another thread for each use of a file.
    pub(super) async fn apart(&mut self) -> WasiFilesystemCtxView<'_> {
        if !std::mem::replace(&mut self.files.apart, true) {
            tokio::task::yield_now().await;
        }
        self.wasi()
    }

    pub(super) fn node(&self, fd: &Resource<Descriptor>) -> FsResult<&Node> {
        Ok(self.files.nodes.get(&fd.rep()).ok_or(ErrorCode::BadDescriptor)?)
    }

    /// What a path beneath a descriptor leads to, if the descriptor reaches it.
    pub(super) fn target(&self, fd: &Resource<Descriptor>, path: &str) -> FsResult<Target> {
        Self::target_in(self.node(fd)?, Path::new(path))
    }

    /// What a path beneath a directory of the call leads to, if the call reaches it.
    pub(super) fn target_in(node: &Node, relative: &Path) -> FsResult<Target> {
        let parts = u32::try_from(relative.components().count()).unwrap_or(u32::MAX);
        let (reached, opened_for) = reach(&node.reach, relative)?;
        Ok(Target {
            path: node.path.join(relative).components().collect(),
            origin: if reached.is_some() { node.origin } else { Origin::Beside },
            opened_for,
            depth: node.depth.saturating_add(parts),
            astray: astray(relative),
            reached,
        })
    }

    /// Asks the judge for one use of a target.
    pub(super) fn ask(&self, target: &Target, access: Access) -> FsResult<Permit> {
        let wanted = wanted(target, access);
        if let Some((why, code)) = target.astray {
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

    /// Records a refusal of what no guest may do, such as to make a link.
    pub(super) fn refuse(&self, fd: &Resource<Descriptor>, path: &str, why: &'static str) {
        if let Ok(target) = self.target(fd, path) {
            self.files.judge.refuse(wanted(&target, Access::Write), why);
        }
    }

    /// A target that lies in a directory of ours, asked for.
    pub(super) fn may(
        &self,
        fd: &Resource<Descriptor>,
        path: &str,
        access: Access,
    ) -> FsResult<(Target, Permit)> {
        let target = self.target(fd, path)?;
        let permit = self.ask(&target, access)?;
        match target.reached {
            Some(Reached::Beneath) => Ok((target, permit)),
            // A designated file cannot be removed, renamed or replaced: only its contents are.
            Some(Reached::File(_) | Reached::Itself) | None => {
                Ok(permit.record(Err(ErrorCode::NotPermitted.into()))?)
            }
        }
    }

    /// A target whose metadata may be looked at without asking.
    pub(super) fn visible(&self, fd: &Resource<Descriptor>, path: &str) -> FsResult<Target> {
        let target = self.target(fd, path)?;
        if target.reached.is_none() || target.astray.is_some() {
            let permit = self.ask(&target, Access::Read)?;
            return Ok(permit.record(Err(ErrorCode::NotPermitted.into()))?);
        }
        Ok(target)
    }

    /// Records that a path whose metadata was to be looked at led out of its directory.
    pub(super) fn looked<T>(&self, target: &Target, result: FsResult<T>) -> FsResult<T> {
        if let Err(error) = &result
            && matches!(error.downcast_ref(), Some(ErrorCode::NotPermitted))
        {
            self.files.judge.refuse(wanted(target, Access::Read), "not-permitted");
        }
        result
    }

    /// A directory whose names may be listed.
    pub(super) fn listable(&self, fd: &Resource<Descriptor>) -> FsResult<()> {
        let node = self.node(fd)?;
        if node.reach.all.is_some() {
            return Ok(());
        }
        let target = Target {
            path: node.path.clone(),
            origin: Origin::Beside,
            opened_for: Access::Read,
            depth: node.depth,
            astray: None,
            reached: None,
        };
        let permit = self.ask(&target, Access::Read)?;
        Ok(permit.record(Err(ErrorCode::NotPermitted.into()))?)
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

    /// Opens a target. `only_directory`: nothing else is wanted.
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
        self.apart().await;
        let guard = self.node(fd)?.guard.clone();
        match &target.reached {
            Some(Reached::File(None)) => Err(ErrorCode::NoEntry.into()),
            Some(Reached::File(Some(_))) if how.exclusive => Err(ErrorCode::Exist.into()),
            Some(Reached::File(Some(file))) => {
                let file = file.try_clone().map_err(|error| FileFailure::from(&error))?;
                if how.truncate {
                    file.set_len(0).map_err(|error| FileFailure::from(&error))?;
                }
                Ok((Opened::File(file), guard))
            }
            Some(Reached::Beneath | Reached::Itself) => {
                let dir = self.dir(fd)?;
                if how.create {
                    let handle = dir.try_clone().map_err(|error| FileFailure::from(&error))?;
                    if Dir::from_std_file(handle).symlink_metadata(&path).is_err() {
                        let place = self.place(fd, &path, !how.nofollow, Access::Write).await?;
                        self.may_make(fd, place.as_ref(), target)?;
                    }
                }
                let opened = guard.open(&dir, Path::new(&path), how);
                opened.map_err(|error| FileFailure::from(&error))
            }
            None => Err(ErrorCode::NotPermitted.into()),
        }
    }

    /// Has what is written to a stream taken from the quota.
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

/// Why a path can lie beneath no directory: in a word for the record, and as the guest is told.
fn astray(path: &Path) -> Option<(&'static str, ErrorCode)> {
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Some(("malformed", ErrorCode::Invalid));
    }
    let is_long = |part: Component<'_>| part.as_os_str().len() > MAX_NAME;
    if path.as_os_str().len() > MAX_PATH || path.components().any(is_long) {
        return Some(("name-too-long", ErrorCode::NameTooLong));
    }
    // Whether a way up further on leads out depends on links, which is seen when it is opened.
    match path.components().find(|part| !matches!(part, Component::CurDir))? {
        Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
            Some(("leads-out", ErrorCode::NotPermitted))
        }
        Component::CurDir | Component::Normal(_) => None,
    }
}

/// What a relative path leads to in a directory of which this much is reached.
fn reach(reach: &Reach, path: &Path) -> FsResult<(Option<Reached>, Access)> {
    let mut parts = path.components().filter(|part| !matches!(part, Component::CurDir));
    let first = parts.next();
    let rest: Vec<_> = parts.collect();
    for entry in &reach.names {
        if first != Some(Component::Normal(entry.name.as_ref())) {
            continue;
        }
        return Ok(match &entry.what {
            What::File(file) if rest.is_empty() => {
                let file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let file = file.as_ref().map(std::fs::File::try_clone).transpose();
                let file = file.map_err(|error| ErrorCode::from(&error))?;
                (Some(Reached::File(file)), entry.access)
            }
            // Without a way up: that would lead to what lies beside it.
            What::Create if rest.iter().all(|part| matches!(part, Component::Normal(_))) => {
                (Some(Reached::Beneath), entry.access)
            }
            What::File(_) | What::Create => (None, Access::Read),
        });
    }
    Ok(match (reach.all, first) {
        (Some(access), _) => (Some(Reached::Beneath), access),
        // Any program looks at the directory of a file on its way.
        (None, None) => (Some(Reached::Itself), Access::Read),
        (None, Some(_)) => (None, Access::Read),
    })
}
