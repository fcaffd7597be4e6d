//! Settings of the HTTP server.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portcullis_cluster_state::ClusterState;
use portcullis_result_passthrough::PassthroughKey;
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::cluster_rates::ClusterRates;
use crate::tls::Tls;

/// The settings of the HTTP server. With the defaults of [`Settings::new`], no token is needed, and only requests to a
/// host of loopback are accepted. On another address than loopback, set a token or OAuth.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who may send requests.
    pub access: Access,
    /// Certificate and private key. `None`: connections are plain HTTP.
    pub tls: Option<Tls>,
    /// Whether streamable HTTP is served. A server may serve pages alone.
    pub streamable: bool,
    /// Whether the transport of 2024-11-05 (HTTP+SSE) is served.
    pub legacy_sse: bool,
    /// Maximum number of open connections. All unknown peers (those without an accepted request in the last ten
    /// minutes) may together have three quarters of them, and each client may have as many. Programs of this machine
    /// that need no token may have all. If there are too many, an old connection is closed for a new one: first one of
    /// an unknown peer, then one without an accepted request, then an idle one.
    pub connections: NonZeroU32,
    /// Number of threads that serve connections, besides the one that runs [`serve`](crate::serve). Connections are given
    /// to all threads in turn.
    pub more_threads: usize,
    /// Maximum number of open sessions, of both transports together.
    pub sessions: NonZeroU32,
    /// Maximum number of open sessions of one caller or, without tokens, of one peer. Programs of this machine that
    /// need no token may have all sessions. `None`: half of `sessions`.
    pub sessions_per_principal: Option<NonZeroU32>,
    /// Maximum number of requests per second of one caller, and of one peer whose caller is not known.
    pub requests_per_second: NonZeroU32,
    /// Counts the requests of authenticated callers at several hosts together, in addition. `None`: each host has its own
    /// count.
    pub cluster_rates: Option<ClusterRates>,
    /// Keeps sessions of streamable HTTP, so that several hosts can serve them. `None`: a session is served by the host at
    /// which it began.
    pub cluster: Option<ClusterState>,
    /// Maximum size of the body of a request, in bytes.
    pub body_bytes: NonZeroU32,
    /// Time without a message after which a session of streamable HTTP ends.
    pub session_idle: Duration,
    /// Maximum size of the events that are kept, in bytes of JSON: of each open stream, and of all ended streams of a
    /// session together. A client with unread events of this size holds up its session, for at most 30 seconds.
    pub replay_bytes: NonZeroU32,
    /// When this token is cancelled, no new connections and requests are accepted. Requests in flight go on.
    pub stop: CancellationToken,
    /// Unwraps results that were wrapped to pass through rmcp unchanged.
    pub raw: PassthroughKey,
    /// Whether the server can serve calls now. If so, `/readyz` responds with status 200, and otherwise with 503.
    pub readiness: Readiness,
    /// Further pages, by their paths. They are read with GET or HEAD, after the same checks as `/mcp`.
    pub pages: BTreeMap<String, Page>,
}

impl Settings {
    /// Defaults for a server on loopback. Results that were wrapped with `raw` are unwrapped.
    pub fn new(raw: PassthroughKey) -> Self {
        let number = |number| NonZeroU32::new(number).expect("each default is above 0");
        Self {
            access: Access::default(),
            tls: None,
            streamable: true,
            legacy_sse: true,
            connections: number(256),
            more_threads: 0,
            sessions: number(128),
            sessions_per_principal: None,
            requests_per_second: number(500),
            cluster_rates: None,
            cluster: None,
            body_bytes: number(4 * 1024 * 1024),
            session_idle: Duration::from_secs(300),
            replay_bytes: number(4 * 1024 * 1024),
            stop: CancellationToken::new(),
            raw,
            readiness: Readiness::default(),
            pages: BTreeMap::new(),
        }
    }
}

/// Whether the server can serve calls now. The default: always.
#[derive(Clone)]
pub struct Readiness(Arc<dyn Fn() -> bool + Send + Sync>);

impl Readiness {
    /// The server is ready while `is_ready` is true. `is_ready` must not block, because it runs on the server's
    /// threads.
    pub fn new(is_ready: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_ready))
    }

    pub(crate) fn is_ready(&self) -> bool {
        (self.0)()
    }
}

impl Default for Readiness {
    fn default() -> Self {
        Self::new(|| true)
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Readiness(..)")
    }
}

/// A page whose media type and text are made each time the page is read.
#[derive(Clone)]
pub struct Page {
    make: Arc<dyn Fn() -> (&'static str, Bytes) + Send + Sync>,
    policy: Option<&'static str>,
}

impl Page {
    /// A page whose media type and text `make` returns. `make` must not block, because it runs on the server's
    /// threads.
    pub fn new(make: impl Fn() -> (&'static str, Bytes) + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), policy: None }
    }

    /// Sends the page with `policy` as the header `Content-Security-Policy`.
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
