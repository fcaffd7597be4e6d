//! The segment that a process writes: its file, its chain, and its end.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use crate::chain::{Chain, Hash};
use crate::index::{End, file_of};
use crate::keeper::{Job, Keeper};
use crate::record::{After, FORMAT, Opened, Sealed};

/// How large what is kept becomes.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Size at which a process begins another segment, in bytes.
    pub segment: u64,
    /// Size of all files together, in bytes: beyond it, the oldest are dropped.
    pub total: u64,
    /// Ended segments below this size are put together in archives, in bytes.
    pub small: u64,
    /// So many of them are needed for that.
    pub many: usize,
    /// Size at which the index is begun anew, in bytes.
    pub index: u64,
    /// How long a file is left alone after it was last written, when the process that writes it is
    /// not known to live.
    pub settle: Duration,
    /// How long the end of a process waits for the index.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            segment: 16 * 1024 * 1024,
            total: 128 * 1024 * 1024,
            small: 1024 * 1024,
            many: 64,
            index: 512 * 1024,
            settle: Duration::from_secs(2),
            patience: Duration::from_secs(2),
        }
    }
}

/// A file that lines are added to.
pub(crate) trait Medium: Send {
    /// Adds some bytes, or the first of them.
    fn add(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file to this size.
    fn cut(&mut self, size: u64) -> io::Result<()>;
    /// Whether it still has a name.
    fn is_there(&self) -> bool;
}

impl Medium for File {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }

    #[cfg(unix)]
    fn is_there(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        self.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
    }

    #[cfg(not(unix))]
    fn is_there(&self) -> bool {
        true
    }
}

/// Makes a file, which must not be there yet.
pub(crate) type Maker = fn(&Path) -> io::Result<Box<dyn Medium>>;

/// Makes a file on disk for its owner alone, and holds a lock on it for as long as this process lives:
/// so others know that it does.
pub(crate) fn on_disk(path: &Path) -> io::Result<Box<dyn Medium>> {
    let mut options = OpenOptions::new();
    options.create_new(true).append(true);
    for_owner(&mut options);
    let file = options.open(path)?;
    // Elsewhere, a lock keeps others from reading.
    #[cfg(unix)]
    if let Err(error) = file.try_lock() {
        tracing::debug!("the audit's segment is not locked: {error}");
    }
    Ok(Box::new(file))
}

/// Where files are made, they are for their owner alone.
pub(crate) fn for_owner(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Now, as records say it.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// What does not change while a process lives.
pub(crate) struct Place {
    pub folder: PathBuf,
    pub limits: Limits,
    pub make: Maker,
    pub started: String,
}

/// A segment that is being written.
struct Segment {
    name: String,
    medium: Box<dyn Medium>,
    first: Hash,
    chain: Chain,
    /// Size of its whole lines.
    bytes: u64,
    /// Whether there may be a piece of a line behind them.
    torn: bool,
    /// When it was last looked whether the file still has its name.
    looked: Instant,
}

impl Segment {
    /// Adds a line, or nothing.
    fn add(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.medium.cut(self.bytes)?;
            self.torn = false;
        }
        if let Err(error) = self.medium.add(line) {
            self.torn = self.medium.cut(self.bytes).is_err();
            return Err(error);
        }
        self.chain.wrote(line);
        self.bytes += line.len() as u64;
        Ok(())
    }
}

/// Writes segments, one after the other.
#[derive(Default)]
pub(crate) struct Writer {
    segment: Option<Segment>,
    /// The segment before.
    after: Option<After>,
    ended: bool,
    line: Vec<u8>,
    keeper: Option<Keeper>,
}

/// How many segments this process has begun.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// How often it is looked whether the file still has its name.
const LOOK: Duration = Duration::from_secs(1);

impl Writer {
    /// Sees to it that there is a segment to write to.
    ///
    /// # Errors
    ///
    /// Where there cannot be one.
    pub fn ready(&mut self, place: &Place) -> io::Result<()> {
        if self.ended {
            return Err(io::Error::other("the audit of this process is sealed: the process ends"));
        }
        if let Some(segment) = &mut self.segment
            && segment.looked.elapsed() >= LOOK
        {
            segment.looked = Instant::now();
            if !segment.medium.is_there() {
                tracing::error!(
                    "somebody removed the audit's file {}: its records are lost",
                    place.folder.join(file_of(&segment.name)).display()
                );
                self.leave();
            }
        }
        if self.segment.is_none() {
            let segment = self.begin(place).map_err(|error| {
                let folder = place.folder.display();
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
            self.tell(place, job);
        }
        Ok(())
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// Where it cannot be written: it is then not in the file, not even in part.
    pub fn add(&mut self, place: &Place, record: &impl Serialize) -> io::Result<()> {
        loop {
            self.ready(place)?;
            let segment = self.segment.as_mut().expect("it is ready");
            segment.chain.link(record, &mut self.line)?;
            // Room is left for the last line. A first record is written whatever its size.
            let full = segment.bytes + self.line.len() as u64 > place.limits.segment;
            if full && segment.chain.next > 1 {
                self.seal(place, "full")?;
                continue;
            }
            return segment.add(&self.line);
        }
    }

    /// Ends the segment as it should be.
    fn seal(&mut self, place: &Place, reason: &str) -> io::Result<()> {
        let Some(segment) = &mut self.segment else { return Ok(()) };
        let lines = segment.chain.next;
        let last =
            Tagged { event: "sealed", body: Sealed { time: now(), lines, reason: reason.into() } };
        segment.chain.link(&last, &mut self.line)?;
        segment.add(&self.line)?;
        let (first, name) = (segment.first, segment.name.clone());
        let end = End { lines: lines + 1, last: segment.chain.last, sealed: true };
        self.leave();
        self.tell(place, Job::Ended { segment: name, first, end });
        Ok(())
    }

    /// Goes on without the segment.
    fn leave(&mut self) {
        if let Some(Segment { name, chain, .. }) = self.segment.take() {
            self.after = Some(After { segment: name, last: chain.last });
        }
    }

    /// Ends for good. Answers what tells when the index knows of it.
    ///
    /// # Errors
    ///
    /// Where the last line cannot be written.
    pub fn end(&mut self, place: &Place) -> io::Result<Option<Keeper>> {
        self.ended = true;
        self.seal(place, "ended")?;
        Ok(self.keeper.take())
    }

    fn tell(&mut self, place: &Place, job: Job) {
        if self.keeper.is_none() {
            match Keeper::start(place.folder.clone(), place.limits.clone()) {
                Ok(keeper) => self.keeper = Some(keeper),
                Err(error) => tracing::warn!("the index of the audit is not kept: {error}"),
            }
        }
        if let Some(keeper) = &self.keeper {
            let jobs: &Sender<Job> = keeper.jobs();
            if jobs.send(job).is_err() {
                tracing::warn!("the index of the audit is not kept any more");
            }
        }
    }

    fn begin(&mut self, place: &Place) -> io::Result<Segment> {
        make_folder(&place.folder)?;
        let pid = std::process::id();
        let time = now();
        let stamp = time.replace(['-', ':'], "");
        let (name, mut medium) = loop {
            // Unlike any before, also one that is in an archive by now.
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{stamp}-{pid}-{number}");
            match (place.make)(&place.folder.join(file_of(&name))) {
                Ok(medium) => break (name, medium),
                // Another process of this number, in another container.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let opened = Opened {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            time,
            segment: name.clone(),
            pid,
            started: place.started.clone(),
            after: self.after.clone(),
        };
        let mut chain = Chain::default();
        chain.link(&Tagged { event: "opened", body: opened }, &mut self.line)?;
        if let Err(error) = medium.add(&self.line) {
            drop(medium);
            remove(&place.folder.join(file_of(&name)));
            return Err(error);
        }
        chain.wrote(&self.line);
        let bytes = self.line.len() as u64;
        let first = chain.last;
        Ok(Segment { name, medium, first, chain, bytes, torn: false, looked: Instant::now() })
    }
}

#[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::debug!("{}: {error}", path.display());
    }
}

/// A line that says of itself what it is.
#[derive(Serialize)]
struct Tagged<T> {
    event: &'static str,
    #[serde(flatten)]
    body: T,
}

/// Makes a folder for its owner alone.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
