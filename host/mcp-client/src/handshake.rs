//! Finds out which revision of MCP an upstream server speaks, and initializes a legacy session. The *modern* protocol
//! (2026-07-28) begins with `server/discover`; the *legacy* protocol (all earlier revisions) begins with `initialize`.

use std::time::Duration;

use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::calls::{RequestEnd, RequestOwner};
use crate::connection::{ClientSettings, ConnectFailure, LEGACY, MODERN, OutgoingRequest};
use crate::fault::FaultCause;
use crate::message::{self, Object, RpcError, object};
use crate::peer::Peer;
use crate::text;
use crate::wire::{Channel, Era, PendingRequest, Wire};

/// Time to wait for an answer to `server/discover` before the legacy handshake is tried, too. If `server/discover` then
/// succeeds, the answer to `initialize` is awaited for as long again.
const SILENCE: Duration = Duration::from_secs(2);

/// The longest texts of an upstream about itself, in characters.
const NAME: usize = 200;
const INSTRUCTIONS: usize = 16_000;

/// The result of asking an upstream for the modern protocol.
pub(crate) enum Probe {
    /// The protocol is known.
    Settled(Peer),
    /// The upstream does not support the modern protocol, for this reason.
    NotModern(String),
}

/// Asks for the modern protocol. Without an answer within [`SILENCE`], asks for the legacy protocol, too.
pub(crate) async fn probe(channel: &Channel, client: &ClientSettings) -> Result<Probe, FaultCause> {
    let mut again = true;
    loop {
        let mut discover = begin(channel, client, "server/discover", Object::new(), true).await?;
        let Ok(done) = timeout(SILENCE, discover.done()).await else {
            return both(channel, client, discover).await.map(Probe::Settled);
        };
        match judge(done)? {
            DiscoverResult::Modern(peer) => return Ok(Probe::Settled(peer)),
            DiscoverResult::Again if std::mem::take(&mut again) => {}
            DiscoverResult::Again => {
                let why = "it refuses the revision that it claims to support";
                return Ok(Probe::NotModern(why.to_owned()));
            }
            DiscoverResult::NotModern(why) => return Ok(Probe::NotModern(why)),
        }
    }
}

/// Asks for the modern protocol only.
pub(crate) async fn discover(
    channel: &Channel,
    client: &ClientSettings,
) -> Result<Peer, FaultCause> {
    for _ in 0..2 {
        let mut discover = begin(channel, client, "server/discover", Object::new(), true).await?;
        match judge(discover.done().await)? {
            DiscoverResult::Modern(peer) => return Ok(peer),
            DiscoverResult::Again => {}
            DiscoverResult::NotModern(why) => {
                let because = format!("it does not support {MODERN}: {why}; remove `protocol`");
                return Err(FaultCause::Configuration(because.into()));
            }
        }
    }
    Err(FaultCause::protocol("it refuses the revision that it claims to support"))
}

/// Performs the handshake of the legacy protocol.
pub(crate) async fn initialize(
    channel: &Channel,
    client: &ClientSettings,
) -> Result<Peer, FaultCause> {
    let mut initialize = begin_initialize(channel, client).await?;
    let peer = welcomed(initialize.done().await)?;
    initialized(channel, peer).await
}

/// Performs the legacy handshake while `server/discover` is unanswered: the upstream may start slowly, or ignore
/// unknown requests. If the upstream accepts `initialize`, the legacy protocol is used even if the upstream also
/// supports the modern protocol, because it then has a session.
async fn both(
    channel: &Channel,
    client: &ClientSettings,
    mut discover: PendingRequest,
) -> Result<Peer, FaultCause> {
    let mut initialize = begin_initialize(channel, client).await?;
    let (discovered, welcome) = tokio::select! {
        done = initialize.done() => (None, Some(done)),
        done = discover.done() => {
            let verdict = judge(done)?;
            let welcome = match verdict {
                DiscoverResult::Modern(_) => timeout(SILENCE, initialize.done()).await.ok(),
                DiscoverResult::Again | DiscoverResult::NotModern(_) => Some(initialize.done().await),
            };
            (Some(verdict), welcome)
        }
    };
    let refused = match welcome.map(welcomed) {
        Some(Ok(peer)) => return initialized(channel, peer).await,
        Some(Err(trouble)) => trouble,
        None => FaultCause::protocol("it does not answer `initialize`"),
    };
    let discovered = match discovered {
        Some(verdict) => verdict,
        None => judge(discover.done().await)?,
    };
    match discovered {
        DiscoverResult::Modern(peer) => Ok(peer),
        DiscoverResult::Again | DiscoverResult::NotModern(_) => Err(refused),
    }
}

async fn begin_initialize(
    channel: &Channel,
    client: &ClientSettings,
) -> Result<PendingRequest, FaultCause> {
    let mut params = Object::new();
    params.insert("protocolVersion".to_owned(), LEGACY[0].into());
    params.insert("capabilities".to_owned(), client.capabilities.clone().into());
    params.insert("clientInfo".to_owned(), client.info.clone().into());
    begin(channel, client, "initialize", params, false).await
}

async fn begin(
    channel: &Channel,
    client: &ClientSettings,
    method: &str,
    mut params: Object,
    modern: bool,
) -> Result<PendingRequest, FaultCause> {
    let sending = OutgoingRequest {
        method,
        params: &mut params,
        progress: false,
        capabilities: None,
        log_level: None,
        header_params: &[],
    };
    let make = |id| sending.make(id, modern.then_some(client));
    let mut ticket = channel.begin(RequestOwner::default(), make).await?;
    ticket.is_handshake = true;
    Ok(ticket)
}

enum DiscoverResult {
    Modern(Peer),
    /// The upstream supports our revision, but refused it. The request has to be sent again.
    Again,
    NotModern(String),
}

fn judge(done: RequestEnd) -> Result<DiscoverResult, FaultCause> {
    let result = match done {
        RequestEnd::Answer(Ok(result), _) => result,
        RequestEnd::Answer(Err(error), _) => {
            let supported = error.data.as_ref().and_then(|data| data.get("supported"));
            if error.code == RpcError::UNSUPPORTED_VERSION && names_modern(supported) {
                return Ok(DiscoverResult::Again);
            }
            return Ok(DiscoverResult::NotModern(
                FaultCause::from(ConnectFailure::Refused(error)).to_string(),
            ));
        }
        RequestEnd::Trouble(trouble) if concerns_both_eras(&trouble) => return Err(trouble),
        RequestEnd::Trouble(trouble) => return Ok(DiscoverResult::NotModern(trouble.to_string())),
        RequestEnd::SessionGone => {
            return Err(FaultCause::protocol("it ended a session that did not exist"));
        }
    };
    if !names_modern(result.get("supportedVersions")) {
        return Ok(DiscoverResult::NotModern("it does not list this revision".to_owned()));
    }
    let Value::Object(mut result) = result else {
        return Ok(DiscoverResult::NotModern("it does not list this revision".to_owned()));
    };
    let named = result
        .get_mut("_meta")
        .and_then(|meta| meta.get_mut("io.modelcontextprotocol/serverInfo"))
        .map(Value::take);
    let info = named.or_else(|| result.remove("serverInfo"));
    Ok(DiscoverResult::Modern(peer(Era::Modern, MODERN, info, result)))
}

/// Whether the handshake of the other era would fail on this channel for the same reason.
pub(crate) fn concerns_both_eras(trouble: &FaultCause) -> bool {
    matches!(
        trouble,
        FaultCause::NotRunning(_)
            | FaultCause::Login(_)
            | FaultCause::Lost(_)
            | FaultCause::Closed
            | FaultCause::Busy(_)
            | FaultCause::Refused(401 | 403, _)
    )
}

fn names_modern(versions: Option<&Value>) -> bool {
    let versions = versions.and_then(Value::as_array);
    versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN))
}

fn welcomed(done: RequestEnd) -> Result<Peer, FaultCause> {
    let result = match done {
        RequestEnd::Answer(Ok(Value::Object(result)), _) => result,
        RequestEnd::Answer(Ok(_), _) => {
            return Err(FaultCause::protocol("its answer to `initialize` is not an object"));
        }
        RequestEnd::Answer(Err(error), _) => return Err(ConnectFailure::Refused(error).into()),
        RequestEnd::Trouble(trouble) => return Err(trouble),
        RequestEnd::SessionGone => {
            return Err(FaultCause::protocol("it ended a session that did not exist"));
        }
    };
    let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let Some(version) = LEGACY.iter().find(|known| **known == version) else {
        let because = format!(
            "it selected the revision {:?}, which is not one of {}",
            text::line(version, 40),
            LEGACY.join(", ")
        );
        return Err(FaultCause::protocol(because));
    };
    let mut result = result;
    let info = result.remove("serverInfo");
    Ok(peer(Era::Legacy, version, info, result))
}

fn peer(era: Era, version: &str, info: Option<Value>, mut said: Object) -> Peer {
    let mut info = info.map(object).unwrap_or_default();
    for key in ["name", "title", "version", "description", "websiteUrl"] {
        if let Some(value) = info.get_mut(key) {
            *value = text::line(value.as_str().unwrap_or_default(), NAME).into();
        }
    }
    let instructions = said.get("instructions").and_then(Value::as_str);
    Peer {
        era,
        version: version.to_owned(),
        info,
        instructions: instructions.map(|text| text::block(text, INSTRUCTIONS)),
        capabilities: said.remove("capabilities").map(object).unwrap_or_default(),
    }
}

/// Tells a legacy upstream that the session is initialized.
async fn initialized(channel: &Channel, peer: Peer) -> Result<Peer, FaultCause> {
    if let Wire::Http(http) = &*channel.wire {
        let version = HeaderValue::try_from(&peer.version);
        http.agree(version.expect("one of the versions that we know"));
    }
    let told = message::notification("notifications/initialized", json!({}).as_object());
    channel.wire.send(told).await?;
    if let Wire::Http(http) = &*channel.wire {
        http.listen();
    }
    Ok(peer)
}
