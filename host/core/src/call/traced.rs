//! The span of one call, and the event at its end. Telemetry can send the span and the event to another machine, so
//! they contain no arguments, results or messages.
//!
//! An attribute has the name that OpenTelemetry's semantic conventions for MCP define, if they define one.

use std::time::Instant;

use tracing::field::Empty;
use tracing::{Level, Span};

use super::{Call, CallFailure, SourceAnswer, ToolCall, Work};
use crate::source::Source;

/// The target of the span and the event. With telemetry, they are left out of the log. Without telemetry, the log
/// shows the event if the log's filter has the level `trace` for this target.
pub const TARGET: &str = "portcullis::call";

/// The client's request and span to which a call belongs.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The id of the client's JSON-RPC request.
    pub request_id: Option<String>,
    /// The span of the client: `traceparent` of W3C Trace Context.
    pub traceparent: Option<String>,
}

/// Whether calls have spans. If not, their [`Origin`] is not needed.
pub fn is_traced() -> bool {
    tracing::span_enabled!(target: TARGET, Level::TRACE)
}

/// The MCP method of the work, the operation in the span's name, and the name of the tool or prompt, if there is one.
fn operation_of<'w>(work: &'w Work) -> (Option<&'static str>, &'static str, Option<&'w str>) {
    let method =
        |method, name: Option<&'w String>| (Some(method), method, name.map(String::as_str));
    match work {
        Work::Tool(ToolCall { name, .. }) => method("tools/call", Some(name)),
        Work::Prompt { name, .. } => method("prompts/get", Some(name)),
        // A URI can contain arguments.
        Work::Resource(_) => method("resources/read", None),
        Work::Resources(_) => method("resources/list", None),
        Work::Completion { .. } => method("completion/complete", None),
        Work::Version(_) => (None, "version", None),
        Work::Views => (None, "views", None),
        Work::Job(_) => (None, "job", None),
    }
}

/// The span of a call that runs. If the call is dropped before its end, its outcome is `cancelled`.
pub(super) struct Traced {
    span: Span,
    /// The data for the event at the end. `None`: calls have no spans, or the end is recorded already.
    open: Option<Open>,
}

struct Open {
    began: Instant,
    request: String,
    source: String,
    name: String,
}

impl Traced {
    pub(super) fn begin(source: Source<'_>, call: &Call<'_>) -> Self {
        if !is_traced() {
            return Self { span: Span::none(), open: None };
        }
        let (method, operation, target) = operation_of(&call.work);
        let target = target.map(|name| portcullis_sanitize::line(name, 100));
        let name = match &target {
            Some(target) => format!("{operation} {target}"),
            None => operation.to_owned(),
        };
        let tool = target.as_deref().filter(|_| matches!(call.work, Work::Tool(_)));
        let prompt = target.as_deref().filter(|_| matches!(call.work, Work::Prompt { .. }));
        let traceparent = call.origin.traceparent.as_deref().filter(|text| is_traceparent(text));
        let id = call.origin.request_id.as_deref().map(|id| portcullis_sanitize::line(id, 100));
        let digest = source.plugin().map(|loaded| &*loaded.plugin.digest);
        let protocol = Some(call.context.protocol.as_str()).filter(|version| !version.is_empty());
        let span = tracing::trace_span!(
            target: TARGET,
            "call",
            otel.name = name,
            otel.kind = if method.is_some() { "server" } else { "internal" },
            otel.status_code = Empty,
            mcp.method.name = method,
            mcp.protocol.version = protocol,
            gen_ai.tool.name = tool,
            gen_ai.prompt.name = prompt,
            jsonrpc.request.id = id,
            portcullis.request.id = call.request,
            portcullis.source.name = &**source.name(),
            portcullis.plugin.digest = digest,
            portcullis.outcome = Empty,
            "error.type" = Empty,
            traceparent,
        );
        let open = (!span.is_disabled()).then(|| Open {
            began: Instant::now(),
            request: call.request.clone(),
            source: source.name().to_string(),
            name,
        });
        Self { span, open }
    }

    /// The span, in which the call runs.
    pub(super) fn span(&self) -> Span {
        self.span.clone()
    }

    pub(super) fn end(mut self, served: &Result<SourceAnswer, CallFailure>) {
        match served {
            Ok(answer) => match answer.outcome() {
                // The name that the conventions define for a result with `isError`.
                outcome @ "tool-error" => self.record(outcome, Some("tool_error")),
                outcome => self.record(outcome, None),
            },
            Err(failure) => self.record(failure.code(), Some(failure.code())),
        }
    }

    fn record(&mut self, outcome: &str, error: Option<&str>) {
        let Some(Open { began, request, source, name }) = self.open.take() else { return };
        self.span.record("portcullis.outcome", outcome);
        if let Some(error) = error {
            self.span.record("error.type", error);
            self.span.record("otel.status_code", "ERROR");
        }
        let duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.span.in_scope(|| {
            tracing::event!(
                target: TARGET,
                Level::INFO,
                portcullis.request.id = request,
                portcullis.source.name = source,
                portcullis.call = name,
                portcullis.outcome = outcome,
                portcullis.duration_us = duration_us,
                "the call ended"
            );
        });
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.record("cancelled", Some("cancelled"));
    }
}

/// Whether a text has the form of a `traceparent`. Text of another form is not passed on.
fn is_traceparent(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
    lengths.eq([2, 32, 16, 2]) && text.bytes().all(is_hex)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_a_well_formed_traceparent_is_passed_on() {
        let right = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(is_traceparent(right));
        for wrong in ["", "secret", &right.to_uppercase(), &format!("{right}-x"), &right[1..]] {
            assert!(!is_traceparent(wrong), "{wrong}");
        }
    }

    #[test]
    fn operation_names_contain_no_part_of_an_input() {
        let secret = || "s3cr3t".to_owned();
        let call = ToolCall { name: "read".into(), arguments: Arc::new(secret().into()) };
        let all = [
            Work::Tool(call),
            Work::Resource(secret()),
            Work::Version(secret()),
            Work::Resources(Some(secret())),
            Work::Prompt { name: "p".into(), arguments: vec![(secret(), secret())] },
        ];
        for work in &all {
            let (method, operation, target) = operation_of(work);
            let shown = format!("{method:?} {operation} {target:?}");
            assert!(!shown.contains("s3cr3t"), "{shown}");
        }
    }
}
