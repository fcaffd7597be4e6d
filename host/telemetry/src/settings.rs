//! The settings of telemetry, from the configuration or from the environment variables of OpenTelemetry.

use std::collections::BTreeMap;

use http::header::{HeaderMap, HeaderName, HeaderValue, InvalidHeaderName, InvalidHeaderValue};
use portcullis_egress::{Secret, SecretError};
use reqwest::Url;

/// Why telemetry cannot be set up. The text of the error contains no value of a header.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The address is not an http or https URL, or has a user, a password, a query or a fragment.
    #[error(
        "the address of the OpenTelemetry collector is not valid: write http://HOST:4318 or \
         https://HOST, without user, password, query and fragment"
    )]
    Endpoint,
    /// The name of a header is not valid.
    #[error("a header for the OpenTelemetry collector has an invalid name")]
    Name(#[from] InvalidHeaderName),
    /// The value of a header is not valid.
    #[error("the header `{name}` for the OpenTelemetry collector has an invalid value")]
    Value {
        /// The name of the header.
        name: String,
        /// What is invalid.
        #[source]
        cause: InvalidHeaderValue,
    },
    /// A secret cannot be read.
    #[error("the header `{name}` for the OpenTelemetry collector")]
    Secret {
        /// The name of the header.
        name: String,
        /// Why the secret cannot be read.
        #[source]
        cause: SecretError,
    },
    /// `OTEL_EXPORTER_OTLP_HEADERS` is not a list of `NAME=VALUE`.
    #[error(
        "OTEL_EXPORTER_OTLP_HEADERS is not a comma-separated list of NAME=VALUE with percent-encoded values"
    )]
    Headers,
}

/// The headers of each request to the collector.
#[derive(Clone, PartialEq, Eq)]
pub enum Headers {
    /// Secrets of the configuration, which are read for each request.
    Configured(BTreeMap<String, Secret>),
    /// Values of `OTEL_EXPORTER_OTLP_HEADERS`.
    Environment(BTreeMap<String, String>),
}

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = match self {
            Self::Configured(all) => all.keys().collect(),
            Self::Environment(all) => all.keys().collect(),
        };
        f.debug_tuple("Headers").field(&names).finish()
    }
}

impl Headers {
    /// Reads the values.
    ///
    /// # Errors
    ///
    /// A secret cannot be read, or a name or a value is not valid.
    pub fn read(&self) -> Result<HeaderMap, SettingsError> {
        let pairs: Vec<(&String, String)> = match self {
            Self::Configured(all) => all
                .iter()
                .map(|(name, secret)| {
                    let value = secret.read();
                    let failed = |cause| SettingsError::Secret { name: name.clone(), cause };
                    Ok((name, value.map_err(failed)?))
                })
                .collect::<Result<_, SettingsError>>()?,
            Self::Environment(all) => {
                all.iter().map(|(name, value)| (name, value.clone())).collect()
            }
        };
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let failed = |cause| SettingsError::Value { name: name.clone(), cause };
            let mut value = HeaderValue::try_from(value).map_err(failed)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::try_from(name)?, value);
        }
        Ok(headers)
    }
}

/// What is sent to the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Whether a span of each call is sent.
    pub traces: bool,
    /// Whether a log record of each call is sent.
    pub logs: bool,
    /// Whether each record of the audit is sent, as a log record.
    pub audit: bool,
}

impl Default for Sent {
    /// Spans and log records of calls, without the audit.
    fn default() -> Self {
        Self { traces: true, logs: true, audit: false }
    }
}

/// The address of the collector, the headers, and what is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    endpoint: Url,
    pub(crate) headers: Headers,
    pub(crate) sent: Sent,
}

impl Settings {
    /// The settings of `[host.telemetry]`.
    ///
    /// # Errors
    ///
    /// The address or a header is not valid, or a secret cannot be read.
    pub fn configured(
        endpoint: &str,
        headers: BTreeMap<String, Secret>,
        sent: Sent,
    ) -> Result<Self, SettingsError> {
        Self::check(endpoint, Headers::Configured(headers), sent)
    }

    /// The settings of `OTEL_EXPORTER_OTLP_ENDPOINT` and `OTEL_EXPORTER_OTLP_HEADERS`. `None`: there is no endpoint.
    ///
    /// # Errors
    ///
    /// The address or a header is not valid.
    pub fn of_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, SettingsError> {
        // An empty variable counts as not set, as the specification says.
        let non_empty = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let Some(endpoint) = non_empty("OTEL_EXPORTER_OTLP_ENDPOINT") else { return Ok(None) };
        let list = non_empty("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        let mut headers = BTreeMap::new();
        for pair in list.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or(SettingsError::Headers)?;
            let value = percent_decoded(value.trim()).ok_or(SettingsError::Headers)?;
            headers.insert(name.trim().to_owned(), value);
        }
        Self::check(&endpoint, Headers::Environment(headers), Sent::default()).map(Some)
    }

    /// Whether `OTEL_SDK_DISABLED` switches telemetry off, even if the configuration switches it on.
    pub fn is_disabled(variable: impl Fn(&str) -> Option<String>) -> bool {
        variable("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
    }

    fn check(endpoint: &str, headers: Headers, sent: Sent) -> Result<Self, SettingsError> {
        // The error of `Url::parse` may quote a password, so it is left out.
        let endpoint = Url::parse(endpoint.trim()).map_err(|_| SettingsError::Endpoint)?;
        let is_plain = endpoint.username().is_empty() && endpoint.password().is_none();
        let is_http = matches!(endpoint.scheme(), "http" | "https") && endpoint.has_host();
        if !is_http || !is_plain || endpoint.query().is_some() || endpoint.fragment().is_some() {
            return Err(SettingsError::Endpoint);
        }
        headers.read()?;
        Ok(Self { endpoint, headers, sent })
    }

    /// The address for one kind of data: the endpoint with a path, such as `v1/traces`, at its end.
    pub(crate) fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.endpoint.as_str().trim_end_matches('/'))
    }

    /// Scheme, host and port of the collector.
    pub(crate) fn origin(&self) -> String {
        self.endpoint.origin().ascii_serialization()
    }
}

/// The text with each `%XX` replaced by its byte. `None`: a `%` is not followed by two hexadecimal digits, or the
/// result is not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        decoded.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(decoded).ok()
}
