//! The action `refresh`: lists the tools that have changed since its last call.

use crate::{canonical, page, stored_views};
use portcullis_plugin::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// The changes of the tools.
#[derive(Serialize)]
pub struct Changes {
    /// New tools.
    added: Vec<String>,
    /// Tools that no longer exist.
    removed: Vec<String>,
    /// Tools with another definition: another title, description, schema or hint.
    changed: Vec<String>,
    /// The number of tools without a change.
    unchanged: usize,
}

/// Compares the tools with those of the last call, and removes the stored data of tools that no longer exist.
pub fn changes(request: &Request<'_>) -> Result<Changes, Failure> {
    let tools = catalog::tools().into_iter().filter(|tool| !tool.of_this_plugin);
    let now: BTreeMap<_, _> = tools
        .map(|tool| {
            let digest = canonical::digest(&page::definition(&tool));
            (tool.name, digest)
        })
        .collect();
    let before = stored_views::replace_seen(&now)?;
    let mut changes =
        Changes { added: Vec::new(), removed: Vec::new(), changed: Vec::new(), unchanged: 0 };
    for (name, digest) in &now {
        match before.get(name) {
            None => changes.added.push(name.clone()),
            Some(old) if old != digest => changes.changed.push(name.clone()),
            Some(_) => changes.unchanged += 1,
        }
    }
    for name in before.into_keys().filter(|name| !now.contains_key(name)) {
        stored_views::forget(&name)?;
        changes.removed.push(name);
    }
    // On these notifications the host asks for the views of all tools again.
    request.list_changed(ListKind::Tools);
    request.list_changed(ListKind::Resources);
    Ok(changes)
}
