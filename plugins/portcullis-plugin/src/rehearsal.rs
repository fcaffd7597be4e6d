//! A fake host for unit tests of a plugin; the tests run natively on your own machine.
//!
//! ```
//! # use portcullis_plugin::prelude::*;
//! use portcullis_plugin::rehearsal::Rehearsal;
//!
//! /// Tells the weather.
//! #[arguments]
//! struct Weather {}
//!
//! #[data]
//! struct Place {
//!     town: String,
//! }
//!
//! impl Tool for Weather {
//!     const NAME: &'static str = "weather";
//!     type Output = String;
//!
//!     fn call(self, request: &Request) -> Result<String, Failure> {
//!         let place: Place = request.ask(form("place", "Where?"))?;
//!         let url = format!("https://example.org/{}", place.town);
//!         Ok(http::get(url)?.success()?.text()?)
//!     }
//! }
//!
//! let reply = Rehearsal::new()
//!     .form("place", json!({ "town": "Walldorf" }))
//!     .page("https://example.org/Walldorf", 200, "sunny")
//!     .call::<Weather>(json!({}));
//! assert_eq!(reply.unwrap().as_text(), "sunny");
//! ```
//!
//! Settings, pages, commands, callable tools, the catalog, the cache and the store are those of the
//! [`Rehearsal`] that was created, or [entered](Rehearsal::enter), last on this thread.

pub(crate) mod changes;
pub(crate) mod tool_calls;
mod world;

#[cfg(feature = "http")]
pub(crate) use world::http;
#[cfg(feature = "http")]
pub use world::http::{Page, Sent};
pub(crate) use world::{cache, catalog, process, settings, store};

#[cfg(feature = "http")]
use crate::http::Reason;
use crate::{
    ask::Root,
    bindings::portcullis::plugin::types::{Action, Answer, FormAnswer},
    catalog::Entry,
    dispatch,
    failure::Failure,
    job::Jobs,
    process::{Error, Output},
    prompt::{Messages, Prompt},
    reply::Reply,
    request::{Level, ListKind, Request},
    tool::Tool,
    view::{ToolView, Views},
};
use serde_json::Value;
use std::{cell::RefCell, collections::HashMap, rc::Rc, time::Duration};
use world::World;

/// A fake host, client and user with the answers that the test sets.
#[derive(Debug, Default)]
pub struct Rehearsal {
    answers: HashMap<String, Answer>,
    state: Option<Vec<u8>>,
    principal: Option<String>,
    meta: Option<Value>,
    unsupported: Vec<String>,
    remaining: Option<Duration>,
    cancelled: bool,
    progress: RefCell<Vec<Progress>>,
    logged: RefCell<Vec<(Level, Value)>>,
    updated: RefCell<Vec<String>>,
    changed: RefCell<Vec<ListKind>>,
    jobs: RefCell<Vec<Vec<u8>>>,
    world: Rc<World>,
}

/// One progress notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Amount done.
    pub done: f64,
    /// Total amount, if known.
    pub total: Option<f64>,
    /// Description of the current step.
    pub message: Option<String>,
}

impl Rehearsal {
    /// A host without settings, stored data or answers, and a client that supports every feature.
    pub fn new() -> Self {
        let rehearsal = Self::default();
        rehearsal.enter();
        rehearsal
    }

    /// Makes this rehearsal's settings, pages, commands, callable tools, catalog, cache and store current on this
    /// thread.
    pub fn enter(&self) -> &Self {
        world::enter(Rc::clone(&self.world));
        self
    }

    /// The user fills in the form with that key.
    pub fn form(self, key: &str, content: Value) -> Self {
        let content = Some(content.to_string());
        self.answer(key, Answer::Form(FormAnswer { action: Action::Accept, content }))
    }

    /// The user declines the form with that key.
    pub fn form_declined(self, key: &str) -> Self {
        self.answer(key, Answer::Form(FormAnswer { action: Action::Decline, content: None }))
    }

    /// The user agrees to visit the page.
    pub fn visited(self, key: &str) -> Self {
        self.answer(key, Answer::Visit(Action::Accept))
    }

    /// The user agrees to an action of that kind on that subject.
    pub fn agreed(self, kind: &str, subject: &str) -> Self {
        self.answer(&crate::consent(kind, "", subject).key(), Answer::Consent(Action::Accept))
    }

    /// The user refuses an action of that kind on that subject.
    pub fn refused(self, kind: &str, subject: &str) -> Self {
        self.answer(&crate::consent(kind, "", subject).key(), Answer::Consent(Action::Decline))
    }

    /// The client's model answers with a `CreateMessageResult`.
    pub fn sampled(self, key: &str, result: Value) -> Self {
        self.answer(key, Answer::Sample(result.to_string()))
    }

    /// The client has these roots.
    pub fn roots<'u>(self, key: &str, uris: impl IntoIterator<Item = &'u str>) -> Self {
        let roots = uris.into_iter().map(|uri| Root { uri: uri.to_owned(), name: None });
        let roots = roots.collect();
        self.answer(key, Answer::Roots(roots))
    }

    /// The client answers the request of [`other`](crate::other) with that key.
    pub fn other(self, key: &str, result: Value) -> Self {
        self.answer(key, Answer::Other(result.to_string()))
    }

    /// The previous round has set this state.
    pub fn state(mut self, state: impl Into<Vec<u8>>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// The caller is authenticated as this principal.
    pub fn principal(mut self, principal: &str) -> Self {
        self.principal = Some(principal.to_owned());
        self
    }

    /// The request has this `_meta`.
    pub fn meta(mut self, meta: Value) -> Self {
        self.meta = Some(meta);
        self
    }

    /// The client lacks that feature.
    pub fn without(mut self, feature: &str) -> Self {
        self.unsupported.push(feature.to_owned());
        self
    }

    /// This much time is left.
    pub fn remaining(mut self, time: Duration) -> Self {
        self.remaining = Some(time);
        self
    }

    /// The caller has cancelled the request.
    pub fn cancelled(mut self) -> Self {
        self.cancelled = true;
        self
    }

    /// The operator has set this setting.
    pub fn setting(self, key: &str, value: &str) -> Self {
        self.world.set(key, value);
        self
    }

    /// This URL has this page. Requests to URLs without a page or a [`server`](Self::server) are denied.
    #[cfg(feature = "http")]
    pub fn page(self, url: &str, status: u16, body: impl Into<Vec<u8>>) -> Self {
        let page = Page::new(status, body);
        self.server(url, move |_| Ok(page.clone()))
    }

    /// A function answers at this URL: it gets each request and may return an error.
    #[cfg(feature = "http")]
    pub fn server(
        self,
        url: &str,
        answer: impl Fn(&Sent) -> Result<Page, Reason> + 'static,
    ) -> Self {
        self.world.put_answer(url, Rc::new(answer));
        self
    }

    /// The catalog has this tool. It replaces an earlier tool with the same name.
    pub fn catalog_tool(self, tool: Entry) -> Self {
        self.world.put_tool(tool);
        self
    }

    /// The catalog has no tool with that name any more.
    pub fn without_tool(self, name: &str) -> Self {
        self.world.remove_tool(name);
        self
    }

    /// The function answers the plugin's calls of this tool: it gets the arguments and returns the value. To have the
    /// tool listed, also add it with [`catalog_tool`](Self::catalog_tool).
    pub fn callable(
        self,
        name: &str,
        call: impl Fn(&Value) -> Result<Value, crate::tool_calls::Failure> + 'static,
    ) -> Self {
        self.world.put_callable(name, Rc::new(call));
        self
    }

    /// The data of that tool's last successful call.
    pub fn last_result(self, tool: &str, result: Value) -> Self {
        self.world.put_result(tool, result.to_string());
        self
    }

    /// The data of that tool's last successful call, which the plugin cannot read. Only
    /// [`find`](crate::catalog::find) follows paths into the data.
    pub fn hidden_result(self, tool: &str, result: Value) -> Self {
        self.world.put_hidden_result(tool, result);
        self
    }

    /// Another call holds this key of the cache, so that [`claim_within`](crate::cache::claim_within) returns `None`.
    pub fn claimed(self, key: &str) -> Self {
        self.world.hold(key);
        self
    }

    /// The operator has defined this command. The function gets the arguments, the input, and the directory (empty if
    /// the plugin set none).
    pub fn command(
        self,
        name: &str,
        run: impl Fn(&[String], &[u8], &str) -> Result<Output, Error> + 'static,
    ) -> Self {
        self.world.put_command(name, Rc::new(run));
        self
    }

    /// The operator has defined this command as a worker. The function gets the message and the
    /// directory.
    pub fn worker(
        self,
        name: &str,
        answer: impl Fn(&str, &str) -> Result<String, Error> + 'static,
    ) -> Self {
        self.world.put_worker(name, Rc::new(answer));
        self
    }

    /// The request, to pass to a function under test.
    pub fn request(&self) -> Request<'_> {
        Request::from_rehearsal(self)
    }

    /// Calls a tool as the host does. The arguments are parsed, but not validated against the
    /// schema.
    pub fn call<T: Tool>(&self, arguments: Value) -> Result<Reply, Failure> {
        dispatch::run::<T>(&self.request(), &arguments.to_string())
    }

    /// Gets a prompt as the host does. The arguments are an object of strings.
    pub fn prompt<P: Prompt>(&self, arguments: Value) -> Result<Messages, Failure> {
        dispatch::prompt::<P>(&arguments.to_string())?.get(&self.request())
    }

    /// The views that the plugin assigns to the tools of the catalog.
    pub fn assign<V: Views>(&self) -> Result<Vec<ToolView>, Failure> {
        V::assign(&self.request())
    }

    /// Runs a job as the host does.
    pub fn run_job<J: Jobs>(&self, job: &[u8]) -> Result<(), Failure> {
        J::run(&self.request(), job)
    }

    /// The progress notifications so far.
    pub fn progress_made(&self) -> Vec<Progress> {
        self.progress.borrow().clone()
    }

    /// The log records so far.
    pub fn logged(&self) -> Vec<(Level, Value)> {
        self.logged.borrow().clone()
    }

    /// The resources reported as changed.
    pub fn updated(&self) -> Vec<String> {
        self.updated.borrow().clone()
    }

    /// The lists reported as changed.
    pub fn changed(&self) -> Vec<ListKind> {
        self.changed.borrow().clone()
    }

    /// The jobs requested so far.
    pub fn jobs(&self) -> Vec<Vec<u8>> {
        self.jobs.borrow().clone()
    }

    /// The HTTP requests sent so far.
    #[cfg(feature = "http")]
    pub fn sent(&self) -> Vec<Sent> {
        self.world.sent()
    }

    fn answer(mut self, key: &str, answer: Answer) -> Self {
        self.answers.insert(key.to_owned(), answer);
        self
    }
}

/// The request of a rehearsal. Its methods have the signatures of the contract.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'r>(pub &'r Rehearsal);

impl Source<'_> {
    pub fn id(self) -> String {
        "rehearsal".to_owned()
    }

    pub fn protocol(self) -> String {
        "2026-07-28".to_owned()
    }

    pub fn principal(self) -> Option<String> {
        self.0.principal.clone()
    }

    pub fn meta(self) -> Option<String> {
        self.0.meta.as_ref().map(Value::to_string)
    }

    pub fn supports(self, feature: &str) -> bool {
        !self.0.unsupported.iter().any(|unsupported| unsupported == feature)
    }

    pub fn answer(self, key: &str) -> Option<Answer> {
        self.0.answers.get(key).cloned()
    }

    pub fn state(self) -> Option<Vec<u8>> {
        self.0.state.clone()
    }

    pub fn cancelled(self) -> bool {
        self.0.cancelled
    }

    pub fn in_background(self) -> bool {
        true
    }

    pub fn resource_updated(self, uri: &str) {
        self.0.updated.borrow_mut().push(uri.to_owned());
    }

    pub fn list_changed(self, kind: ListKind) {
        self.0.changed.borrow_mut().push(kind);
    }

    pub fn later(self, job: &[u8]) -> bool {
        let mut jobs = self.0.jobs.borrow_mut();
        if !jobs.iter().any(|waiting| waiting == job) {
            jobs.push(job.to_owned());
        }
        true
    }

    pub fn remaining(self) -> Option<u64> {
        self.0.remaining.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub fn progress(self, done: f64, total: Option<f64>, message: Option<&str>) {
        let message = message.map(str::to_owned);
        self.0.progress.borrow_mut().push(Progress { done, total, message });
    }

    pub fn log(self, level: Level, _logger: Option<&str>, data: &str) {
        let data = serde_json::from_str(data).expect("it is made from JSON");
        self.0.logged.borrow_mut().push((level, data));
    }
}
