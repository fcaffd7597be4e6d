//! The action `apply`: sets a view that the client's model wrote.

use crate::{
    folders, model_output,
    settings::Settings,
    stored_views::{self, View, ViewMaker},
    time,
    view_assignment::{self, ViewUris},
};
use portcullis_plugin::{
    catalog::{self, Entry},
    prelude::*,
    serde_json::{Map, Value},
};

/// Maximum number of unverified paths in an answer.
const UNVERIFIED: usize = 5;

/// Checks a view that the client's model wrote, and publishes it. If the view has faults, nothing is stored: the tool
/// keeps its previous view, and the failure lists the faults.
pub fn apply(
    request: &Request<'_>,
    settings: &Settings,
    tool: &Entry,
    spec: Option<Map<String, Value>>,
    document: Option<&str>,
) -> Result<String, Failure> {
    let last = catalog::last_result(&tool.name);
    let judged = match (spec, document) {
        (Some(spec), None) => model_output::specification(Value::Object(spec), tool, last.as_ref()),
        (None, Some(document)) if settings.documents => {
            model_output::document(document, settings.cache.entry_bytes)
        }
        (None, Some(_)) => {
            return Err(Failure::new(
                "documents are off unless the operator sets `documents` to `true`: write a `spec`",
            ));
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(Failure::new("give either `spec` or `document`"));
        }
    };
    let judged = judged.map_err(|problems| {
        request.log(Level::Info, json!({ "step": "validate", "tool": tool.name, "problems": problems }));
        let list: Vec<_> = problems.iter().map(|problem| format!("- {problem}")).collect();
        Failure::new(format!("it was not applied; the UI of tool '{}' is as it was. Put this right and call again:\n{}", tool.name, list.join("\n")))
    })?;
    let before = ViewUris::new(settings).of(tool);
    let view = View {
        body: judged.body,
        by: ViewMaker::Client,
        made_for: ViewMaker::Client.depends_on(tool),
        key: None,
        request: Some(request.id()),
        at: time::now(),
        duration_ms: 0,
        model: None,
        tokens: None,
    };
    stored_views::keep(&tool.name, view, &settings.cache)?;
    let address = view_assignment::notify_view_changed(request, tool, settings, &before);
    let page = view_assignment::page_of(tool, settings).html;
    folders::debug(request, settings, &tool.name, "page.html", &page);
    folders::export(request, settings, &tool.name, &page);
    Ok(format!(
        "UI applied for tool '{}'. Its URI is {address}. Clients that show views load it with the tool's next call.{}",
        tool.name,
        unverified(&judged.unverified)
    ))
}

/// The sentence about unverified paths; empty if there are none.
fn unverified(paths: &[String]) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let more = if paths.len() > UNVERIFIED { ", …" } else { "" };
    let paths: Vec<_> = paths.iter().take(UNVERIFIED).map(|path| format!("`{path}`")).collect();
    format!(
        " Not verified: {}{more}. No output schema declares these paths, and they could not be compared with an earlier answer of the tool (call \
         the tool first; the operator has to grant `pointers` in `read` of `catalog`). If no path of the view finds \
         a value, the page shows the default view and says so.",
        paths.join(", ")
    )
}
