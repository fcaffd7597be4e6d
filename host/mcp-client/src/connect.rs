//! Connects to an upstream: transport, revision of MCP, handshake.

use std::sync::Arc;
use std::time::Duration;

use portcullis_login::Login;
use tokio::sync::{Notify, broadcast};
use tokio::time::timeout;

use crate::calls::{Calls, UnassignedNotification};
use crate::connection::{ClientSettings, Connection};
use crate::definition::{CheckedDefinition, Protocol, Target};
use crate::definition_error::DefinitionError;
use crate::fault::FaultCause;
use crate::handshake::{self, Probe};
use crate::peer::Peer;
use crate::wire::{Channel, Era, Http, Requests, Sse, Stdio, Wire};

/// Time without a new attempt after the first failure to connect. The time doubles with each further failure.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Settings of all connections to one upstream.
pub(crate) struct Settings {
    pub(crate) name: Arc<str>,
    pub(crate) plan: CheckedDefinition,
    pub(crate) client: ClientSettings,
    /// The source of access tokens. `None`: no tokens are obtained.
    pub(crate) login: Option<Arc<Login>>,
    pub(crate) notices: broadcast::Sender<UnassignedNotification>,
    pub(crate) changed: Arc<Notify>,
}

/// Properties of the upstream that earlier connections showed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PeerTraits {
    /// The era of the last connection for which [`Era::Modern`] was preferred.
    when_modern_is_preferred: Option<Era>,
    /// The era of the last connection for which [`Era::Legacy`] was preferred.
    when_legacy_is_preferred: Option<Era>,
    /// Whether the upstream supports only HTTP+SSE, the transport of MCP 2024-11-05.
    sse: bool,
}

impl PeerTraits {
    /// The era of the last connection for which this era was preferred.
    fn with_preference(self, preferred: Era) -> Option<Era> {
        match preferred {
            Era::Modern => self.when_modern_is_preferred,
            Era::Legacy => self.when_legacy_is_preferred,
        }
    }

    /// Whether another connection would or might have the preferred era, and the one with the era `used` does not.
    pub(crate) fn is_worth_reconnecting(self, used: Era, preferred: Era) -> bool {
        used != preferred && !self.sse && self.with_preference(preferred) != Some(used)
    }
}

/// A transport to try.
#[derive(Clone, Copy)]
enum TransportChoice {
    Stdio,
    Http,
    Sse,
}

/// The login at an upstream. `None`: the upstream is a program, its `headers` have `Authorization`, or it is reached
/// without TLS, so that no token may be sent to it.
///
/// # Errors
///
/// The configuration has `oauth`, and its settings cannot be used.
pub(crate) fn login(
    name: &str,
    plan: &CheckedDefinition,
    client: &ClientSettings,
) -> Result<Option<Login>, DefinitionError> {
    let address = plan.target.address();
    let Some((address, settings)) = address.and_then(|a| Some((a, a.oauth.clone()?))) else {
        return Ok(None);
    };
    let is_asked_for = settings != portcullis_login::Settings::default();
    match Login::new(name, &address.url, settings, client.logins.as_deref()) {
        Ok(login) => Ok(Some(login)),
        Err(error) if is_asked_for => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// Connects, and finds out which revision of MCP the upstream speaks. `preferred`: the era to use if the upstream
/// supports both, and the configuration leaves the choice. Also returns the traits for the next connection.
pub(crate) async fn connect(
    settings: &Settings,
    traits: PeerTraits,
    preferred: Era,
) -> Result<(Connection, PeerTraits), FaultCause> {
    let plan = &settings.plan;
    let connecting = async {
        let way = match &plan.target {
            Target::Command(_) => TransportChoice::Stdio,
            Target::Http(_) => TransportChoice::Http,
            Target::Sse(_) => TransportChoice::Sse,
            Target::Either(_) if traits.sse => TransportChoice::Sse,
            Target::Either(_) => TransportChoice::Http,
        };
        let known = traits.with_preference(preferred);
        let shaken = handshake_over(settings, way, known, preferred).await;
        let may_be_sse = matches!(plan.target, Target::Either(_)) && !traits.sse;
        let (way, connection) = match shaken {
            // A server that supports only HTTP+SSE answers a POST request with one of these statuses.
            Err(refused @ FaultCause::Refused(400 | 404 | 405 | 406 | 415, _))
                if may_be_sse && plan.protocol != Protocol::Modern =>
            {
                let connection =
                    handshake_over(settings, TransportChoice::Sse, None, preferred).await;
                // The server does not support HTTP+SSE either. The first failure says more.
                (TransportChoice::Sse, connection.map_err(|_older| refused)?)
            }
            shaken => (way, shaken?),
        };
        let mut traits = PeerTraits { sse: matches!(way, TransportChoice::Sse), ..traits };
        match preferred {
            Era::Modern => traits.when_modern_is_preferred = Some(connection.peer.era),
            Era::Legacy => traits.when_legacy_is_preferred = Some(connection.peer.era),
        }
        Ok((connection, traits))
    };
    timeout(plan.start, connecting).await.unwrap_or(Err(FaultCause::TimedOut(plan.start)))
}

/// Opens a channel and performs the handshake. `known`: the era that an earlier connection with the same preference had.
async fn handshake_over(
    settings: &Settings,
    way: TransportChoice,
    known: Option<Era>,
    preferred: Era,
) -> Result<Connection, FaultCause> {
    let client = &settings.client;
    let channel = open(settings, way).await?;
    let legacy = async |channel: Channel| {
        let peer = handshake::initialize(&channel, client).await?;
        Ok(ready(channel, peer))
    };
    match settings.plan.protocol {
        Protocol::Legacy => legacy(channel).await.map_err(not_legacy),
        Protocol::Modern => {
            let peer = handshake::discover(&channel, client).await?;
            Ok(ready(channel, peer))
        }
        Protocol::Auto if known == Some(Era::Legacy) || matches!(way, TransportChoice::Sse) => {
            legacy(channel).await
        }
        Protocol::Auto if known.is_none() && preferred == Era::Legacy => {
            prefer_legacy(settings, way, channel).await
        }
        Protocol::Auto => prefer_modern(settings, way, channel).await,
    }
}

/// Performs the handshake of the modern protocol, or that of the legacy protocol if the upstream has no other.
async fn prefer_modern(
    settings: &Settings,
    way: TransportChoice,
    channel: Channel,
) -> Result<Connection, FaultCause> {
    let client = &settings.client;
    let channel = match handshake::probe(&channel, client).await {
        Ok(Probe::Settled(peer)) => return Ok(ready(channel, peer)),
        Ok(Probe::NotModern(why)) => {
            tracing::debug!("upstream `{}` is not modern: {why}", settings.name);
            channel
        }
        // Some servers exit when they receive an unknown method.
        Err(FaultCause::Lost(why)) => {
            tracing::debug!("upstream `{}` is not modern: {why}", settings.name);
            drop(channel);
            open(settings, way).await?
        }
        Err(trouble) => return Err(trouble),
    };
    let peer = handshake::initialize(&channel, client).await?;
    Ok(ready(channel, peer))
}

/// Performs the handshake of the legacy protocol, or that of the modern protocol if the upstream has no other.
///
/// # Errors
///
/// The failure of the legacy handshake, if the upstream has no modern protocol either.
async fn prefer_legacy(
    settings: &Settings,
    way: TransportChoice,
    channel: Channel,
) -> Result<Connection, FaultCause> {
    let client = &settings.client;
    let refused = match handshake::initialize(&channel, client).await {
        Ok(peer) => return Ok(ready(channel, peer)),
        Err(refused) => refused,
    };
    let channel = if matches!(refused, FaultCause::Lost(_)) {
        drop(channel);
        open(settings, way).await?
    } else if handshake::concerns_both_eras(&refused) {
        return Err(refused);
    } else {
        channel
    };
    tracing::debug!("upstream `{}` is not legacy: {refused}", settings.name);
    match handshake::discover(&channel, client).await {
        Ok(peer) => Ok(ready(channel, peer)),
        Err(_not_modern) => Err(refused),
    }
}

/// The failure of the legacy handshake that the operator demands.
fn not_legacy(trouble: FaultCause) -> FaultCause {
    if let FaultCause::Protocol(why) = &trouble {
        let because = format!("{why}; remove `protocol`, unless the server is at fault");
        return FaultCause::Configuration(because.into());
    }
    trouble
}

fn ready(channel: Channel, peer: Peer) -> Connection {
    Connection { channel, peer }
}

async fn open(settings: &Settings, way: TransportChoice) -> Result<Channel, FaultCause> {
    let plan = &settings.plan;
    let most = plan.answer_bytes;
    let calls = Arc::new(Calls::new(
        settings.name.clone(),
        settings.notices.clone(),
        settings.changed.clone(),
    ));
    let login = settings.login.clone();
    let wire = match (&plan.target, way) {
        (Target::Command(command), _) => {
            let launcher = settings.client.launcher.as_deref();
            Wire::Stdio(Stdio::open(command, launcher, &calls, most)?)
        }
        (
            Target::Http(address) | Target::Sse(address) | Target::Either(address),
            TransportChoice::Sse,
        ) => {
            let requests = Requests::new(address, login, &calls, most, plan.start)?;
            Wire::Sse(Sse::open(requests).await?)
        }
        (
            Target::Http(address) | Target::Sse(address) | Target::Either(address),
            TransportChoice::Http | TransportChoice::Stdio,
        ) => Wire::Http(Http::open(Requests::new(address, login, &calls, most, plan.start)?)),
    };
    Ok(Channel { wire: Arc::new(wire), calls })
}

/// Time without a new attempt, by the number of failures before the last one.
pub(crate) fn pause_after(failures: u32) -> Duration {
    PAUSE.saturating_mul(1 << failures.min(5)).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_with_each_failure() {
        let pauses =
            [0, 1, 2, 3, 4, 5, 6, u32::MAX].map(|failures| pause_after(failures).as_secs());
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
    }
}
