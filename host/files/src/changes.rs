//! Creates or replaces several files together. The judge is asked for each path, and either all changes are made or
//! none.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use cap_std::fs::Dir;
use portcullis_file_transaction::{Plan, Staged, TransactionError};
use portcullis_roots::{OpenHow, Opened};
use wasmtime_wasi::p2::FsError;

pub use portcullis_file_transaction::Expected;

use super::Access;
use super::permit::Permit;
use super::preopen::AccessibleEntry;
use super::view::{FilesView, ReachedEntry};

/// One file that a guest creates or replaces.
#[derive(Debug)]
pub struct Change {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// What must be at the path before the change.
    pub expected: Expected,
    /// The whole content of the new file.
    pub contents: Vec<u8>,
}

/// Why a guest's changes failed.
#[derive(Debug)]
pub enum ChangeError {
    /// The judge refused this path, or the call has no access to it.
    Denied(PathBuf),
    /// This limit is reached.
    Quota(&'static str),
    /// The transaction failed.
    Failed(TransactionError),
}

impl From<TransactionError> for ChangeError {
    fn from(error: TransactionError) -> Self {
        Self::Failed(error)
    }
}

impl FilesView<'_> {
    /// Makes all of these changes, or none. `journals` is the host's folder for journals of changes that have
    /// begun. `is_cancelled` is called until the changes take effect.
    ///
    /// # Errors
    ///
    /// See [`ChangeError`]. The files are then as before, except after `TransactionError::NotUndone`.
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

    /// Writes all new files under hidden names. Adds one permit for each file to `permits`.
    /// Returns the staged changes, and an entry for each change of a designated file: the index of its preopened
    /// directory, and its name.
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
        // Changes that an earlier process did not finish may concern the same files, so they are completed or undone
        // first.
        for remark in portcullis_file_transaction::recover(journals) {
            tracing::warn!("{remark}");
        }
        let plan = Plan::new(placed)?;
        if (0..plan.new_directories()).any(|_| !self.files.quota.take_entry()) {
            return Err(ChangeError::Quota("file-entries"));
        }
        let staged = plan.stage(journals, is_cancelled)?;
        // A call that was cancelled in the meantime ends here. Dropping `staged` removes the files with hidden names.
        tokio::task::yield_now().await;
        if is_cancelled() {
            return Err(TransactionError::Cancelled.into());
        }
        Ok((staged, designated))
    }

    /// Asks the judge for one change, and takes the change from the quota. Returns the index of the call's directory
    /// that the path is in, the path relative to the directory, and whether the path is a single designated file.
    fn admit(
        &self,
        path: &Path,
        bytes: u64,
        permits: &mut Vec<Permit>,
    ) -> Result<(usize, PathBuf, bool), ChangeError> {
        let denied = || ChangeError::Denied(path.to_owned());
        let preopens = self.files.preopens.iter().enumerate();
        let containing = preopens.filter_map(|(index, (_, node))| {
            path.strip_prefix(&node.path).ok().map(|relative| (index, node, relative))
        });
        // The innermost directory is the one with the shortest relative path.
        let (index, node, relative) = containing
            .min_by_key(|(_, _, relative)| relative.components().count())
            .ok_or_else(denied)?;
        let relative = relative.to_owned();
        let target = Self::target_in(node, &relative).map_err(|error| unavailable(path, error))?;
        permits.push(self.ask(&target, Access::Write).map_err(|_: FsError| denied())?);
        let is_designated = match target.reached {
            Some(ReachedEntry::Beneath) => false,
            Some(ReachedEntry::File(_)) => true,
            Some(ReachedEntry::Itself) | None => return Err(denied()),
        };
        let quota = &self.files.quota;
        if !quota.allows_depth(target.depth) {
            return Err(ChangeError::Quota("file-depth"));
        }
        // A replaced file counts like a new file, because it takes as much work.
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

    /// Opens a designated file that was replaced, so that later operations of the guest use the new file.
    fn reopen(&self, index: usize, name: &Path) {
        let (handle, node) = &self.files.preopens[index];
        let how = OpenHow { write: true, nofollow: true, ..OpenHow::default() };
        let new = match node.guard.open(handle, name, how) {
            Ok((Opened::File(new), _)) => new,
            Ok((Opened::Directory(_) | Opened::Special, _)) => return,
            Err(error) => {
                let path = node.path.join(name);
                tracing::warn!("cannot open the new file {}: {error}", path.display());
                return;
            }
        };
        let has_name = |entry: &&super::preopen::Name| Path::new(&entry.name) == name;
        if let Some(AccessibleEntry::File(file)) =
            node.reach.names.iter().find(has_name).map(|entry| &entry.what)
        {
            *file.lock().unwrap_or_else(PoisonError::into_inner) = Some(new);
        }
    }
}

/// Makes all of the changes take effect. There is one permit for each change.
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

/// The error for a path that cannot be looked up. Its cause is a WASI error code, or the text of a trap.
fn unavailable(path: &Path, error: FsError) -> ChangeError {
    let cause = match error.downcast() {
        Ok(code) => io::Error::other(code),
        Err(trap) => io::Error::other(trap.to_string()),
    };
    cannot("write", path, cause)
}

fn cannot(action: &'static str, path: &Path, cause: io::Error) -> ChangeError {
    ChangeError::Failed(TransactionError::Disk { action, path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

    use super::*;

    #[test]
    fn a_path_that_cannot_be_looked_up_keeps_its_cause() {
        let error = unavailable(Path::new("/a"), ErrorCode::FileTooLarge.into());
        let ChangeError::Failed(error @ TransactionError::Disk { .. }) = error else {
            panic!("{error:?}")
        };
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        let code = cause.and_then(io::Error::get_ref).and_then(|code| code.downcast_ref());
        assert_eq!(code, Some(&ErrorCode::FileTooLarge));
    }
}
