//! Selects records: by time, source, host, capability, tool, request, verdict and findings.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::folder::read_records;
use crate::record::{Event, Record, Verdict};

/// Which records to select. An empty query selects all.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Not before this time: RFC 3339, UTC, with milliseconds, as [`Record::time`].
    pub since: Option<String>,
    /// Before this time.
    pub until: Option<String>,
    /// The plugin or upstream server.
    pub source: Option<String>,
    /// The host of a request or connection, with or without a port.
    pub host: Option<String>,
    /// The capability.
    pub capability: Option<String>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// The id of a request. The records of its inner calls are selected, too.
    pub request: Option<String>,
    /// Only denials.
    pub only_denied: bool,
    /// Only calls in whose results something was found.
    pub only_findings: bool,
}

/// The selected records.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// The latest records, the oldest first.
    pub records: Vec<Record>,
    /// The number of older records that were left out.
    pub left_out: u64,
}

/// The text is not a time and not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a time: write how long ago, such as 30m, 12h, 7d or 2w, or a date, such as 2026-11-20 or \
     2026-11-20T08:00:00Z (UTC)"
)]
pub struct InvalidTime(pub String);

/// Converts a text to a time in the form of [`Record::time`]. The text is a duration before `now`, such as `7d`, or
/// a date.
///
/// # Errors
///
/// [`InvalidTime`]: the text has neither form.
pub fn parse_time(text: &str, now: SystemTime) -> Result<String, InvalidTime> {
    let invalid = || InvalidTime(text.to_owned());
    let ago = |ago: Duration| now.checked_sub(ago);
    let time = match humantime::parse_duration(text) {
        Ok(duration) => ago(duration).ok_or_else(invalid)?,
        Err(_) => [text.to_owned(), format!("{text}T00:00:00Z"), format!("{text}Z")]
            .iter()
            .find_map(|text| humantime::parse_rfc3339(text).ok())
            .ok_or_else(invalid)?,
    };
    // Times before 1970 cannot be written in this form.
    let time = time.max(SystemTime::UNIX_EPOCH);
    Ok(humantime::format_rfc3339_millis(time).to_string())
}

impl Query {
    /// Whether the query selects a record.
    pub fn selects(&self, record: &Record) -> bool {
        let matches = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        let (capability, verdict) = match &record.event {
            Event::Ask { capability, verdict, .. }
            | Event::Outcome { capability, verdict, .. }
            | Event::More { capability, verdict, .. } => (capability.as_str(), Some(*verdict)),
            Event::Call { verdict, .. } => ("", Some(*verdict)),
            Event::Approval { .. } => ("", None),
        };
        self.since.as_deref().is_none_or(|since| record.time.as_str() >= since)
            && self.until.as_deref().is_none_or(|until| record.time.as_str() < until)
            && matches(&self.source, &record.plugin)
            && matches(&self.tool, &record.tool)
            && self.request.as_deref().is_none_or(|wanted| is_part_of(&record.request, wanted))
            && matches(&self.capability, capability)
            && (!self.only_denied || verdict == Some(Verdict::Denied))
            && (!self.only_findings || has_findings(&record.event))
            && self.host.as_deref().is_none_or(|host| has_host(&record.event, host))
    }
}

/// Whether a request is the wanted request, or one of its inner calls. The id of an inner call is the id of the
/// request, a full stop and a number.
fn is_part_of(request: &str, wanted: &str) -> bool {
    let rest = request.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a record is of a call in whose result something was found.
fn has_findings(event: &Event) -> bool {
    match event {
        Event::Call { findings, .. } => !findings.is_empty(),
        Event::Ask { .. } | Event::Outcome { .. } | Event::More { .. } | Event::Approval { .. } => {
            false
        }
    }
}

/// Whether the subject of a record names this host.
fn has_host(event: &Event, host: &str) -> bool {
    let subjects: [&str; 2] = match event {
        Event::Ask { subject, .. } | Event::Outcome { subject, .. } => [subject, ""],
        Event::More { first, last, .. } => [first, last],
        Event::Call { .. } | Event::Approval { .. } => return false,
    };
    let wanted = host.to_ascii_lowercase();
    let mut words = subjects.iter().flat_map(|subject| subject.split(' '));
    words.any(|word| {
        let authority = match word.split_once("://") {
            Some((_, rest)) => rest.split(['/', '?', '#']).next().unwrap_or_default(),
            None => word,
        };
        let name = match authority.rsplit_once(':') {
            // A colon is also part of an IPv6 address, which ends with a bracket or has no port.
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            Some(_) | None => authority,
        };
        let trim = |text: &str| text.trim_matches(['[', ']']).to_ascii_lowercase();
        authority.eq_ignore_ascii_case(&wanted) || trim(name) == trim(&wanted)
    })
}

/// A record, ordered by its time and then by its place in the audit.
struct Timed {
    record: Record,
    /// The place in the audit.
    number: u64,
}

impl Timed {
    fn key(&self) -> (&str, u64) {
        (&self.record.time, self.number)
    }
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Collects the latest records that a query selects, ordered by time. The files are not in this order, because
/// several processes write at the same time.
pub(crate) struct Latest<'a> {
    query: &'a Query,
    most: usize,
    kept: BinaryHeap<Reverse<Timed>>,
    seen: u64,
}

impl<'a> Latest<'a> {
    pub fn of(query: &'a Query, most: usize) -> Self {
        Self { query, most, kept: BinaryHeap::new(), seen: 0 }
    }

    pub fn add(&mut self, record: Record) {
        if !self.query.selects(&record) {
            return;
        }
        self.seen += 1;
        self.kept.push(Reverse(Timed { record, number: self.seen }));
        if self.kept.len() > self.most {
            self.kept.pop();
        }
    }

    pub fn finish(self) -> Selection {
        let left_out = self.seen - self.kept.len() as u64;
        let mut sorted = self.kept.into_sorted_vec();
        sorted.reverse();
        Selection {
            records: sorted.into_iter().map(|Reverse(timed)| timed.record).collect(),
            left_out,
        }
    }
}

/// The latest records of a folder that a query selects, at most `most`.
///
/// # Errors
///
/// A file that exists cannot be read.
pub fn select(folder: &Path, query: &Query, most: usize) -> io::Result<Selection> {
    let mut latest = Latest::of(query, most);
    read_records(folder, |record| latest.add(record))?;
    Ok(latest.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: &str, event: Event) -> Record {
        Record {
            time: time.into(),
            request: "r".into(),
            plugin: "p".into(),
            digest: String::new(),
            tool: "t".into(),
            principal: None,
            event,
        }
    }

    fn ask(subject: &str, verdict: Verdict) -> Event {
        let (capability, subject) = ("http".to_owned(), subject.to_owned());
        Event::Ask { capability, subject, verdict, outcome: None }
    }

    #[test]
    fn times_are_durations_or_dates() {
        let now = humantime::parse_rfc3339("2026-11-23T12:00:00Z").unwrap();
        for (text, expected) in [
            ("7d", "2026-11-16T12:00:00.000Z"),
            ("2w", "2026-11-09T12:00:00.000Z"),
            ("1h 30m", "2026-11-23T10:30:00.000Z"),
            ("45s", "2026-11-23T11:59:15.000Z"),
            ("2026-11-20", "2026-11-20T00:00:00.000Z"),
            ("2026-11-20T08:00:00Z", "2026-11-20T08:00:00.000Z"),
            ("2026-11-20T08:00:00.25", "2026-11-20T08:00:00.250Z"),
            ("100years", "1970-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(parse_time(text, now).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "yesterday", "7", "-1d", "2026-13-01", "99999999999999years"] {
            assert_eq!(parse_time(text, now), Err(InvalidTime(text.into())));
        }
    }

    #[test]
    fn each_condition_selects() {
        let denied =
            record("2026-11-20T00:00:00.000Z", ask("GET https://a.example/x", Verdict::Denied));
        let text = |text: &str| Some(text.to_owned());
        let fits = [
            Query::default(),
            Query { since: text("2026-11-20T00:00:00.000Z"), ..Query::default() },
            Query { until: text("2026-11-20T00:00:00.001Z"), ..Query::default() },
            Query { source: text("p"), tool: text("t"), request: text("r"), ..Query::default() },
            Query { capability: text("http"), only_denied: true, ..Query::default() },
            Query { host: text("A.example"), ..Query::default() },
        ];
        let others = [
            Query { since: text("2026-11-20T00:00:00.001Z"), ..Query::default() },
            Query { until: text("2026-11-20T00:00:00.000Z"), ..Query::default() },
            Query { source: text("q"), ..Query::default() },
            Query { tool: text("u"), ..Query::default() },
            Query { request: text("s"), ..Query::default() },
            Query { capability: text("files"), ..Query::default() },
            Query { host: text("example"), ..Query::default() },
        ];
        assert!(fits.iter().all(|query| query.selects(&denied)));
        assert!(!others.iter().any(|query| query.selects(&denied)));
        let allowed = record("2026-11-20T00:00:00.000Z", ask("x", Verdict::Allowed));
        assert!(!Query { only_denied: true, ..Query::default() }.selects(&allowed));
    }

    #[test]
    fn hosts_are_found_with_and_without_ports() {
        for (subject, host, expected) in [
            ("GET https://a.example/b.example", "a.example", true),
            ("GET https://a.example/b.example", "b.example", false),
            ("GET http://a.example:8080/", "a.example", true),
            ("GET http://a.example:8080/", "a.example:8080", true),
            ("GET http://a.example:8080/", "a.example:80", false),
            ("connect to a.example at 10.0.0.1", "10.0.0.1", true),
            ("connect to a.example at 10.0.0.1", "a.example", true),
            ("GET http://[::1]:80/", "::1", true),
            ("GET http://[::1]/", "[::1]", true),
            ("read /a.example", "a.example", false),
        ] {
            let found = has_host(&ask(subject, Verdict::Allowed), host);
            assert_eq!(found, expected, "{subject} {host}");
        }
    }

    #[test]
    fn the_latest_are_kept_in_the_order_of_time() {
        let query = Query::default();
        let mut latest = Latest::of(&query, 3);
        for time in ["5", "1", "4", "2", "3"] {
            latest.add(record(time, ask(time, Verdict::Allowed)));
        }
        let selection = latest.finish();
        let times: Vec<_> = selection.records.iter().map(|record| record.time.as_str()).collect();
        assert_eq!((times, selection.left_out), (vec!["3", "4", "5"], 2));
    }
}
