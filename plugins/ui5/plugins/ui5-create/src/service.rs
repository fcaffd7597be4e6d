//! The OData service of an app: its URL and its metadata.

pub mod metadata;
pub mod property;
#[cfg(test)]
mod tests;
pub mod version;

use crate::domains::{Domains, web_url};
use metadata::Metadata;
use portcullis_plugin::http;
use std::{
    io,
    time::{Duration, Instant},
};
use url::Url;

/// The base of URLs without a host: a CAP server during development.
const SAME_SERVER: &str = "http://localhost:4004";

/// Time limit for fetching the metadata. If it is exceeded, the app has only the columns that the call names.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of metadata, in bytes; far above real ones.
const MAX_METADATA_BYTES: u64 = 8 * 1024 * 1024;

/// An OData service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The URL from which the metadata are fetched.
    address: Url,
    /// The URL in the app, without the host of a development server.
    pub app_url: String,
}

impl Service {
    /// Parses the argument. The error names the expected forms.
    pub fn parse(text: &str, domains: &Domains) -> Result<Self, String> {
        let full = match text.strip_prefix('/') {
            // `//host` names another server.
            Some(rest) if !rest.starts_with(['/', '\\']) => format!("{SAME_SERVER}{text}"),
            _ => text.to_owned(),
        };
        let Some(mut address) = web_url(&full) else {
            return Err(format!(
                "The provided OData V4 service URL is not valid. It must be an absolute URL that starts \
                 with http:// or https:// and has no user name or password, or a path such as \
                 '/odata/v4/serviceName', if the OData service is on the same server as the \
                 application. For a path, this tool asks '{SAME_SERVER}'. {}",
                domains.note()
            )
            .trim_end()
            .to_owned());
        };
        domains.check(&address)?;
        address.set_fragment(None);
        if !address.path().ends_with('/') {
            // UI5 resolves request paths against this URL.
            address.set_path(&format!("{}/", address.path()));
        }
        let app_url = if names_port_of_localhost(&full) {
            let query = address.query().map(|query| format!("?{query}")).unwrap_or_default();
            format!("{}{query}", address.path())
        } else {
            address.to_string()
        };
        Ok(Self { address, app_url })
    }

    /// The path of the URL, which may suggest a version of OData.
    pub fn path(&self) -> &str {
        self.address.path()
    }

    /// Whether the service is where a CAP server is by default (localhost:4004). CAP servers
    /// require a token for writing.
    pub fn is_cap(&self) -> bool {
        self.address.host_str() == Some("localhost") && self.address.port() == Some(4004)
    }

    /// Fetches the metadata. Fails with the reason.
    pub fn metadata(&self) -> Result<Metadata, String> {
        let mut url = self.address.clone();
        url.set_path(&format!("{}$metadata", url.path()));
        let started = Instant::now();
        let mut body = Vec::new();
        // The limits of the single waits are shorter, so that all waits together stay close to the limit of
        // the request.
        let response = http::Request::get(url.as_str())
            .header("accept", "application/xml")
            .connect_timeout(TIMEOUT / 2)
            .first_byte_timeout(TIMEOUT / 2)
            .between_bytes_timeout(TIMEOUT / 4)
            .max_bytes(MAX_METADATA_BYTES)
            .send_to(|piece| {
                if started.elapsed() > TIMEOUT {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "it took more than 10 s"));
                }
                body.extend_from_slice(piece);
                Ok(())
            })
            .and_then(http::Response::success)
            .map_err(|error| match error.is_denied() {
                true => format!("{error} (the operator has not granted that address)"),
                false => error.to_string(),
            })?;
        let text = String::from_utf8(body)
            .map_err(|_| format!("GET {}: the metadata are not UTF-8", response.url))?;
        Metadata::parse(&text).map_err(|why| format!("GET {}: {why}", response.url))
    }
}

/// Whether the text is an `http` or `https` URL with the host `localhost` and a port.
fn names_port_of_localhost(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
    let port = rest.and_then(|rest| rest.strip_prefix("localhost:"));
    port.is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()))
}
