//! The tool `_ui_apply`: sets a view that the client's model wrote.

use crate::{
    faces::{self, Addresses},
    folders, judge,
    kept::{self, By, View},
    settings::Settings,
    time,
};
use portcullis_plugin::{
    prelude::*,
    serde_json::{Map, Value},
};

const UNVERIFIED: &str = " Not verified: the tool has no output schema, and this plugin has seen no answer of it \
    (grant `results` of `catalog`), so that paths into `/result` may lead nowhere. Where none of them finds \
    something, the page shows the default view and says so.";

/// Shows a tool by a view specification that you wrote. `_ui_inspect` and `_ui_refine` answer with the JSON schema of specifications (`catalogue`) and the one there is now. It is checked first; if something is wrong, the answer says what and where.
#[arguments]
pub struct Apply {
    /// Name of the tool whose UI to set.
    tool_name: String,
    /// The view specification: an object with `version` 1 and `root`, a component.
    spec: Option<Map<String, Value>>,
    /// Instead of `spec`, an HTML document; only where the operator allows documents.
    document: Option<String>,
}

impl Tool for Apply {
    const NAME: &'static str = "_ui_apply";
    const TITLE: Option<&'static str> = Some("Apply UI");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(false).idempotent(true).open_world(false);
    type Output = String;

    fn call(self, request: &Request<'_>) -> Result<String, Failure> {
        let settings = Settings::read();
        let tool = faces::dressed(&self.tool_name, &settings)?;
        let last = catalog::last_result(&tool.name);
        let judged = match (self.spec, self.document) {
            (Some(spec), None) => judge::specification(Value::Object(spec), &tool, last.as_ref()),
            (None, Some(document)) if settings.documents => {
                judge::document(&document, settings.cache.entry_bytes)
            }
            (None, Some(_)) => {
                return Err(Failure::new(
                    "documents are turned off by the operator (setting `documents`): write a `spec`",
                ));
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(Failure::new("give either `spec` or `document`"));
            }
        };
        let body = judged.map_err(|problems| {
            request.log(Level::Info, json!({ "step": "validate", "tool": tool.name, "problems": problems }));
            let list: Vec<_> = problems.iter().map(|problem| format!("- {problem}")).collect();
            Failure::new(format!("it was not applied; the UI of tool '{}' is as it was. Put this right and call again:\n{}", tool.name, list.join("\n")))
        })?;
        let is_unverified = last.is_none() && tool.output_schema.is_none() && body.shows_results();
        let before = Addresses::new(&settings).of(&tool);
        let view = View {
            body,
            by: By::Client,
            made_for: By::Client.depends_on(&tool),
            key: None,
            request: Some(request.id()),
            at: time::now(),
            duration_ms: 0,
            model: None,
            tokens: None,
        };
        kept::keep(&tool.name, view, &settings.cache)?;
        let address = faces::tell(request, &tool, &settings, &before);
        let page = faces::page_of(&tool, &settings).html;
        folders::debug(request, &settings, &tool.name, "page.html", &page);
        folders::export(request, &settings, &tool.name, &page);
        let mut said = format!(
            "UI applied for tool '{}'. It is {address}. Clients that show views load it with the tool's next call.",
            tool.name
        );
        if is_unverified {
            said += UNVERIFIED;
        }
        Ok(said)
    }
}
