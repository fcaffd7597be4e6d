//! Counts calls and asks, and keeps denials, for each plugin and upstream server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Counted, Event, Record, Verdict};

/// Maximum number of different denials that are kept of one source.
const MAX_DENIALS: usize = 100;

/// The outcomes of rounds after which the call goes on: with the answers to its questions, or in the background.
const GOES_ON: [&str; 2] = ["need-input", "background"];

/// Counts and denials of all plugins and upstream servers, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usage(pub BTreeMap<String, PluginUse>);

/// Counts and denials of one plugin or upstream server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PluginUse {
    /// Calls that ended. A round after which the call goes on does not count.
    pub calls: u64,
    /// Asks that were allowed.
    pub allowed: u64,
    /// Asks that were denied, and effects that were refused after the ask was allowed.
    pub denied: u64,
    /// When a call or a round last ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Different denials, at most 100: the first 50 and the latest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
}

/// A denial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Denial {
    /// The capability.
    pub capability: String,
    /// The effect and its object.
    pub subject: String,
    /// How often the effect was denied.
    pub times: u64,
    /// When the effect was last denied.
    pub last: String,
}

impl Usage {
    /// Adds a record.
    pub fn add(&mut self, record: &Record) {
        let used = match self.0.get_mut(&record.plugin) {
            Some(used) => used,
            None => self.0.entry(record.plugin.clone()).or_default(),
        };
        let mut add_denied = |capability: &str, subject: &str, times: u64| {
            used.denied = used.denied.saturating_add(times);
            used.add_denial(Denial {
                capability: capability.to_owned(),
                subject: subject.to_owned(),
                times,
                last: record.time.clone(),
            });
        };
        match &record.event {
            Event::Call { outcome, .. } => {
                used.calls += u64::from(!GOES_ON.contains(&outcome.as_str()));
                used.last = used.last.take().max(Some(record.time.clone()));
            }
            Event::Ask { verdict: Verdict::Allowed, .. } => used.allowed += 1,
            Event::Ask { verdict: Verdict::Denied, capability, subject, .. }
            | Event::Outcome { verdict: Verdict::Denied, capability, subject, .. } => {
                add_denied(capability, subject, 1);
            }
            Event::Outcome { verdict: Verdict::Allowed, .. } => {}
            Event::More { verdict: Verdict::Denied, capability, last, count, .. } => {
                add_denied(capability, last, *count);
            }
            Event::More { verdict: Verdict::Allowed, of: Counted::Asks, count, .. } => {
                used.allowed = used.allowed.saturating_add(*count);
            }
            Event::More { verdict: Verdict::Allowed, of: Counted::Outcomes, .. }
            | Event::Approval { .. } => {}
        }
    }

    /// Adds counts and denials of later records.
    pub fn merge(&mut self, later: Self) {
        for (plugin, later) in later.0 {
            let used = self.0.entry(plugin).or_default();
            used.calls = used.calls.saturating_add(later.calls);
            used.allowed = used.allowed.saturating_add(later.allowed);
            used.denied = used.denied.saturating_add(later.denied);
            used.last = used.last.take().max(later.last);
            later.denials.into_iter().for_each(|denial| used.add_denial(denial));
        }
    }
}

impl PluginUse {
    fn add_denial(&mut self, denial: Denial) {
        let same = |known: &&mut Denial| {
            known.subject == denial.subject && known.capability == denial.capability
        };
        if let Some(known) = self.denials.iter_mut().find(same) {
            known.times = known.times.saturating_add(denial.times);
            known.last = std::mem::take(&mut known.last).max(denial.last);
            return;
        }
        // The first 50 denials stay. The oldest of the others is removed.
        if self.denials.len() == MAX_DENIALS {
            self.denials.remove(MAX_DENIALS / 2);
        }
        self.denials.push(denial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_with_several_rounds_is_one_call() {
        let mut usage = Usage::default();
        for (time, outcome) in
            ["need-input", "background", "need-input", "done", "tool-error"].iter().enumerate()
        {
            usage.add(&Record {
                time: format!("2026-01-01T00:00:0{time}.000Z"),
                request: "r".into(),
                plugin: "a".into(),
                digest: String::new(),
                tool: "t".into(),
                principal: None,
                event: Event::Call {
                    verdict: Verdict::Allowed,
                    outcome: (*outcome).to_owned(),
                    duration_us: 1,
                    bytes_in: 1,
                    bytes_out: 1,
                    findings: Vec::new(),
                },
            });
        }
        assert_eq!(usage.0["a"].calls, 2, "one ended with an answer, and one with an error");
        assert_eq!(usage.0["a"].last.as_deref(), Some("2026-01-01T00:00:04.000Z"));
    }
}
