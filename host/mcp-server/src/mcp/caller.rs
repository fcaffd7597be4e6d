//! The caller of a request: its principal and the capabilities of its client.

#![expect(deprecated, reason = "roots, sampling and logging are in both eras until 2027")]

use std::sync::Arc;

use parking_lot::Mutex;
use portcullis_core::call::{Origin, is_traced};
use portcullis_http_server::Principal;
use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, InitializeRequestParams, LoggingLevel, ProgressToken};
use rmcp::service::RequestContext;

/// The extension for tasks.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The contract's name for the extension for tasks.
pub const TASKS_FEATURE: &str = "extension:io.modelcontextprotocol/tasks";

/// Whether the request is of the era with `initialize`: MCP up to revision 2025-11-25.
pub fn is_legacy(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version().is_none_or(|version| version.has_initialize())
}

/// The caller of a request: the principal, and the client's capabilities.
#[derive(Clone)]
pub struct Caller {
    /// The revision of MCP.
    pub protocol: String,
    /// Whether the client speaks 2026-07-28 or later, and so gets questions as the answer to its request.
    pub modern: bool,
    /// The name of the client, as it calls itself.
    pub client: Option<String>,
    /// The capabilities that the client declared.
    pub capabilities: ClientCapabilities,
    /// The principal, if the transport authenticates callers.
    pub principal: Option<String>,
    /// The request's `_meta` as JSON, without the reserved keys. `None`: there are no other keys.
    pub meta: Option<String>,
    /// The token for progress notifications, if the client wants them.
    pub progress: Option<ProgressToken>,
    /// The progress that was sent last for this request.
    pub last_progress: LastProgress,
    /// The request's id and the client's span, if calls have spans.
    pub origin: Origin,
    /// The minimum level of log records that this request asks for, from 2026-07-28 on.
    pub log_level: Option<LoggingLevel>,
}

impl Caller {
    /// The caller of a request.
    pub fn of(cx: &RequestContext<RoleServer>) -> Self {
        let parts = cx.extensions.get::<http::request::Parts>();
        let principal = parts.and_then(|parts| parts.extensions.get::<Principal>());
        let is_reserved =
            |key: &String| key == "progressToken" || key.starts_with("io.modelcontextprotocol/");
        let meta: serde_json::Map<_, _> = cx
            .meta
            .0
            .0
            .iter()
            .filter(|(key, _)| !is_reserved(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        Self {
            protocol: cx.protocol_version().map_or_else(String::new, |v| v.as_str().to_owned()),
            modern: !is_legacy(cx),
            client: cx.client_info().map(|client| client.name),
            capabilities: cx.client_capabilities().unwrap_or_default(),
            principal: principal.map(Principal::to_string),
            meta: (!meta.is_empty()).then(|| serde_json::Value::Object(meta).to_string()),
            progress: cx.meta.get_progress_token(),
            last_progress: LastProgress::default(),
            log_level: cx.meta.log_level(),
            origin: if is_traced() { origin_of(cx) } else { Origin::default() },
        }
    }

    /// The caller of `initialize`. The revision, the name and the capabilities of the client are in `params`.
    pub fn initializing(cx: &RequestContext<RoleServer>, params: &InitializeRequestParams) -> Self {
        Self {
            protocol: params.protocol_version.as_str().to_owned(),
            modern: false,
            client: Some(params.client_info.name.clone()),
            capabilities: params.capabilities.clone(),
            ..Self::of(cx)
        }
    }

    /// The features that the client supports, under the contract's names.
    pub fn features(&self) -> Vec<String> {
        let mut features = Vec::new();
        if let Some(elicitation) = &self.capabilities.elicitation {
            // In older revisions, which have no modes, the capability means forms.
            if elicitation.form.is_some() || elicitation.url.is_none() {
                features.push("elicitation.form".to_owned());
            }
            if elicitation.url.is_some() {
                features.push("elicitation.url".to_owned());
            }
        }
        if let Some(sampling) = &self.capabilities.sampling {
            features.push("sampling".to_owned());
            if sampling.tools.is_some() {
                features.push("sampling.tools".to_owned());
            }
        }
        if self.capabilities.roots.is_some() {
            features.push("roots".to_owned());
        }
        let extensions = self.capabilities.extensions.iter().flatten();
        features.extend(extensions.map(|(id, _)| format!("extension:{id}")));
        features
    }

    /// Whether the client supports a feature. `feature`: the contract's name.
    pub fn supports(&self, feature: &str) -> bool {
        self.features().iter().any(|known| known == feature)
    }
}

/// The progress that was sent last for a request. MCP requires that progress increases within a request, and a plugin
/// counts anew in each round of a call.
#[derive(Clone, Default)]
pub struct LastProgress(Arc<Mutex<Option<f64>>>);

impl LastProgress {
    /// The progress to send when the plugin reports `done` of `total`. Without a total, progress that does not increase
    /// becomes the next step. `None`: there is a total and no increase, so nothing is sent.
    pub fn next(&self, done: f64, total: Option<f64>) -> Option<f64> {
        let mut last = self.0.lock();
        let next = match *last {
            Some(sent) if done <= sent => total.is_none().then_some(sent + 1.0)?,
            Some(_) | None => done,
        };
        *last = Some(next);
        Some(next)
    }
}

/// The request's id and the client's span. `traceparent` in the request's `_meta` takes precedence over the HTTP
/// header, which may belong to several requests.
fn origin_of(cx: &RequestContext<RoleServer>) -> Origin {
    let in_meta = cx.meta.0.0.get("traceparent").and_then(serde_json::Value::as_str);
    let parts = cx.extensions.get::<http::request::Parts>();
    let in_header = || parts?.headers.get("traceparent")?.to_str().ok();
    let traceparent = in_meta.or_else(in_header).map(ToOwned::to_owned);
    Origin { request_id: Some(cx.id.to_string()), traceparent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_increases_over_the_rounds_of_a_call() {
        let last = LastProgress::default();
        let steps = [1.0, 2.0, 1.0, 2.0, 9.0].map(|done| last.next(done, None));
        assert_eq!(steps, [1.0, 2.0, 3.0, 4.0, 9.0].map(Some), "a second round counts on");
        let last = LastProgress::default();
        let parts = [0.0, 5.0, 5.0, 3.0, 10.0].map(|done| last.next(done, Some(10.0)));
        assert_eq!(parts, [Some(0.0), Some(5.0), None, None, Some(10.0)]);
    }
}
