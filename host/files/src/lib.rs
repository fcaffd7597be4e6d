//! `wasi:filesystem` for guests, with a judge of each use of a file and quotas for writing.
//!
//! A guest gets directories ([`Preopen`]), each as a whole or with single entries only. The [`Judge`] is asked before a
//! guest opens, creates, changes or removes a file in these directories. Files are opened relative to the handle of
//! their directory. Writing is limited by a [`Quota`]. Guests cannot create links.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

mod changes;
mod concurrent;
mod descriptors;
mod file_failure;
mod permit;
mod place;
mod preopen;
mod quota;
mod view;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_roots::{Guard, OpenHow, Opened};
use schemars::JsonSchema;
use serde::Deserialize;
use wasmtime_wasi::filesystem::WasiFilesystemCtx;

pub use changes::{Change, ChangeError, Expected};
use preopen::AccessRules;
pub use preopen::Preopen;
pub use quota::Quota;
pub use view::{FilesData, FilesView};

/// Decides which uses of files are allowed, and records them. The judge is asked for each use, also for files that the
/// guest cannot access.
pub trait Judge: Send + Sync + 'static {
    /// Judges one use of a file. `None`: the use is refused. Refusals, and uses that change something
    /// ([`Access::Write`]), are recorded before this function returns. If [`FileUse::origin`] is
    /// [`Origin::Beside`], the use is refused even if this function returns a permit.
    fn permit(&self, wanted: FileUse) -> Option<Box<dyn FilePermit>>;

    /// Records the refusal of a use that no grant can allow. `why` is the reason in a word.
    fn refuse(&self, wanted: FileUse, why: &'static str);
}

/// Proof that a judge allowed one use of a file.
pub trait FilePermit: Send {
    /// Records the outcome, before the guest gets the result. `false`: the outcome cannot be recorded, and the guest
    /// must not get the result.
    fn record(self: Box<Self>, outcome: Outcome) -> bool;
}

/// Outcome of one use of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The file was used.
    Done,
    /// The use was allowed, and failed for this reason.
    Failed(&'static str),
    /// The use was allowed and then refused for this reason, such as a link that leads out of its directory.
    Refused(&'static str),
}

/// Access to a file: reading, or reading and writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Reading of contents, names and metadata.
    Read,
    /// Reading, and changing, creating and removing.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// One use of a file or directory: a guest asks to open, create, change or remove it.
#[derive(Debug)]
pub struct FileUse {
    /// The absolute path. Links and `..` in it are not resolved.
    pub path: PathBuf,
    /// The access that the guest asks for.
    pub access: Access,
    /// Why the guest has access to the directory of the file.
    pub origin: Origin,
    /// The access for which the directory or the designated entry was opened.
    pub opened_for: Access,
}

/// Why a directory is open to a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An argument of the call names the directory, or an entry of it.
    Argument,
    /// The directory is one of the session's roots.
    Root,
    /// The operator names the directory.
    Directory,
    /// The guest has no access: it asks for a file beside a designated entry, for the list of the entries of the
    /// directory, or to change the times of the directory.
    Beside,
}

/// The files of one round of a call.
pub struct Files {
    judge: Box<dyn Judge>,
    preopens: Vec<(File, Node)>,
    nodes: HashMap<u32, Node>,
    quota: Arc<Quota>,
    ctx: WasiFilesystemCtx,
    /// Whether the guest has moved from the thread that serves clients to a thread that may block.
    has_left_client_thread: bool,
    /// Whether the guest has asked for its directories.
    are_directories_known: bool,
}

impl Files {
    /// The files of one round of a call: the directories, and the quota.
    pub fn new(judge: impl Judge, preopens: Vec<Preopen>, quota: Quota) -> Self {
        let preopens = preopens.into_iter().map(|preopen| {
            let Preopen { directory, handle, guard, reach, origin } = preopen;
            (handle, Node { path: directory, reach: Arc::new(reach), guard, origin, depth: 0 })
        });
        Self {
            judge: Box::new(judge),
            preopens: preopens.collect(),
            nodes: HashMap::new(),
            quota: Arc::new(quota),
            ctx: WasiFilesystemCtx::default(),
            has_left_client_thread: false,
            are_directories_known: false,
        }
    }

    /// Whether the guest has asked for its directories. It may ask once only, and keep the answer.
    pub fn are_directories_known(&self) -> bool {
        self.are_directories_known
    }

    /// Opens a directory of the call, or a directory beneath it, to confine a program to the opened directory. Returns
    /// the handle and the access. `None`: the call does not have the whole directory, the directory cannot be opened,
    /// or files of the host beneath it must be kept from the program.
    pub fn directory(&self, path: &Path) -> Option<(File, Access)> {
        let contains = |(_, node): &&(File, Node)| path.starts_with(&node.path);
        let whole = self.preopens.iter().filter(|(_, node)| node.reach.all.is_some());
        let (handle, node) =
            whole.filter(contains).max_by_key(|(_, node)| node.path.components().count())?;
        let rest = path.strip_prefix(&node.path).ok()?;
        let access = node.reach.all?;
        let not_opened = |error: &std::io::Error| {
            tracing::debug!("the directory {} cannot be opened: {error}", path.display());
        };
        let (handle, guard) = match rest.as_os_str().is_empty() {
            true => (handle.try_clone().inspect_err(not_opened).ok()?, node.guard.clone()),
            false => {
                let opened = node.guard.open(handle, rest, OpenHow::default());
                match opened.inspect_err(not_opened).ok()? {
                    (Opened::Directory(handle), guard) => (handle, guard),
                    (Opened::File(_) | Opened::Special, _) => return None,
                }
            }
        };
        let is_allowed = !guard.must_stay_closed_to_programs(access == Access::Write);
        is_allowed.then_some((handle, access))
    }
}

/// The data of a guest's descriptor.
#[derive(Clone)]
struct Node {
    path: PathBuf,
    reach: Arc<AccessRules>,
    /// Refuses files of the host and of the kernel beneath the path.
    guard: Guard,
    origin: Origin,
    /// The number of names in the path below the preopened directory, when the descriptor was opened.
    depth: u32,
}

#[cfg(test)]
mod tests;
