//! Reads the catalog and the last answers of tools. Each function takes a permit.

use super::grant::CatalogAsk;
use crate::bindings::portcullis::plugin::catalog::Entry;
use crate::gate::Permit;
use crate::sandbox::SharedState;

/// Lists the tools of all sources for the plugin of this name.
pub fn list_tools(permit: Permit<CatalogAsk>, shared: &SharedState, plugin: &str) -> Vec<Entry> {
    let own = |entry: &Entry| Entry { of_this_plugin: entry.source == plugin, ..entry.clone() };
    let tools = shared.tools().iter().map(own).collect();
    permit.record_done("listed").map_or_else(|_| Vec::new(), |()| tools)
}

/// Reads the last answer of a tool to this caller.
pub fn last_result(
    permit: Permit<CatalogAsk>,
    shared: &SharedState,
    principal: Option<String>,
    tool: &str,
) -> Option<String> {
    let result = shared.result(principal, tool);
    permit.record_done("read").ok().and(result)
}
