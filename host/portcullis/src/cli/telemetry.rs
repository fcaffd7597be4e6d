//! Starts telemetry, if the configuration or the environment names an OpenTelemetry collector.

use anyhow::Context as _;
use portcullis_audit::Audit;
use portcullis_core::config::{Config, TelemetryConfig};
use portcullis_telemetry::{Sent, Settings, Telemetry};

/// Starts telemetry. `[host.telemetry]` takes precedence over the environment, and `OTEL_SDK_DISABLED` over both.
/// `None`: telemetry is off.
///
/// # Errors
///
/// The settings are not valid, or telemetry cannot be started.
pub(super) fn start(config: &Config) -> anyhow::Result<Option<Telemetry>> {
    let Some(settings) = settings(config, variable).context("telemetry")? else { return Ok(None) };
    Telemetry::start(&settings).map(Some).context("starting telemetry")
}

/// Sends each record of this audit from now on, if the settings say so.
pub(super) fn send_audit(telemetry: &Telemetry, audit: &Audit) {
    if let Some(log) = telemetry.audit_log() {
        audit.watch(move |record| log.send(record.summary(), record.json(), record.is_denied()));
    }
}

fn settings(
    config: &Config,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Option<Settings>> {
    if Settings::is_disabled(&variable) {
        return Ok(None);
    }
    match &config.host.telemetry {
        Some(TelemetryConfig { endpoint, headers, traces, logs, audit }) => {
            let (traces, logs) = (traces.unwrap_or(true), logs.unwrap_or(true));
            let sent = Sent { traces, logs, audit: *audit };
            let settings = Settings::configured(endpoint, headers.clone(), sent);
            Ok(settings.context("[host.telemetry]").map(Some)?)
        }
        None => Ok(Settings::of_environment(variable)?),
    }
}

#[expect(clippy::disallowed_methods, reason = "the specification of OpenTelemetry names variables")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(config: &str, environment: &[(&str, &str)]) -> Option<Settings> {
        let config = Config::parse(config).unwrap();
        let variable = |name: &str| {
            let set = environment.iter().find(|(key, _)| *key == name);
            set.map(|(_, value)| (*value).to_owned())
        };
        settings(&config, variable).unwrap()
    }

    #[test]
    fn telemetry_is_off_by_default_and_the_configuration_takes_precedence() {
        let (configured, set) = (
            "[host.telemetry]\nendpoint = \"http://configured:4318\"",
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://environment:4318"),
        );
        assert_eq!(found("", &[]), None);
        let shown = |settings| format!("{:?}", Option::unwrap(settings));
        assert!(shown(found("", &[set])).contains("environment"));
        let both = shown(found(configured, &[set, ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a")]));
        assert!(both.contains("configured") && !both.contains("environment"), "{both}");
        assert!(!both.contains("x-key"), "{both}");
        assert_eq!(found(configured, &[set, ("OTEL_SDK_DISABLED", "true")]), None);
    }
}
