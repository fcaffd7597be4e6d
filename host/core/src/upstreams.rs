//! Upstream servers: other MCP servers as sources of tools, prompts and resources.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use portcullis_audit::{Audit, CallIdentity, Trail};
use portcullis_mcp_client::{
    ClientSettings, Listing, Memory, UnassignedNotification, Upstream, UpstreamState, UpstreamTool,
};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::lock::{HeldTool, Lock};
use crate::schema::{Schema, SchemaError};
use parked::Parked;
use policy::Policies;
use sessions::Connections;
use summary::endpoint;

mod addresses;
mod command_line_server;
pub mod config;
pub(crate) mod parked;
pub(crate) mod policy;
mod review;
mod sessions;
mod summary;
pub mod views;

pub(crate) use addresses::{Addresses, HOST_SCHEME, server_and_uri};
pub use command_line_server::{CommandLineServer, name_of};
pub use config::Config;
pub use policy::ToolConfig;
pub use review::UpstreamReview;
pub use sessions::{NoConnection, Owner, Sharing};
pub use summary::Summary;

/// How long a client may take to answer a question. The client may have to ask its user.
pub const ANSWER_TIME: Duration = Duration::from_secs(15 * 60);

/// How long lists wait for servers of which nothing is known, counted from the first list that waits. Most clients
/// wait somewhat longer for a list.
const FIRST_WAIT: Duration = Duration::from_secs(45);

/// As `FIRST_WAIT`, for servers that the previous process of the host could not start.
const FAILED_WAIT: Duration = Duration::from_secs(10);

/// Waiting time before a server that could not be listed is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// A configured upstream server cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`upstreams.{name}`")]
pub struct InvalidUpstream {
    name: String,
    #[source]
    cause: Box<dyn Error + Send + Sync>,
}

/// All upstream servers.
pub struct Upstreams {
    /// The servers, in the order of their names.
    pub all: Vec<Arc<UpstreamSource>>,
    /// The lock file, with the digests of the approved definitions of tools.
    pub lock: Lock,
    /// Whether the host is locked. If not, the tools of a server are approved at its first use.
    is_locked: bool,
    /// The time at which a list had to wait for a server for the first time.
    first_list: OnceLock<Instant>,
    /// The parked requests of all servers.
    parked: Arc<Parked>,
    audit: Audit,
}

/// An upstream server.
pub struct UpstreamSource {
    /// The operator's name for the server.
    pub name: Arc<str>,
    /// The section of the configuration.
    pub(crate) config: Config,
    /// The first connection to the server, from which its lists are fetched.
    pub upstream: Upstream,
    connections: Connections,
    /// The program or address, for display to the operator.
    endpoint: String,
    /// Whether the server's program is confined.
    confined: bool,
    /// The operator's policies for tools.
    pub(crate) policies: Policies,
    /// The key of the server's approvals in the lock file.
    key: Arc<str>,
    schemas: Schemas,
    audit: Audit,
    /// The parked requests of all upstream servers.
    pub(crate) parked: Arc<Parked>,
}

/// Compiled schemas of the arguments of one server's tools, by the digests of the tools' definitions.
#[derive(Default)]
struct Schemas(Mutex<HashMap<String, Arc<Result<Schema, SchemaError>>>>);

impl Schemas {
    /// The compiled schema for this digest. If there is none yet, `text` is compiled.
    fn get_or_compile(
        &self,
        digest: &str,
        text: impl FnOnce() -> String,
    ) -> Arc<Result<Schema, SchemaError>> {
        let mut schemas = self.0.lock();
        let compile = || Arc::new(Schema::parse(&text()));
        schemas.entry(digest.to_owned()).or_insert_with(compile).clone()
    }

    /// Removes the schemas of tools that the server no longer lists.
    fn retain<'a>(&self, digests: impl Iterator<Item = &'a str>) {
        let mut schemas = self.0.lock();
        if !schemas.is_empty() {
            let listed: HashSet<_> = digests.collect();
            schemas.retain(|digest, _| listed.contains(digest.as_str()));
        }
    }
}

/// An event that an upstream server reports.
pub enum UpstreamEvent {
    /// The lists of the server have changed.
    OfferChanged,
    /// A notification that belongs to no known request, on the first connection.
    Notice(UnassignedNotification),
}

/// The tools, prompts and resources that an upstream server lists now, and the tools that are held back.
#[derive(Clone)]
pub struct UpstreamOffer {
    /// The server.
    pub source: Arc<UpstreamSource>,
    /// The server's lists.
    pub listing: Arc<Listing>,
    /// The tools of the listing, in its order, as clients see them.
    pub presented: Arc<Vec<UpstreamTool>>,
    /// Tools that are held back, because they are new or have changed since the approval.
    pub held: Vec<HeldTool>,
    /// The server's claims on URIs. Empty until the offer is part of a catalog.
    pub(crate) addresses: Arc<Addresses>,
}

impl UpstreamOffer {
    /// The tools that are offered, as clients see them, with their indexes in the listing.
    pub fn tools(&self) -> impl Iterator<Item = (usize, &UpstreamTool)> {
        let is_off = |name: &str| self.source.config.tools_off.iter().any(|off| off == name);
        let tools = self.listing.tools.iter().enumerate();
        let shown = tools.filter(move |(_, tool)| !is_off(&tool.name) && !self.is_held(&tool.name));
        shown.map(|(at, _)| (at, &self.presented[at]))
    }

    fn is_held(&self, name: &str) -> bool {
        self.held.iter().any(|held| held.tool == name)
    }

    /// Whether clients would know a held tool by this name.
    pub fn holds(&self, name: &str) -> bool {
        let prefix = self.source.config.prefix.as_deref().unwrap_or(&self.source.name);
        let own = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
        let tools = self.listing.tools.iter().zip(self.presented.iter());
        let mut held = tools.filter(|(listed, _)| self.is_held(&listed.name));
        held.any(|(_, shown)| shown.name == name || own == Some(&*shown.name))
    }
}

impl Upstreams {
    /// The configured upstream servers. `lock`: the lock file. `logins`: the folder of OAuth logins. `memory`: the
    /// lists that earlier processes of the host fetched. `is_locked`: no tools are approved at the first use of their
    /// server. `previous`: the servers before a reload of the configuration; a server whose section is the same keeps
    /// its connections. This function starts no server.
    ///
    /// # Errors
    ///
    /// [`InvalidUpstream`]: a definition is contradictory, or a policy for a tool is invalid.
    #[expect(clippy::disallowed_methods, reason = "children are started by way of this program")]
    pub fn new<'a>(
        all: impl Iterator<Item = (&'a String, &'a Config)>,
        lock: Lock,
        logins: PathBuf,
        memory: Memory,
        is_locked: bool,
        audit: Audit,
        previous: Option<&Self>,
    ) -> Result<Self, InvalidUpstream> {
        let mut client = ClientSettings::new("portcullis", env!("CARGO_PKG_VERSION"));
        client.launcher = std::env::current_exe().ok();
        client.logins = Some(logins);
        client.memory = Some(memory);
        let parked = previous.map(|one| one.parked.clone()).unwrap_or_default();
        let source = |(name, one): (&String, &Config)| {
            let known = previous.into_iter().flat_map(|previous| &previous.all);
            let mut same = known.filter(|known| *known.name == **name && known.config == *one);
            if let Some(same) = same.next() {
                return Ok(same.clone());
            }
            let upstream = Upstream::new(name, one.definition.clone(), client.clone())
                .map_err(|cause| InvalidUpstream { name: name.clone(), cause: cause.into() })?;
            let policies = Policies::new(&one.tools)
                .map_err(|cause| InvalidUpstream { name: name.clone(), cause: cause.into() })?;
            Ok(Arc::new(UpstreamSource {
                name: name.as_str().into(),
                config: one.clone(),
                upstream,
                connections: Connections::new(one.share, one.definition.clone(), client.clone()),
                endpoint: endpoint(&one.definition),
                confined: one.definition.confine.is_some(),
                policies,
                // A name cannot contain `@`, so this key is not the name of a server.
                key: match &one.typed {
                    Some(CommandLineServer { digest, .. }) => format!("{name}@{digest:.16}").into(),
                    None => name.as_str().into(),
                },
                schemas: Schemas::default(),
                audit: audit.clone(),
                parked: parked.clone(),
            }))
        };
        let enabled = all.filter(|(_, one)| one.enabled != Some(false));
        let all = enabled.map(source).collect::<Result<_, _>>()?;
        let first_list = OnceLock::new();
        Ok(Self { all, lock, is_locked, first_list, parked, audit })
    }

    /// The offers of all servers. Servers whose lists are known are not started, and their lists may come from an
    /// earlier process of the host. All other servers are started at the same time, and left out if they do not answer
    /// in time: see `FIRST_WAIT` and `FAILED_WAIT`.
    pub async fn offers(&self) -> Vec<UpstreamOffer> {
        self.offers_by(|source| async move {
            let has_failed = source.upstream.recall().await;
            if let Some(listing) = source.upstream.known_listing() {
                return Some(listing);
            }
            let wait = if has_failed { FAILED_WAIT } else { FIRST_WAIT };
            let until = *self.first_list.get_or_init(Instant::now) + wait;
            timeout_at(until, source.upstream.listing()).await.ok()?.ok()
        })
        .await
    }

    /// The offers of the servers whose lists are known, from this process of the host or an earlier one. No server
    /// is started.
    pub async fn known_offers(&self) -> Vec<UpstreamOffer> {
        self.offers_by(|source| async move {
            source.upstream.recall().await;
            source.upstream.known_listing()
        })
        .await
    }

    /// The current offers of all servers, which are all started. Waits at most `FIRST_WAIT`, and leaves out servers
    /// that do not answer.
    pub async fn fetched_offers(&self) -> Vec<UpstreamOffer> {
        self.offers_by(|source| async move {
            source.upstream.recall().await;
            timeout(FIRST_WAIT, source.upstream.fetched_listing()).await.ok()?.ok()
        })
        .await
    }

    async fn offers_by<'a, F: Future<Output = Option<Arc<Listing>>>>(
        &'a self,
        listing: impl Fn(&'a Arc<UpstreamSource>) -> F,
    ) -> Vec<UpstreamOffer> {
        let offers = self.all.iter().map(|source| {
            let listing = listing(source);
            async move { Some(self.apply_approvals(source, listing.await?).await) }
        });
        join_all(offers).await.into_iter().flatten().collect()
    }

    /// Whether there is a server of which nothing is known yet, from this process of the host or an earlier one.
    pub async fn has_new(&self) -> bool {
        let new = self.all.iter().map(|source| async move {
            !source.upstream.recall().await && source.upstream.known_listing().is_none()
        });
        join_all(new).await.contains(&true)
    }

    /// Waits until each server was listed or could not be started.
    pub async fn settled(&self) {
        join_all(self.all.iter().map(|source| async move {
            source.upstream.recall().await;
            if source.upstream.known_listing().is_none() {
                // The failure is shown with the servers' states.
                drop(source.upstream.listing().await);
            }
        }))
        .await;
    }

    /// One sentence for each server that could not be started or reached when it was last used, for models.
    pub fn remarks(&self) -> Vec<String> {
        let unreachable = self.all.iter().filter_map(|source| match source.upstream.state() {
            // The reason is left out, because it may name files of this machine.
            UpstreamState::Resting { .. } => Some(format!(
                "The MCP server `{}` could not be started or reached; the operator sees why with \
                 `portcullis plugin list`.",
                source.name
            )),
            UpstreamState::Idle
            | UpstreamState::Connecting
            | UpstreamState::Ready { .. }
            | UpstreamState::Closed => None,
        });
        unreachable.collect()
    }

    /// Holds back the tools that are not approved.
    async fn apply_approvals(
        &self,
        source: &Arc<UpstreamSource>,
        listing: Arc<Listing>,
    ) -> UpstreamOffer {
        source.schemas.retain(listing.tools.iter().map(|tool| tool.digest.as_str()));
        let held = self.unapproved(source, &listing).await;
        for HeldTool { tool, is_new } in &held {
            let why = if *is_new { "is new" } else { "has changed" };
            tracing::warn!(
                "the tool `{tool}` of `{}` {why} since the server's tools were approved, and is held back: to \
                 look at it and approve it, run {}",
                source.name,
                source.approval_command()
            );
        }
        for tool in source.policies.tools() {
            if !listing.tools.iter().any(|one| one.wire_name == tool) {
                tracing::warn!(
                    "`upstreams.{}.tools.{tool}` is for a tool that the server does not list",
                    source.name
                );
            }
        }
        let presented = listing.tools.iter().map(|tool| source.policies.presented(tool)).collect();
        UpstreamOffer {
            source: source.clone(),
            listing,
            presented: Arc::new(presented),
            held,
            addresses: Arc::default(),
        }
    }

    /// Connects to the servers of which nothing is known yet, and reports the events of all servers, until
    /// `shutdown` is cancelled.
    pub fn report_events(
        self: &Arc<Self>,
        shutdown: &CancellationToken,
        report: impl Fn(UpstreamEvent) + Send + Sync + 'static,
    ) {
        let report = Arc::new(report);
        for source in &self.all {
            let (upstream, shutdown, report) =
                (source.upstream.clone(), shutdown.clone(), report.clone());
            tokio::spawn(async move {
                let offers = async {
                    let mut changes = upstream.changes();
                    upstream.recall().await;
                    while upstream.known_listing().is_none() {
                        if upstream.listing().await.is_err() {
                            tokio::time::sleep(RETRY_AFTER).await;
                        }
                    }
                    while changes.changed().await.is_ok() {
                        report(UpstreamEvent::OfferChanged);
                    }
                };
                let notices = async {
                    let mut notices = upstream.notices();
                    loop {
                        match notices.recv().await {
                            Ok(notice) => report.as_ref()(UpstreamEvent::Notice(notice)),
                            Err(RecvError::Lagged(_)) => {}
                            Err(RecvError::Closed) => return,
                        }
                    }
                };
                shutdown.run_until_cancelled(async { tokio::join!(offers, notices) }).await;
            });
        }
    }

    /// Asks all servers for log records of this level and above.
    pub fn want_logs(&self, level: &str) {
        for source in &self.all {
            source.upstream.want_logs(level);
        }
    }

    /// Notifies all servers that the roots have changed.
    pub async fn roots_changed(&self) {
        let connections = self.connections();
        let results = join_all(connections.iter().map(Upstream::roots_changed)).await;
        for fault in results.into_iter().filter_map(Result::err) {
            tracing::warn!("{fault}");
        }
    }

    /// Closes all connections and ends child processes.
    pub async fn close(&self) {
        let connections = self.connections();
        join_all(connections.iter().map(Upstream::close)).await;
    }

    /// The connections to all servers.
    fn connections(&self) -> Vec<Upstream> {
        let of_source = |source: &Arc<UpstreamSource>| {
            let mut all = source.connections.others();
            all.push(source.upstream.clone());
            all
        };
        self.all.iter().flat_map(of_source).collect()
    }

    /// The audit that records the requests to the servers.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }
}

impl UpstreamSource {
    /// The audit trail of one request to the server. `digest`: the digest of the tool's definition, or empty.
    pub(crate) fn trail(
        &self,
        request: String,
        subject: String,
        digest: &str,
        principal: Option<String>,
    ) -> Trail {
        let plugin = self.name.clone();
        let subject =
            CallIdentity { request, plugin, digest: digest.into(), tool: subject, principal };
        Trail::new(self.audit.clone(), subject)
    }

    /// The schema of a tool's arguments. `Err`: the schema is invalid, so only the server can check the arguments.
    pub fn schema(&self, tool: &UpstreamTool) -> Arc<Result<Schema, SchemaError>> {
        self.schemas.get_or_compile(&tool.digest, || {
            let text = tool.definition.get("inputSchema").map(ToString::to_string);
            text.unwrap_or_else(|| "true".into())
        })
    }

    /// Whether the server was given on the command line (`wrap`), and not in the configuration.
    pub fn is_wrapped(&self) -> bool {
        self.config.typed.is_some()
    }

    /// As [`approval_command`](Self::approval_command), but for clients: without the server's arguments, which may
    /// be secret.
    pub fn approval_advice(&self) -> String {
        let suffix = self.config.typed.as_ref().map_or(
            "",
            |_| ", followed by `--` and the program or address that was given to `wrap`",
        );
        format!("`portcullis plugin approve {}`{suffix}", self.name)
    }

    /// The command that shows and approves the server's held tools, for the operator.
    pub fn approval_command(&self) -> String {
        let server =
            self.config.typed.as_ref().map(CommandLineServer::arguments).unwrap_or_default();
        format!("`portcullis plugin approve {}{server}`", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_tools_that_are_gone_are_removed() {
        let schemas = Schemas::default();
        let compiled = |digest: &str| schemas.get_or_compile(digest, || "true".to_owned());
        let (kept, gone) = (compiled("kept"), compiled("gone"));
        schemas.retain(["kept", "new"].into_iter());
        assert!(Arc::ptr_eq(&kept, &compiled("kept")) && !Arc::ptr_eq(&gone, &compiled("gone")));
        assert_eq!(Arc::strong_count(&gone), 1);
    }
}
