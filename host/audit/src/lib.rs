//! What was asked, by whom, allowed or not, and what came of it: JSON lines, chained by SHA-256.
//!
//! Each process writes segments of its own into one folder, without a lock: a segment is a file whose
//! lines carry the digest of the line before. An index, written beside the work, says which segments
//! there are, so that [`verify`] finds what was changed, removed or cut off. A call that asks for very
//! much has its first asks described and the rest counted, and files that are dropped for space leave
//! their counts and denials in the index: no flood pushes them out.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at the files"))]

mod chain;
mod folder;
mod index;
mod keeper;
mod pieces;
mod record;
mod trail;
mod usage;
mod verify;
mod words;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

pub use chain::{Flaw, Hash, Line, Parsed, Wrong, parse};
pub use folder::{read_records, usage};
pub use index::{Archive, End, Known, Note, State};
pub use record::{After, Counted, Entry, Event, FORMAT, Opened, Record, Sealed, Verdict};
pub use trail::{DESCRIBED, OngoingCall, Recorded, Subject, Trail};
pub use usage::{Denial, PluginUse, Usage};
pub use verify::{Ending, Fault, Found, Report, verify};
pub use words::{is_secret_name, without_secrets};
pub use writer::Limits;

use words::bounded;
use writer::{Maker, Place, Writer, now, on_disk};

/// Where all records of this process go. Cheap to clone.
#[derive(Clone)]
pub struct Audit(Arc<Shared>);

struct Shared {
    place: Place,
    sink: Mutex<Sink>,
}

#[derive(Default)]
struct Sink {
    writer: Writer,
    /// Records kept for whoever asked to see the trail of this process.
    kept: Option<Vec<String>>,
    watchers: Vec<Watcher>,
}

/// Told of every record.
type Watcher = Box<dyn Fn(&Record) + Send>;

impl Audit {
    /// An audit in this folder, which is created with the first record.
    pub fn to_folder(folder: PathBuf) -> Self {
        Self::with(folder, Limits::default())
    }

    /// As [`Audit::to_folder`], with other limits.
    pub fn with(folder: PathBuf, limits: Limits) -> Self {
        Self::made_by(folder, limits, on_disk)
    }

    fn made_by(folder: PathBuf, limits: Limits, make: Maker) -> Self {
        let place = Place { folder, limits, make, started: now() };
        Self(Arc::new(Shared { place, sink: Mutex::default() }))
    }

    /// Also keeps every record in memory from now on, for [`Audit::kept`].
    pub fn keep_records(&self) {
        self.sink().kept.get_or_insert_default();
    }

    /// The records since [`Audit::keep`], as JSON, without what chains them.
    pub fn kept_records(&self) -> Vec<String> {
        self.sink().kept.clone().unwrap_or_default()
    }

    /// Tells `watcher` of every record from now on, once it is written. It must not block.
    pub fn watch(&self, watcher: impl Fn(&Record) + Send + 'static) {
        self.sink().watchers.push(Box::new(watcher));
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0.place.folder
    }

    /// Seals the segment of this process: the process ends, and nothing can be recorded any more. Waits
    /// for the index, at most [`Limits::patience`].
    ///
    /// # Errors
    ///
    /// Where the last line cannot be written. The records before it are there all the same.
    pub fn end(&self) -> io::Result<()> {
        let keeper = self.sink().writer.end(&self.0.place)?;
        if keeper.is_some_and(|keeper| !keeper.finish(self.0.place.limits.patience)) {
            tracing::debug!("the index of the audit will be kept by the next process");
        }
        Ok(())
    }

    fn sink(&self) -> MutexGuard<'_, Sink> {
        self.0.sink.lock()
    }

    fn ready(&self) -> io::Result<()> {
        self.sink().writer.ready(&self.0.place)
    }

    fn write(&self, record: &Record) -> io::Result<()> {
        let mut sink = self.sink();
        sink.writer.add(&self.0.place, record)?;
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
