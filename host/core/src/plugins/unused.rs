//! Finds grants that a plugin does not want, or that it never used according to the audit.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use portcullis_audit::{Event, Record, Usage};

use crate::capabilities::{Capability, Grants};

/// A value of a grant that nothing uses. The operator can revoke it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedGrant {
    /// The capability.
    pub capability: Capability,
    /// The value, as the short form `CAPABILITY=VALUE` names it.
    pub value: String,
    /// The reason why the value is unused.
    pub reason: UnusedReason,
}

/// Why a value of a grant is unused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnusedReason {
    /// The plugin does not want the value, so the value has no effect.
    Unwanted,
    /// No record of the audit is an ask that needs the value.
    NeverUsed {
        /// The time of the plugin's first record, in RFC 3339.
        since: String,
        /// The number of the plugin's calls since then.
        calls: u64,
    },
}

/// The uses of one plugin's grants that the audit records.
#[derive(Debug, Default)]
pub struct Uses {
    used: BTreeSet<(Capability, String)>,
    since: Option<String>,
    seen: Usage,
    /// Whether all records were read. The audit counts the asks of dropped records, but does not keep their subjects.
    is_complete: bool,
}

impl Uses {
    /// Reads the records of a plugin.
    ///
    /// # Errors
    ///
    /// A file of the audit cannot be read.
    pub fn read(audit: &Path, plugin: &str, grants: &Grants) -> io::Result<Self> {
        let mut uses = Self::default();
        let (all, _) = portcullis_audit::read_with_usage(audit, |record| {
            if record.plugin == plugin {
                uses.add(record, grants);
            }
        })?;
        uses.finish(&all, plugin);
        Ok(uses)
    }

    /// Adds a record of the plugin. `grants`: the plugin's grants.
    pub fn add(&mut self, record: &Record, grants: &Grants) {
        self.seen.add(record);
        if self.since.as_ref().is_none_or(|since| record.time < *since) {
            self.since = Some(record.time.clone());
        }
        let (capability, subject) = match &record.event {
            Event::Ask { capability, subject, .. } | Event::Outcome { capability, subject, .. } => {
                (capability, Some(subject))
            }
            // This event stands for several asks. Only the subjects of the first and the last ask are recorded.
            Event::More { capability, .. } => (capability, None),
            Event::Call { .. } | Event::Approval { .. } => return,
        };
        let known = Capability::ALL.into_iter().find(|one| one.as_str() == capability);
        let Some(capability) = known else { return };
        let forms = capability.short_forms();
        for value in grants.values(capability) {
            if subject.is_none_or(|subject| forms.may_be_used_by(&value, subject)) {
                self.used.insert((capability, value));
            }
        }
    }

    /// Compares the added records with the usage of the whole audit. Call this function after the last record.
    /// `all`: the usage when the records were read, which also counts dropped records.
    pub fn finish(&mut self, all: &Usage, plugin: &str) {
        let counts_in =
            |usage: &Usage| usage.0.get(plugin).map_or((0, 0), |one| (one.allowed, one.denied));
        let ((seen_allowed, seen_denied), (allowed, denied)) =
            (counts_in(&self.seen), counts_in(all));
        self.is_complete = seen_allowed >= allowed && seen_denied >= denied;
    }

    /// The number of calls that are recorded.
    pub fn calls(&self, plugin: &str) -> u64 {
        self.seen.0.get(plugin).map_or(0, |one| one.calls)
    }

    /// Whether all records were read, because none was dropped. A value without a record was then never asked for.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// The values of a plugin's grants that nothing uses: values that the plugin does not want, and values that the
/// plugin never asked for. If the plugin was never called, or some of its records were dropped, only unwanted values
/// are returned. `wants` is `None` if the wants are not known.
pub fn unused_grants(
    plugin: &str,
    grants: &Grants,
    wants: Option<&Grants>,
    uses: &Uses,
) -> Vec<UnusedGrant> {
    let calls = uses.calls(plugin);
    let mut unused = Vec::new();
    for capability in Capability::ALL {
        let values = grants.values(capability);
        let judged = values.iter().filter_map(|value| {
            let reason = if wants.is_some_and(|wants| !wants.want_value(capability, value)) {
                UnusedReason::Unwanted
            } else if uses.used.contains(&(capability, value.clone())) {
                return None;
            } else {
                let since = uses.since.clone().filter(|_| uses.is_complete && calls > 0)?;
                UnusedReason::NeverUsed { since, calls }
            };
            Some(UnusedGrant { capability, value: value.clone(), reason })
        });
        let judged: Vec<_> = judged.collect();
        // If a value is used, the values that it implies are used, too.
        let is_unused = |value: &String| judged.iter().any(|one| one.value == *value);
        let is_needed = |value: &String| {
            let needs = |other: &&String| capability.short_forms().implied(other).contains(value);
            values.iter().filter(needs).any(|other| !is_unused(other))
        };
        unused.extend(judged.iter().filter(|one| !is_needed(&one.value)).cloned());
    }
    unused
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn record(event: Value) -> Record {
        let mut record = json!({
            "time": "2026-01-02T00:00:00Z", "request": "1", "plugin": "a", "digest": "d", "tool": "t",
        });
        let (all, event) = (record.as_object_mut().unwrap(), event.as_object().unwrap());
        all.extend(event.clone());
        serde_json::from_value(record).unwrap()
    }

    fn ask(capability: &str, subject: &str) -> Record {
        record(json!({
            "event": "ask", "capability": capability, "subject": subject, "verdict": "allowed",
        }))
    }

    fn call() -> Record {
        record(json!({
            "event": "call", "verdict": "allowed", "outcome": "done", "duration_us": 1,
            "bytes_in": 1, "bytes_out": 1,
        }))
    }

    fn grants() -> Grants {
        serde_json::from_value(json!({
            "http": { "hosts": ["a.example", "b.example"] },
            "files": { "access": "write" },
            "cache": { "bytes": 10 },
        }))
        .unwrap()
    }

    fn unused(records: &[Record], dropped: &[Record], wants: Option<&Grants>) -> Vec<String> {
        let (grants, mut uses, mut all) = (grants(), Uses::default(), Usage::default());
        dropped.iter().for_each(|record| all.add(record));
        for record in records {
            uses.add(record, &grants);
            all.add(record);
        }
        uses.finish(&all, "a");
        let found = unused_grants("a", &grants, wants, &uses);
        found.into_iter().map(|one| format!("{}={}", one.capability, one.value)).collect()
    }

    #[test]
    fn a_value_that_no_record_asks_for_is_unused() {
        let records = [ask("http", "GET https://a.example/x"), ask("files", "read /a"), call()];
        assert_eq!(unused(&records, &[], None), ["files=write", "http=GET@b.example", "cache=10"]);
    }

    #[test]
    fn a_value_that_another_one_needs_is_used_with_it() {
        let records = [ask("files", "write /a"), ask("cache", "cache 1 bytes: k"), call()];
        let expected = ["http=GET@a.example", "http=GET@b.example"];
        assert_eq!(unused(&records, &[], None), expected);
    }

    #[test]
    fn a_value_without_complete_records_is_not_unused() {
        assert!(unused(&[], &[], None).is_empty(), "it was never called");
        let dropped = [ask("http", "GET https://b.example/x")];
        assert!(unused(&[call()], &dropped, None).is_empty(), "an ask was dropped");
        let more = record(json!({
            "event": "more", "of": "asks", "capability": "http", "verdict": "allowed", "count": 9,
            "total": 9, "covers": 9, "first": "GET https://a.example/", "last": "GET https://a.example/",
        }));
        let named = unused(&[more, call()], &[], None);
        assert_eq!(named, ["files=read", "files=write", "cache=10"], "some asks have no record");
    }

    #[test]
    fn a_value_that_the_plugin_does_not_want_is_unused() {
        let wants = json!({ "http": { "hosts": ["a.example"] }, "files": { "access": "write" } });
        let wants: Grants = serde_json::from_value(wants).unwrap();
        let expected = ["http=GET@b.example", "cache=10"];
        assert_eq!(unused(&[], &[], Some(&wants)), expected);
    }
}
