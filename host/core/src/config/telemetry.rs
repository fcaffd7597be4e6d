//! The `[host.telemetry]` section of `portcullis.toml`: the OpenTelemetry collector, and what is sent to it.

use std::collections::BTreeMap;

use portcullis_egress::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// A collector of OpenTelemetry. It gets names, outcomes, durations and ids of calls by OTLP over HTTP, and no arguments,
/// results or secrets; with `audit`, also the paths, hosts and names in the records of the audit.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TelemetryConfig {
    /// The address of the collector, such as `http://127.0.0.1:4318`. `/v1/traces` and `/v1/logs` are added to it.
    pub endpoint: String,
    /// Headers of each request to the collector, by name. Each value is a secret.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// Whether a span of each call is sent.
    #[schemars(extend("default" = true))]
    pub traces: Option<bool>,
    /// Whether a log record of each call is sent.
    #[schemars(extend("default" = true))]
    pub logs: Option<bool>,
    /// Whether each record of the audit is sent, as a log record.
    #[serde(default)]
    pub audit: bool,
}
