//! Sends a span and a log record of each call and, if it is asked for, each record of the audit to an OpenTelemetry
//! collector, by OTLP over HTTP.
//!
//! Only spans and events with the target [`TARGET`] are sent. The host makes these spans and events from names,
//! outcomes, durations and ids. Lines of the log are not sent, because they may quote arguments.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests have a collector"))]

mod audit_log;
mod collector;
mod faults;
mod parent;
mod settings;

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, KeyValue};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_otlp::{
    ExporterBuildError, LogExporter, Protocol, SpanExporter, WithExportConfig as _,
    WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

pub use audit_log::AuditLog;
pub use collector::ClientError;
use collector::Collector;
use parent::WithRemoteParent;
pub use settings::{Headers, Sent, Settings, SettingsError};

/// The target of the spans and events that are sent.
pub const TARGET: &str = "portcullis::call";

/// Time limit of one request to the collector.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// Maximum duration of [`Telemetry::end`].
pub const END_TIME: Duration = Duration::from_secs(2);

/// Why telemetry cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The HTTP client cannot be made.
    #[error("the HTTP client for the OpenTelemetry collector")]
    Client(#[from] ClientError),
    /// The exporter refuses its settings.
    #[error("the exporter for the OpenTelemetry collector")]
    Exporter(#[from] ExporterBuildError),
}

/// A layer of a subscriber.
pub type BoxedLayer<S> = Box<dyn Layer<S> + Send + Sync>;

/// The exporters to a collector. They send the recorded data on threads of their own. A call never waits for them.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    /// For log records of calls and of the audit.
    logs: Option<SdkLoggerProvider>,
    sent: Sent,
}

impl Telemetry {
    /// Starts the threads that send spans and log records. The collector need not be reachable yet.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub fn start(settings: &Settings) -> Result<Self, StartError> {
        let resource = resource();
        let sent = settings.sent;
        let traces = sent.traces.then(|| {
            let exporter = SpanExporter::builder()
                .with_http()
                .with_http_client(Collector::new(settings)?)
                .with_protocol(Protocol::HttpBinary)
                .with_endpoint(settings.address("v1/traces"))
                .with_timeout(REQUEST_TIME)
                .build()?;
            let provider = SdkTracerProvider::builder().with_resource(resource.clone());
            Ok::<_, StartError>(provider.with_batch_exporter(exporter).build())
        });
        let logs = (sent.logs || sent.audit).then(|| {
            let exporter = LogExporter::builder()
                .with_http()
                .with_http_client(Collector::new(settings)?)
                .with_protocol(Protocol::HttpBinary)
                .with_endpoint(settings.address("v1/logs"))
                .with_timeout(REQUEST_TIME)
                .build()?;
            let provider = SdkLoggerProvider::builder().with_resource(resource);
            Ok::<_, StartError>(provider.with_batch_exporter(exporter).build())
        });
        Ok(Self { traces: traces.transpose()?, logs: logs.transpose()?, sent })
    }

    /// The layers that record spans and events with the target [`TARGET`], and no others.
    pub fn layers<S>(&self) -> Vec<BoxedLayer<S>>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let mut layers: Vec<BoxedLayer<S>> = Vec::new();
        if let Some(provider) = &self.traces {
            let layer = tracing_opentelemetry::layer::<S>()
                .with_tracer(provider.tracer("portcullis"))
                // The semantic conventions for MCP have no such attributes.
                .with_location(false)
                .with_threads(false)
                .with_target(false)
                .with_level(false)
                .with_tracked_inactivity(false);
            let of_call = filter_fn(|metadata| metadata.is_span() && metadata.target() == TARGET);
            layers.push(WithRemoteParent(layer).with_filter(of_call).boxed());
        }
        if let Some(provider) = self.logs.as_ref().filter(|_| self.sent.logs) {
            // This filter also lets spans pass: the core makes the event of a call only if the span of the call is
            // enabled.
            let of_call = filter_fn(|metadata| metadata.target() == TARGET);
            let layer = OpenTelemetryTracingBridge::new(provider);
            layers.push(layer.with_filter(of_call).boxed());
        }
        layers
    }

    /// What sends the records of the audit. `None`: they are not sent.
    pub fn audit_log(&self) -> Option<AuditLog> {
        self.logs.as_ref().filter(|_| self.sent.audit).map(AuditLog::new)
    }

    /// Sends the remaining data, for at most [`END_TIME`]. Data that the collector has not accepted by then are lost.
    pub fn end(&self) {
        let until = Instant::now() + END_TIME;
        // Half of the time is left for the logs. The results are ignored, because a failed request was reported when it
        // failed.
        let _sent = self.traces.as_ref().map(|traces| traces.shutdown_with_timeout(END_TIME / 2));
        let left = until.saturating_duration_since(Instant::now());
        let _sent = self.logs.as_ref().map(|logs| logs.shutdown_with_timeout(left));
    }
}

/// The OpenTelemetry resource of this process, from `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
fn resource() -> Resource {
    let found = Resource::builder().build();
    let name = found.get(&Key::from_static_str("service.name"));
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let described = Resource::builder().with_attribute(version);
    let described = if is_named { described } else { described.with_service_name("portcullis") };
    described.build()
}
