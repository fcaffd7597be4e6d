//! Reads the catalog and the last answers of tools. Each function takes a permit.

use serde_json::Value;

use super::grant::CatalogAsk;
use super::pointers;
use crate::bindings::portcullis::plugin::catalog::{Entry, Finding};
use crate::gate::Permit;
use crate::sandbox::SharedState;

/// Lists the tools of all sources for the plugin of this name. Empty if the outcome cannot be recorded.
pub fn list_tools(permit: Permit<CatalogAsk>, shared: &SharedState, plugin: &str) -> Vec<Entry> {
    let own = |entry: &Entry| Entry { of_this_plugin: entry.source == plugin, ..entry.clone() };
    let tools = shared.tools().iter().map(own).collect();
    permit.record_done("listed").map_or_else(|_| Vec::new(), |()| tools)
}

/// Follows paths into the last answer of a tool to this caller. Lowers `left` by one for each path that is followed. A
/// path is [`Finding::Unknown`] if `left` is 0, no answer is kept, or the outcome cannot be recorded.
pub fn find(
    permit: Permit<CatalogAsk>,
    shared: &SharedState,
    principal: Option<String>,
    tool: &str,
    paths: &[Vec<String>],
    left: &mut u32,
) -> Vec<Finding> {
    let result = shared.result(principal, tool);
    let data = result.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let mut follow = |path: &Vec<String>| match &data {
        Some(data) if *left > 0 => {
            *left -= 1;
            pointers::find(data, path)
        }
        _ => Finding::Unknown,
    };
    let found: Vec<Finding> = paths.iter().map(&mut follow).collect();
    let count = found.iter().filter(|one| **one == Finding::Found).count();
    match permit.record(&format!("{count} of {} found", paths.len())) {
        Ok(()) => found,
        Err(_) => vec![Finding::Unknown; paths.len()],
    }
}

/// Reads the last answer of a tool to this caller. `None`: no answer is kept, or the outcome cannot be recorded.
pub fn last_result(
    permit: Permit<CatalogAsk>,
    shared: &SharedState,
    principal: Option<String>,
    tool: &str,
) -> Option<String> {
    let result = shared.result(principal, tool);
    permit.record_done("read").ok().and(result)
}
