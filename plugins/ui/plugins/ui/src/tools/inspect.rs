//! The action `inspect`: details of one view, and the schema for writing another.

use super::list::{UiType, ui_type};
use crate::{
    generate, page, prompt,
    settings::Settings,
    spec,
    stored_views::{self, Body, ViewMaker},
    time,
    view_assignment::ViewUris,
};
use portcullis_plugin::{catalog::Entry, serde_json::Value};
use serde::Serialize;

/// A view, and the data from which it was made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspected {
    /// The tool.
    tool: String,
    /// `rich`: a model made it; `minimal`: made from the schemas.
    ui_type: UiType,
    /// Whether a view that a model made is stored and shown.
    cached: bool,
    /// URI of the view.
    address: String,
    /// Digest of everything that shaped the view, or that would shape a view if it were generated now.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_key: Option<String>,
    /// The id of the request that led to the view, as in logs and the audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// `client` or `provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_by: Option<String>,
    /// When the view was generated, in ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    generated_at: Option<String>,
    /// Duration of the generation in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_duration_ms: Option<u64>,
    /// The model that wrote the view.
    #[serde(skip_serializing_if = "Option::is_none")]
    llm_model: Option<String>,
    /// Tokens read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<Tokens>,
    /// The version of the current prompts.
    prompt_version: String,
    /// The version of the current template of pages.
    template_version: String,
    /// The requested changes, the oldest first.
    refinement_history: Vec<String>,
    /// The last failure to make a view or, if there is none, why the stored view is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback_reason: Option<String>,
    /// JSON Schema of the tool's input.
    input_schema: Value,
    /// JSON Schema of the tool's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    /// The shown view, if it is a specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<Value>,
    /// The shown view, if it is a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
    /// JSON Schema of view specifications.
    catalogue: Value,
}

/// Tokens of a generation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// Read.
    input: u64,
    /// Written, thinking included.
    output: u64,
}

/// Everything about the view of a tool.
pub fn view(tool: Entry, settings: &Settings) -> Inspected {
    let addresses = ViewUris::new(settings);
    let record = stored_views::record(&tool.name);
    let cache_key = settings.provider.as_ref();
    let cache_key = cache_key.map(|provider| generate::key(&tool, settings, provider, &record));
    let is_by_model = addresses.view(&tool).is_some();
    let (shown, lost) = match record.view {
        Some(view) if is_by_model => (Some(view), false),
        other => (None, other.is_some()),
    };
    let (spec, document) = match shown.as_ref().map(|view| view.body.clone()) {
        Some(Body::Specification(spec)) => (Some(spec), None),
        Some(Body::Document(document)) => (None, Some(document)),
        None => (None, None),
    };
    let fallback_reason = match record.failure {
        Some(failed) => Some(failed.why),
        None => lost.then(|| {
            "the tool has changed since the view was made, the view is too old, or it is a document and \
             `documents` is not `true`"
                .to_owned()
        }),
    };
    Inspected {
        ui_type: ui_type(&tool, settings, &addresses),
        cached: is_by_model,
        address: addresses.of(&tool),
        cache_key: shown.as_ref().and_then(|view| view.key.clone()).or(cache_key),
        request_id: shown.as_ref().and_then(|view| view.request.clone()),
        made_by: shown.as_ref().map(|view| match view.by {
            ViewMaker::Client => "client".to_owned(),
            ViewMaker::Provider => "provider".to_owned(),
        }),
        generated_at: shown.as_ref().map(|view| time::iso(view.at)),
        generation_duration_ms: shown.as_ref().map(|view| view.duration_ms),
        llm_model: shown.as_ref().and_then(|view| view.model.clone()),
        tokens: shown
            .as_ref()
            .and_then(|view| view.tokens)
            .map(|(input, output)| Tokens { input, output }),
        prompt_version: prompt::version().to_owned(),
        template_version: page::template_version()[..12].to_owned(),
        refinement_history: record.refinements.into_iter().map(|one| one.feedback).collect(),
        fallback_reason,
        tool: tool.name,
        input_schema: tool.input_schema,
        output_schema: tool.output_schema,
        spec,
        document,
        catalogue: spec::catalogue(),
    }
}
