//! A stand-in for the host, so that a plugin's tests run on your own machine.
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
//! Settings, pages, the catalog, the cache and the store are those of the [`Rehearsal`] made, or
//! [entered](Rehearsal::enter), last on this thread.

pub(crate) mod changes;
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
    view::{Dressing, Views},
};
use serde_json::Value;
use std::{cell::RefCell, collections::HashMap, rc::Rc, time::Duration};
use world::World;

/// A host, a client and a user that say what the test wants them to say.
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

/// One report of progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// Of how much, if that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

impl Rehearsal {
    /// Nothing is set, stored, answered or found, and the client can do everything.
    pub fn new() -> Self {
        let rehearsal = Self::default();
        rehearsal.enter();
        rehearsal
    }

    /// From now on, on this thread, settings, pages, the catalog, the cache and the store are this one's.
    pub fn enter(&self) -> &Self {
        world::enter(Rc::clone(&self.world));
        self
    }

    /// The user fills in the form of that key.
    pub fn form(self, key: &str, content: Value) -> Self {
        let content = Some(content.to_string());
        self.answer(key, Answer::Form(FormAnswer { action: Action::Accept, content }))
    }

    /// The user declines the form of that key.
    pub fn form_declined(self, key: &str) -> Self {
        self.answer(key, Answer::Form(FormAnswer { action: Action::Decline, content: None }))
    }

    /// The user agrees to visit the page.
    pub fn visited(self, key: &str) -> Self {
        self.answer(key, Answer::Visit(Action::Accept))
    }

    /// The user agrees to a deed of that kind, done to that subject.
    pub fn agreed(self, kind: &str, subject: &str) -> Self {
        self.answer(&crate::consent(kind, "", subject).key(), Answer::Consent(Action::Accept))
    }

    /// The user does not agree to it.
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

    /// The client answers something else.
    pub fn other(self, key: &str, result: Value) -> Self {
        self.answer(key, Answer::Other(result.to_string()))
    }

    /// The round before left this state.
    pub fn state(mut self, state: impl Into<Vec<u8>>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// The caller is authenticated.
    pub fn principal(mut self, principal: &str) -> Self {
        self.principal = Some(principal.to_owned());
        self
    }

    /// The request has a `_meta`.
    pub fn meta(mut self, meta: Value) -> Self {
        self.meta = Some(meta);
        self
    }

    /// The client does not take part in that feature.
    pub fn without(mut self, feature: &str) -> Self {
        self.unsupported.push(feature.to_owned());
        self
    }

    /// That much time is left.
    pub fn remaining(mut self, time: Duration) -> Self {
        self.remaining = Some(time);
        self
    }

    /// The caller has cancelled.
    pub fn cancelled(mut self) -> Self {
        self.cancelled = true;
        self
    }

    /// The operator has set this.
    pub fn setting(self, key: &str, value: &str) -> Self {
        self.world.set(key, value);
        self
    }

    /// The web has this page; every other is denied.
    #[cfg(feature = "http")]
    pub fn page(self, url: &str, status: u16, body: impl Into<Vec<u8>>) -> Self {
        let page = Page::new(status, body);
        self.server(url, move |_| Ok(page.clone()))
    }

    /// Something answers at this URL: it is told each request, and may fail as the web does.
    #[cfg(feature = "http")]
    pub fn server(
        self,
        url: &str,
        answer: impl Fn(&Sent) -> Result<Page, Reason> + 'static,
    ) -> Self {
        self.world.put_answer(url, Rc::new(answer));
        self
    }

    /// There is this tool, of some plugin or other server, in place of one of that name.
    pub fn catalog_tool(self, tool: Entry) -> Self {
        self.world.put_tool(tool);
        self
    }

    /// There is no tool of that name any more.
    pub fn without_tool(self, name: &str) -> Self {
        self.world.remove_tool(name);
        self
    }

    /// The structured answer of that tool's last successful call.
    pub fn last_result(self, tool: &str, result: Value) -> Self {
        self.world.put_result(tool, result.to_string());
        self
    }

    /// The operator has defined this command; it is told its arguments, its input and its directory,
    /// which is empty where it has none.
    pub fn command(
        self,
        name: &str,
        run: impl Fn(&[String], &[u8], &str) -> Result<Output, Error> + 'static,
    ) -> Self {
        self.world.put_command(name, Rc::new(run));
        self
    }

    /// The operator has defined this command, and it is a worker; it is told the message and its
    /// directory.
    pub fn worker(
        self,
        name: &str,
        answer: impl Fn(&str, &str) -> Result<String, Error> + 'static,
    ) -> Self {
        self.world.put_worker(name, Rc::new(answer));
        self
    }

    /// The request, for what takes one.
    pub fn request(&self) -> Request<'_> {
        Request::from_rehearsal(self)
    }

    /// Calls a tool as the host would. The arguments are read, but not checked against the schema.
    pub fn call<T: Tool>(&self, arguments: Value) -> Result<Reply, Failure> {
        dispatch::run::<T>(&self.request(), &arguments.to_string())
    }

    /// Gets a prompt as the host would. The arguments are an object of strings.
    pub fn prompt<P: Prompt>(&self, arguments: Value) -> Result<Messages, Failure> {
        dispatch::prompt::<P>(&arguments.to_string())?.get(&self.request())
    }

    /// What the plugin has to say of the tools there are.
    pub fn dress<V: Views>(&self) -> Result<Vec<Dressing>, Failure> {
        V::dress(&self.request())
    }

    /// Runs a job as the host would.
    pub fn run_job<J: Jobs>(&self, job: &[u8]) -> Result<(), Failure> {
        J::run(&self.request(), job)
    }

    /// What was reported as progress.
    pub fn progress_made(&self) -> Vec<Progress> {
        self.progress.borrow().clone()
    }

    /// What was logged.
    pub fn logged(&self) -> Vec<(Level, Value)> {
        self.logged.borrow().clone()
    }

    /// The resources that were said to have changed.
    pub fn updated(&self) -> Vec<String> {
        self.updated.borrow().clone()
    }

    /// The lists that were said to have changed.
    pub fn changed(&self) -> Vec<ListKind> {
        self.changed.borrow().clone()
    }

    /// The jobs that were left for later.
    pub fn jobs(&self) -> Vec<Vec<u8>> {
        self.jobs.borrow().clone()
    }

    /// What was sent to the web.
    #[cfg(feature = "http")]
    pub fn sent(&self) -> Vec<Sent> {
        self.world.sent()
    }

    fn answer(mut self, key: &str, answer: Answer) -> Self {
        self.answers.insert(key.to_owned(), answer);
        self
    }
}

/// What a request asks; the signatures are those of the contract.
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
