//! MCP over streamable HTTP: rmcp's service behind limits of our own.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::config::HttpConfig;
use crate::mcp::{Host, Principal, Server};

/// Where the protocol is served.
pub const PATH: &str = "/mcp";

/// How long the head, and then the body, of a request may take.
const SLOW: Duration = Duration::from_secs(10);

/// After the end was asked for: how long requests in flight may go on.
const DRAIN: Duration = Duration::from_secs(3);

type Reply = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// Serves sessions on a listener until the host shuts down.
///
/// # Errors
///
/// Where the listener fails for good.
pub async fn serve(
    host: Arc<Host>,
    listener: TcpListener,
    config: &HttpConfig,
    token: Option<String>,
) -> io::Result<()> {
    let front = Arc::new(Front::new(&host, config, token));
    let connections = Arc::new(Semaphore::new(config.connections.get() as usize));
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // One client's trouble, or too many open files for now: others go on.
                Err(error) => {
                    tracing::warn!("accepting a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            Some(_ended) = tasks.join_next() => continue,
            () = host.shutdown.cancelled() => break,
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else {
            tracing::warn!("over {} connections: one is turned away", config.connections);
            continue;
        };
        let (front, shutdown) = (front.clone(), host.shutdown.clone());
        tasks.spawn(async move {
            let _permit = permit;
            connection(stream, front, shutdown).await;
        });
    }
    let drained = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("some requests did not end in time");
    }
    Ok(())
}

async fn connection(
    stream: TcpStream,
    front: Arc<Front>,
    shutdown: tokio_util::sync::CancellationToken,
) {
    // Without it, the small parts of an answer wait for each other for 40 ms.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("TCP_NODELAY: {error}");
    }
    let service = service_fn(move |request| {
        let front = front.clone();
        async move { Ok::<_, Infallible>(front.answer(request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SLOW)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}

/// What stands before rmcp's service.
struct Front {
    service: Service,
    sessions: Arc<LocalSessionManager>,
    max_sessions: usize,
    max_body: usize,
    /// SHA-256 of the token, so that comparing takes the same time wherever two differ.
    token: Option<[u8; 32]>,
    rate: Mutex<Rate>,
}

impl Front {
    fn new(host: &Arc<Host>, config: &HttpConfig, token: Option<String>) -> Self {
        let sessions = Arc::new(LocalSessionManager::default());
        let max_body = config.body_bytes.get() as usize;
        let mut settings = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_max_request_body_bytes(max_body)
            .with_cancellation_token(host.shutdown.child_token());
        settings.allowed_hosts.extend(config.allowed_hosts.iter().cloned());
        let settings = settings
            .with_allowed_origins(config.allowed_origins.iter().map(|origin| with_port(origin)))
            .enforce_origin_validation();
        let host = host.clone();
        let service = StreamableHttpService::new(
            move || Ok(Server::new(host.clone())),
            sessions.clone(),
            settings,
        );
        Self {
            service,
            sessions,
            max_sessions: config.sessions.get() as usize,
            max_body,
            token: token.map(|token| Sha256::digest(token.as_bytes()).into()),
            rate: Mutex::new(Rate::new(f64::from(config.requests_per_second.get()))),
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Reply {
        if request.uri().path() != PATH {
            return say(StatusCode::NOT_FOUND, "MCP is served at /mcp");
        }
        if !self.rate.lock().take(Instant::now()) {
            let mut reply = say(StatusCode::TOO_MANY_REQUESTS, "too many requests");
            reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            return reply;
        }
        let principal = match self.principal(&request) {
            Ok(principal) => principal,
            Err(()) => {
                let mut reply = say(StatusCode::UNAUTHORIZED, "a bearer token is needed");
                let scheme = HeaderValue::from_static("Bearer");
                reply.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
                return reply;
            }
        };
        let (mut parts, body) = request.into_parts();
        let limited = Limited::new(body, self.max_body).collect();
        let body = match tokio::time::timeout(SLOW, limited).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return say(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
            }
            Ok(Err(_)) => return say(StatusCode::BAD_REQUEST, "the body was cut off"),
            Err(_) => return say(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        };
        if parts.method == Method::POST {
            if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&body) {
                return parse_error(&error.to_string());
            }
            if is_initialize(&body)
                && self.sessions.sessions.read().await.len() >= self.max_sessions
            {
                return say(StatusCode::SERVICE_UNAVAILABLE, "too many sessions");
            }
        }
        if let Some(principal) = principal {
            parts.extensions.insert(principal);
        }
        self.service.handle(Request::from_parts(parts, Full::new(body))).await
    }

    /// Who calls; `Err`: somebody without the token.
    fn principal(&self, request: &Request<Incoming>) -> Result<Option<Principal>, ()> {
        let Some(token) = &self.token else { return Ok(None) };
        let given = request
            .headers()
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "))
            .ok_or(())?;
        let given: [u8; 32] = Sha256::digest(given.trim().as_bytes()).into();
        if given == *token { Ok(Some(Principal("token".into()))) } else { Err(()) }
    }
}

/// A bucket that fills with time, up to what one second brings.
struct Rate {
    per_second: f64,
    left: f64,
    at: Instant,
}

impl Rate {
    fn new(per_second: f64) -> Self {
        Self { per_second, left: per_second, at: Instant::now() }
    }

    fn take(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * self.per_second).min(self.per_second);
        self.at = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }
}

fn say(status: StatusCode, text: &'static str) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *reply.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(header::CONTENT_TYPE, plain);
    reply
}

/// An origin with its port: without one, rmcp takes every port of that host for it.
fn with_port(origin: &str) -> String {
    let implied = match origin.parse::<http::Uri>() {
        Ok(uri) if uri.port().is_none() => match uri.scheme_str() {
            Some("https") => ":443",
            Some("http") => ":80",
            Some(_) | None => "",
        },
        Ok(_) | Err(_) => "",
    };
    format!("{origin}{implied}")
}

/// Whether a message begins a session. All others need no room for one.
fn is_initialize(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Message {
        method: String,
    }
    serde_json::from_slice(body).is_ok_and(|Message { method }| method == "initialize")
}

fn parse_error(why: &str) -> Reply {
    let message = format!("this is no JSON: {why}");
    let error = serde_json::json!({
        "jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": message},
    });
    let mut reply = Response::new(Full::new(Bytes::from(error.to_string())).boxed());
    *reply.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(header::CONTENT_TYPE, json);
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_gives_a_second_at_once_and_then_by_and_by() {
        let mut rate = Rate::new(3.0);
        let now = Instant::now();
        assert_eq!((0..5).filter(|_| rate.take(now)).count(), 3);
        let later = now + Duration::from_millis(400);
        assert_eq!((0..5).filter(|_| rate.take(later)).count(), 1);
    }
}
