//! Fetches small documents that the host itself needs, such as the keys of an issuer of access tokens.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use url::Url;

use crate::{
    Caps, Client, Connection, ConnectionPermit, Request, RequestPermit, RequestPolicy, is_public,
};

/// Of one document.
const CAPS: Caps = Caps { requests: 1, body_bytes: 1024 * 1024, time: Duration::from_secs(10) };

/// Whom the host asks for itself: over TLS only, and at addresses that are not public only where the
/// operator named the host.
struct Named(Vec<String>);

impl RequestPolicy for Named {
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>> {
        let is_allowed = request.origin.url().starts_with("https://");
        request.permit_without_record_if(is_allowed)
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        let is_allowed = self.0.contains(&connection.host) || is_public(connection.address);
        connection.permit_without_record_if(is_allowed)
    }
}

/// Fetches a document of at most a megabyte, in at most ten seconds, over HTTPS, without following a
/// redirect. `named` are the hosts that the operator named: those may be in a network of its own.
///
/// # Errors
///
/// In words for the operator: what came instead of the document.
pub async fn document(url: Url, named: Vec<String>, agent: &'static str) -> Result<Bytes, String> {
    let request = http::Request::get(url.as_str())
        .header(http::header::ACCEPT, "application/json")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let sent = Client::new(Named(named), CAPS, agent).send(request, None).await;
    let response = sent.map_err(|fault| fault.to_string())?;
    if response.status() != http::StatusCode::OK {
        return Err(format!("it answers with HTTP status {}", response.status().as_u16()));
    }
    let body = response.into_body().collect().await.map_err(|fault| fault.to_string())?;
    Ok(body.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_https_and_only_public_addresses_unless_they_are_named() {
        let get = |url: &str, named: &[&str]| {
            let named = named.iter().map(|host| (*host).to_owned()).collect();
            document(url.parse().unwrap(), named, "test")
        };
        let denied = Named(Vec::new());
        let connection = |host: &str| Connection {
            host: host.to_owned(),
            address: std::net::IpAddr::from([127, 0, 0, 1]),
        };
        assert!(denied.permit_connection(connection("localhost")).is_none());
        let named = Named(vec!["localhost".into()]);
        assert!(named.permit_connection(connection("localhost")).is_some());
        assert!(get("http://127.0.0.1:9/keys", &["127.0.0.1"]).await.is_err());
        assert!(get("https://127.0.0.1:9/keys", &[]).await.is_err());
    }
}
