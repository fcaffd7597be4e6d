//! Makes the client's span the parent of a call's span. The client's span is in the field `traceparent`, in the
//! form of W3C Trace Context.

use std::collections::HashMap;
use std::fmt;

use opentelemetry::Context as OtelContext;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The field of a span with the trace context of the client.
const FIELD: &str = "traceparent";

/// Wraps the layer that makes OpenTelemetry spans, so that the spans get remote parents.
pub(crate) struct WithRemoteParent<L>(pub(crate) L);

impl<S: Subscriber, L: Layer<S>> Layer<S> for WithRemoteParent<L> {
    fn on_new_span(&self, attrs: &Attributes<'_>, id: &Id, cx: Context<'_, S>) {
        let mut found = TraceParent(None);
        attrs.record(&mut found);
        // The wrapped layer takes the current context as the parent.
        let _attached = found.0.as_deref().and_then(remote_context).map(OtelContext::attach);
        self.0.on_new_span(attrs, id, cx);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, cx: Context<'_, S>) {
        self.0.on_record(id, values, cx);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, cx: Context<'_, S>) {
        self.0.on_follows_from(id, follows, cx);
    }

    fn on_event(&self, event: &Event<'_>, cx: Context<'_, S>) {
        self.0.on_event(event, cx);
    }

    fn on_enter(&self, id: &Id, cx: Context<'_, S>) {
        self.0.on_enter(id, cx);
    }

    fn on_exit(&self, id: &Id, cx: Context<'_, S>) {
        self.0.on_exit(id, cx);
    }

    fn on_close(&self, id: Id, cx: Context<'_, S>) {
        self.0.on_close(id, cx);
    }
}

/// The context with the client's span, if the text is a valid `traceparent`.
fn remote_context(text: &str) -> Option<OtelContext> {
    let carrier = HashMap::from([(FIELD.to_owned(), text.to_owned())]);
    let found = TraceContextPropagator::new().extract_with_context(&OtelContext::new(), &carrier);
    found.span().span_context().is_valid().then_some(found)
}

struct TraceParent(Option<String>);

impl Visit for TraceParent {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == FIELD {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
