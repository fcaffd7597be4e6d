//! Views of tools (MCP Apps): plugins declare which tools have a view, and whether models or views may call a tool.
//! The host adds these declarations to the definitions that clients see.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Host, Tools};
use crate::bindings::ToolView;
use crate::call::client::NoClient;
use crate::call::{self, Call, PluginAnswer, SourceAnswer, Work};
use crate::catalog::Catalog;
use crate::definitions::{VIEW_KEYS, entries_of, listed_tool, view_of};
use crate::plugins::LoadedPlugin;
use crate::sandbox::{CallContext, Feature};
use crate::source::Source;
use portcullis_checked_files::digest;

/// How long the list of tools waits for a plugin that declares views. The plugin usually answers within
/// milliseconds. After this time, the tools are listed without the plugin's views.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Maximum size of the declarations that are kept on disk. The oldest declarations are removed first.
const MAX_KEPT_BYTES: u64 = 8 * 1024 * 1024;

impl Host {
    /// The tools as clients see them, with their views.
    pub async fn with_views(&self, catalog: &Catalog) -> Tools {
        let mut tools: Vec<Value> =
            catalog.tools().map(|(name, tool)| listed_tool(name, tool)).collect();
        self.shared_state.set_tools(entries_of(catalog, &tools));
        let grants = |loaded: &LoadedPlugin| loaded.plugin.terms.policy.grants.catalog.clone();
        let plugins = &catalog.plugins.loaded;
        let needs_results =
            |loaded: &Arc<LoadedPlugin>| grants(loaded).is_some_and(|one| one.needs_results());
        self.shared_state.want_results(plugins.iter().any(needs_results));
        for loaded in catalog.with(Feature::Views).filter(|loaded| grants(loaded).is_some()) {
            let declared = self.views_of(loaded, &tools).await;
            let named: HashMap<_, _> =
                declared.iter().map(|one| (one.tool.as_str(), one)).collect();
            tools.retain_mut(|tool| {
                let tool_view = tool["name"].as_str().and_then(|name| named.get(name));
                tool_view.is_none_or(|tool_view| add_view(tool, tool_view))
            });
        }
        tools
    }

    /// The views that a plugin declares for these tools. A declaration for the same tools, plugin and settings is read
    /// from disk, so that a start of the host runs no plugin. Plugins report when their declarations change.
    async fn views_of(&self, loaded: &Arc<LoadedPlugin>, tools: &[Value]) -> Vec<ToolView> {
        let plugin = &loaded.plugin;
        let key = json!([plugin.digest, *plugin.terms.settings, tools]).to_string();
        let key = digest(key.as_bytes());
        let configured = self.configured();
        let views = &configured.views;
        let has_changed = self.shared_state.have_views_changed();
        let kept = views.read(&key).unwrap_or_else(|error| {
            tracing::warn!("cannot read the views of `{}`: {error}", plugin.name);
            None
        });
        let kept = kept.filter(|_| !has_changed);
        if let Some(kept) = kept.and_then(|one| serde_json::from_slice(&one.value).ok()) {
            return kept;
        }
        let Some(declared) = self.ask_for_views(loaded).await else { return Vec::new() };
        if has_changed {
            // A plugin has reported a change, so this declaration may be valid only until the host ends.
            if let Err(error) = views.remove(&key) {
                tracing::warn!("cannot remove the old views of `{}`: {error}", plugin.name);
            }
            return declared;
        }
        let text = serde_json::to_vec(&declared).unwrap_or_default();
        if let Err(error) = views.write(&key, &text, None, None, |_| true) {
            tracing::warn!("cannot keep the views of `{}`: {error}", plugin.name);
        }
        if let Err(error) = views.shrink(MAX_KEPT_BYTES) {
            tracing::warn!("cannot remove old views: {error}");
        }
        declared
    }

    /// Asks a plugin for its views. `None`: the plugin failed, and the tools work without views.
    async fn ask_for_views(&self, loaded: &Arc<LoadedPlugin>) -> Option<Vec<ToolView>> {
        let mut context = CallContext::default();
        // The list is the same for all sessions, so no session's roots are used.
        let roots = self.roots().none();
        self.attach_shared_state(&mut context, loaded, &roots);
        let call = Call {
            request: call::request_id(),
            origin: call::Origin::default(),
            work: Work::Views,
            roots,
            context,
            task: false,
            decisions: Vec::new(),
            resumed: None,
            client: &NoClient,
            inner: None,
        };
        let declared =
            tokio::time::timeout(MAX_WAIT, call::call(Source::Plugin(loaded), call)).await;
        let why = match declared {
            Ok(Ok(SourceAnswer::Plugin(PluginAnswer::Views(all)))) => return Some(all),
            Ok(Ok(_)) => "its answer is of the wrong kind".to_owned(),
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => format!("it takes longer than {} s", MAX_WAIT.as_secs()),
        };
        tracing::warn!("tools are listed without the views of `{}`: {why}", loaded.plugin.name);
        None
    }
}

/// Adds a declared view to a tool that has no view of its own. Returns `false` for such a tool if neither models nor
/// views may call it, so that it is not listed.
fn add_view(tool: &mut Value, tool_view: &ToolView) -> bool {
    if view_of(tool).is_some() {
        return true;
    }
    let who: Vec<&str> = [(tool_view.for_model, "model"), (tool_view.for_views, "app")]
        .into_iter()
        .filter_map(|(may, who)| may.then_some(who))
        .collect();
    if who.is_empty() {
        return false;
    }
    let Some(tool) = tool.as_object_mut() else { return true };
    let meta = tool.entry("_meta").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else { return true };
    let mut ui = Map::new();
    ui.insert("visibility".into(), who.into());
    if let Some(view) = tool_view.view.as_ref().filter(|view| view.starts_with("ui://")) {
        ui.insert(VIEW_KEYS.0.into(), view.as_str().into());
        meta.insert(VIEW_KEYS.1.into(), view.as_str().into());
    }
    meta.insert("ui".into(), ui.into());
    true
}

/// Whether models may call a tool, by its definition. Some tools are for views only.
pub fn is_for_models(tool: &Value) -> bool {
    let visibility = tool["_meta"]["ui"]["visibility"].as_array();
    visibility.is_none_or(|who| who.iter().any(|one| one == "model"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool_view(view: Option<&str>, for_model: bool, for_views: bool) -> ToolView {
        ToolView { tool: "t".into(), view: view.map(str::to_owned), for_model, for_views }
    }

    #[test]
    fn a_view_is_written_under_both_keys() {
        let mut tool = json!({"name": "t", "_meta": {"own": 1}});
        assert!(add_view(&mut tool, &tool_view(Some("ui://a/b"), true, true)));
        let ui = json!({"resourceUri": "ui://a/b", "visibility": ["model", "app"]});
        assert_eq!(tool["_meta"], json!({"own": 1, "ui": ui, "ui/resourceUri": "ui://a/b"}));
    }

    #[test]
    fn a_tool_that_brings_a_view_stays_as_it_is() {
        for meta in [json!({"ui": {"resourceUri": "ui://x"}}), json!({"ui/resourceUri": "ui://x"})]
        {
            let before = json!({"name": "t", "_meta": meta});
            let mut tool = before.clone();
            assert!(add_view(&mut tool, &tool_view(Some("ui://a/b"), false, false)));
            assert_eq!(tool, before);
        }
    }

    #[test]
    fn a_tool_that_nobody_may_call_is_not_listed() {
        assert!(!add_view(&mut json!({"name": "t"}), &tool_view(None, false, false)));
        let mut tool = json!({"name": "t"});
        assert!(add_view(&mut tool, &tool_view(Some("https://not.a.view"), true, false)));
        assert_eq!(tool["_meta"], json!({"ui": {"visibility": ["model"]}}));
    }
}
