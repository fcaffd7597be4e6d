//! The current request, and the client that sent it.

#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::{self, Rehearsal};
use crate::{
    ask::Question,
    bindings::portcullis::plugin::{request::Request as HostRequest, types::Answer},
    failure::Failure,
};
use serde_json::Value;
use std::{cell::RefCell, time::Duration};

pub use crate::bindings::portcullis::plugin::request::{Level, ListKind};

/// The MCP extension for calls that continue in the background.
const TASKS: &str = "extension:io.modelcontextprotocol/tasks";

/// The current request. It does not outlive the call.
///
/// In a test on your own machine, [`Rehearsal::request`](crate::rehearsal::Rehearsal::request)
/// makes one.
#[derive(Debug)]
pub struct Request<'call> {
    source: Source<'call>,
    /// The state for the next round.
    new_state: RefCell<Option<Vec<u8>>>,
}

#[derive(Clone, Copy, Debug)]
enum Source<'call> {
    Host(&'call HostRequest),
    #[cfg(not(target_family = "wasm"))]
    Rehearsal(rehearsal::Source<'call>),
}

/// Evaluates an expression with the request of the host, or with that of the rehearsal.
macro_rules! from {
    ($request:expr, $source:ident => $answer:expr) => {
        match $request.source {
            Source::Host($source) => $answer,
            #[cfg(not(target_family = "wasm"))]
            Source::Rehearsal($source) => $answer,
        }
    };
}

impl<'call> Request<'call> {
    pub(crate) fn from_host(request: &'call HostRequest) -> Self {
        Self { source: Source::Host(request), new_state: RefCell::default() }
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn from_rehearsal(rehearsal: &'call Rehearsal) -> Self {
        Self {
            source: Source::Rehearsal(rehearsal::Source(rehearsal)),
            new_state: RefCell::default(),
        }
    }

    /// An id made by the host; all rounds of one request share it.
    pub fn id(&self) -> String {
        from!(self, source => source.id())
    }

    /// The client's MCP revision, such as `"2026-07-28"`.
    pub fn protocol(&self) -> String {
        from!(self, source => source.protocol())
    }

    /// A stable opaque id of the authenticated caller, if there is one.
    pub fn principal(&self) -> Option<String> {
        from!(self, source => source.principal())
    }

    /// The request's `_meta` without the reserved keys; `null` if there is none.
    pub fn meta(&self) -> Value {
        let meta = from!(self, source => source.meta());
        meta.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default()
    }

    /// Whether the client supports a feature: `"elicitation.form"`, `"elicitation.url"`,
    /// `"sampling"`, `"sampling.tools"`, `"roots"`, or `"extension:<id>"`.
    pub fn supports(&self, feature: &str) -> bool {
        from!(self, source => source.supports(feature))
    }

    /// Continues the call in the background, if the client supports tasks: the client gets a task at once and polls for
    /// its end. If the client does not support tasks, the call continues as it is.
    ///
    /// The first time, `background` fails with [`Failure::Background`]. The host then calls the tool again from the
    /// start, with [`state`](Self::state) and a longer time limit. So ask all questions first. Effects before
    /// `background` happen twice.
    pub fn background(&self) -> Result<(), Failure> {
        if from!(self, source => source.in_background()) || !self.supports(TASKS) {
            return Ok(());
        }
        Err(Failure::Background)
    }

    /// Notifies clients subscribed to a resource of this plugin that the resource has changed.
    pub fn resource_updated(&self, uri: &str) {
        from!(self, source => source.resource_updated(uri));
    }

    /// Notifies all clients that one of this plugin's lists has changed.
    pub fn list_changed(&self, kind: ListKind) {
        from!(self, source => source.list_changed(kind));
    }

    /// Schedules a call of [`Jobs::run`](crate::Jobs::run) with this data, whatever the outcome of this request. A
    /// job that is already waiting is not added again. `false`: the plugin has no jobs, or too many are waiting.
    pub fn later(&self, job: &[u8]) -> bool {
        from!(self, source => source.later(job))
    }

    /// Whether the caller has cancelled the request or its deadline is near. If so, return soon.
    pub fn cancelled(&self) -> bool {
        from!(self, source => source.cancelled())
    }

    /// The time left, if it is limited.
    pub fn remaining(&self) -> Option<Duration> {
        from!(self, source => source.remaining()).map(Duration::from_millis)
    }

    /// Reports progress: the amount done, the total if known, and the current step (or `""`). A report costs little:
    /// the host drops it if the client did not ask for progress.
    pub fn progress(&self, done: f64, total: impl Into<Option<f64>>, message: &str) {
        let message = (!message.is_empty()).then_some(message);
        from!(self, source => source.progress(done, total.into(), message));
    }

    /// Writes a record to the plugin's log, and to a client that asked for logs.
    pub fn log(&self, level: Level, data: impl Into<Value>) {
        from!(self, source => source.log(level, None, &data.into().to_string()));
    }

    /// Asks one question, or a tuple or `Vec` of questions in one round.
    ///
    /// Returns the answers of an earlier round if they are there. Otherwise `ask` fails with [`Failure::NeedInput`]:
    /// the call ends, the host asks, and the host calls the tool again from the start. So ask early. Effects before
    /// `ask` happen again in each round.
    ///
    /// ```
    /// # use portcullis_plugin::prelude::*;
    /// #[data]
    /// struct Person {
    ///     name: String,
    /// }
    ///
    /// fn greet(request: &Request) -> Result<String, Failure> {
    ///     let (person, roots) = request.ask((
    ///         form::<Person>("name", "What is your name?"),
    ///         roots("roots"),
    ///     ))?;
    ///     Ok(format!("{} has {} roots", person.name, roots.len()))
    /// }
    /// ```
    pub fn ask<A: Question>(&self, questions: A) -> Result<A::Answer, Failure> {
        let mut missing = Vec::new();
        match questions.answer(self, &mut missing)? {
            Some(answer) if missing.is_empty() => Ok(answer),
            _ => Err(Failure::NeedInput(missing)),
        }
    }

    /// The state that was set in this round, or else the state of the previous round.
    pub fn state(&self) -> Option<Vec<u8>> {
        let new = self.new_state.borrow().clone();
        new.or_else(|| from!(self, source => source.state()))
    }

    /// Stores up to 32 KiB for the next round, in case this round ends with a question or continues in the
    /// background. The state stays until it is set again. The host signs the state: the client can read it, but cannot
    /// change it.
    pub fn set_state(&self, state: impl Into<Vec<u8>>) {
        *self.new_state.borrow_mut() = Some(state.into());
    }

    pub(crate) fn answer_to(&self, key: &str) -> Option<Answer> {
        from!(self, source => source.answer(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_has_the_values_of_the_rehearsal() {
        let rehearsal = Rehearsal::new()
            .principal("ada")
            .meta(json!({ "a": 1 }))
            .remaining(Duration::from_secs(2))
            .without("sampling");
        let request = rehearsal.request();
        assert_eq!(request.principal().as_deref(), Some("ada"));
        assert_eq!(request.meta()["a"], 1);
        assert_eq!(request.remaining(), Some(Duration::from_secs(2)));
        assert!(request.supports("roots") && !request.supports("sampling"));
        assert!(!request.cancelled());
        assert_eq!(Rehearsal::new().request().meta(), Value::Null);
    }

    #[test]
    fn progress_and_log_records_reach_the_rehearsal() {
        let rehearsal = Rehearsal::new();
        let request = rehearsal.request();
        request.progress(1.0, 2.0, "half");
        request.progress(1.5, None, "");
        request.log(Level::Warning, "careful");
        request.log(Level::Debug, json!({ "n": 1 }));
        let [half, more] = rehearsal.progress_made().try_into().expect("there are two");
        assert_eq!(
            (half.done, half.total, half.message.as_deref()),
            (1.0, Some(2.0), Some("half"))
        );
        assert_eq!((more.done, more.total, more.message), (1.5, None, None));
        let warning = (Level::Warning, json!("careful"));
        assert_eq!(rehearsal.logged(), [warning, (Level::Debug, json!({ "n": 1 }))]);
    }

    #[test]
    fn state_stays_until_another_is_set() {
        let rehearsal = Rehearsal::new().state("old");
        let request = rehearsal.request();
        assert_eq!(request.state().as_deref(), Some(b"old".as_slice()));
        request.set_state("new");
        assert_eq!(request.state().as_deref(), Some(b"new".as_slice()));
    }
}
