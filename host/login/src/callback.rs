//! The redirect URI of a login: a port of this machine that waits for one authorization response.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use url::form_urlencoded;

const PATH: &str = "/callback";

/// Time limit of one connection. Other programs may connect, too, and must not hold up the login.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections at the same time.
const MAX_CONNECTIONS: usize = 16;

/// Largest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 32 * 1024;

const ACCEPTED_PAGE: &str = "<!doctype html><meta charset=utf-8><title>Portcullis</title>\
    <p>Portcullis received the answer. You can close this page; the terminal shows the result.";
const REFUSED_PAGE: &str = "<!doctype html><meta charset=utf-8><title>Portcullis</title>\
    <p>This request belongs to no login that Portcullis waits for.";

/// The port of the redirect URI cannot be used.
#[derive(Debug, Error)]
#[error("cannot listen at port {port} of 127.0.0.1 (`redirect-port`)")]
pub struct ListenError {
    /// The port; 0 stands for any free port.
    port: u16,
    #[source]
    cause: std::io::Error,
}

/// Waits for a browser to bring the authorization response.
pub(crate) struct Callback {
    listener: TcpListener,
    /// The redirect URI.
    pub(crate) address: String,
}

/// An authorization response: the parameters with which the browser is redirected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AuthorizationResponse {
    pub(crate) code: Option<String>,
    pub(crate) issuer: Option<String>,
    /// Why there is no code: the OAuth error, and its description.
    pub(crate) error: Option<String>,
}

impl Callback {
    /// Listens at a port. `None`: at any free port.
    ///
    /// # Errors
    ///
    /// The port cannot be used, mostly because another program listens at it.
    pub(crate) async fn listen(port: Option<u16>) -> Result<Self, ListenError> {
        let port = port.unwrap_or(0);
        let failed = |cause| ListenError { port, cause };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, address: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// Waits for the authorization response with this `state`. Other requests are refused.
    pub(crate) async fn answer(&self, state: &str) -> AuthorizationResponse {
        let mut open = JoinSet::new();
        let state: Arc<str> = state.into();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if open.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, _)) => drop(open.spawn(serve(stream, state.clone()))),
                    // The usual cause is that too many files are open. Some of them are closed soon.
                    Err(_) => sleep(Duration::from_millis(100)).await,
                },
                Some(served) = open.join_next() => {
                    if let Ok(Some(answer)) = served {
                        return answer;
                    }
                }
            }
        }
    }
}

/// Serves one request. Returns the authorization response after the browser got its page. `None`: the request brought
/// no authorization response.
async fn serve(stream: TcpStream, state: Arc<str>) -> Option<AuthorizationResponse> {
    let received = Arc::new(Mutex::new(None));
    let keep = received.clone();
    let service = hyper::service::service_fn(move |request: Request<_>| {
        let answer = read(&request, &state);
        let response = page(answer.is_some());
        if answer.is_some() {
            *keep.lock() = answer;
        }
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_HEAD_BYTES)
        .timer(TokioTimer::new())
        .header_read_timeout(CONNECTION_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let _browser_may_be_gone = timeout(CONNECTION_TIMEOUT, connection).await;
    received.lock().take()
}

fn read<B>(request: &Request<B>, state: &str) -> Option<AuthorizationResponse> {
    if request.method() != Method::GET || request.uri().path() != PATH {
        return None;
    }
    let query = request.uri().query().unwrap_or_default();
    let param = |name: &str| {
        let mut found = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
        // An authorization server sends no parameter twice.
        found.next().filter(|_| found.next().is_none()).map(|(_, value)| value.into_owned())
    };
    let given = param("state")?;
    if ring::digest::digest(&ring::digest::SHA256, given.as_bytes()).as_ref()
        != ring::digest::digest(&ring::digest::SHA256, state.as_bytes()).as_ref()
    {
        return None;
    }
    let error = param("error").map(|error| match param("error_description") {
        Some(text) => format!("{error}: {text}"),
        None => error,
    });
    Some(AuthorizationResponse { code: param("code"), issuer: param("iss"), error })
}

/// The page for the browser. It contains no text of the request.
fn page(is_accepted: bool) -> Response<Full<Bytes>> {
    let (status, text) = match is_accepted {
        true => (StatusCode::OK, ACCEPTED_PAGE),
        false => (StatusCode::BAD_REQUEST, REFUSED_PAGE),
    };
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "text/html; charset=utf-8")
        .header(CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'")
        .header(REFERRER_POLICY, "no-referrer")
        .header(CACHE_CONTROL, "no-store")
        .body(Full::from(text))
        .expect("the names and values of the headers are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, target: &str) -> Option<AuthorizationResponse> {
        let request = Request::builder().method(method).uri(target).body(()).unwrap();
        read(&request, "right")
    }

    #[test]
    fn only_a_request_with_the_state_is_an_authorization_response() {
        let answer =
            request("GET", "/callback?code=a%20b&state=right&iss=https%3A%2F%2Fa.example").unwrap();
        assert_eq!(answer.code.as_deref(), Some("a b"));
        assert_eq!(answer.issuer.as_deref(), Some("https://a.example"));
        let refused =
            request("GET", "/callback?error=access_denied&error_description=no&state=right");
        assert_eq!(refused.unwrap().error.as_deref(), Some("access_denied: no"));
        for target in [
            "/callback?code=a",
            "/callback?code=a&state=wrong",
            "/callback?code=a&state=right&state=right",
            "/callback?code=a&state=",
            "/other?code=a&state=right",
        ] {
            assert_eq!(request("GET", target), None, "{target}");
        }
        assert_eq!(request("POST", "/callback?code=a&state=right"), None);
        let twice = request("GET", "/callback?code=a&code=b&state=right").unwrap();
        assert_eq!(twice.code, None);
    }
}
