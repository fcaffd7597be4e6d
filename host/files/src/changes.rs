//! Several files created or replaced together: each path is judged, and all changes are made or none.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use cap_std::fs::Dir;
use portcullis_file_transaction::{Plan, Staged, TransactionError};
use portcullis_roots::{OpenHow, Opened};
use wasmtime_wasi::p2::FsError;

pub use portcullis_file_transaction::Expected;

use super::permit::Permit;
use super::preopen::What;
use super::view::{FilesView, Reached};
use super::{Access, Node};

/// One file that a guest would make or replace.
#[derive(Debug)]
pub struct Change {
    /// Its absolute path.
    pub path: PathBuf,
    /// What must be there before.
    pub expected: Expected,
    /// All of the new file.
    pub contents: Vec<u8>,
}

/// Why none of a guest's changes was made.
#[derive(Debug)]
pub enum ChangeError {
    /// The judge refused this path, or the call does not reach it.
    Denied(PathBuf),
    /// This limit of the call is reached.
    Quota(&'static str),
    /// What is there is in the way, or the disk failed.
    Failed(TransactionError),
}

impl From<TransactionError> for ChangeError {
    fn from(error: TransactionError) -> Self {
        Self::Failed(error)
    }
}

impl FilesView<'_> {
    /// Makes all of these changes, or none. `journals` is the host's folder for journals of what has
    /// begun; `is_cancelled` is asked until the changes take effect.
    ///
    /// # Errors
    ///
    /// See [`ChangeError`]. Then everything is as it was.
    pub async fn change(
        &mut self,
        changes: Vec<Change>,
        journals: &Path,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), ChangeError> {
        let mut permits = Vec::with_capacity(changes.len());
        match self.stage(changes, journals, is_cancelled, &mut permits).await {
            Ok((staged, designated)) => {
                commit(permits, staged)?;
                designated.iter().for_each(|(index, name)| self.reopen(*index, name));
                Ok(())
            }
            Err(error) => {
                permits.into_iter().for_each(Permit::record_not_made);
                Err(error)
            }
        }
    }

    /// Writes all of the new files beside their places. `permits` gets one permit for each. Answers what takes
    /// effect at once, and which of the files are designated ones.
    async fn stage(
        &mut self,
        changes: Vec<Change>,
        journals: &Path,
        is_cancelled: &(dyn Fn() -> bool + Sync),
        permits: &mut Vec<Permit>,
    ) -> Result<(Staged, Vec<(usize, PathBuf)>), ChangeError> {
        let mut designated = Vec::new();
        let mut placed = Vec::with_capacity(changes.len());
        for Change { path, expected, contents } in changes {
            let (index, relative, is_designated) =
                self.admit(&path, contents.len() as u64, permits)?;
            let (handle, node) = &self.files.preopens[index];
            let base = handle.try_clone().map_err(|error| cannot("open", &node.path, error))?;
            let base = Arc::new(Dir::from_std_file(base));
            if is_designated {
                designated.push((index, relative.clone()));
            }
            let base_path = node.path.clone();
            let path = relative;
            let guard = node.guard.clone();
            let change = portcullis_file_transaction::Change {
                base,
                guard,
                base_path,
                path,
                expected,
                contents,
            };
            placed.push(change);
        }
        self.blocking().await;
        // What an earlier process left is finished first: it may be in the way.
        for remark in portcullis_file_transaction::recover(journals) {
            tracing::warn!("{remark}");
        }
        let plan = Plan::new(placed)?;
        if (0..plan.new_directories()).any(|_| !self.files.quota.take_entry()) {
            return Err(ChangeError::Quota("file-entries"));
        }
        let staged = plan.stage(journals, is_cancelled)?;
        // A call that was ended meanwhile ends here, and leaves nothing.
        tokio::task::yield_now().await;
        if is_cancelled() {
            return Err(TransactionError::Cancelled.into());
        }
        Ok((staged, designated))
    }

    /// The directory of the call that a path is in, its path there, and whether it is a single designated
    /// file; asked for, and taken from the quota.
    fn admit(
        &self,
        path: &Path,
        bytes: u64,
        permits: &mut Vec<Permit>,
    ) -> Result<(usize, PathBuf, bool), ChangeError> {
        let denied = || ChangeError::Denied(path.to_owned());
        let around = |(_, (_, node)): &(usize, &(File, Node))| path.starts_with(&node.path);
        let preopens = self.files.preopens.iter().enumerate().filter(around);
        let (index, (_, node)) = preopens
            .max_by_key(|(_, (_, node))| node.path.components().count())
            .ok_or_else(denied)?;
        let relative = path.strip_prefix(&node.path).map_err(|_| denied())?.to_owned();
        let failed = |error: FsError| match error.downcast() {
            Ok(code) => cannot("write", path, std::io::Error::other(format!("{code:?}"))),
            Err(_) => denied(),
        };
        let target = Self::target_in(node, &relative).map_err(failed)?;
        permits.push(self.ask(&target, Access::Write).map_err(|_: FsError| denied())?);
        let is_designated = match target.reached {
            Some(Reached::Beneath) => false,
            Some(Reached::File(_)) => true,
            Some(Reached::Itself) | None => return Err(denied()),
        };
        let quota = &self.files.quota;
        if !quota.allows_depth(target.depth) {
            return Err(ChangeError::Quota("file-depth"));
        }
        // One that is replaced counts as well: it takes as much work.
        if !quota.take_entry() {
            return Err(ChangeError::Quota("file-entries"));
        }
        if !quota.allows_size(Some(bytes)) {
            return Err(ChangeError::Quota("file-bytes"));
        }
        if !quota.take_bytes(bytes) {
            return Err(ChangeError::Quota("file-write-bytes"));
        }
        Ok((index, relative, is_designated))
    }

    /// From now on the guest finds the new file where a designated one was replaced.
    fn reopen(&self, index: usize, name: &Path) {
        let (handle, node) = &self.files.preopens[index];
        let how = OpenHow { write: true, nofollow: true, ..OpenHow::default() };
        let Ok((Opened::File(new), _)) = node.guard.open(handle, name, how) else { return };
        let is_it = |entry: &&super::preopen::Name| Path::new(&entry.name) == name;
        if let Some(What::File(file)) = node.reach.names.iter().find(is_it).map(|entry| &entry.what)
        {
            *file.lock().unwrap_or_else(PoisonError::into_inner) = Some(new);
        }
    }
}

/// Makes all of the changes take effect. There is one permit for each.
fn commit(permits: Vec<Permit>, staged: Staged) -> Result<(), ChangeError> {
    let made = staged.commit();
    for permit in permits {
        match &made {
            Ok(()) => permit.record_made(),
            Err(_) => permit.record_not_made(),
        }
    }
    Ok(made?)
}

fn cannot(action: &'static str, path: &Path, cause: std::io::Error) -> ChangeError {
    ChangeError::Failed(TransactionError::Disk { action, path: path.to_owned(), cause })
}
