//! The journal of a run: its start time and random seed, the calls that it started, and how these calls ended, in
//! the order in which the plugin learnt of the ends. A round that follows questions replays the journal, so that no
//! call is made twice.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::bindings::portcullis::plugin::tool_calls::{Beginning, Completion, Failure, Outcome};
use crate::capabilities::tools::Started;

/// Maximum size of the answers of all calls of a run together, in bytes.
const MAX_ANSWERS: usize = 16 * 1024 * 1024;

/// The journal of a run. A client of 2026-07-28 carries it, or its digest, as sealed state between rounds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    beginning: Option<Beginning>,
    started: Vec<Started>,
    /// The ends of calls, in the order in which the plugin learnt of them.
    completed: Vec<Completion>,
    /// Size of all answers in bytes.
    bytes: usize,
}

/// Now, in milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The failure of a call, for the plugin that made the call.
pub(crate) fn failure(kind: &str, message: impl Into<String>) -> Failure {
    Failure { kind: kind.to_owned(), message: message.into() }
}

impl Journal {
    /// The start time and the random seed of the run, which are the same in each round.
    pub(super) fn begin(&mut self) -> Beginning {
        let make =
            || Beginning { milliseconds: now(), seed: getrandom::u64().unwrap_or_else(|_| now()) };
        *self.beginning.get_or_insert_with(make)
    }

    /// The calls that were started.
    pub(super) fn started(&self) -> &[Started] {
        &self.started
    }

    /// The name of a call's tool, as clients know it.
    pub fn tool(&self, call: u32) -> Option<&str> {
        self.started.get(call as usize).map(|started| started.tool.as_str())
    }

    /// Adds a call that starts, unless an earlier round has started it.
    pub(super) fn start(&mut self, call: u32, started: Started) {
        if self.started.len() == call as usize {
            self.started.push(started);
        }
    }

    /// The number of completions.
    pub(super) fn ended(&self) -> usize {
        self.completed.len()
    }

    /// Whether the journal has the completion of a call.
    pub(super) fn has_ended(&self, call: u32) -> bool {
        self.completed.iter().any(|one| one.call == call)
    }

    /// The completion at this place in the order of completions.
    pub(super) fn completion(&self, place: usize) -> Option<&Completion> {
        self.completed.get(place)
    }

    /// The completion of a call that ends now. An answer that exceeds the size limit of the run becomes a failure.
    pub(super) fn completion_of(&mut self, call: u32, mut outcome: Outcome) -> Completion {
        if let Outcome::Value(value) = &outcome {
            let bytes = self.bytes.saturating_add(value.len());
            if bytes > MAX_ANSWERS {
                let why = format!(
                    "the tool has answered, but the answers of this run have over {MAX_ANSWERS} bytes together"
                );
                outcome = Outcome::Failed(failure("limit", why));
            } else {
                self.bytes = bytes;
            }
        }
        Completion { call, milliseconds: now(), outcome }
    }

    /// Adds a completion that the plugin gets now.
    pub(super) fn add(&mut self, completion: Completion) {
        self.completed.push(completion);
    }

    /// Ends a call whose question cannot be answered. The plugin gets the failure in the next round.
    pub fn fail(&mut self, call: u32, kind: &str, message: String) {
        let completion = self.completion_of(call, Outcome::Failed(failure(kind, message)));
        self.add(completion);
    }

    /// The calls that were started, as text for the failure of a run: the names and outcomes of the first 20, and the
    /// number of the others. `None`: no call was started.
    pub(super) fn made(&self) -> Option<String> {
        const MAX_SHOWN: usize = 20;
        if self.started.is_empty() {
            return None;
        }
        let of = |(call, started): (usize, &Started)| {
            let ended = self.completed.iter().find(|one| one.call as usize == call);
            let how = match ended.map(|one| &one.outcome) {
                Some(Outcome::Value(_)) => "done",
                Some(Outcome::Failed(failure)) => &*failure.kind,
                None => "begun",
            };
            format!("{} ({how})", portcullis_sanitize::line(&started.tool, 128))
        };
        let mut all: Vec<_> = self.started.iter().enumerate().take(MAX_SHOWN).map(of).collect();
        if let Some(more @ 1..) = self.started.len().checked_sub(MAX_SHOWN) {
            all.push(format!("and {more} more"));
        }
        Some(all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_and_a_call_are_kept_once() {
        let mut journal = Journal::default();
        let first = journal.begin();
        let started = Started::of("a", "{}");
        journal.start(0, started.clone());
        let text = serde_json::to_string(&journal).unwrap();
        let mut again: Journal = serde_json::from_str(&text).unwrap();
        let second = again.begin();
        assert_eq!((first.milliseconds, first.seed), (second.milliseconds, second.seed));
        again.start(0, Started::of("b", "{}"));
        assert_eq!(again.started(), [started]);
    }

    #[test]
    fn the_size_of_all_answers_together_is_bounded() {
        let mut journal = Journal::default();
        let large = || Outcome::Value("x".repeat(MAX_ANSWERS / 2 + 1));
        assert!(matches!(journal.completion_of(0, large()).outcome, Outcome::Value(_)));
        let second = journal.completion_of(1, large()).outcome;
        assert!(matches!(second, Outcome::Failed(failure) if failure.kind == "limit"));
        let small = journal.completion_of(2, Outcome::Value("1".into())).outcome;
        assert!(matches!(small, Outcome::Value(_)), "what still fits is answered");
    }

    #[test]
    fn a_failed_run_lists_the_calls_that_were_made() {
        let mut journal = Journal::default();
        assert_eq!(journal.made(), None);
        for call in 0..22 {
            journal.start(call, Started::of("t", "{}"));
        }
        let done = journal.completion_of(0, Outcome::Value("1".into()));
        journal.add(done);
        journal.fail(1, "denied", "no".into());
        let made = journal.made().unwrap();
        assert!(made.starts_with("t (done), t (denied), t (begun), "), "{made}");
        assert!(made.ends_with(", and 2 more"), "{made}");
    }
}
