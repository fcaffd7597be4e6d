//! The records of one call: each ask while there are few, and counts of the rest.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::record::{Counted, Event, Record, Verdict};
use crate::writer::now;
use crate::{Audit, bounded};

/// How many allowed asks of one call are described each, and how many denied ones. What comes after is
/// counted.
pub const DESCRIBED: u32 = 1000;

/// How many asks the first record of a kind of counted asks covers.
const COVERED: u64 = 64;

/// How long counts stay unwritten while asks go on.
const AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// How many kinds of asks are counted apart in one call.
const KINDS: usize = 256;

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

/// How an ask was put on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// With a record of its own.
    Described,
    /// As the first of those that are counted.
    FirstCounted,
    /// As one of many.
    Counted,
}

/// Writes the records of one call. Cheap to clone.
#[derive(Clone)]
pub struct Trail(Arc<Call>);

struct Call {
    audit: Audit,
    subject: Subject,
    spent: Mutex<Spent>,
}

/// What has been recorded of a call so far.
#[derive(Default)]
struct Spent {
    allowed: u32,
    denied: u32,
    kinds: Vec<Kind>,
}

/// Asks of one kind that are counted.
struct Kind {
    of: Counted,
    capability: String,
    verdict: Verdict,
    outcome: Option<String>,
    total: u64,
    /// How many of them the records say so far.
    said: u64,
    covers: u64,
    first: String,
    last: String,
    written: Instant,
}

impl Kind {
    fn event(&self, total: u64, covers: u64, last: &str) -> Event {
        Event::More {
            of: self.of,
            capability: self.capability.clone(),
            verdict: self.verdict,
            outcome: self.outcome.clone(),
            count: total - self.said,
            total,
            covers,
            first: self.first.clone(),
            last: last.to_owned(),
        }
    }
}

impl Trail {
    /// A trail of one call.
    pub fn new(audit: Audit, subject: Subject) -> Self {
        Self(Arc::new(Call { audit, subject, spent: Mutex::default() }))
    }

    /// Whose call it is.
    pub fn plugin(&self) -> Arc<str> {
        self.0.subject.plugin.clone()
    }

    /// The request's correlation id.
    pub fn request(&self) -> &str {
        &self.0.subject.request
    }

    /// Records an ask, with its outcome where that is known already.
    ///
    /// # Errors
    ///
    /// Where the record cannot be written: the ask must then be refused.
    pub fn record_ask(
        &self,
        capability: &str,
        subject: &str,
        verdict: Verdict,
        outcome: Option<&str>,
    ) -> io::Result<Recorded> {
        self.0.record(Counted::Asks, capability, subject, verdict, outcome)
    }

    /// Records what came of an ask that was recorded before it was carried out.
    ///
    /// # Errors
    ///
    /// Where the record cannot be written.
    pub fn record_outcome(
        &self,
        capability: &str,
        subject: &str,
        verdict: Verdict,
        outcome: &str,
    ) -> io::Result<Recorded> {
        self.0.record(Counted::Outcomes, capability, subject, verdict, Some(outcome))
    }

    /// Begins the record of the call itself, written when the returned value goes.
    ///
    /// # Errors
    ///
    /// Where nothing could be recorded: the call must then be refused.
    pub fn begin_call(&self, bytes_in: u64) -> io::Result<OngoingCall> {
        self.0.audit.ready()?;
        Ok(OngoingCall { trail: self.clone(), began: Instant::now(), bytes_in, ended: false })
    }
}

impl Call {
    fn record(
        &self,
        of: Counted,
        capability: &str,
        subject: &str,
        verdict: Verdict,
        outcome: Option<&str>,
    ) -> io::Result<Recorded> {
        let subject = bounded(subject);
        let mut spent = self.spent.lock();
        let described = match verdict {
            Verdict::Allowed => &mut spent.allowed,
            Verdict::Denied => &mut spent.denied,
        };
        if *described < DESCRIBED {
            *described += 1;
            drop(spent);
            let (capability, subject) = (capability.to_owned(), subject.into_owned());
            let outcome = outcome.map(str::to_owned);
            self.write(match of {
                Counted::Asks => Event::Ask { capability, subject, verdict, outcome },
                Counted::Outcomes => {
                    let outcome = outcome.unwrap_or_default();
                    Event::Outcome { capability, subject, verdict, outcome }
                }
            })?;
            return Ok(Recorded::Described);
        }
        self.count(&mut spent.kinds, of, capability, &subject, verdict, outcome)
    }

    /// Counts an ask. What covers it is written first.
    fn count(
        &self,
        kinds: &mut Vec<Kind>,
        of: Counted,
        capability: &str,
        subject: &str,
        verdict: Verdict,
        outcome: Option<&str>,
    ) -> io::Result<Recorded> {
        let find = |kinds: &[Kind], outcome: Option<&str>| {
            kinds.iter().position(|kind| {
                (kind.of, kind.verdict) == (of, verdict)
                    && kind.capability == capability
                    && kind.outcome.as_deref() == outcome
            })
        };
        let is_first = kinds.iter().all(|kind| kind.verdict != verdict);
        let mut place = find(kinds, outcome);
        let mut outcome = outcome;
        if place.is_none() && kinds.len() >= KINDS {
            outcome = outcome.map(|_| "other");
            place = find(kinds, outcome);
        }
        let place = place.unwrap_or_else(|| {
            kinds.push(Kind {
                of,
                capability: capability.to_owned(),
                verdict,
                outcome: outcome.map(str::to_owned),
                total: 0,
                said: 0,
                covers: 0,
                first: subject.to_owned(),
                last: String::new(),
                written: Instant::now(),
            });
            kinds.len() - 1
        });
        let kind = &mut kinds[place];
        let total = kind.total + 1;
        let uncovered = total > kind.covers;
        if uncovered || kind.written.elapsed() >= AT_LEAST_EVERY {
            let covers = if uncovered { (total * 2).max(COVERED) } else { kind.covers };
            self.write(kind.event(total, covers, subject))?;
            (kind.said, kind.covers, kind.written) = (total, covers, Instant::now());
        }
        kind.total = total;
        kind.last.clear();
        kind.last.push_str(subject);
        Ok(if is_first { Recorded::FirstCounted } else { Recorded::Counted })
    }

    /// Writes what was counted and is not on record yet.
    fn settle(&self) -> io::Result<()> {
        for kind in &mut self.spent.lock().kinds {
            if kind.total != kind.said || kind.total != kind.covers {
                self.write(kind.event(kind.total, kind.total, &kind.last))?;
                (kind.said, kind.covers) = (kind.total, kind.total);
            }
        }
        Ok(())
    }

    fn write(&self, event: Event) -> io::Result<()> {
        let Subject { request, plugin, digest, tool, principal } = &self.subject;
        self.audit.write(&Record {
            time: now(),
            request: request.clone(),
            plugin: plugin.to_string(),
            digest: digest.to_string(),
            tool: tool.clone(),
            principal: principal.clone(),
            event,
        })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Err(error) = self.settle() {
            tracing::error!("the audit could not record how many asks there were: {error}");
        }
    }
}

/// A call that has not ended yet. Dropped without [`OngoingCall::end`], it was cancelled.
pub struct OngoingCall {
    trail: Trail,
    began: Instant,
    bytes_in: u64,
    ended: bool,
}

impl OngoingCall {
    /// Records how the call ended.
    ///
    /// # Errors
    ///
    /// Where it cannot be recorded: the answer must then not be given.
    pub fn end(
        mut self,
        verdict: Verdict,
        outcome: impl Into<String>,
        bytes_out: u64,
    ) -> io::Result<()> {
        self.ended = true;
        self.write(verdict, outcome.into(), bytes_out)
    }

    fn write(&self, verdict: Verdict, outcome: String, bytes_out: u64) -> io::Result<()> {
        let duration_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.trail.0.settle()?;
        self.trail.0.write(Event::Call {
            verdict,
            outcome,
            duration_us,
            bytes_in: self.bytes_in,
            bytes_out,
        })
    }
}

impl Drop for OngoingCall {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if let Err(error) = self.write(Verdict::Allowed, "cancelled".into(), 0) {
            tracing::error!("the audit could not record the end of a call: {error}");
        }
    }
}
