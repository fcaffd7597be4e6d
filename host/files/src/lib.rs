//! A `wasi:filesystem` whose every use of a path is put to a judge, with quotas on what is written.
//!
//! A guest finds the directories that it is given ([`Preopen`]), each as a whole or with single
//! entries only. What it opens, makes, changes or removes there is asked for first ([`Judge`]),
//! opened from the handle of its directory, and taken from the [`Quota`]. Links are never made.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

mod changes;
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
pub use preopen::Preopen;
use preopen::Reach;
pub use quota::Quota;
pub use view::{FilesData, FilesView};

/// Says what may be done with which file, and keeps a record of it. It is asked anew each time, also about
/// what the guest cannot reach.
pub trait Judge: Send + Sync + 'static {
    /// Judges one use of a file. A refusal (`None`) is on record when this returns, and so is a use that
    /// changes something ([`Access::Write`]). Where [`FileUse::origin`] is [`Origin::Beside`], no file is used
    /// whatever the answer.
    fn permit(&self, wanted: FileUse) -> Option<Box<dyn FilePermit>>;

    /// Records the refusal of a use that no grant can allow, with the reason in a word.
    fn refuse(&self, wanted: FileUse, why: &'static str);
}

/// Proof that a judge allowed one use of a file.
pub trait FilePermit: Send {
    /// Records the outcome, before the guest has anything of it. Without a record (`false`) the guest gets
    /// nothing.
    fn record(self: Box<Self>, outcome: Outcome) -> bool;
}

/// Outcome of one use of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The file was used.
    Done,
    /// The use was allowed, and failed for this reason.
    Failed(&'static str),
    /// The use was refused after all, for this reason: such as a link that leads out of its directory.
    Refused(&'static str),
}

/// To read, or to write as well.
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

/// One file or directory that a guest would open, make, change or remove.
#[derive(Debug)]
pub struct FileUse {
    /// Its absolute path, as the guest spells it.
    pub path: PathBuf,
    /// To do what.
    pub access: Access,
    /// Because of what.
    pub origin: Origin,
    /// What the directory was opened for.
    pub opened_for: Access,
}

/// By what right a directory is open to a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An argument of the call names it.
    Argument,
    /// It is one of the session's roots.
    Root,
    /// The operator names it.
    Directory,
    /// Nothing does: it lies beside what an argument names.
    Beside,
}

/// The files of one call.
pub struct Files {
    judge: Box<dyn Judge>,
    preopens: Vec<(File, Node)>,
    nodes: HashMap<u32, Node>,
    quota: Arc<Quota>,
    ctx: WasiFilesystemCtx,
    /// Whether the call has left the thread that speaks with clients.
    apart: bool,
}

impl Files {
    /// The directories that one call has, and how much it may write in them.
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
            apart: false,
        }
    }

    /// A directory of the call, or one beneath, opened for a program that is confined to it; and what
    /// may be done there. `None`: the call has no such directory, or not the whole of it, or files of
    /// the host itself lie beneath, which nothing would keep from the program.
    pub fn directory(&self, path: &Path) -> Option<(File, Access)> {
        let around = |(_, node): &&(File, Node)| path.starts_with(&node.path);
        let whole = self.preopens.iter().filter(|(_, node)| node.reach.all.is_some());
        let (handle, node) =
            whole.filter(around).max_by_key(|(_, node)| node.path.components().count())?;
        let rest = path.strip_prefix(&node.path).ok()?;
        let access = node.reach.all?;
        let (handle, guard) = match rest.as_os_str().is_empty() {
            true => (handle.try_clone().ok()?, node.guard.clone()),
            false => match node.guard.open(handle, rest, OpenHow::default()).ok()? {
                (Opened::Directory(handle), guard) => (handle, guard),
                (Opened::File(_) | Opened::Special, _) => return None,
            },
        };
        let may = !guard.must_stay_closed_to_programs(access == Access::Write);
        may.then_some((handle, access))
    }
}

/// What a descriptor of the guest stands for.
#[derive(Clone)]
struct Node {
    path: PathBuf,
    reach: Arc<Reach>,
    /// What is closed beneath it.
    guard: Guard,
    origin: Origin,
    /// How many directories below the preopened one.
    depth: u32,
}

#[cfg(test)]
mod tests;
