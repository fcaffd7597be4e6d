//! Writes the records of one call: a record for each of the first asks, and counts of the other asks.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::record::{Counted, Event, Record, Verdict};
use crate::writer::now;
use crate::{Audit, bounded};

/// Maximum number of allowed asks and outcomes of one call that have a record each. The same maximum applies
/// separately to denied asks and outcomes. Further asks and outcomes are counted.
pub const MAX_SINGLE_RECORDS: u32 = 1000;

/// The number of asks that the first record of a counter covers. The record is written in advance: it also stands
/// for asks up to this number that have not happened yet.
const FIRST_COVERED: u64 = 64;

/// An ask writes a new record of its counter if the last record of the counter is older than this.
const MAX_RECORD_INTERVAL: Duration = Duration::from_secs(1);

/// If a call has this number of counters, further kinds of outcomes are counted together as `other`.
const MAX_COUNTERS: usize = 256;

/// The fields that all records of one call share.
#[derive(Debug, Clone)]
pub struct CallIdentity {
    /// Correlation id of the request.
    pub request: String,
    /// The name of the plugin or of the upstream server.
    pub plugin: Arc<str>,
    /// SHA-256 of the plugin's component, or of the definition of the upstream's tool; empty for other work of an
    /// upstream.
    pub digest: Arc<str>,
    /// The called tool, or the MCP method with a name or a URI. Empty while a plugin is prepared.
    pub tool: String,
    /// The caller. `None`: no caller is known.
    pub principal: Option<String>,
}

/// How an ask was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// With a record of its own.
    Single,
    /// As the first ask of its verdict that is counted.
    FirstCounted,
    /// As a further ask that is counted.
    Counted,
}

/// Writes the records of one call. Cheap to clone.
#[derive(Clone)]
pub struct Trail(Arc<CallRecords>);

struct CallRecords {
    audit: Audit,
    subject: CallIdentity,
    counters: Mutex<Counters>,
}

/// The numbers of single records of a call, and the counters of the other asks and outcomes.
#[derive(Default)]
struct Counters {
    single_allowed: u32,
    single_denied: u32,
    counted: Vec<Counter>,
}

/// Counts asks, or outcomes, with the same capability, verdict and outcome.
struct Counter {
    of: Counted,
    capability: String,
    verdict: Verdict,
    outcome: Option<String>,
    total: u64,
    /// The part of `total` that records already contain.
    recorded: u64,
    /// The total number of asks that the last record covers, including asks that may follow it.
    covers: u64,
    first: String,
    last: String,
    written: Instant,
}

impl Counter {
    fn event(&self, total: u64, covers: u64, last: &str) -> Event {
        Event::More {
            of: self.of,
            capability: self.capability.clone(),
            verdict: self.verdict,
            outcome: self.outcome.clone(),
            count: total - self.recorded,
            total,
            covers,
            first: self.first.clone(),
            last: last.to_owned(),
        }
    }
}

impl Trail {
    /// The trail of one call.
    pub fn new(audit: Audit, subject: CallIdentity) -> Self {
        Self(Arc::new(CallRecords { audit, subject, counters: Mutex::default() }))
    }

    /// The name of the plugin or of the upstream server.
    pub fn plugin(&self) -> Arc<str> {
        self.0.subject.plugin.clone()
    }

    /// The request's correlation id.
    pub fn request(&self) -> &str {
        &self.0.subject.request
    }

    /// Keeps the text of a program that calls tools, in a file beside the records. The records have its digest.
    ///
    /// # Errors
    ///
    /// The text cannot be written. The program must then not be run.
    pub fn keep_program(&self, digest: &str, text: &str) -> io::Result<()> {
        crate::programs::keep(self.0.audit.folder(), digest, text)
    }

    /// Records an ask, with its outcome if that is known already.
    ///
    /// # Errors
    ///
    /// The record cannot be written. The ask must then be refused.
    pub fn record_ask(
        &self,
        capability: &str,
        subject: &str,
        verdict: Verdict,
        outcome: Option<&str>,
    ) -> io::Result<Recorded> {
        self.0.record(Counted::Asks, capability, subject, verdict, outcome)
    }

    /// Records the outcome of an ask that was recorded before its effect.
    ///
    /// # Errors
    ///
    /// The record cannot be written.
    pub fn record_outcome(
        &self,
        capability: &str,
        subject: &str,
        verdict: Verdict,
        outcome: &str,
    ) -> io::Result<Recorded> {
        self.0.record(Counted::Outcomes, capability, subject, verdict, Some(outcome))
    }

    /// Begins the record of the call itself. [`OngoingCall::end`], or dropping the returned value, writes the
    /// record.
    ///
    /// # Errors
    ///
    /// The audit cannot be written. The call must then be refused.
    pub fn begin_call(&self, bytes_in: u64) -> io::Result<OngoingCall> {
        self.0.audit.ready()?;
        Ok(OngoingCall {
            trail: self.clone(),
            started: Instant::now(),
            bytes_in,
            findings: Vec::new(),
            has_ended: false,
        })
    }
}

impl CallRecords {
    fn record(
        &self,
        of: Counted,
        capability: &str,
        subject: &str,
        verdict: Verdict,
        outcome: Option<&str>,
    ) -> io::Result<Recorded> {
        let subject = bounded(subject);
        let mut counters = self.counters.lock();
        let single = match verdict {
            Verdict::Allowed => &mut counters.single_allowed,
            Verdict::Denied => &mut counters.single_denied,
        };
        if *single < MAX_SINGLE_RECORDS {
            *single += 1;
            drop(counters);
            let (capability, subject) = (capability.to_owned(), subject.into_owned());
            let outcome = outcome.map(str::to_owned);
            self.write(match of {
                Counted::Asks => Event::Ask { capability, subject, verdict, outcome },
                Counted::Outcomes => {
                    let outcome = outcome.unwrap_or_default();
                    Event::Outcome { capability, subject, verdict, outcome }
                }
            })?;
            return Ok(Recorded::Single);
        }
        self.count(&mut counters.counted, of, capability, &subject, verdict, outcome)
    }

    /// Counts an ask or an outcome. If no record covers it yet, or the last record is older than
    /// [`MAX_RECORD_INTERVAL`], a record is written first.
    fn count(
        &self,
        counters: &mut Vec<Counter>,
        of: Counted,
        capability: &str,
        subject: &str,
        verdict: Verdict,
        outcome: Option<&str>,
    ) -> io::Result<Recorded> {
        let find = |counters: &[Counter], outcome: Option<&str>| {
            counters.iter().position(|counter| {
                (counter.of, counter.verdict) == (of, verdict)
                    && counter.capability == capability
                    && counter.outcome.as_deref() == outcome
            })
        };
        let is_first = counters.iter().all(|counter| counter.verdict != verdict);
        let mut index = find(counters, outcome);
        let mut outcome = outcome;
        if index.is_none() && counters.len() >= MAX_COUNTERS {
            outcome = outcome.map(|_| "other");
            index = find(counters, outcome);
        }
        let index = index.unwrap_or_else(|| {
            counters.push(Counter {
                of,
                capability: capability.to_owned(),
                verdict,
                outcome: outcome.map(str::to_owned),
                total: 0,
                recorded: 0,
                covers: 0,
                first: subject.to_owned(),
                last: String::new(),
                written: Instant::now(),
            });
            counters.len() - 1
        });
        let counter = &mut counters[index];
        let total = counter.total + 1;
        let is_uncovered = total > counter.covers;
        if is_uncovered || counter.written.elapsed() >= MAX_RECORD_INTERVAL {
            let covers = if is_uncovered { (total * 2).max(FIRST_COVERED) } else { counter.covers };
            self.write(counter.event(total, covers, subject))?;
            (counter.recorded, counter.covers, counter.written) = (total, covers, Instant::now());
        }
        counter.total = total;
        counter.last.clear();
        counter.last.push_str(subject);
        Ok(if is_first { Recorded::FirstCounted } else { Recorded::Counted })
    }

    /// Writes a final record for each counter whose last record states a lower total, or covers more asks than
    /// happened.
    fn write_counts(&self) -> io::Result<()> {
        for counter in &mut self.counters.lock().counted {
            if counter.total != counter.recorded || counter.total != counter.covers {
                self.write(counter.event(counter.total, counter.total, &counter.last))?;
                (counter.recorded, counter.covers) = (counter.total, counter.total);
            }
        }
        Ok(())
    }

    fn write(&self, event: Event) -> io::Result<()> {
        let CallIdentity { request, plugin, digest, tool, principal } = &self.subject;
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

impl Drop for CallRecords {
    fn drop(&mut self) {
        if let Err(error) = self.write_counts() {
            tracing::error!("the audit cannot record the number of asks: {error}");
        }
    }
}

/// A call that has not ended. If this value is dropped without [`OngoingCall::end`], the call is recorded as
/// cancelled.
pub struct OngoingCall {
    trail: Trail,
    started: Instant,
    bytes_in: u64,
    findings: Vec<String>,
    has_ended: bool,
}

impl OngoingCall {
    /// Adds the names of the rules that found something in the call's result.
    pub fn add_findings(&mut self, rules: impl IntoIterator<Item = String>) {
        self.findings.extend(rules);
    }

    /// Records how the call ended.
    ///
    /// # Errors
    ///
    /// The end cannot be recorded. The client must then not get the answer.
    pub fn end(
        mut self,
        verdict: Verdict,
        outcome: impl Into<String>,
        bytes_out: u64,
    ) -> io::Result<()> {
        self.has_ended = true;
        self.write(verdict, outcome.into(), bytes_out)
    }

    fn write(&mut self, verdict: Verdict, outcome: String, bytes_out: u64) -> io::Result<()> {
        let duration_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.trail.0.write_counts()?;
        self.trail.0.write(Event::Call {
            verdict,
            outcome,
            duration_us,
            bytes_in: self.bytes_in,
            bytes_out,
            findings: std::mem::take(&mut self.findings),
        })
    }
}

impl Drop for OngoingCall {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        if let Err(error) = self.write(Verdict::Allowed, "cancelled".into(), 0) {
            tracing::error!("the audit cannot record the end of a call: {error}");
        }
    }
}
