//! What a plugin reaches through functions: settings, cache, store and web, kept in memory.

use crate::bindings::portcullis::plugin::store::Entry;
#[cfg(feature = "http")]
use std::collections::HashMap;
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

/// Everything there is.
#[derive(Debug, Default)]
pub struct World {
    settings: RefCell<BTreeMap<String, String>>,
    cached: RefCell<BTreeMap<String, Vec<u8>>>,
    /// By whether it is the caller's, and by key.
    stored: RefCell<BTreeMap<(bool, String), Entry>>,
    writes: Cell<u64>,
    commands: process::Commands,
    #[cfg(feature = "http")]
    pages: RefCell<HashMap<String, http::Page>>,
    #[cfg(feature = "http")]
    servers: http::Servers,
    #[cfg(feature = "http")]
    sent: RefCell<Vec<http::Sent>>,
}

thread_local! {
    static HERE: RefCell<Rc<World>> = RefCell::default();
}

/// From now on, on this thread, this is what there is.
pub fn enter(world: Rc<World>) {
    HERE.set(world);
}

fn here() -> Rc<World> {
    HERE.with_borrow(Rc::clone)
}

impl World {
    pub fn set(&self, key: &str, value: &str) {
        self.settings.borrow_mut().insert(key.to_owned(), value.to_owned());
    }
}

pub mod settings {
    //! As the contract's `settings`.

    pub fn get(key: &str) -> Option<String> {
        super::here().settings.borrow().get(key).cloned()
    }
}

pub mod cache {
    //! As the contract's `cache`, except that nothing is ever dropped.

    pub fn get(key: &str) -> Option<Vec<u8>> {
        super::here().cached.borrow().get(key).cloned()
    }

    pub fn set(key: &str, value: &[u8], _ttl_ms: u64) {
        super::here().cached.borrow_mut().insert(key.to_owned(), value.to_owned());
    }

    /// Nobody else is here, so everyone gets it.
    pub struct Claim;

    impl Claim {
        pub fn take(_key: &str) -> Option<Self> {
            Some(Self)
        }
    }
}

pub mod store {
    //! As the contract's `store`, without a quota.

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
    //! As the contract's `process`: what the test says of each command.

    use super::World;
    use crate::bindings::portcullis::plugin::process::{Output, ProcessError};
    use crate::process::{Error, Output as Ran};
    use std::{cell::RefCell, collections::HashMap, fmt, rc::Rc};

    /// Arguments, input and directory to what comes of them.
    pub type Run = Rc<dyn Fn(&[String], &[u8], &str) -> Result<Ran, Error>>;

    /// Message and directory to the answer.
    pub type Answer = Rc<dyn Fn(&str, &str) -> Result<String, Error>>;

    /// Those that there are.
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
    //! The web: the pages there are.

    use super::World;
    use crate::http::{ErrorCode, Head, Outgoing, Reason, Sink, Url, Watch};
    use std::{cell::RefCell, collections::HashMap, fmt, rc::Rc, time::Duration};

    /// A request as it would have gone out.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Sent {
        /// Such as `GET`.
        pub method: String,
        /// With the query.
        pub url: String,
        /// In order.
        pub headers: Vec<(String, String)>,
        /// Empty when there was none.
        pub body: Vec<u8>,
        /// How long the first byte of the answer is waited for, where that is limited.
        pub patience: Option<Duration>,
    }

    /// What a server of the test's own says.
    #[derive(Clone, Debug, Default)]
    pub struct Served {
        /// Such as 200.
        pub status: u16,
        /// In order.
        pub headers: Vec<(String, String)>,
        /// In the pieces in which it arrives.
        pub body: Vec<Vec<u8>>,
        /// What cuts the body off, where it does not end as it should.
        pub broken: Option<Reason>,
    }

    /// From a request to its answer.
    pub type Server = Rc<dyn Fn(&Sent) -> Result<Served, Reason>>;

    /// Those that there are, by URL.
    #[derive(Default)]
    pub struct Servers(RefCell<HashMap<String, Server>>);

    impl fmt::Debug for Servers {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_list().entries(self.0.borrow().keys()).finish()
        }
    }

    /// Its status and its body.
    pub type Page = (u16, Vec<u8>);

    impl World {
        pub fn put_page(&self, url: &str, page: Page) {
            let url = Url::parse(url).expect("a page has an http or https URL");
            self.pages.borrow_mut().insert(url.to_string(), page);
        }

        pub fn put_server(&self, url: &str, server: Server) {
            let url = Url::parse(url).expect("a server has an http or https URL");
            self.servers.0.borrow_mut().insert(url.to_string(), server);
        }

        pub fn sent(&self) -> Vec<Sent> {
            self.sent.borrow().clone()
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
        let page = world.pages.borrow().get(&url).cloned();
        let server = world.servers.0.borrow().get(&url).cloned();
        let body = body.unwrap_or_default();
        let sent = Sent { method, url, headers, body, patience: timeouts.first_byte };
        world.sent.borrow_mut().push(sent.clone());
        if let Some(server) = server {
            let served = server(&sent);
            if !watch(Duration::ZERO) {
                return Err(Reason::GivenUp);
            }
            let Served { status, headers, body, broken } = served?;
            for piece in body {
                sink(&piece)?;
            }
            let headers =
                headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
            return broken.map_or(Ok((status, headers)), Err);
        }
        let (status, body) = page.ok_or(Reason::Code(ErrorCode::HttpRequestDenied))?;
        sink(&body)?;
        Ok((status, Vec::new()))
    }
}
