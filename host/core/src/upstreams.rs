//! Upstream servers: other MCP servers as sources of tools, prompts and resources.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use portcullis_audit::{Audit, CallIdentity, Trail};
use portcullis_mcp_client::{
    ClientSettings, Definition, DefinitionError, Listing, Notice, Upstream, UpstreamState,
};
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::lock::{HeldTool, Lock};
use crate::schema::{Schema, SchemaError};
use parked::Parked;

pub mod config;
pub(crate) mod parked;
mod review;
pub mod views;

pub use config::Config;
pub use review::UpstreamReview;

/// How long a client may take to answer a question. It may have to ask its user.
pub const ANSWER_TIME: Duration = Duration::from_secs(15 * 60);

/// How long the first list waits for servers that have to be started.
const LIST_WAIT: Duration = Duration::from_secs(10);

/// Waiting time before a server that could not be listed is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// A configured upstream server cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`upstreams.{name}`")]
pub struct InvalidUpstream {
    name: String,
    #[source]
    cause: DefinitionError,
}

/// All upstream servers.
pub struct Upstreams {
    /// The servers, in the order of their names.
    pub all: Vec<Arc<UpstreamSource>>,
    /// The lock file, with the approved definitions of their tools.
    pub lock: Lock,
    /// Whether nothing is approved at its first use.
    is_locked: bool,
    audit: Audit,
}

/// An upstream server.
pub struct UpstreamSource {
    /// The operator's name for the server.
    pub name: Arc<str>,
    /// The prefix of the names of its tools and prompts.
    pub prefix: Option<String>,
    /// The server.
    pub upstream: Upstream,
    /// The program or address, for display to the operator.
    endpoint: String,
    /// Tools that clients do not see.
    tools_off: Vec<String>,
    /// The key of its approvals in the lock file.
    key: Arc<str>,
    /// Whether the server was given on the command line, and not in the configuration.
    is_typed: bool,
    schemas: Schemas,
    audit: Audit,
    /// Requests that wait for answers of clients, of all upstream servers together.
    pub(crate) parked: Arc<Parked>,
}

/// Compiled schemas of the arguments of one server's tools, by the digests of the tools' definitions.
#[derive(Default)]
struct Schemas(Mutex<HashMap<String, Arc<Result<Schema, SchemaError>>>>);

impl Schemas {
    fn of(&self, digest: &str, text: impl FnOnce() -> String) -> Arc<Result<Schema, SchemaError>> {
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
    /// A notification that belongs to no known request.
    Notice(Notice),
}

/// The tools, prompts and resources that an upstream server lists now, and the tools that are held back.
#[derive(Clone)]
pub struct UpstreamOffer {
    /// The server.
    pub source: Arc<UpstreamSource>,
    /// The server's lists.
    pub listing: Arc<Listing>,
    /// Tools that are held back, because they are new or have changed since the approval.
    pub held: Vec<HeldTool>,
}

impl UpstreamOffer {
    /// The tools that clients see, with their indexes in the listing.
    pub fn tools(&self) -> impl Iterator<Item = (usize, &portcullis_mcp_client::UpstreamTool)> {
        let is_off = |name: &str| self.source.tools_off.iter().any(|off| off == name);
        let tools = self.listing.tools.iter().enumerate();
        tools.filter(move |(_, tool)| !is_off(&tool.name) && !self.is_held(&tool.name))
    }

    fn is_held(&self, name: &str) -> bool {
        self.held.iter().any(|held| held.tool == name)
    }

    /// Whether this is a name by which clients would know one of the tools that are held back.
    pub fn holds(&self, name: &str) -> bool {
        let prefix = self.source.prefix.as_deref().unwrap_or(&self.source.name);
        let own = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
        self.is_held(name) || own.is_some_and(|own| self.is_held(own))
    }
}

impl Upstreams {
    /// The configured upstream servers. `lock` is the lock file and `logins` the folder of OAuth logins. `is_locked`:
    /// nothing is approved at its first use. Nothing is started yet.
    ///
    /// # Errors
    ///
    /// [`InvalidUpstream`]: a definition is contradictory.
    #[expect(clippy::disallowed_methods, reason = "children are started by way of this program")]
    pub fn new<'a>(
        all: impl Iterator<Item = (&'a String, &'a Config)>,
        lock: PathBuf,
        logins: PathBuf,
        is_locked: bool,
        audit: Audit,
    ) -> Result<Self, InvalidUpstream> {
        let mut client = ClientSettings::new("portcullis", env!("CARGO_PKG_VERSION"));
        client.launcher = std::env::current_exe().ok();
        client.logins = Some(logins);
        let parked = Arc::new(Parked::default());
        let source = |(name, one): (&String, &Config)| {
            let upstream = Upstream::new(name, one.definition.clone(), client.clone())
                .map_err(|cause| InvalidUpstream { name: name.clone(), cause })?;
            Ok(Arc::new(UpstreamSource {
                name: name.as_str().into(),
                prefix: one.prefix.clone(),
                upstream,
                endpoint: endpoint(&one.definition),
                tools_off: one.tools_off.clone(),
                // `@` is in no name.
                key: match &one.typed {
                    Some(digest) => format!("{name}@{digest:.16}").into(),
                    None => name.as_str().into(),
                },
                is_typed: one.typed.is_some(),
                schemas: Schemas::default(),
                audit: audit.clone(),
                parked: parked.clone(),
            }))
        };
        let used = all.filter(|(_, one)| one.enabled != Some(false));
        let all = used.map(source).collect::<Result<_, _>>()?;
        Ok(Self { all, lock: Lock::at(lock), is_locked, audit })
    }

    /// The offers of the servers whose lists are known. Waits at most `LIST_WAIT` for servers that were not listed yet.
    pub async fn offers(&self) -> Vec<UpstreamOffer> {
        let listings = self.all.iter().map(|source| async move {
            match source.upstream.known_listing() {
                Some(listing) => Some((source, listing)),
                None => {
                    let listing = tokio::time::timeout(LIST_WAIT, source.upstream.listing()).await;
                    Some((source, listing.ok()?.ok()?))
                }
            }
        });
        let listings = join_all(listings).await.into_iter().flatten();
        join_all(listings.map(|(source, listing)| self.judge(source, listing))).await
    }

    /// Holds back the tools that are not approved.
    async fn judge(&self, source: &Arc<UpstreamSource>, listing: Arc<Listing>) -> UpstreamOffer {
        source.schemas.retain(listing.tools.iter().map(|tool| tool.digest.as_str()));
        let held = self.unapproved(source, &listing).await;
        for HeldTool { tool, is_new } in &held {
            let why = if *is_new { "is new" } else { "has changed" };
            tracing::warn!(
                "the tool `{tool}` of `{}` {why} since its tools were approved, and is held back: to \
                 look at it and approve it, run {}",
                source.name,
                source.approval_command()
            );
        }
        UpstreamOffer { source: source.clone(), listing, held }
    }

    /// Connects to the servers that have not been listed yet, and reports the events of all servers, until
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
        let told = join_all(self.all.iter().map(|source| source.upstream.roots_changed())).await;
        for fault in told.into_iter().filter_map(Result::err) {
            tracing::warn!("{fault}");
        }
    }

    /// The state of each server. Servers that were not used yet are started.
    pub async fn summaries(&self) -> Vec<Summary> {
        let offered = self.offers().await;
        let summary = |source: &Arc<UpstreamSource>| {
            let offered = offered.iter().find(|other| Arc::ptr_eq(&other.source, source));
            source.summary(offered)
        };
        self.all.iter().map(summary).collect()
    }

    /// Closes all connections and ends child processes.
    pub async fn close(&self) {
        join_all(self.all.iter().map(|source| source.upstream.close())).await;
    }

    /// The audit that records the requests to the servers.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }
}

impl UpstreamSource {
    fn summary(&self, offered: Option<&UpstreamOffer>) -> Summary {
        let mut summary = Summary {
            name: self.name.to_string(),
            reach: self.endpoint.clone(),
            state: "unreachable",
            reason: None,
            server: None,
            protocol: None,
            tools: Vec::new(),
            held: Vec::new(),
        };
        let Some(offered) = offered else {
            summary.reason = Some(match self.upstream.state() {
                UpstreamState::Resting { because, .. } => because,
                UpstreamState::Idle
                | UpstreamState::Connecting
                | UpstreamState::Ready { .. }
                | UpstreamState::Closed => "it does not answer".to_owned(),
            });
            return summary;
        };
        let peer = &offered.listing.peer;
        let info = |key: &str| peer.info.get(key).and_then(|value| value.as_str());
        summary.state = "connected";
        summary.server = Some(
            [info("name"), info("version")].into_iter().flatten().collect::<Vec<_>>().join(" "),
        );
        summary.protocol = Some(peer.version.clone());
        summary.tools = offered.tools().map(|(_, tool)| tool.name.clone()).collect();
        summary.held = offered.held.iter().map(|held| held.tool.clone()).collect();
        summary
    }

    /// The audit trail of one request to the server. `digest` is that of the tool's definition.
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

    /// The schema of a tool's arguments. An error: the schema is invalid, and only the server can check the arguments.
    pub fn schema(
        &self,
        tool: &portcullis_mcp_client::UpstreamTool,
    ) -> Arc<Result<Schema, SchemaError>> {
        self.schemas.of(&tool.digest, || {
            let text = tool.definition.get("inputSchema").map(ToString::to_string);
            text.unwrap_or_else(|| "true".into())
        })
    }

    /// The command that shows and approves the server's held tools, for a message.
    pub fn approval_command(&self) -> String {
        let more = if self.is_typed { ", followed by the server as `wrap` has it" } else { "" };
        format!("`portcullis plugin approve {}`{more}", self.name)
    }
}

/// A server's state, for the operator.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The operator's name for the server.
    pub name: String,
    /// The program or the address.
    pub reach: String,
    /// `connected` or `unreachable`.
    pub state: &'static str,
    /// Why the server is unreachable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The server's own name and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The revision of MCP that was negotiated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The tools that clients see, by the server's own names.
    pub tools: Vec<String>,
    /// The tools that are held back until they are approved.
    pub held: Vec<String>,
}

/// The program or address of a server, without parts that may be secret: arguments, credentials, query and fragment.
fn endpoint(definition: &Definition) -> String {
    if let Some(program) = &definition.command {
        return format!("the program {}, with its user's rights", program.display());
    }
    let address = definition.url.as_deref().unwrap_or_default();
    let address = address.split(['?', '#']).next().unwrap_or_default();
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("the server at {scheme}://{host}/{path}")
        }
        None => "a server".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_tools_that_are_gone_are_removed() {
        let schemas = Schemas::default();
        let compiled = |digest: &str| schemas.of(digest, || "true".to_owned());
        let (kept, gone) = (compiled("kept"), compiled("gone"));
        schemas.retain(["kept", "new"].into_iter());
        assert!(Arc::ptr_eq(&kept, &compiled("kept")) && !Arc::ptr_eq(&gone, &compiled("gone")));
        assert_eq!(Arc::strong_count(&gone), 1);
    }

    #[test]
    fn an_endpoint_is_displayed_without_secrets() {
        for (definition, expected) in [
            (
                r#"command = "/bin/a"\nargs = ["--key=1"]"#,
                "the program /bin/a, with its user's rights",
            ),
            (r#"url = "https://me:pw@h:1/mcp?key=1#x""#, "the server at https://h:1/mcp"),
            (r#"url = "http://h""#, "the server at http://h/"),
        ] {
            let definition: Definition = toml::from_str(&definition.replace("\\n", "\n")).unwrap();
            assert_eq!(endpoint(&definition), expected);
        }
    }
}
