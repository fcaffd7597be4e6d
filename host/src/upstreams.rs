//! Other MCP servers as sources of tools, prompts and resources.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use portcullis_upstream::{Client, Listing, Upstream};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, Folders, UpstreamConfig};
use portcullis_audit::{Audit, Subject, Trail};
use portcullis_schema::Schema;
use portcullis_wrap::Lock;

/// How long the first list waits for servers that have to be started.
const SOON: Duration = Duration::from_secs(10);

/// Before a server that could not be listed is tried again.
const AGAIN: Duration = Duration::from_secs(30);

/// Every other server.
pub struct Upstreams {
    /// By the order of their names.
    pub all: Vec<Arc<Source>>,
    /// What their tools said of themselves when they were approved.
    pub lock: Lock,
    audit: Audit,
}

/// One of them.
pub struct Source {
    /// The operator's name for it.
    pub name: Arc<str>,
    /// What is put before its names.
    pub prefix: Option<String>,
    /// The server.
    pub upstream: Upstream,
    off: Vec<String>,
    /// Of its tools, by their digests.
    schemas: Mutex<HashMap<String, Arc<Result<Schema, String>>>>,
}

/// What one of them offers now, and what of it is held back.
#[derive(Clone)]
pub struct Offered {
    /// Whose.
    pub source: Arc<Source>,
    /// What.
    pub listing: Arc<Listing>,
    /// Tools that have changed since they were approved.
    pub held: Vec<String>,
}

impl Offered {
    /// Places of the tools that clients see.
    pub fn tools(&self) -> impl Iterator<Item = (usize, &portcullis_upstream::Tool)> {
        let is_off = |name: &str| self.source.off.iter().any(|off| off == name);
        let tools = self.listing.tools.iter().enumerate();
        tools.filter(move |(_, tool)| !is_off(&tool.name) && !self.held.contains(&tool.name))
    }
}

impl Upstreams {
    /// Those of the configuration. Nothing is started yet.
    ///
    /// # Errors
    ///
    /// Where a definition does not hold together: which, and what to do.
    #[expect(clippy::disallowed_methods, reason = "children are started by way of this program")]
    pub fn new(config: &Config, folders: &Folders, audit: Audit) -> Result<Self, String> {
        let mut client = Client::new("portcullis", env!("CARGO_PKG_VERSION"));
        client.launcher = std::env::current_exe().ok();
        let named = config.upstreams.iter().filter(|(_, one)| one.enabled != Some(false));
        let source = |(name, one): (&String, &UpstreamConfig)| {
            let upstream = Upstream::new(name, one.definition.clone(), client.clone())
                .map_err(|error| format!("`upstreams.{name}`: {error}"))?;
            Ok(Arc::new(Source {
                name: name.as_str().into(),
                prefix: one.prefix.clone(),
                upstream,
                off: one.tools_off.clone(),
                schemas: Mutex::default(),
            }))
        };
        let all = named.map(source).collect::<Result<_, String>>()?;
        Ok(Self { all, lock: Lock::at(folders.lock.clone()), audit })
    }

    /// What those offer that have said it; the first time, there is some time to say it.
    pub async fn offered(&self) -> Vec<Offered> {
        let listings = self.all.iter().map(|source| async move {
            match source.upstream.known() {
                Some(listing) => Some((source, listing)),
                None => {
                    let listing = tokio::time::timeout(SOON, source.upstream.listing()).await;
                    Some((source, listing.ok()?.ok()?))
                }
            }
        });
        let listings = join_all(listings).await.into_iter().flatten();
        listings.map(|(source, listing)| self.judge(source, listing)).collect()
    }

    fn judge(&self, source: &Arc<Source>, listing: Arc<Listing>) -> Offered {
        let tools = listing.tools.iter().map(|tool| (tool.name.as_str(), tool.digest.as_str()));
        let held = self.lock.changed(&source.name, tools);
        for tool in &held {
            tracing::warn!(
                "the tool `{tool}` of `{0}` has changed since it was approved, and is held back: \
                 look at it, and then `portcullis plugin approve {0}`",
                source.name
            );
        }
        Offered { source: source.clone(), listing, held }
    }

    /// Tries those that have not been listed yet, and calls `changed` whenever one offers something
    /// else than before, until it is over.
    pub fn keep(
        self: &Arc<Self>,
        over: &CancellationToken,
        changed: impl Fn() + Send + Sync + 'static,
    ) {
        let changed = Arc::new(changed);
        for source in &self.all {
            let (upstream, over, changed) =
                (source.upstream.clone(), over.clone(), changed.clone());
            tokio::spawn(async move {
                let follow = async {
                    let mut changes = upstream.changes();
                    while upstream.known().is_none() {
                        if upstream.listing().await.is_err() {
                            tokio::time::sleep(AGAIN).await;
                        }
                    }
                    while changes.changed().await.is_ok() {
                        changed();
                    }
                };
                over.run_until_cancelled(follow).await;
            });
        }
    }

    /// Ends all connections, and children with them.
    pub async fn close(&self) {
        join_all(self.all.iter().map(|source| source.upstream.close())).await;
    }

    /// Where requests to them are recorded, as calls of plugins are.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// The trail of one request to one of them.
    pub fn trail(
        &self,
        source: &Source,
        request: String,
        what: String,
        digest: &str,
        principal: Option<String>,
    ) -> Trail {
        let subject = Subject {
            request,
            plugin: source.name.clone(),
            digest: digest.into(),
            tool: what,
            principal,
        };
        Trail::new(self.audit.clone(), subject)
    }
}

impl Source {
    /// The schema of a tool's arguments; `None`, where it says none that can be read: then the server
    /// is the one to check them.
    pub fn schema(&self, tool: &portcullis_upstream::Tool) -> Arc<Result<Schema, String>> {
        let mut schemas = self.schemas.lock();
        let parse = || {
            let text = tool.definition.get("inputSchema").map(ToString::to_string);
            Arc::new(Schema::parse(&text.unwrap_or_else(|| "true".into())))
        };
        schemas.entry(tool.digest.clone()).or_insert_with(parse).clone()
    }
}
