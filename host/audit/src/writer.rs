//! Writes the segments of this process, one after the other.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use crate::chain::Chain;
use crate::disk::{CreateSegmentFile, SegmentFile, create_folder, exists, remove};
use crate::hash::Hash;
use crate::index::{INDEX, Index};
use crate::index_entry::{SegmentEnd, file_name};
use crate::limits::Limits;
use crate::maintenance::{Job, Maintenance};
use crate::record::{FORMAT, PreviousSegment, SegmentHeader, SegmentSeal};

/// The current time in the form of records: RFC 3339, UTC, with milliseconds.
pub fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// The folder and the limits of the segments of this process, the function that creates their files, and the time at
/// which the process began its audit.
pub(crate) struct Destination {
    pub folder: PathBuf,
    pub limits: Limits,
    pub create: CreateSegmentFile,
    pub started: String,
}

/// A segment that is being written.
struct Segment {
    name: String,
    file: Box<dyn SegmentFile>,
    first: Hash,
    chain: Chain,
    /// Size in bytes of the complete lines.
    bytes: u64,
    /// Whether an incomplete line may follow the complete lines.
    is_torn: bool,
    /// When [`SegmentFile::exists`] was last checked.
    checked: Instant,
}

impl Segment {
    /// Appends a line. After an error, an incomplete line is removed now or by the next append.
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.file.truncate(self.bytes)?;
            self.is_torn = false;
        }
        if let Err(error) = self.file.append(line) {
            self.is_torn = self.file.truncate(self.bytes).is_err();
            return Err(error);
        }
        self.chain.advance(line);
        self.bytes += line.len() as u64;
        Ok(())
    }
}

/// Writes the segments of this process.
#[derive(Default)]
pub(crate) struct Writer {
    segment: Option<Segment>,
    /// The segment before the current segment.
    previous: Option<PreviousSegment>,
    is_ended: bool,
    /// A buffer for one line.
    line: Vec<u8>,
    maintenance: Option<Maintenance>,
}

/// The number in the next segment name that this process tries.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// How long a process that creates the index waits for its lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// How often the writer checks that its file still exists.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl Writer {
    /// Begins a segment if none is open.
    ///
    /// # Errors
    ///
    /// No segment can be created, or [`Writer::end`] was called.
    pub fn ready(&mut self, destination: &Destination) -> io::Result<()> {
        if self.is_ended {
            return Err(io::Error::other(
                "the audit of this process is sealed, as the process ends",
            ));
        }
        if let Some(segment) = &mut self.segment
            && segment.checked.elapsed() >= FILE_CHECK_INTERVAL
        {
            segment.checked = Instant::now();
            if !segment.file.exists() {
                tracing::error!(
                    "the audit's file {} was deleted by another program: its records are lost",
                    destination.folder.join(file_name(&segment.name)).display()
                );
                self.close();
            }
        }
        if self.segment.is_none() {
            let segment = self.begin(destination).map_err(|error| {
                let folder = destination.folder.display();
                io::Error::new(
                    error.kind(),
                    format!(
                        "writing to {folder}: {error}; to keep the audit elsewhere, set \
                         `audit-dir` in the section [host] of portcullis.toml"
                    ),
                )
            })?;
            let job = Job::Opened { segment: segment.name.clone(), first: segment.first };
            self.segment = Some(segment);
            self.send(destination, job);
        }
        Ok(())
    }

    /// Appends a record.
    ///
    /// # Errors
    ///
    /// The record cannot be written. The file may then end with an incomplete line, which the next append
    /// removes.
    pub fn append(&mut self, destination: &Destination, record: &impl Serialize) -> io::Result<()> {
        loop {
            self.ready(destination)?;
            let segment = self.segment.as_mut().expect("a segment was just begun");
            segment.chain.link(record, &mut self.line)?;
            // The seal may make the segment larger than its limit. The first record may do so, too, because it would
            // not fit into another segment either.
            let is_full = segment.bytes + self.line.len() as u64 > destination.limits.segment;
            if is_full && segment.chain.next > 1 {
                self.seal(destination, "full")?;
                continue;
            }
            return segment.append(&self.line);
        }
    }

    /// Writes the last line of the segment and closes it.
    fn seal(&mut self, destination: &Destination, reason: &str) -> io::Result<()> {
        let Some(segment) = &mut self.segment else { return Ok(()) };
        let lines = segment.chain.next;
        let last = Tagged {
            event: "sealed",
            body: SegmentSeal { time: now(), lines, reason: reason.into() },
        };
        segment.chain.link(&last, &mut self.line)?;
        segment.append(&self.line)?;
        let (first, name) = (segment.first, segment.name.clone());
        let end = SegmentEnd { lines: lines + 1, last: segment.chain.last, sealed: true };
        self.close();
        self.send(destination, Job::Ended { segment: name, first, end });
        Ok(())
    }

    /// Closes the segment. Writes no seal.
    fn close(&mut self) {
        if let Some(Segment { name, chain, .. }) = self.segment.take() {
            self.previous = Some(PreviousSegment { segment: name, last: chain.last });
        }
    }

    /// Seals the segment, and writes nothing from now on. Returns the thread that still updates the index. `None`:
    /// there is no thread.
    ///
    /// # Errors
    ///
    /// The seal cannot be written.
    pub fn end(&mut self, destination: &Destination) -> io::Result<Option<Maintenance>> {
        self.is_ended = true;
        self.seal(destination, "ended")?;
        Ok(self.maintenance.take())
    }

    fn send(&mut self, destination: &Destination, job: Job) {
        if self.maintenance.is_none() {
            match Maintenance::start(destination.folder.clone(), destination.limits.clone()) {
                Ok(maintenance) => self.maintenance = Some(maintenance),
                Err(error) => tracing::warn!("the index of the audit is not updated: {error}"),
            }
        }
        if let Some(maintenance) = &self.maintenance {
            let jobs: &Sender<Job> = maintenance.jobs();
            if jobs.send(job).is_err() {
                tracing::warn!("the index of the audit is no longer updated");
            }
        }
    }

    fn begin(&mut self, destination: &Destination) -> io::Result<Segment> {
        create_folder(&destination.folder)?;
        create_index(&destination.folder);
        let pid = std::process::id();
        let time = now();
        let stamp = time.replace(['-', ':'], "");
        let (name, mut file) = loop {
            // The name differs from those of all earlier segments, archived ones included.
            let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{stamp}-{pid}-{number}");
            match (destination.create)(&destination.folder.join(file_name(&name))) {
                Ok(file) => break (name, file),
                // A process in another container may have the same process id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let opened = SegmentHeader {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            time,
            segment: name.clone(),
            pid,
            started: destination.started.clone(),
            after: self.previous.clone(),
        };
        let mut chain = Chain::default();
        chain.link(&Tagged { event: "opened", body: opened }, &mut self.line)?;
        if let Err(error) = file.append(&self.line) {
            drop(file);
            remove(&destination.folder.join(file_name(&name)));
            return Err(error);
        }
        chain.advance(&self.line);
        let bytes = self.line.len() as u64;
        let first = chain.last;
        Ok(Segment { name, file, first, chain, bytes, is_torn: false, checked: Instant::now() })
    }
}

/// Creates the index if the folder has none. This function is called before each segment is created. Therefore, if
/// segments exist without an index, the index was removed, or could not be created.
fn create_index(folder: &Path) {
    if exists(&folder.join(INDEX)) {
        return;
    }
    if let Err(error) = Index::open(folder, LOCK_TIMEOUT) {
        tracing::warn!("cannot create the index of the audit in {}: {error}", folder.display());
    }
}

/// A line with its kind in the field `event`.
#[derive(Serialize)]
struct Tagged<T> {
    event: &'static str,
    #[serde(flatten)]
    body: T,
}
