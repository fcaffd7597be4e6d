//! Records in words for people.

use crate::record::{Event, Record, Verdict};

impl Record {
    /// Whether the record is about a denied ask, effect or call.
    pub fn is_denied(&self) -> bool {
        match &self.event {
            Event::Ask { verdict, .. }
            | Event::Outcome { verdict, .. }
            | Event::More { verdict, .. }
            | Event::Call { verdict, .. } => *verdict == Verdict::Denied,
            Event::Approval { .. } => false,
        }
    }

    /// The record in one line, without control characters.
    pub fn summary(&self) -> String {
        let source = match self.tool.as_str() {
            "" => self.plugin.clone(),
            tool => format!("{}/{tool}", self.plugin),
        };
        let verdict = if self.is_denied() { "denied " } else { "" };
        let what = match &self.event {
            Event::Ask { capability, subject, .. } => format!("{verdict}{capability}: {subject}"),
            Event::Outcome { capability, subject, outcome, .. } => {
                format!("{verdict}{capability}: {subject} = {outcome}")
            }
            Event::More { capability, count, .. } => format!("{verdict}{capability}: {count} more"),
            Event::Call { outcome, .. } => format!("{verdict}call: {outcome}"),
            Event::Approval { reason, .. } => format!("approved: {reason}"),
        };
        let line = format!("{source} {what}");
        line.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
    }

    /// The record as JSON, as in the audit's folder.
    ///
    /// # Panics
    ///
    /// Never: a record consists of texts and numbers.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a record has texts and numbers only")
    }
}
