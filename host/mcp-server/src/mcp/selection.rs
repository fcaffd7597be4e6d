//! Selects the tools and prompts that a session sees: by its profile, or by the projects beneath its roots.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use portcullis_core::bindings::portcullis::plugin::request::ListKind;
use portcullis_core::call::inner::Excludes;
use portcullis_core::catalog::{Catalog, CatalogTool};
use portcullis_core::definitions::make_lean;
use portcullis_core::host::{Tools, VisibleCatalog};
use portcullis_core::listing::{self, Requester, Selection, Visibility, VisibilityReason};
use portcullis_core::projects::Projects;
use portcullis_core::sandbox::Broadcast;
use portcullis_core::source::Source;
use portcullis_http_server::ProfileName;
use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::{NotificationContext, Peer, RequestContext};
use serde_json::Value;

use super::Server;
use super::caller::Caller;
use super::shared::Shared;

/// How long a request for a list waits for the client to name its roots. If the roots come later and change the list,
/// the client is notified.
const ROOTS_WAIT: Duration = Duration::from_millis(500);

impl Shared {
    /// Whether the tools that clients see depend on projects.
    fn asks_projects(&self, selection: &Selection) -> bool {
        let depends = |shown: Arc<VisibleCatalog>| listing::depends_on_projects(&shown.catalog);
        selection.asks_projects() && self.host.published_now().is_none_or(depends)
    }

    /// The projects beneath the operator's roots, if projects decide what clients see.
    pub(super) async fn projects_of_operator(&self, selection: &Selection) -> Arc<Projects> {
        if self.asks_projects(selection) {
            self.looks.projects(&self.host.roots()).await
        } else {
            Arc::default()
        }
    }
}

/// The tools that a client sees now.
pub(super) struct Visible {
    /// The whole catalog, also with tools that the client does not see.
    pub catalog: Arc<Catalog>,
    /// The definitions of the listed tools, in the order of the catalog.
    pub tools: Vec<Value>,
}

impl Server {
    /// The selection for a request.
    ///
    /// # Errors
    ///
    /// The path of the request names a profile that the caller may not use.
    pub(super) fn selection(
        &self,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Arc<Selection>, ErrorData> {
        let parts = cx.extensions.get::<http::request::Parts>();
        let profile = parts.and_then(|parts| parts.extensions.get::<ProfileName>());
        let asker = Requester {
            profile: profile.map(|name| name.0.as_str()),
            principal: caller.principal.as_deref(),
            client: caller.client.as_deref(),
        };
        let selections = self.shared.selections();
        selections.choose(asker).map_err(|why| ErrorData::invalid_request(why.to_string(), None))
    }

    /// The projects that decide which tools a session sees. A legacy client is asked for its roots. Until the client
    /// answers, the operator's roots are used.
    pub(super) async fn projects(
        &self,
        selection: &Selection,
        caller: &Caller,
        peer: &Peer<RoleServer>,
    ) -> Arc<Projects> {
        if !self.shared.asks_projects(selection) {
            return Arc::default();
        }
        let operator = &self.shared.host.roots();
        let has_roots = caller.capabilities.roots.is_some();
        if caller.modern && has_roots && operator.is_empty() {
            // The answer to a list cannot ask a modern client for its roots, so its projects are unknown.
            return Arc::new(Projects::unknown());
        }
        // The lists of modern clients do not depend on earlier requests.
        let last = self.session.last_roots(operator, has_roots && !caller.modern);
        if !last.is_unknown() {
            return self.shared.looks.projects(&last).await;
        }
        let (server, caller, peer) = (self.clone(), caller.clone(), peer.clone());
        let mut asking = tokio::spawn(async move {
            server.session.roots(&server.shared.host.roots(), &caller, &peer, None).await;
            (server, peer)
        });
        if tokio::time::timeout(ROOTS_WAIT, &mut asking).await.is_err() {
            // The client may still answer, and its roots may change the list.
            tokio::spawn(async move {
                if let Ok((server, peer)) = asking.await {
                    server.tell_if_projects_changed(&peer).await;
                }
            });
        }
        let last = self.session.last_roots(operator, true);
        self.shared.looks.projects(if last.is_unknown() { operator } else { &last }).await
    }

    /// The tools that the client of a request sees.
    pub(super) async fn visible(
        &self,
        selection: &Selection,
        caller: &Caller,
        peer: &Peer<RoleServer>,
    ) -> Visible {
        let (catalog, tools) = self.shared.host.tools().await;
        let projects = self.projects(selection, caller, peer).await;
        let tools = listed(selection, &catalog, &tools, &projects, &caller.protocol);
        let asks = self.shared.asks_projects(selection);
        *self.seen(caller).lock() = asks.then_some(projects);
        Visible { catalog, tools }
    }

    /// The instructions of the sources whose tools a client sees, and a sentence for each server that is unreachable.
    pub(super) fn instructions(
        &self,
        selection: &Selection,
        projects: &Projects,
    ) -> Option<String> {
        let shown = self.shared.host.published_now()?;
        let is_listed = |source: Source<'_>| {
            selection.judge_source(source, projects).place() == Visibility::Listed
        };
        let plugins = shown.catalog.plugins.loaded.iter();
        let plugins = plugins
            .filter(|loaded| is_listed(Source::Plugin(loaded)))
            .filter_map(|one| one.manifest.instructions.as_deref());
        let upstreams = shown.catalog.upstreams.iter();
        let upstreams = upstreams
            .filter(|offer| is_listed(Source::Upstream(offer)))
            .filter_map(|one| one.listing.peer.instructions.as_deref());
        let offered = plugins.chain(upstreams).map(portcullis_sanitize::plain);
        let unreachable = self.shared.host.upstreams().remarks();
        let all: Vec<_> = offered.chain(unreachable).collect();
        Some(all.join("\n\n")).filter(|text| !text.is_empty())
    }

    /// Which tools a client may not call. A plugin that calls tools on behalf of the client may not call them either.
    pub(super) fn excludes(&self, caller: &Caller, cx: &RequestContext<RoleServer>) -> Excludes {
        match self.selection(caller, cx) {
            // Projects decide what is listed, and never what may be called.
            Ok(selection) => Arc::new(move |catalog: &Catalog, name: &str| {
                catalog.tool(name).is_some_and(|tool| {
                    let why = selection.judge(name, tool, &Projects::default());
                    why.place() == Visibility::Excluded
                })
            }),
            Err(_) => Arc::new(|_: &Catalog, _: &str| true),
        }
    }

    /// Why a client may not call a tool. `None`: the client may call the tool, or there is no such tool.
    pub(super) fn exclusion(
        &self,
        selection: &Selection,
        catalog: &Catalog,
        name: &str,
    ) -> Option<VisibilityReason> {
        // Projects decide what is listed, and never what may be called.
        let why = selection.judge(name, catalog.tool(name)?, &Projects::default());
        (why.place() == Visibility::Excluded).then_some(why)
    }

    /// Tells a legacy client that the list of tools has changed, if the projects beneath its roots have changed since
    /// the client last listed tools.
    async fn tell_if_projects_changed(&self, peer: &Peer<RoleServer>) {
        let Some(seen) = self.session.seen.lock().clone() else { return };
        let operator = &self.shared.host.roots();
        let has_roots = self.session.initialized_by.lock().is_some();
        let last = self.session.last_roots(operator, has_roots);
        let roots = if last.is_unknown() { operator } else { &last };
        if self.shared.looks.projects(roots).await != seen
            && let Err(error) = peer.notify_tool_list_changed().await
        {
            tracing::debug!("a notification did not reach the client: {error}");
        }
    }

    /// Looks for projects again after a call of a plugin's tool that is not read-only, because the tool may have
    /// made a project. Does nothing if the session already has a project of each family.
    pub(super) fn look_again(
        &self,
        tool: CatalogTool<'_>,
        caller: &Caller,
        peer: &Peer<RoleServer>,
    ) {
        let may_write = match tool {
            CatalogTool::Plugin(_, tool) => tool.definition.hints.read_only != Some(true),
            CatalogTool::Upstream(..) => false,
        };
        let seen = self.seen(caller).lock().clone();
        let Some(seen) = seen.filter(|seen| may_write && !seen.has_all()) else { return };
        let (server, is_modern, peer) = (self.clone(), caller.modern, peer.clone());
        tokio::spawn(async move {
            let shared = &server.shared;
            shared.looks.forget().await;
            if !is_modern {
                server.tell_if_projects_changed(&peer).await;
            } else if !shared.host.roots().is_empty()
                && shared.looks.projects(&shared.host.roots()).await != seen
            {
                // A modern client is notified through its subscription.
                shared.host.shared_state.tell(Broadcast::List(ListKind::Tools));
            }
        });
    }

    /// The projects that decided which tools were last listed to this client. Modern clients may have no session, so
    /// all of them share one value.
    fn seen(&self, caller: &Caller) -> &Mutex<Option<Arc<Projects>>> {
        if caller.modern { &self.shared.seen } else { &self.session.seen }
    }

    /// Asks a legacy client for its changed roots, and notifies the client if its list of tools has changed.
    pub(super) fn roots_have_changed(&self, cx: &NotificationContext<RoleServer>) {
        self.session.forget_roots();
        let Some(caller) = self.session.initialized_by.lock().clone() else { return };
        if self.session.seen.lock().is_none() {
            // No list has depended on projects.
            return;
        }
        let (server, peer) = (self.clone(), cx.peer.clone());
        tokio::spawn(async move {
            server.session.roots(&server.shared.host.roots(), &caller, &peer, None).await;
            server.tell_if_projects_changed(&peer).await;
        });
    }
}

/// The definitions of the tools that a selection lists.
fn listed(
    selection: &Selection,
    catalog: &Catalog,
    tools: &Tools,
    projects: &Projects,
    protocol: &str,
) -> Vec<Value> {
    let judged = listing::judged(selection, catalog, projects);
    let names: HashMap<&str, bool> = judged
        .iter()
        .filter(|(_, _, why)| why.place() == Visibility::Listed)
        .map(|(name, tool, _)| (*name, tool.source().plugin().is_some()))
        .collect();
    let is_listed = |tool: &&Value| names.contains_key(tool["name"].as_str().unwrap_or_default());
    let shown = |tool: &Value| {
        let mut tool = tool.clone();
        let name = tool["name"].as_str().unwrap_or_default();
        let is_plugins = names.get(name) == Some(&true);
        let may_lack_structure = selection.may_lack_structure(name);
        if let Some(definition) = tool.as_object_mut() {
            if is_plugins {
                make_lean(definition, protocol, selection.output_schemas);
            }
            // Clients refuse results without the structured content that a schema promises.
            if may_lack_structure {
                definition.remove("outputSchema");
            }
        }
        tool
    };
    tools.iter().filter(is_listed).map(shown).collect()
}
