//! What was asked, by whom, allowed or not: JSON lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Size at which the file is set aside as `NAME.1` and a new one begun, so that an audit never
/// fills a disk.
const ROTATE_BYTES: u64 = 32 * 1024 * 1024;

/// One line of the audit.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Record {
    /// RFC 3339, UTC.
    pub time: String,
    /// Correlates the lines of one request.
    pub request: String,
    /// Whose tool.
    pub plugin: String,
    /// SHA-256 of the component that ran.
    pub digest: String,
    /// Which tool; empty while a plugin is described.
    pub tool: String,
    /// Who asked, where the transport knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What a line of the audit is about.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A plugin asked the gate.
    Ask {
        /// For which capability.
        capability: String,
        /// To do what, to what.
        subject: String,
        /// Allowed or denied.
        verdict: Verdict,
    },
    /// A call ended.
    Call {
        /// Whether the call was let through to the plugin at all.
        verdict: Verdict,
        /// How it ended: `done`, `tool-error`, `need-input`, `cancelled`, or why it failed.
        outcome: String,
        /// Wall time in microseconds.
        duration_us: u64,
        /// Size of the arguments.
        bytes_in: u64,
        /// Size of the answer.
        bytes_out: u64,
    },
}

/// There are two, and no third.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It went ahead.
    Allowed,
    /// It did not.
    Denied,
}

impl Verdict {
    fn of(allowed: bool) -> Self {
        if allowed { Self::Allowed } else { Self::Denied }
    }
}

/// Where all records go. Cheap to clone.
#[derive(Clone)]
pub struct Audit(Arc<Shared>);

struct Shared {
    path: PathBuf,
    sink: Mutex<Sink>,
}

#[derive(Default)]
struct Sink {
    file: Option<File>,
    written: u64,
    /// Lines kept for whoever asked to see the trail of this process.
    kept: Option<Vec<String>>,
    watchers: Vec<Watcher>,
}

/// Told of every record.
type Watcher = Box<dyn Fn(&Record) + Send>;

impl Audit {
    /// An audit that appends to the file at `path`, which is created with the first record.
    pub fn to_file(path: PathBuf) -> Self {
        Self(Arc::new(Shared { path, sink: Mutex::default() }))
    }

    /// Also keeps every line in memory from now on, for [`Audit::kept`].
    pub fn keep(&self) {
        self.sink().kept.get_or_insert_default();
    }

    /// The lines since [`Audit::keep`].
    pub fn kept(&self) -> Vec<String> {
        self.sink().kept.clone().unwrap_or_default()
    }

    /// Tells `watcher` of every record from now on, once it is written. It must not block.
    pub fn watch(&self, watcher: impl Fn(&Record) + Send + 'static) {
        self.sink().watchers.push(Box::new(watcher));
    }

    /// Where the records go.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    fn sink(&self) -> parking_lot::MutexGuard<'_, Sink> {
        self.0.sink.lock()
    }

    fn write(&self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_string(record).map_err(io::Error::other)?;
        line.push('\n');
        let mut sink = self.sink();
        // One write per line: several processes append to one file.
        self.ready(&mut sink)?.write_all(line.as_bytes())?;
        sink.written += line.len() as u64;
        if let Some(kept) = &mut sink.kept {
            kept.push(line.trim_end().to_owned());
        }
        for watcher in &sink.watchers {
            watcher(record);
        }
        Ok(())
    }

    fn ready<'a>(&self, sink: &'a mut Sink) -> io::Result<&'a mut File> {
        if sink.written > ROTATE_BYTES {
            sink.file = None;
        }
        if sink.file.is_none() {
            let file = open(&self.0.path)?;
            sink.written = file.metadata()?.len();
            sink.file = Some(file);
        }
        Ok(sink.file.as_mut().expect("opened above"))
    }
}

#[expect(clippy::disallowed_methods, reason = "the audit's job is this file")]
fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > ROTATE_BYTES) {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".1");
        std::fs::rename(path, aside)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Reads the records of an audit file, oldest first, the file set aside before it included.
///
/// # Errors
///
/// Where a file that exists cannot be read. Lines that are not records are passed over: the file
/// may have been cut in the middle of one.
#[expect(clippy::disallowed_methods, reason = "the audit's job is this file")]
pub fn read(path: &Path) -> io::Result<Vec<Record>> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".1");
    let mut records = Vec::new();
    for path in [Path::new(&aside), path] {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                records.extend(text.lines().filter_map(|line| serde_json::from_str(line).ok()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(records)
}

/// Who is being served: what every record of one call has in common.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Correlation id of the request.
    pub request: String,
    /// The plugin's name.
    pub plugin: Arc<str>,
    /// SHA-256 of its component.
    pub digest: Arc<str>,
    /// The tool called.
    pub tool: String,
    /// Who asked.
    pub principal: Option<String>,
}

/// Writes the records of one call. Cheap to clone.
#[derive(Clone)]
pub struct Trail(Arc<(Audit, Subject)>);

impl Trail {
    /// A trail of one call.
    pub fn new(audit: Audit, subject: Subject) -> Self {
        Self(Arc::new((audit, subject)))
    }

    /// Whose call it is.
    pub fn plugin(&self) -> Arc<str> {
        self.0.1.plugin.clone()
    }

    /// The request's correlation id.
    pub fn request(&self) -> &str {
        &self.0.1.request
    }

    /// Records an ask.
    ///
    /// # Errors
    ///
    /// Where the record cannot be written: the ask must then be refused.
    pub fn asked(&self, capability: &str, subject: &str, allowed: bool) -> io::Result<()> {
        self.write(Event::Ask {
            capability: capability.to_owned(),
            subject: subject.to_owned(),
            verdict: Verdict::of(allowed),
        })
    }

    /// Begins the record of the call itself, written when the returned value goes.
    ///
    /// # Errors
    ///
    /// Where nothing could be recorded: the call must then be refused.
    pub fn begin(&self, bytes_in: u64) -> io::Result<Ongoing> {
        self.0.0.ready(&mut self.0.0.sink())?;
        Ok(Ongoing { trail: self.clone(), began: Instant::now(), bytes_in, end: None })
    }

    fn write(&self, event: Event) -> io::Result<()> {
        let (audit, subject) = &*self.0;
        audit.write(&Record {
            time: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            request: subject.request.clone(),
            plugin: subject.plugin.to_string(),
            digest: subject.digest.to_string(),
            tool: subject.tool.clone(),
            principal: subject.principal.clone(),
            event,
        })
    }
}

/// A call that has not ended yet. Dropped without [`Ongoing::end`], it was cancelled.
pub struct Ongoing {
    trail: Trail,
    began: Instant,
    bytes_in: u64,
    end: Option<(Verdict, String, u64)>,
}

impl Ongoing {
    /// Says how the call ended, and records it.
    pub fn end(mut self, verdict: Verdict, outcome: impl Into<String>, bytes_out: u64) {
        self.end = Some((verdict, outcome.into(), bytes_out));
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        let (verdict, outcome, bytes_out) =
            self.end.take().unwrap_or((Verdict::Allowed, "cancelled".into(), 0));
        let duration_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let event =
            Event::Call { verdict, outcome, duration_us, bytes_in: self.bytes_in, bytes_out };
        if let Err(error) = self.trail.write(event) {
            tracing::error!("the audit could not record the end of a call: {error}");
        }
    }
}
