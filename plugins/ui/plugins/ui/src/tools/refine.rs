//! The action `refine`: changes a view by feedback in plain words.

use crate::{
    prompt,
    settings::Settings,
    spec,
    stored_views::{self, Body, Refinement},
    time,
};
use portcullis_plugin::{catalog::Entry, prelude::*, serde_json::Value};

/// Stores the feedback and generates the view accordingly. Without a provider, the answer has the data that
/// the client's model needs to write the view.
pub fn refine(
    request: &Request<'_>,
    settings: &Settings,
    tool: &Entry,
    feedback: &str,
) -> Result<String, Failure> {
    let feedback = feedback.trim();
    if feedback.is_empty() || feedback.chars().count() > prompt::FEEDBACK {
        let most = prompt::FEEDBACK;
        return Err(Failure::new(format!(
            "`feedback` must say what to change, in {most} characters at most"
        )));
    }
    let record = stored_views::change(&tool.name, |record| {
        record.refinements.push(Refinement { at: time::now(), feedback: feedback.to_owned() });
        let extra = record.refinements.len().saturating_sub(settings.max_refinements);
        record.refinements.drain(..extra);
    })?;
    if settings.provider.is_some() {
        return super::generate(request, settings, tool, false, "refined");
    }
    let wishes: Vec<_> = record.refinements.iter().map(|one| one.feedback.as_str()).collect();
    let now = match record.view.map(|view| view.body) {
        Some(Body::Specification(spec)) => spec,
        Some(Body::Document(_)) | None => Value::Null,
    };
    let told = json!({
        "tool": tool.name,
        "operator": settings.prompt,
        "wishes": wishes,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "spec": now,
        "catalogue": spec::catalogue(),
    });
    Ok(format!(
        "The view has not changed yet. Write a view specification for tool '{}' with the changes in `wishes`, and call \
         `_ui` with the action `apply` and the specification as `spec`. In the JSON below, `spec` is the stored \
         specification (null: there is none), `catalogue` is the JSON Schema of specifications, and `operator` is what \
         the operator asks of all views. Bind to what `outputSchema` declares.\n\n{told}",
        tool.name
    ))
}
