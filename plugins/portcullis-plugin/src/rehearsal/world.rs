//! In-memory versions of the host's functions: settings, catalog, cache, store, processes and HTTP.

use crate::bindings::portcullis::plugin::store::Entry;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

/// The state behind all functions of the host.
#[derive(Debug, Default)]
pub struct World {
    settings: RefCell<BTreeMap<String, String>>,
    cached: RefCell<BTreeMap<String, Vec<u8>>>,
    /// Keys of the cache that another call holds.
    claimed: RefCell<BTreeSet<String>>,
    /// The entries by their key in the store. `true`: the entry belongs to the caller.
    stored: RefCell<BTreeMap<(bool, String), Entry>>,
    writes: Cell<u64>,
    tools: RefCell<Vec<catalog::Entry>>,
    /// The key is the name of the tool.
    results: RefCell<BTreeMap<String, String>>,
    pub(super) calls: super::tool_calls::Calls,
    /// Like `results`, but the plugin cannot read them.
    hidden_results: RefCell<BTreeMap<String, serde_json::Value>>,
    commands: process::Commands,
    #[cfg(feature = "http")]
    web: http::Web,
}

thread_local! {
    static HERE: RefCell<Rc<World>> = RefCell::default();
}

/// Makes this world current on this thread.
pub fn enter(world: Rc<World>) {
    HERE.set(world);
}

pub(super) fn here() -> Rc<World> {
    HERE.with_borrow(Rc::clone)
}

impl World {
    pub fn set(&self, key: &str, value: &str) {
        self.settings.borrow_mut().insert(key.to_owned(), value.to_owned());
    }

    pub fn hold(&self, key: &str) {
        self.claimed.borrow_mut().insert(key.to_owned());
    }
}

pub mod settings {
    //! The contract's `settings`.

    pub fn get(key: &str) -> Option<String> {
        super::here().settings.borrow().get(key).cloned()
    }
}

pub mod catalog {
    //! The contract's `catalog`, with the tools that the test added.

    use super::World;
    pub use crate::bindings::portcullis::plugin::catalog::{Entry, Finding};
    use serde_json::{Value, json};

    impl World {
        pub fn put_tool(&self, tool: crate::catalog::Entry) {
            let tool = Entry {
                name: tool.name,
                source: tool.source,
                of_this_plugin: tool.of_this_plugin,
                title: tool.title,
                description: tool.description,
                input_schema: tool.input_schema.to_string(),
                output_schema: tool.output_schema.map(|schema| schema.to_string()),
                hints: tool.hints.into(),
                view: tool.view,
            };
            let mut tools = self.tools.borrow_mut();
            match tools.iter_mut().find(|known| known.name == tool.name) {
                Some(known) => *known = tool,
                None => tools.push(tool),
            }
        }

        pub fn remove_tool(&self, name: &str) {
            self.tools.borrow_mut().retain(|tool| tool.name != name);
        }

        pub fn put_result(&self, tool: &str, result: String) {
            self.results.borrow_mut().insert(tool.to_owned(), result);
        }

        pub fn put_hidden_result(&self, tool: &str, result: Value) {
            self.hidden_results.borrow_mut().insert(tool.to_owned(), result);
        }
    }

    pub fn find(name: &str, paths: &[Vec<String>]) -> Vec<Finding> {
        let world = super::here();
        let results = world.hidden_results.borrow();
        let find = |path: &Vec<String>| match results.get(name) {
            Some(data) => follow(data, path),
            None => Finding::Unknown,
        };
        paths.iter().map(find).collect()
    }

    fn follow(data: &Value, path: &[String]) -> Finding {
        let Some((pointer, rest)) = path.split_first() else { return Finding::Found };
        let Some(value) = data.pointer(pointer) else { return Finding::Missing };
        if rest.is_empty() {
            return Finding::Found;
        }
        let items: Vec<Value> = match (value.as_array(), value.as_object()) {
            (Some(items), _) => items.clone(),
            (None, Some(members)) => {
                members.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect()
            }
            (None, None) => return Finding::Missing,
        };
        let found: Vec<_> = items.iter().map(|item| follow(item, rest)).collect();
        let first = |wanted| found.contains(&wanted).then_some(wanted);
        let nothing = if items.is_empty() { Finding::Unknown } else { Finding::Missing };
        first(Finding::Found).or(first(Finding::Unknown)).unwrap_or(nothing)
    }

    pub fn tools() -> Vec<Entry> {
        super::here().tools.borrow().clone()
    }

    pub fn tool(name: &str) -> Option<Entry> {
        super::here().tools.borrow().iter().find(|tool| tool.name == name).cloned()
    }

    pub fn last_result(name: &str) -> Option<String> {
        super::here().results.borrow().get(name).cloned()
    }
}

pub mod cache {
    //! The contract's `cache`; nothing is ever dropped.

    pub fn get(key: &str) -> Option<Vec<u8>> {
        super::here().cached.borrow().get(key).cloned()
    }

    pub fn set(key: &str, value: &[u8], _ttl_ms: u64) {
        super::here().cached.borrow_mut().insert(key.to_owned(), value.to_owned());
    }

    /// A claim. A rehearsal makes one call at a time, so every claim succeeds, except a claim with a time limit on a
    /// key that the test holds.
    pub struct Claim;

    impl Claim {
        pub fn take(_key: &str) -> Option<Self> {
            Some(Self)
        }

        pub fn take_within(key: &str, _ms: u64) -> Option<Self> {
            (!super::here().claimed.borrow().contains(key)).then_some(Self)
        }
    }
}

pub mod store {
    //! The contract's `store`, without a quota.

    use crate::bindings::portcullis::plugin::store::{Entry, Scope, StoreError};

    #[derive(Debug)]
    pub struct Keyspace {
        for_caller: bool,
    }

    impl Keyspace {
        pub fn open(scope: Scope) -> Result<Self, StoreError> {
            Ok(Self { for_caller: scope == Scope::Caller })
        }

        pub fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
            let world = super::here();
            let stored = world.stored.borrow();
            Ok(stored.get(&(self.for_caller, key.to_owned())).cloned())
        }

        pub fn set(&self, key: &str, value: &[u8], expect: Option<u64>) -> Result<u64, StoreError> {
            let stored = self.get(key)?.map_or(0, |entry| entry.version);
            if expect.is_some_and(|expected| expected != stored) {
                return Err(StoreError::Conflict);
            }
            let world = super::here();
            let version = world.writes.get() + 1;
            world.writes.set(version);
            let key = (self.for_caller, key.to_owned());
            let value = value.to_owned();
            world.stored.borrow_mut().insert(key, Entry { value, version });
            Ok(version)
        }

        pub fn delete(&self, key: &str) -> Result<(), StoreError> {
            super::here().stored.borrow_mut().remove(&(self.for_caller, key.to_owned()));
            Ok(())
        }

        pub fn keys(
            &self,
            prefix: &str,
            after: Option<&str>,
            limit: u32,
        ) -> Result<Vec<String>, StoreError> {
            let world = super::here();
            let stored = world.stored.borrow();
            let keys = stored.keys().filter(|(for_caller, _)| *for_caller == self.for_caller);
            Ok(keys
                .map(|(_, key)| key)
                .filter(|key| key.starts_with(prefix))
                .filter(|key| after.is_none_or(|after| key.as_str() > after))
                .take(usize::try_from(limit).unwrap_or(usize::MAX))
                .cloned()
                .collect())
        }
    }
}

pub mod process {
    //! The contract's `process`, with the output that the test defines for each command.

    use super::World;
    use crate::bindings::portcullis::plugin::process::{Output, ProcessError};
    use crate::process::{Error, Output as Ran};
    use std::{cell::RefCell, collections::HashMap, fmt, rc::Rc};

    /// Returns the output of a command for its arguments, input and directory.
    pub type Run = Rc<dyn Fn(&[String], &[u8], &str) -> Result<Ran, Error>>;

    /// Returns the response of a worker to a message in a directory.
    pub type Answer = Rc<dyn Fn(&str, &str) -> Result<String, Error>>;

    /// The commands that the test defined.
    #[derive(Default)]
    pub struct Commands {
        run: RefCell<HashMap<String, Run>>,
        answer: RefCell<HashMap<String, Answer>>,
    }

    impl fmt::Debug for Commands {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_list().entries(self.run.borrow().keys()).finish()
        }
    }

    impl World {
        pub fn put_command(&self, name: &str, run: Run) {
            self.commands.run.borrow_mut().insert(name.to_owned(), run);
        }

        pub fn put_worker(&self, name: &str, answer: Answer) {
            self.commands.answer.borrow_mut().insert(name.to_owned(), answer);
        }
    }

    pub struct Running(Output);

    impl Running {
        pub fn start(
            command: &str,
            arguments: &[String],
            input: &[u8],
            directory: Option<&str>,
        ) -> Result<Self, ProcessError> {
            let run = super::here().commands.run.borrow().get(command).cloned();
            let run = run.ok_or(ProcessError::Denied)?;
            let Ran { status, stdout, stderr } =
                run(arguments, input, directory.unwrap_or_default()).map_err(of_contract)?;
            Ok(Self(Output { status, stdout, stderr }))
        }

        pub fn wait(&self, _milliseconds: u32) -> Result<Option<Output>, ProcessError> {
            Ok(Some(self.0.clone()))
        }
    }

    pub fn request(
        command: &str,
        message: &str,
        directory: Option<&str>,
    ) -> Result<String, ProcessError> {
        let answer = super::here().commands.answer.borrow().get(command).cloned();
        answer.ok_or(ProcessError::Denied)?(message, directory.unwrap_or_default())
            .map_err(of_contract)
    }

    fn of_contract(error: Error) -> ProcessError {
        match error {
            Error::Denied => ProcessError::Denied,
            Error::NotFound(program) => ProcessError::NotFound(program),
            Error::TimedOut => ProcessError::TimedOut,
            Error::TooLarge => ProcessError::TooLarge,
            Error::Stopped => ProcessError::Failed("stopped".into()),
            Error::Failed(why) => ProcessError::Failed(why),
        }
    }
}

#[cfg(feature = "http")]
pub mod http {
    //! HTTP requests, answered by a function for each URL.

    use super::World;
    use crate::http::{ErrorCode, Head, Outgoing, Reason, Sink, Url, Watch};
    use std::{cell::RefCell, collections::HashMap, fmt, rc::Rc, time::Duration};

    /// A recorded request.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Sent {
        /// The method, such as `GET`.
        pub method: String,
        /// The URL with its query.
        pub url: String,
        /// The headers, in order.
        pub headers: Vec<(String, String)>,
        /// The body; empty if there was none.
        pub body: Vec<u8>,
        /// The limit for the first byte of the response, if set.
        pub patience: Option<Duration>,
    }

    /// A response.
    #[derive(Clone, Debug)]
    pub struct Page {
        /// The status code, such as 200.
        pub status: u16,
        /// The headers, in order.
        pub headers: Vec<(String, String)>,
        /// The body, in the pieces in which it arrives.
        pub body: Vec<Vec<u8>>,
        /// The error that cuts the body off, if any.
        pub broken: Option<Reason>,
    }

    impl Page {
        /// A response without headers.
        pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
            Self { status, headers: Vec::new(), body: vec![body.into()], broken: None }
        }

        /// Adds a header.
        pub fn header(mut self, name: &str, value: &str) -> Self {
            self.headers.push((name.to_owned(), value.to_owned()));
            self
        }
    }

    /// Returns the response to a request.
    pub type Answer = Rc<dyn Fn(&Sent) -> Result<Page, Reason>>;

    /// The functions by URL, and the requests so far.
    #[derive(Default)]
    pub struct Web {
        answers: RefCell<HashMap<String, Answer>>,
        sent: RefCell<Vec<Sent>>,
    }

    impl fmt::Debug for Web {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_list().entries(self.answers.borrow().keys()).finish()
        }
    }

    impl World {
        pub fn put_answer(&self, url: &str, answer: Answer) {
            let url = Url::parse(url).expect("an answer has an http or https URL");
            self.web.answers.borrow_mut().insert(url.to_string(), answer);
        }

        pub fn sent(&self) -> Vec<Sent> {
            self.web.sent.borrow().clone()
        }
    }

    pub fn send(
        outgoing: Outgoing,
        sink: &mut Sink<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Head, Reason> {
        let Outgoing { method, url, headers, body, timeouts } = outgoing;
        let url = url.to_string();
        let world = super::here();
        let answer = world.web.answers.borrow().get(&url).cloned();
        let body = body.unwrap_or_default();
        let sent = Sent { method, url, headers, body, patience: timeouts.first_byte };
        world.web.sent.borrow_mut().push(sent.clone());
        let answer = answer.ok_or(Reason::Code(ErrorCode::HttpRequestDenied))?(&sent);
        if !watch(Duration::ZERO) {
            return Err(Reason::GivenUp);
        }
        let Page { status, headers, body, broken } = answer?;
        for piece in body {
            sink(&piece)?;
        }
        if let Some(reason) = broken {
            return Err(reason);
        }
        Ok((status, headers.into_iter().map(|(name, value)| (name, value.into())).collect()))
    }
}
