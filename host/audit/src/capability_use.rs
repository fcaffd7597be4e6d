//! Counts how often each plugin used each capability, from the records that were not deleted.

use std::collections::{BTreeMap, VecDeque};

use crate::record::{Counted, Event, Record, Verdict};

/// Maximum number of different subjects that are kept for one plugin, capability and verdict. The latest are kept.
const MAX_SUBJECTS: usize = 12;

/// The use of one capability by one plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapabilityUse {
    /// Asks that were allowed.
    pub allowed: u64,
    /// Asks that were denied, and effects that were refused after the ask was allowed.
    pub denied: u64,
    /// The time of the last record that counted.
    pub last: Option<String>,
    /// Subjects of allowed asks, the latest first, each once.
    pub subjects: VecDeque<String>,
    /// Subjects of denied asks and refused effects, the latest first, each once.
    pub denials: VecDeque<String>,
}

/// The use of all capabilities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapabilityUses {
    /// The uses, by plugin and capability.
    pub uses: BTreeMap<(String, String), CapabilityUse>,
    /// The time of the earliest record.
    pub since: Option<String>,
}

impl CapabilityUses {
    /// Adds a record. Callers add the records in the order of the audit.
    pub fn add(&mut self, record: &Record) {
        self.since = [self.since.take(), Some(record.time.clone())].into_iter().flatten().min();
        let (capability, verdict, count, subject) = match &record.event {
            Event::Ask { capability, subject, verdict, .. } => (capability, *verdict, 1, subject),
            // The effect was refused after the ask was allowed. The ask counts as allowed, and the effect as denied.
            Event::Outcome { capability, subject, verdict: Verdict::Denied, .. } => {
                (capability, Verdict::Denied, 1, subject)
            }
            Event::More { of: Counted::Asks, capability, verdict, count, last, .. }
            | Event::More {
                of: Counted::Outcomes,
                capability,
                verdict: verdict @ Verdict::Denied,
                count,
                last,
                ..
            } => (capability, *verdict, *count, last),
            Event::Outcome { .. }
            | Event::More { of: Counted::Outcomes, .. }
            | Event::Call { .. }
            | Event::Approval { .. } => return,
        };
        let used = self.uses.entry((record.plugin.clone(), capability.clone())).or_default();
        let (number, subjects) = match verdict {
            Verdict::Allowed => (&mut used.allowed, &mut used.subjects),
            Verdict::Denied => (&mut used.denied, &mut used.denials),
        };
        *number = number.saturating_add(count);
        subjects.retain(|known| known != subject);
        subjects.push_front(subject.clone());
        subjects.truncate(MAX_SUBJECTS);
        used.last = used.last.take().max(Some(record.time.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: u32, event: Event) -> Record {
        Record {
            time: time.to_string(),
            request: String::new(),
            plugin: "p".into(),
            digest: String::new(),
            tool: String::new(),
            principal: None,
            event,
        }
    }

    fn ask(subject: &str, verdict: Verdict) -> Event {
        Event::Ask { capability: "http".into(), subject: subject.into(), verdict, outcome: None }
    }

    #[test]
    fn asks_are_counted_and_the_latest_subjects_kept() {
        let mut all = CapabilityUses::default();
        for n in 10..40 {
            all.add(&record(n, ask(&format!("GET {}", n % 20), Verdict::Allowed)));
        }
        all.add(&record(50, ask("GET secret", Verdict::Denied)));
        let event = Event::More {
            of: Counted::Asks,
            capability: "http".into(),
            verdict: Verdict::Allowed,
            outcome: None,
            count: 1000,
            total: 1000,
            covers: 2000,
            first: "GET first".into(),
            last: "GET last".into(),
        };
        all.add(&record(45, event));
        // Outcomes that were denied after their asks were allowed.
        all.add(&record(
            46,
            Event::More {
                of: Counted::Outcomes,
                capability: "http".into(),
                verdict: Verdict::Denied,
                outcome: Some("address-denied".into()),
                count: 7,
                total: 7,
                covers: 7,
                first: "GET inner".into(),
                last: "GET inner".into(),
            },
        ));
        let used = &all.uses[&("p".to_owned(), "http".to_owned())];
        assert_eq!((used.allowed, used.denied), (1030, 8));
        assert_eq!(used.last.as_deref(), Some("50"));
        assert_eq!(used.denials, ["GET inner", "GET secret"]);
        assert_eq!(used.subjects.len(), MAX_SUBJECTS);
        assert_eq!(used.subjects.iter().take(2).collect::<Vec<_>>(), ["GET last", "GET 19"]);
        assert_eq!(all.since.as_deref(), Some("10"));
    }
}
