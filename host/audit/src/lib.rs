//! The audit: records of each call and each ask, with verdict and outcome, as JSON lines chained by SHA-256.
//!
//! Each process appends to segments of its own in one folder, without waiting for other processes. A segment is a
//! file in which each line carries the digest of the line before. An index, written by a thread of its own, lists
//! the segments, so that [`verify`] finds lines and files that were changed, removed or cut off. In a call with
//! very many asks, each of the first asks has a record of its own, and the other asks are counted. The index keeps
//! the counts and denials of deleted files, so that no flood of records hides a denial.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at the files"))]

mod capability_use;
mod chain;
#[cfg(unix)]
mod copies;
mod disk;
mod entry;
mod folder;
mod follow;
mod hash;
mod index;
mod index_entry;
mod limits;
mod log_service;
mod maintenance;
mod programs;
mod query;
mod record;
mod redact;
mod segments;
mod summary;
mod trail;
mod usage;
mod verify;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

pub use capability_use::{CapabilityUse, CapabilityUses};
pub use chain::{BrokenLink, FlawKind, Line, Parsed, parse};
pub use entry::Entry;
pub use folder::{read_records, read_with_usage, usage, usage_and_dropped};
pub use follow::Follower;
pub use hash::Hash;
pub use index_entry::{
    Archive, DeletedRecords, IndexEntry, IndexState, IndexedSegment, SegmentEnd,
};
pub use limits::Limits;
pub use log_service::LogService;
pub use query::{InvalidTime, Query, Selection, parse_time, select};
pub use record::{
    Counted, Event, FORMAT, PreviousSegment, Record, SegmentHeader, SegmentSeal, Verdict,
};
pub use redact::{is_secret_name, without_secrets};
pub use trail::{CallIdentity, MAX_SINGLE_RECORDS, OngoingCall, Recorded, Trail};
pub use usage::{Denial, PluginUse, Usage};
pub use verify::{Ending, Fault, Report, SegmentReport, verify, was_last};

use disk::{CreateSegmentFile, create_segment_file};
use redact::bounded;
pub use writer::now;
use writer::{Destination, Writer};

/// Writes all records of this process. Cheap to clone.
#[derive(Clone)]
pub struct Audit(Arc<Shared>);

struct Shared {
    destination: Destination,
    sink: Mutex<Sink>,
}

#[derive(Default)]
struct Sink {
    writer: Writer,
    /// The records since [`Audit::keep_records`] as JSON.
    kept: Option<Vec<String>>,
    watchers: Vec<Watcher>,
}

/// A function that is called with every record.
type Watcher = Box<dyn Fn(&Record) + Send>;

/// An approval to record.
#[derive(Debug, Clone, Copy)]
pub struct Approval<'a> {
    /// The plugin or upstream server.
    pub source: &'a str,
    /// The digest that is approved.
    pub digest: &'a str,
    /// The digest that was approved before. `None`: no digest was approved.
    pub before: Option<&'a str>,
    /// The name of the operating system's user.
    pub user: &'a str,
    /// Why it is approved. A long text is shortened in the record.
    pub reason: &'a str,
}

impl Audit {
    /// An audit in this folder. The folder is created with the first record.
    pub fn to_folder(folder: PathBuf) -> Self {
        Self::with(folder, Limits::default())
    }

    /// As [`Audit::to_folder`], with other limits.
    pub fn with(folder: PathBuf, limits: Limits) -> Self {
        Self::with_files(folder, limits, create_segment_file)
    }

    fn with_files(folder: PathBuf, limits: Limits, create: CreateSegmentFile) -> Self {
        let destination = Destination { folder, limits, create, started: now() };
        Self(Arc::new(Shared { destination, sink: Mutex::default() }))
    }

    /// Keeps every record also in memory from now on, for [`Audit::kept_records`].
    pub fn keep_records(&self) {
        self.sink().kept.get_or_insert_default();
    }

    /// The records since [`Audit::keep_records`], as JSON, without the fields of the chain.
    pub fn kept_records(&self) -> Vec<String> {
        self.sink().kept.clone().unwrap_or_default()
    }

    /// Calls `watcher` with every record from now on, after the record is written. `watcher` must not block.
    /// [`end`](Self::end) drops `watcher`.
    pub fn watch(&self, watcher: impl Fn(&Record) + Send + 'static) {
        self.sink().watchers.push(Box::new(watcher));
    }

    /// Sends a copy of every record from now on to a log service of the system.
    ///
    /// # Errors
    ///
    /// The socket or the thread for the copies cannot be made, or the operating system has no such service, as on
    /// Windows. It is no error if the service is not running.
    pub fn copy_to(&self, service: LogService) -> io::Result<()> {
        #[cfg(unix)]
        {
            let copies = copies::Copies::start(service, service.socket())?;
            self.watch(move |record| copies.send(record));
            Ok(())
        }
        #[cfg(not(unix))]
        {
            let why = format!("this system has no log service {service:?}");
            Err(io::Error::new(io::ErrorKind::Unsupported, why))
        }
    }

    /// Records that a component, or the tools of an upstream server, were approved.
    ///
    /// # Errors
    ///
    /// The record cannot be written.
    pub fn record_approval(&self, approval: &Approval<'_>) -> io::Result<()> {
        let Approval { source, digest, before, user, reason } = *approval;
        self.write(&Record {
            time: now(),
            request: String::new(),
            plugin: source.to_owned(),
            digest: digest.to_owned(),
            tool: String::new(),
            principal: None,
            event: Event::Approval {
                before: before.map(ToOwned::to_owned),
                user: bounded(user).into_owned(),
                reason: bounded(reason).into_owned(),
            },
        })
    }

    /// The folder of the audit.
    pub fn folder(&self) -> &Path {
        &self.0.destination.folder
    }

    /// Seals the last segment of this process. Nothing can be recorded afterwards. Waits for the index at most
    /// [`Limits::index_wait`], and for the last copies one second.
    ///
    /// # Errors
    ///
    /// The seal cannot be written. Earlier records are not affected.
    pub fn end(&self) -> io::Result<()> {
        let maintenance = self.sink().writer.end(&self.0.destination)?;
        let watchers = std::mem::take(&mut self.sink().watchers);
        // Dropping the copies to a log service waits for the last copies. No lock is held meanwhile.
        drop(watchers);
        if maintenance.is_some_and(|thread| !thread.finish(self.0.destination.limits.index_wait)) {
            tracing::debug!("the next process will update the index of the audit");
        }
        Ok(())
    }

    fn sink(&self) -> MutexGuard<'_, Sink> {
        self.0.sink.lock()
    }

    fn ready(&self) -> io::Result<()> {
        self.sink().writer.ready(&self.0.destination)
    }

    fn write(&self, record: &Record) -> io::Result<()> {
        let mut sink = self.sink();
        sink.writer.append(&self.0.destination, record)?;
        if let Some(kept) = &mut sink.kept {
            kept.push(serde_json::to_string(record).map_err(io::Error::other)?);
        }
        for watcher in &sink.watchers {
            watcher(record);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
