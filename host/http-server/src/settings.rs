//! Settings of the HTTP server.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portcullis_result_passthrough::Raw;
use tokio_util::sync::CancellationToken;

use crate::oauth::Oauth;
use crate::tls::Tls;

/// Everything that can be set about the HTTP server. [`Settings::new`] lets in whoever reaches the
/// listener by a name of loopback; it is for the caller to demand a token elsewhere.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Values of the Host header that are served beside `localhost`, `127.0.0.1` and `[::1]`:
    /// `host`, at every port, or `host:port`.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call: `scheme://host[:port]`. No other page may.
    pub allowed_origins: Vec<String>,
    /// A bearer token that lets in as [`Principal::Token`](crate::Principal::Token).
    pub token: Option<String>,
    /// Whose access tokens let in as [`Principal::Subject`](crate::Principal::Subject).
    pub oauth: Option<Oauth>,
    /// Certificate and key, without which connections are plain HTTP.
    pub tls: Option<Tls>,
    /// Whether streamable HTTP is served; pages may be all that there is.
    pub streamable: bool,
    /// Whether the transport of 2024-11-05 is served, too.
    pub legacy_sse: bool,
    /// Connections at the same time. Strangers have three quarters of them, and so has one client; the
    /// oldest one of a stranger, or else an idle one, is closed for a new one.
    pub connections: NonZeroU32,
    /// Sessions at the same time, of both transports together.
    pub sessions: NonZeroU32,
    /// Of them, sessions of one caller; of one peer, where there are no tokens. Programs of this machine
    /// that need no token may have all. `None`: half of `sessions`.
    pub sessions_per_principal: Option<NonZeroU32>,
    /// Requests a second of one caller, and of one peer before it is known who calls.
    pub requests_per_second: NonZeroU32,
    /// Size of one request's body, in bytes.
    pub body_bytes: NonZeroU32,
    /// After how long without a message a session of streamable HTTP ends.
    pub session_idle: Duration,
    /// What of one session's event streams is kept for a client whose connection broke, in bytes of
    /// JSON. A client that is behind by as much holds up its session, for at most 30 seconds.
    pub replay_bytes: NonZeroU32,
    /// Cancelled, it stops the taking of connections and of requests. Those that are there go on.
    pub stop: CancellationToken,
    /// The key under which whole results travel through rmcp.
    pub raw: Raw,
    /// More pages, by their path. They are read with GET, behind the same checks as `/mcp`.
    pub pages: BTreeMap<String, Page>,
}

impl Settings {
    /// Defaults for a server on loopback. Results wrapped with `raw` are sent as they are.
    pub fn new(raw: Raw) -> Self {
        let number = |number| NonZeroU32::new(number).expect("above 0");
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            token: None,
            oauth: None,
            tls: None,
            streamable: true,
            legacy_sse: true,
            connections: number(256),
            sessions: number(128),
            sessions_per_principal: None,
            requests_per_second: number(500),
            body_bytes: number(4 * 1024 * 1024),
            session_idle: Duration::from_secs(300),
            replay_bytes: number(4 * 1024 * 1024),
            stop: CancellationToken::new(),
            raw,
            pages: BTreeMap::new(),
        }
    }
}

/// A page: what makes its media type and its text, each time it is read.
#[derive(Clone)]
pub struct Page {
    make: Arc<dyn Fn() -> (&'static str, Bytes) + Send + Sync>,
    policy: Option<&'static str>,
}

impl Page {
    /// A page that `make` makes. It is called on the server's threads: it must not block.
    pub fn new(make: impl Fn() -> (&'static str, Bytes) + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), policy: None }
    }

    /// The same under a content security policy.
    pub fn under(self, policy: &'static str) -> Self {
        Self { policy: Some(policy), ..self }
    }

    pub(crate) fn make(&self) -> (&'static str, Bytes) {
        (self.make)()
    }

    pub(crate) fn policy(&self) -> Option<&'static str> {
        self.policy
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Page(..)")
    }
}
