//! The types of the `[http]` section of `portcullis.toml`. The server itself is in the crate `portcullis-http-server`.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// The HTTP transport, under `[http]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct HttpConfig {
    /// The address and the port to listen on, such as `127.0.0.1:8719` or `[::1]:8719`.
    pub listen: SocketAddr,
    /// The address and the port of a second listener, for `/metrics` and the probes `/healthz` and `/readyz` alone.
    /// None of them needs a token there. Default: none; `/metrics` is then at `listen`, and needs a token if `/mcp`
    /// does.
    pub metrics_listen: Option<SocketAddr>,
    /// A file with the bearer token of clients: an absolute path. Default: none; `listen` must then be a loopback
    /// address, unless `[http.oauth]` is configured.
    pub token_file: Option<PathBuf>,
    /// A PEM file with the certificate, followed by its intermediate certificates: an absolute path. Default: none,
    /// and no TLS.
    pub tls_cert: Option<PathBuf>,
    /// A PEM file with the private key of the certificate: an absolute path. Default: none.
    pub tls_key: Option<PathBuf>,
    /// A file with the keys that sign the state of a call while the client answers its questions, one key per line:
    /// an absolute path. All hosts behind one address need the same keys. Default: a key of this machine.
    pub state_key_file: Option<PathBuf>,
    /// The authorization servers whose access tokens are accepted. Default: none.
    pub oauth: Option<OauthConfig>,
    /// Values of the `Host` header that are accepted besides `localhost`, `127.0.0.1` and `[::1]`: `host`, with any
    /// port, or `host:port`.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may send requests: `scheme://host[:port]`. Pages of other origins may not, except
    /// those of this server at a loopback address.
    pub allowed_origins: Vec<String>,
    /// Whether the HTTP+SSE transport of 2024-11-05 is served too.
    pub legacy_sse: bool,
    /// The most connections at the same time.
    pub connections: NonZeroU32,
    /// The most sessions at the same time, of both transports together.
    pub sessions: NonZeroU32,
    /// The most sessions of one caller at the same time. Programs on this machine that need no token have no such
    /// bound. Default: half of `sessions`.
    pub sessions_per_principal: Option<NonZeroU32>,
    /// The time without a message after which a session of streamable HTTP ends, in milliseconds. A session of HTTP+SSE
    /// ends with its stream.
    pub session_idle_ms: NonZeroU64,
    /// The most bytes of messages that are kept for a client that lost its connection: for each open stream, and once
    /// more for all ended streams of a session together. An open stream keeps its newest message at any size.
    pub replay_bytes: NonZeroU32,
    /// The most requests per second of one caller, and of one remote address while the caller is not known.
    pub requests_per_second: NonZeroU32,
    /// The largest body of one request, in bytes.
    pub body_bytes: NonZeroU32,
}

/// An OAuth resource server, under `[http.oauth]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OauthConfig {
    /// The address of `/mcp` as clients know it. Tokens must name it as their audience.
    pub resource: String,
    /// The authorization servers whose tokens are accepted.
    pub issuers: Vec<IssuerConfig>,
    /// Scopes that every token must have.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// One authorization server.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct IssuerConfig {
    /// The `https` address of the authorization server, exactly as in the claim `iss` of its tokens.
    pub issuer: String,
    /// The `https` address of the authorization server's keys. Default: the `jwks_uri` in the authorization server's
    /// metadata (RFC 8414, or OpenID Connect Discovery).
    pub jwks_uri: Option<String>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).expect("each default is above 0");
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8719)),
            metrics_listen: None,
            token_file: None,
            tls_cert: None,
            tls_key: None,
            state_key_file: None,
            oauth: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            legacy_sse: true,
            connections: number(256),
            sessions: number(128),
            sessions_per_principal: None,
            session_idle_ms: NonZeroU64::new(300_000).expect("300000 is above 0"),
            replay_bytes: number(4 * 1024 * 1024),
            requests_per_second: number(500),
            body_bytes: number(4 * 1024 * 1024),
        }
    }
}

impl HttpConfig {
    /// The files that this section names, each with its key.
    pub fn files(&mut self) -> impl Iterator<Item = (&'static str, &mut PathBuf)> {
        let files = [
            ("http.token-file", &mut self.token_file),
            ("http.tls-cert", &mut self.tls_cert),
            ("http.tls-key", &mut self.tls_key),
            ("http.state-key-file", &mut self.state_key_file),
        ];
        files.into_iter().filter_map(|(key, file)| Some((key, file.as_mut()?)))
    }

    /// The URL scheme that clients use: `https`, or `http` without a certificate.
    pub fn scheme(&self) -> &'static str {
        if self.tls_cert.is_some() { "https" } else { "http" }
    }
}
