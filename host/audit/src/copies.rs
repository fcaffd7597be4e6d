//! Sends a copy of each record to the log service of the system: journald or syslog.
//!
//! The folder of the audit stays the evidence: copies are not chained, and the log service may lose or cut them. A call
//! never waits for a copy. Records that the service does not take in time are counted, and the next copy says how many.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::LogService;
use crate::record::Record;

/// The number of records that wait for the log service. Further records are only counted.
const MAX_WAITING: usize = 4096;

/// How long one copy may take. If the service takes longer, the copy counts as missing, and the next record is sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// How long dropping [`Copies`] waits for the last copies.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// The name under which the log service lists the records.
const IDENTIFIER: &str = "portcullis";

impl LogService {
    /// The socket of the service.
    pub(crate) fn socket(self) -> &'static Path {
        Path::new(match self {
            Self::Journald => "/run/systemd/journal/socket",
            Self::Syslog => "/dev/log",
        })
    }

    /// The datagram for a record.
    fn datagram(self, record: &Record, missing: u64) -> Vec<u8> {
        let json = record.json();
        let line = line(record, missing);
        // The priorities of syslog: 5 is a notice, 6 an information.
        let priority = if record.is_denied() || missing > 0 { 5 } else { 6 };
        match self {
            // JSON and the summary have no line breaks.
            Self::Journald => format!(
                "MESSAGE={line}\nPRIORITY={priority}\nSYSLOG_IDENTIFIER={IDENTIFIER}\n\
                 PORTCULLIS_RECORD={json}\nPORTCULLIS_MISSING={missing}\n"
            ),
            Self::Syslog => {
                const AUTHPRIV: u32 = 10;
                let before = if missing > 0 { format!("{line} ") } else { String::new() };
                let process = std::process::id();
                format!("<{}>{IDENTIFIER}[{process}]: {before}{json}", AUTHPRIV * 8 + priority)
            }
        }
        .into_bytes()
    }
}

/// The copies to one log service. Dropping this value waits for the last copies, for one second at most.
pub(crate) struct Copies {
    /// `None` only while this value is dropped.
    records: Option<SyncSender<Record>>,
    missing: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Copies {
    /// Starts the thread that sends copies to `socket`. The service need not run yet, and may be restarted.
    ///
    /// # Errors
    ///
    /// The thread or the socket cannot be made.
    pub(crate) fn start(service: LogService, socket: &Path) -> io::Result<Self> {
        let (records, waiting) = sync_channel(MAX_WAITING);
        let missing = Arc::new(AtomicU64::new(0));
        let sender = Sender {
            service,
            path: socket.to_owned(),
            socket: UnixDatagram::unbound()?,
            missing: missing.clone(),
            is_failing: false,
        };
        sender.socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        let thread = std::thread::Builder::new()
            .name("audit copies".into())
            .spawn(move || sender.run(&waiting))?;
        Ok(Self { records: Some(records), missing, thread })
    }

    /// Hands over a record, without waiting.
    pub(crate) fn send(&self, record: &Record) {
        let is_sent =
            self.records.as_ref().is_some_and(|records| records.try_send(record.clone()).is_ok());
        if !is_sent {
            self.missing.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // The thread ends when there are no more records.
        self.records = None;
        let until = Instant::now() + END_TIMEOUT;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The thread that sends copies.
struct Sender {
    service: LogService,
    path: PathBuf,
    socket: UnixDatagram,
    missing: Arc<AtomicU64>,
    /// Whether the last copy failed. A service that is not running is logged only once.
    is_failing: bool,
}

impl Sender {
    fn run(mut self, waiting: &Receiver<Record>) {
        while let Ok(record) = waiting.recv() {
            let missing = self.missing.swap(0, Ordering::Relaxed);
            let datagram = self.service.datagram(&record, missing);
            match self.socket.send_to(&datagram, &self.path) {
                Ok(_) => self.is_failing = false,
                Err(error) => {
                    self.missing.fetch_add(missing + 1, Ordering::Relaxed);
                    if !std::mem::replace(&mut self.is_failing, true) {
                        tracing::warn!(
                            "a copy of an audit record cannot be sent to {}: {error}; the record itself is in \
                             the audit",
                            self.path.display()
                        );
                    }
                }
            }
        }
    }
}

/// A record in one line for people. `missing`: how many records before it have no copy.
fn line(record: &Record, missing: u64) -> String {
    let summary = record.summary();
    match missing {
        0 => summary,
        missing => format!("{missing} records before this one have no copy; {summary}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;
    use crate::record::Event;
    use crate::{Approval, Audit};

    /// A folder, an audit in it whose records are copied to a log service, the path of the service's socket in the
    /// folder, and the number of missing copies.
    fn audited(service: LogService) -> (tempfile::TempDir, Audit, PathBuf, Arc<AtomicU64>) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let audit = Audit::to_folder(folder.path().join("audit"));
        let copies = Copies::start(service, &socket).unwrap();
        let missing = copies.missing.clone();
        audit.watch(move |record| copies.send(record));
        (folder, audit, socket, missing)
    }

    fn approve(audit: &Audit, reason: &str) {
        let (source, digest, user) = ("weather", "ab", "ada");
        let approval = Approval { source, digest, before: None, user, reason };
        audit.record_approval(&approval).unwrap();
    }

    fn received(socket: &UnixDatagram) -> String {
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut bytes = vec![0; 64 * 1024];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn the_journal_gets_fields() {
        let (_folder, audit, path, _) = audited(LogService::Journald);
        let service = UnixDatagram::bind(&path).unwrap();
        approve(&audit, "first\nuse");
        let fields = received(&service);
        let mut lines = fields.lines();
        assert_eq!(lines.next(), Some("MESSAGE=weather approved: first\u{fffd}use"));
        assert_eq!(lines.next(), Some("PRIORITY=6"));
        assert_eq!(lines.next(), Some("SYSLOG_IDENTIFIER=portcullis"));
        let record = lines.next().and_then(|line| line.strip_prefix("PORTCULLIS_RECORD="));
        let record: Record = serde_json::from_str(record.unwrap()).unwrap();
        assert!(matches!(record.event, Event::Approval { reason, .. } if reason == "first\nuse"));
        assert_eq!(lines.next(), Some("PORTCULLIS_MISSING=0"));
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn syslog_gets_one_line_with_the_record() {
        let (_folder, audit, path, _) = audited(LogService::Syslog);
        let service = UnixDatagram::bind(&path).unwrap();
        approve(&audit, "first use");
        let line = received(&service);
        let start = format!("<86>portcullis[{}]: {{\"time\":", std::process::id());
        assert!(line.starts_with(&start) && line.ends_with('}'), "{line}");
    }

    #[test]
    fn a_service_that_is_away_loses_copies_and_no_records_and_the_next_copy_counts_them() {
        let (_folder, audit, path, missing) = audited(LogService::Journald);
        for _ in 0..3 {
            approve(&audit, "away");
        }
        // The copies are sent by another thread.
        let began = Instant::now();
        let service = loop {
            if missing.load(Ordering::Relaxed) == 3 {
                break UnixDatagram::bind(&path).unwrap();
            }
            assert!(began.elapsed() < Duration::from_secs(20), "the copies were not tried");
            std::thread::sleep(Duration::from_millis(5));
        };
        approve(&audit, "back");
        let fields = received(&service);
        assert!(fields.contains("3 records before this one have no copy"), "{fields}");
        assert!(
            fields.contains("PRIORITY=5") && fields.contains("PORTCULLIS_MISSING=3"),
            "{fields}"
        );
        audit.end().unwrap();
        let mut records = 0;
        crate::read_records(audit.folder(), |_| records += 1).unwrap();
        assert_eq!(records, 4);
    }

    #[test]
    fn a_service_that_reads_nothing_delays_no_record_and_not_the_end() {
        let (_folder, audit, path, _) = audited(LogService::Syslog);
        let _deaf = UnixDatagram::bind(&path).unwrap();
        let began = Instant::now();
        for _ in 0..MAX_WAITING + 500 {
            approve(&audit, "unread");
        }
        audit.end().unwrap();
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        let mut records = 0;
        crate::read_records(audit.folder(), |_| records += 1).unwrap();
        assert_eq!(records, MAX_WAITING + 500);
    }
}
