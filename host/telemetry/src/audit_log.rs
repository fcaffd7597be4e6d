//! Sends records of the audit as log records.

use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry_sdk::logs::{SdkLogger, SdkLoggerProvider};

/// The name of the instrumentation scope of these log records, by which a collector tells them from those of calls.
const SCOPE: &str = "portcullis.audit";

/// Sends records of the audit to the collector. A call never waits for a record to be sent.
#[derive(Debug)]
pub struct AuditLog(SdkLogger);

impl AuditLog {
    pub(crate) fn new(provider: &SdkLoggerProvider) -> Self {
        Self(provider.logger(SCOPE))
    }

    /// Sends one record. `summary` is for people, `json` has all fields. What was denied is a warning.
    pub fn send(&self, summary: String, json: String, is_denied: bool) {
        let mut log = self.0.create_log_record();
        let severity = if is_denied { Severity::Warn } else { Severity::Info };
        log.set_severity_number(severity);
        log.set_severity_text(severity.name());
        log.set_body(AnyValue::String(summary.into()));
        log.add_attribute("portcullis.audit.record", json);
        self.0.emit(log);
    }
}
