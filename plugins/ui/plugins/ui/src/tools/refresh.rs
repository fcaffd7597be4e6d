//! The tool `_ui_refresh_tools`: reports which tools changed since its last call.

use crate::{canonical, kept, page};
use portcullis_plugin::prelude::*;
use std::collections::BTreeMap;

/// Looks at all tools anew, and says what has changed since this was last called. What was kept for tools that are gone is forgotten.
#[arguments]
pub struct Refresh {}

/// What has become of the tools.
#[data]
pub struct Changes {
    /// Not there before.
    added: Vec<String>,
    /// There no more.
    removed: Vec<String>,
    /// With another description or schema.
    changed: Vec<String>,
    /// How many are as they were.
    unchanged: usize,
}

impl Tool for Refresh {
    const NAME: &'static str = "_ui_refresh_tools";
    const TITLE: Option<&'static str> = Some("Refresh Tools");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(false).idempotent(true).open_world(false);
    type Output = Json<Changes>;

    fn call(self, request: &Request<'_>) -> Result<Json<Changes>, Failure> {
        let tools = catalog::tools().into_iter().filter(|tool| !tool.of_this_plugin);
        let now: BTreeMap<_, _> = tools
            .map(|tool| {
                let digest = canonical::digest(&page::definition(&tool));
                (tool.name, digest)
            })
            .collect();
        let before = kept::replace_seen(&now)?;
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
            kept::forget(&name)?;
            changes.removed.push(name);
        }
        // On these notifications the host asks for the views of all tools again.
        request.list_changed(ListKind::Tools);
        request.list_changed(ListKind::Resources);
        Ok(Json(changes))
    }
}
