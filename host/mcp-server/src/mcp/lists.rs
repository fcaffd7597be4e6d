//! Lists of what plugins offer, page by page.

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
use super::failures::internal;
use super::input::{Binding, Seal};
use super::requests::no_arguments;
use super::serve::{Asked, Refused, Served};
use portcullis_core::bindings::Page;
use portcullis_core::bindings::types::{CacheScope as Scope, ResourceInfo};
use portcullis_core::call::{Answer, Work};
use portcullis_core::catalog::{Catalog, CatalogPrompt};
use portcullis_core::definitions;
use portcullis_core::plugins::Loaded;
use portcullis_core::sandbox::Feature;
use portcullis_core::source::Source;

/// A page is as long as this, or as what the last plugin put on it.
const PAGE: usize = 200;

/// Plugins' pages that make up one of ours, at most: some may be empty.
const ROUNDS: usize = 32;

/// Where a page ended: first come the manifests' resources, then each plugin's own pages. A client gets it
/// sealed as a cursor, and no other cursor is accepted.
#[derive(Default, Serialize, Deserialize)]
struct Place {
    source: usize,
    cursor: Option<String>,
}

impl Place {
    fn read(cursor: Option<String>, seal: &Seal, binding: &Binding<'_>) -> Result<Self, ErrorData> {
        let Some(cursor) = cursor else { return Ok(Self::default()) };
        seal.unseal(binding, &cursor).map_err(|_| unknown_cursor())
    }

    fn write(&self, seal: &Seal, binding: &Binding<'_>) -> Result<String, ErrorData> {
        seal.seal(binding, self).map_err(internal)
    }
}

fn unknown_cursor() -> ErrorData {
    let why = "this is no cursor of this server, or an old one: begin with the first page";
    ErrorData::invalid_params(why, None)
}

/// Of a list that has one page: whether that one is wanted.
///
/// # Errors
///
/// There is a cursor, and this server gave out none.
pub(super) fn is_first_page(params: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    match params.and_then(|params| params.cursor.as_ref()) {
        None => Ok(()),
        Some(_) => Err(unknown_cursor()),
    }
}

/// The listed resources that belong to nobody but the plugin. The others are hidden, and the log says so.
fn own<'a>(
    catalog: &Catalog,
    loaded: &Arc<Loaded>,
    listed: &'a [ResourceInfo],
) -> impl Iterator<Item = &'a ResourceInfo> {
    listed.iter().filter(move |one| {
        let may = catalog.may_list(loaded, &one.uri);
        if !may {
            tracing::warn!(
                "`{}` lists {}, which belongs to another: it is hidden",
                loaded.plugin.name,
                portcullis_sanitize::line(&one.uri, 200)
            );
        }
        may
    })
}

impl Server {
    pub(super) async fn resources(
        &self,
        cursor: Option<String>,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let catalog = self.shared.host.catalog().await;
        let lists: Vec<_> = catalog.with(Feature::Resources).collect();
        let caller = super::session::Caller::of(cx);
        let binding = Binding {
            source: "",
            name: "resources/list",
            principal: caller.principal.as_deref(),
            arguments: no_arguments(),
        };
        let seal = &self.shared.seal;
        let mut place = Place::read(cursor, seal, &binding)?;
        let mut found: Vec<Value> = Vec::new();
        let (mut ttl, mut scope) = (None, CacheScope::Public);
        if place.source == 0 {
            found.extend(catalog.resources().map(definitions::resource));
            place.source = 1;
        }
        // Whether all of them say for how long their lists hold.
        let mut known = true;
        let mut rounds = 0;
        while let Some(loaded) = lists.get(place.source - 1) {
            if found.len() >= PAGE || rounds >= ROUNDS {
                break;
            }
            rounds += 1;
            let page = self.page(loaded, place.cursor.take(), cx).await;
            found.extend(own(&catalog, loaded, &page.resources).map(definitions::resource));
            place.cursor = page.next;
            match page.freshness {
                Some(fresh) => {
                    ttl = Some(fresh.ttl_ms.min(ttl.unwrap_or(u64::MAX)));
                    if fresh.scope == Scope::Private {
                        scope = CacheScope::Private;
                    }
                }
                None => known = false,
            }
            if place.cursor.is_none() {
                place.source += 1;
            }
        }
        let last = place.source > lists.len();
        let next = (!last).then(|| place.write(seal, &binding)).transpose()?;
        if last {
            found.extend(
                catalog.of_others("uri", |other| &other.listing.resources).map(Value::from),
            );
        }
        if catalog.others.is_empty() {
            let resources = serde_json::from_value(found.into()).map_err(|error| {
                internal(format!("a plugin's resource is not as MCP has it: {error}"))
            })?;
            let mut result = ListResourcesResult::with_all_items(resources);
            result.next_cursor = next;
            let ttl = ttl.filter(|_| known);
            (result.ttl_ms, result.cache_scope) = (ttl, ttl.map(|_| scope));
            return Ok(result);
        }
        let meta = Some(self.whole("resources", found, next, cx));
        Ok(ListResourcesResult { meta, ..Default::default() })
    }

    /// A page of a plugin. An empty one, where it cannot list: the others can.
    async fn page(
        &self,
        loaded: &Arc<Loaded>,
        cursor: Option<String>,
        cx: &RequestContext<RoleServer>,
    ) -> Page {
        let asked = Asked {
            source: Source::Plugin(loaded),
            work: Work::Resources(cursor),
            name: "resources/list",
            arguments: no_arguments(),
            paths: false,
            state: None,
            responses: None,
        };
        let why = match self.serve(asked, cx).await {
            Ok(Served::Answer(Answer::Resources(page))) => return page,
            Ok(_) => "it answers something else".to_owned(),
            Err(Refused::Failed(failure)) => failure.to_string(),
            Err(Refused::State(why)) => why.to_owned(),
            Err(Refused::Host(why)) => why,
        };
        tracing::warn!("listing the resources of `{}`: {why}", loaded.plugin.name);
        Page { resources: Vec::new(), next: None, freshness: None }
    }

    pub(super) async fn templates(
        &self,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let catalog = self.shared.host.catalog().await;
        let mut all: Vec<Value> = catalog.templates().map(definitions::template).collect();
        let mut result = ListResourceTemplatesResult::default();
        if catalog.others.is_empty() {
            result.resource_templates =
                serde_json::from_value(all.into()).map_err(|e| internal(e.to_string()))?;
        } else {
            let others = catalog.of_others("uriTemplate", |other| &other.listing.templates);
            all.extend(others.map(Value::from));
            result.meta = Some(self.whole("resourceTemplates", all, None, cx));
        }
        Ok(result)
    }

    pub(super) async fn prompts(
        &self,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let catalog = self.shared.host.catalog().await;
        let prompt = |(name, prompt): (&str, CatalogPrompt<'_>)| match prompt {
            CatalogPrompt::Own(_, prompt) => definitions::prompt(name, prompt),
            CatalogPrompt::Other(_, prompt) => named(name, &prompt.definition),
        };
        let all: Vec<Value> = catalog.prompts().map(prompt).collect();
        let mut result = ListPromptsResult::default();
        if catalog.others.is_empty() {
            result.prompts =
                serde_json::from_value(all.into()).map_err(|e| internal(e.to_string()))?;
        } else {
            result.meta = Some(self.whole("prompts", all, None, cx));
        }
        Ok(result)
    }

    pub(super) async fn tools(&self, cx: &RequestContext<RoleServer>) -> ListToolsResult {
        let (catalog, tools) = self.shared.host.tools().await;
        if catalog.others.is_empty() {
            return ListToolsResult::with_all_items(self.shared.typed(&tools).to_vec());
        }
        let meta = Some(self.whole("tools", tools.to_vec(), None, cx));
        ListToolsResult { meta, ..Default::default() }
    }

    /// A list that is written as it is here: what other servers say goes through unchanged.
    fn whole(
        &self,
        key: &str,
        list: Vec<Value>,
        next: Option<String>,
        cx: &RequestContext<RoleServer>,
    ) -> MetaObject {
        let mut whole = json!({ key: list });
        if let Some(next) = next {
            whole["nextCursor"] = next.into();
        }
        if !super::session::is_legacy(cx) {
            whole["resultType"] = "complete".into();
            whole["ttlMs"] = 0.into();
            whole["cacheScope"] = "private".into();
        }
        self.shared.raw.wrap(whole)
    }
}

/// A definition by the name that clients know it by.
fn named(name: &str, definition: &Object) -> Value {
    let mut definition = definition.clone();
    definition.insert("name".into(), name.into());
    definition.into()
}
