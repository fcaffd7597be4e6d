//! The tool `_ui_refine`: changes a view by feedback in plain words.

use crate::{
    faces,
    kept::{self, Body, Refinement},
    prompt,
    settings::Settings,
    spec, time,
};
use portcullis_plugin::{prelude::*, serde_json::Value};

/// Refines the UI of a tool by feedback in plain words. Where no provider of models is set, the answer holds everything you need to write the new view specification yourself; then call `_ui_apply` with it.
#[arguments]
pub struct Refine {
    /// Name of the tool whose UI to refine.
    tool_name: String,
    /// What to change, such as "make the table sortable" or "lead with the temperature".
    #[schemars(length(min = 1, max = 2000))]
    feedback: String,
}

impl Tool for Refine {
    const NAME: &'static str = "_ui_refine";
    const TITLE: Option<&'static str> = Some("Refine UI");
    const HINTS: Hints = Hints::new().read_only(false).destructive(false).idempotent(false);
    type Output = Reply;

    fn call(self, request: &Request<'_>) -> Result<Reply, Failure> {
        let settings = Settings::read();
        let tool = faces::dressed(&self.tool_name, &settings)?;
        let feedback = self.feedback.trim();
        if feedback.is_empty() || feedback.chars().count() > prompt::FEEDBACK {
            let most = prompt::FEEDBACK;
            return Err(Failure::new(format!(
                "`feedback` must say something, in {most} characters at most"
            )));
        }
        let record = kept::change(&tool.name, |record| {
            record.refinements.push(Refinement { at: time::now(), feedback: feedback.to_owned() });
            let extra = record.refinements.len().saturating_sub(settings.max_refinements);
            record.refinements.drain(..extra);
        })?;
        if settings.provider.is_some() {
            return super::generate(request, &settings, &tool, false, "refined")
                .map(|text| Reply::new().text(text));
        }
        let wishes: Vec<_> = record.refinements.iter().map(|one| one.feedback.as_str()).collect();
        let now = match record.view.map(|view| view.body) {
            Some(Body::Specification(spec)) => spec,
            Some(Body::Document(_)) | None => Value::Null,
        };
        let told = json!({
            "tool": tool.name,
            "wishes": wishes,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "spec": now,
            "catalogue": spec::catalogue(),
        });
        let text = format!(
            "Nothing has changed yet. Write a view specification for tool '{}' that does what `wishes` say, and call \
             `_ui_apply` with it as `spec`. `spec` below is the one there is now (null: the view is made from the \
             schemas alone), `catalogue` the JSON schema of specifications. Bind to what `outputSchema` declares.\n\n{told}",
            tool.name
        );
        Ok(Reply::new().text(text))
    }
}
