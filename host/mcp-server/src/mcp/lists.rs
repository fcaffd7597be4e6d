//! Serves lists: tools, prompts and resource templates as one page each, and resources page by page.

use std::sync::Arc;

use portcullis_mcp_client::Object;
use rmcp::RoleServer;
use rmcp::model::{
    CacheScope, ErrorData, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, MetaObject, PaginatedRequestParams,
};
use rmcp::service::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Server;
use super::caller::Caller;
use super::failures::internal;
use super::requests::no_arguments;
use super::seal::{Binding, Seal};
use super::selection::Visible;
use super::serve::{RequestFailure, RequestResult, SourceRequest};
use portcullis_core::bindings::Page;
use portcullis_core::bindings::types::{CacheScope as Scope, ResourceInfo};
use portcullis_core::call::{PluginAnswer, Work};
use portcullis_core::catalog::{Catalog, CatalogPrompt};
use portcullis_core::definitions;
use portcullis_core::plugins::LoadedPlugin;
use portcullis_core::sandbox::Feature;
use portcullis_core::source::Source;

/// A page ends when it has at least this number of resources. A plugin's page is never split.
const PAGE_SIZE: usize = 200;

/// Maximum number of plugins' pages that form one page of the host.
const MAX_PLUGIN_PAGES: usize = 32;

/// The position after a page of the list of resources. The manifests' resources come first, then each plugin's pages.
/// The upstream servers' resources are part of the last page. The client gets the position as a sealed cursor. No other
/// cursor is accepted.
#[derive(Default, Serialize, Deserialize)]
struct Position {
    source: usize,
    cursor: Option<String>,
}

impl Position {
    fn read(cursor: Option<String>, seal: &Seal, binding: &Binding<'_>) -> Result<Self, ErrorData> {
        let Some(cursor) = cursor else { return Ok(Self::default()) };
        seal.unseal(binding, &cursor).map_err(|_| unknown_cursor())
    }

    fn write(&self, seal: &Seal, binding: &Binding<'_>) -> Result<String, ErrorData> {
        seal.seal(binding, self).map_err(internal)
    }
}

fn unknown_cursor() -> ErrorData {
    let why = "the cursor is not one of this server, or is too old: begin with the first page";
    ErrorData::invalid_params(why, None)
}

/// Refuses cursors of lists that have one page only.
///
/// # Errors
///
/// The request has a cursor, which this server never gives out for a list of one page.
pub(super) fn require_first_page(params: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    match params.and_then(|params| params.cursor.as_ref()) {
        None => Ok(()),
        Some(_) => Err(unknown_cursor()),
    }
}

/// The listed resources that the plugin may list. The others are left out and logged.
fn listable<'a>(
    catalog: &Catalog,
    loaded: &Arc<LoadedPlugin>,
    listed: &'a [ResourceInfo],
) -> impl Iterator<Item = &'a ResourceInfo> {
    listed.iter().filter(move |one| {
        let may_list = catalog.may_list(loaded, &one.uri);
        if !may_list {
            tracing::warn!(
                "`{}` lists {}, but another source claimed such URIs first: the resource is hidden",
                loaded.plugin.name,
                portcullis_sanitize::line(&one.uri, 200)
            );
        }
        may_list
    })
}

impl Server {
    pub(super) async fn resources(
        &self,
        cursor: Option<String>,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let catalog = self.shared.host.catalog().await;
        let caller = Caller::of(cx);
        let selection = self.selection(&caller, cx)?;
        let is_shown = |source: Source<'_>| selection.may_use(source);
        let lists = catalog.with(Feature::Resources);
        let lists: Vec<_> = lists.filter(|one| is_shown(Source::Plugin(one))).collect();
        let binding = Binding {
            source: "",
            name: "resources/list",
            principal: caller.principal.as_deref(),
            arguments: no_arguments(),
        };
        let seal = &self.shared.seal;
        let mut position = Position::read(cursor, seal, &binding)?;
        let mut found: Vec<Value> = Vec::new();
        let (mut ttl, mut scope) = (None, CacheScope::Public);
        if position.source == 0 {
            found.extend(catalog.resources(is_shown).map(definitions::resource));
            position.source = 1;
        }
        // Whether every page of a plugin so far says how long it is valid.
        let mut all_have_ttl = true;
        let mut rounds = 0;
        while let Some(loaded) = lists.get(position.source - 1) {
            if found.len() >= PAGE_SIZE || rounds >= MAX_PLUGIN_PAGES {
                break;
            }
            rounds += 1;
            let page = self.page(loaded, position.cursor.take(), cx).await;
            found.extend(listable(&catalog, loaded, &page.resources).map(definitions::resource));
            position.cursor = page.next;
            match page.freshness {
                Some(fresh) => {
                    ttl = Some(fresh.ttl_ms.min(ttl.unwrap_or(u64::MAX)));
                    if fresh.scope == Scope::Private {
                        scope = CacheScope::Private;
                    }
                }
                None => all_have_ttl = false,
            }
            if position.cursor.is_none() {
                position.source += 1;
            }
        }
        let is_last = position.source > lists.len();
        let next = (!is_last).then(|| position.write(seal, &binding)).transpose()?;
        if is_last {
            let listed = catalog.listed_by_upstreams("uri", is_shown, |one| &one.listing.resources);
            found.extend(listed.map(Value::from));
        }
        if catalog.upstreams.is_empty() {
            let resources = serde_json::from_value(found.into()).map_err(|error| {
                internal(format!("a plugin's resource is not valid MCP: {error}"))
            })?;
            let mut result = ListResourcesResult::with_all_items(resources);
            result.next_cursor = next;
            let ttl = ttl.filter(|_| all_have_ttl);
            (result.ttl_ms, result.cache_scope) = (ttl, ttl.map(|_| scope));
            return Ok(result);
        }
        let meta = Some(self.passthrough("resources", found, next, cx));
        Ok(ListResourcesResult { meta, ..Default::default() })
    }

    /// A plugin's page, or an empty one if the plugin fails: other plugins are still listed.
    async fn page(
        &self,
        loaded: &Arc<LoadedPlugin>,
        cursor: Option<String>,
        cx: &RequestContext<RoleServer>,
    ) -> Page {
        let request = SourceRequest {
            source: Source::Plugin(loaded),
            work: Work::Resources(cursor),
            name: "resources/list",
            arguments: no_arguments(),
            has_paths: false,
            state: None,
            responses: None,
        };
        let why = match self.serve(request, cx).await {
            Ok(RequestResult::Plugin(PluginAnswer::Resources(page))) => return page,
            Ok(_) => "its answer is of the wrong kind".to_owned(),
            Err(RequestFailure::Call(failure)) => failure.to_string(),
            Err(RequestFailure::State(why)) => why.to_owned(),
            Err(RequestFailure::Host(error)) => portcullis_sanitize::error_chain(&error),
        };
        tracing::warn!("cannot list the resources of `{}`: {why}", loaded.plugin.name);
        Page { resources: Vec::new(), next: None, freshness: None }
    }

    pub(super) async fn templates(
        &self,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let catalog = self.shared.host.catalog().await;
        let selection = self.selection(&Caller::of(cx), cx)?;
        let is_shown = |source: Source<'_>| selection.may_use(source);
        let mut all: Vec<Value> = catalog.templates(is_shown).map(definitions::template).collect();
        let mut result = ListResourceTemplatesResult::default();
        if catalog.upstreams.is_empty() {
            result.resource_templates = serde_json::from_value(all.into()).map_err(internal)?;
        } else {
            let upstreams =
                catalog.listed_by_upstreams("uriTemplate", is_shown, |one| &one.listing.templates);
            all.extend(upstreams.map(Value::from));
            result.meta = Some(self.passthrough("resourceTemplates", all, None, cx));
        }
        Ok(result)
    }

    pub(super) async fn prompts(
        &self,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let catalog = self.shared.host.catalog().await;
        // Models do not read this list, so projects do not shorten it.
        let selection = self.selection(&Caller::of(cx), cx)?;
        let is_listed =
            |(_, prompt): &(&str, CatalogPrompt<'_>)| selection.may_use(prompt.source());
        let prompt = |(name, prompt): (&str, CatalogPrompt<'_>)| match prompt {
            CatalogPrompt::Plugin(_, prompt) => definitions::prompt(name, prompt),
            CatalogPrompt::Upstream(_, prompt) => renamed(name, &prompt.definition),
        };
        let all: Vec<Value> = catalog.prompts().filter(is_listed).map(prompt).collect();
        let mut result = ListPromptsResult::default();
        if catalog.upstreams.is_empty() {
            result.prompts = serde_json::from_value(all.into()).map_err(internal)?;
        } else {
            result.meta = Some(self.passthrough("prompts", all, None, cx));
        }
        Ok(result)
    }

    pub(super) async fn tools(
        &self,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = Caller::of(cx);
        let selection = self.selection(&caller, cx)?;
        let Visible { catalog, tools } = self.offered(&selection, &caller, cx).await;
        if catalog.upstreams.is_empty() {
            let typed = tools.into_iter().filter_map(|tool| serde_json::from_value(tool).ok());
            return Ok(ListToolsResult::with_all_items(typed.collect()));
        }
        let meta = Some(self.passthrough("tools", tools, None, cx));
        Ok(ListToolsResult { meta, ..Default::default() })
    }

    /// A list that passes through rmcp unchanged: upstream servers' definitions may have unknown fields.
    fn passthrough(
        &self,
        key: &str,
        list: Vec<Value>,
        next: Option<String>,
        cx: &RequestContext<RoleServer>,
    ) -> MetaObject {
        let mut result = json!({ key: list });
        if let Some(next) = next {
            result["nextCursor"] = next.into();
        }
        if !super::caller::is_legacy(cx) {
            result["resultType"] = "complete".into();
            result["ttlMs"] = 0.into();
            result["cacheScope"] = "private".into();
        }
        self.shared.raw.wrap(result)
    }
}

/// A definition under the name that clients know.
fn renamed(name: &str, definition: &Object) -> Value {
    let mut definition = definition.clone();
    definition.insert("name".into(), name.into());
    definition.into()
}
