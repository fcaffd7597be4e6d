//! Fetches documents for the host itself, such as the keys of an issuer of access tokens.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use url::Url;

use crate::{
    Client, Connection, ConnectionPermit, Fault, Request, RequestLimits, RequestPermit,
    RequestPolicy, is_public,
};

/// The limits of one document.
const LIMITS: RequestLimits =
    RequestLimits { requests: 1, body_bytes: 1024 * 1024, time: Duration::from_secs(10) };

/// Allows only HTTPS requests, and only to public addresses and to all addresses of these hosts, which the operator
/// named.
struct DocumentPolicy(Vec<String>);

impl RequestPolicy for DocumentPolicy {
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>> {
        let is_allowed = request.origin.url().starts_with("https://");
        request.permit_without_record_if(is_allowed)
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        let is_allowed = self.0.contains(&connection.host) || is_public(connection.address);
        connection.permit_without_record_if(is_allowed)
    }
}

/// Why a document could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The address cannot be used in an HTTP request.
    #[error(transparent)]
    Address(#[from] http::Error),
    /// The request failed.
    #[error(transparent)]
    Request(#[from] Fault),
    /// The server responded with an HTTP status other than 200.
    #[error("the server answered with HTTP status {0}")]
    Status(u16),
}

/// Fetches a document of at most 1 MiB, in at most ten seconds, over HTTPS, without following redirects. The
/// hosts in `named` were named by the operator and may be in a private network. `agent` is the `User-Agent`.
///
/// # Errors
///
/// The request failed or was not allowed, or the response exceeds a limit or has another status than 200.
pub async fn fetch_document(
    url: Url,
    named: Vec<String>,
    agent: &'static str,
) -> Result<Bytes, DocumentError> {
    let request = http::Request::get(url.as_str())
        .header(http::header::ACCEPT, "application/json")
        .body(Empty::<Bytes>::new())?;
    let response = Client::new(DocumentPolicy(named), LIMITS, agent).send(request, None).await?;
    if response.status() != http::StatusCode::OK {
        return Err(DocumentError::Status(response.status().as_u16()));
    }
    Ok(response.into_body().collect().await?.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn documents_come_over_https_from_public_or_named_hosts() {
        let get = |url: &str, named: &[&str]| {
            let named = named.iter().map(|host| (*host).to_owned()).collect();
            fetch_document(url.parse().unwrap(), named, "test")
        };
        let names_nobody = DocumentPolicy(Vec::new());
        let connection = |host: &str| Connection {
            host: host.to_owned(),
            address: std::net::IpAddr::from([127, 0, 0, 1]),
        };
        assert!(names_nobody.permit_connection(connection("localhost")).is_none());
        let names_localhost = DocumentPolicy(vec!["localhost".into()]);
        assert!(names_localhost.permit_connection(connection("localhost")).is_some());
        assert!(get("http://127.0.0.1:9/keys", &["127.0.0.1"]).await.is_err());
        assert!(get("https://127.0.0.1:9/keys", &[]).await.is_err());
    }
}
