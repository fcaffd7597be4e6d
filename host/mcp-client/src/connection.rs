//! A connection to an upstream server after the handshake.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::calls::{RequestEnd, RequestOwner};
use crate::fault::FaultCause;
use crate::headers::{self, HeaderParam};
use crate::memory::Memory;
use crate::message::{self, Object, RpcError, object};
use crate::peer::Peer;
use crate::wire::{Channel, Era, Outgoing, PendingRequest, Wire};

/// The revision of MCP without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";

/// The revisions of MCP with a handshake, the newest first.
pub(crate) const LEGACY: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const META: &str = "_meta";
const PROGRESS: &str = "progressToken";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// Settings for all upstreams: how Portcullis presents itself, how it starts child processes, and where it keeps logins
/// and lists.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The `name`, the `version` and other members that MCP defines for an implementation.
    pub info: Object,
    /// The client capabilities. By default: sampling, elicitation by form and by URL, and roots that may change.
    pub capabilities: Object,
    /// The program that starts the children, usually this program itself. On Linux, the children then end with this
    /// process, even if this process is killed. A launcher whose first argument is [`SUBCOMMAND`](crate::SUBCOMMAND)
    /// has to call [`become_upstream`](crate::become_upstream). `None`: children are started directly, and `confine` is
    /// refused.
    pub launcher: Option<PathBuf>,
    /// The folder of the logins, with a file for each server. `None`: logins are kept in memory.
    pub logins: Option<PathBuf>,
    /// Keeps the lists for later processes. `None`: lists are not remembered.
    pub memory: Option<Memory>,
}

impl ClientSettings {
    /// A client with this name and version.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            info: object(json!({"name": name, "version": version})),
            capabilities: object(json!({
                "elicitation": {"form": {}, "url": {}},
                "roots": {"listChanged": true},
                "sampling": {},
            })),
            launcher: None,
            logins: None,
            memory: None,
        }
    }
}

/// A request to send.
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a mut Object,
    /// Whether progress has to be reported.
    pub(crate) progress: bool,
    /// The client capabilities for this request. `None`: those of [`ClientSettings`].
    pub(crate) capabilities: Option<&'a Object>,
    /// The minimum level of log records that a modern upstream may send for this request.
    pub(crate) log_level: Option<&'a str>,
    /// The arguments that are also sent in headers.
    pub(crate) header_params: &'a [HeaderParam],
}

impl OutgoingRequest<'_> {
    /// The message and its headers. `modern`: the client settings, which each request to a modern upstream repeats.
    /// `None`: the upstream is a legacy one.
    pub(crate) fn make(self, id: u64, modern: Option<&ClientSettings>) -> Outgoing {
        if modern.is_some() || self.progress {
            let meta = self.params.entry(META).or_insert_with(|| Object::new().into());
            if !meta.is_object() {
                *meta = Object::new().into();
            }
            let meta = meta.as_object_mut().expect("made one above");
            if self.progress {
                meta.insert(PROGRESS.to_owned(), id.into());
            }
            if let Some(client) = modern {
                let capabilities = self.capabilities.unwrap_or(&client.capabilities);
                meta.insert(VERSION_KEY.to_owned(), MODERN.into());
                meta.insert(CLIENT_KEY.to_owned(), client.info.clone().into());
                meta.insert(CAPABILITIES_KEY.to_owned(), capabilities.clone().into());
                if let Some(level) = self.log_level {
                    meta.insert(LOG_LEVEL_KEY.to_owned(), level.into());
                }
            }
        }
        let params = (!self.params.is_empty()).then_some(&*self.params);
        let body = message::request(id, self.method, params);
        let mut headers = HeaderMap::new();
        if modern.is_some() {
            headers = headers::standard(self.method, self.params, self.header_params);
            headers.insert("mcp-protocol-version", HeaderValue::from_static(MODERN));
        }
        let era = if modern.is_some() { Era::Modern } else { Era::Legacy };
        Outgoing { body, headers, era }
    }
}

/// Removes and returns the progress token of the caller.
pub(crate) fn take_progress_token(params: &mut Object) -> Option<Value> {
    let meta = params.get_mut(META)?.as_object_mut()?;
    let token = meta.remove(PROGRESS);
    if meta.is_empty() {
        params.remove(META);
    }
    token
}

/// Why a request of the host itself failed.
#[derive(Debug)]
pub(crate) enum ConnectFailure {
    Refused(RpcError),
    Trouble(FaultCause),
}

impl From<ConnectFailure> for FaultCause {
    fn from(failure: ConnectFailure) -> Self {
        match failure {
            ConnectFailure::Refused(error) => Self::protocol(format!(
                "it answered with an error: {} (code {})",
                crate::text::line(&error.message, 200),
                error.code
            )),
            ConnectFailure::Trouble(trouble) => trouble,
        }
    }
}

/// A connection after the handshake.
pub(crate) struct Connection {
    pub(crate) channel: Channel,
    pub(crate) peer: Peer,
}

impl Connection {
    /// Whether the connection accepts no further requests.
    pub(crate) fn has_ended(&self) -> bool {
        self.channel.calls.has_ended()
    }

    /// Whether requests repeat arguments in headers.
    pub(crate) fn has_headers(&self) -> bool {
        self.peer.era == Era::Modern && matches!(*self.channel.wire, Wire::Http(_))
    }

    /// Sends a request. If the future is dropped before it is ready, nothing was sent.
    pub(crate) async fn begin(
        &self,
        client: &ClientSettings,
        whose: RequestOwner,
        sending: OutgoingRequest<'_>,
    ) -> Result<PendingRequest, FaultCause> {
        let modern = (self.peer.era == Era::Modern).then_some(client);
        self.channel.begin(whose, |id| sending.make(id, modern)).await
    }

    /// Sends a request of the host itself. Returns the result, and the size of its message.
    pub(crate) async fn ask(
        &self,
        client: &ClientSettings,
        method: &str,
        mut params: Object,
        most: Duration,
    ) -> Result<(Value, usize), ConnectFailure> {
        let sending = OutgoingRequest {
            method,
            params: &mut params,
            progress: false,
            capabilities: None,
            log_level: None,
            header_params: &[],
        };
        let asking = async {
            let ticket = self.begin(client, RequestOwner::default(), sending).await;
            Ok::<_, FaultCause>(ticket?.done().await)
        };
        match timeout(most, asking).await {
            Ok(Ok(RequestEnd::Answer(Ok(result), size))) => Ok((result, size)),
            Ok(Ok(RequestEnd::Answer(Err(error), _))) => Err(ConnectFailure::Refused(error)),
            Ok(Ok(RequestEnd::Trouble(trouble)) | Err(trouble)) => {
                Err(ConnectFailure::Trouble(trouble))
            }
            Ok(Ok(RequestEnd::SessionGone)) => {
                Err(ConnectFailure::Trouble(FaultCause::lost("it has forgotten the session")))
            }
            Err(_) => Err(ConnectFailure::Trouble(FaultCause::TimedOut(most))),
        }
    }
}
