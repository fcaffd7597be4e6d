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
    era: Option<Era>,
    /// Whether the upstream supports only HTTP+SSE, the transport of MCP 2024-11-05.
    sse: bool,
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

/// Connects, and finds out which revision of MCP the upstream speaks. Also returns the traits for the next connection.
pub(crate) async fn connect(
    settings: &Settings,
    traits: PeerTraits,
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
        let shaken = handshake_over(settings, way, traits.era).await;
        let may_be_sse = matches!(plan.target, Target::Either(_)) && !traits.sse;
        let (way, connection) = match shaken {
            // A server that supports only HTTP+SSE answers a POST request with one of these statuses.
            Err(refused @ FaultCause::Refused(400 | 404 | 405 | 406 | 415, _))
                if may_be_sse && plan.protocol != Protocol::Modern =>
            {
                let connection = handshake_over(settings, TransportChoice::Sse, None).await;
                // The server does not support HTTP+SSE either. The first failure says more.
                (TransportChoice::Sse, connection.map_err(|_older| refused)?)
            }
            shaken => (way, shaken?),
        };
        let traits =
            PeerTraits { era: Some(connection.peer.era), sse: matches!(way, TransportChoice::Sse) };
        Ok((connection, traits))
    };
    timeout(plan.start, connecting).await.unwrap_or(Err(FaultCause::TimedOut(plan.start)))
}

async fn handshake_over(
    settings: &Settings,
    way: TransportChoice,
    era: Option<Era>,
) -> Result<Connection, FaultCause> {
    let client = &settings.client;
    let channel = open(settings, way).await?;
    let legacy = async |channel: Channel| {
        let peer = handshake::initialize(&channel, client).await?;
        Ok(ready(channel, peer))
    };
    match (settings.plan.protocol, era, way) {
        (Protocol::Legacy, _, _) => legacy(channel).await.map_err(not_legacy),
        (Protocol::Auto, Some(Era::Legacy), _)
        | (Protocol::Auto, None | Some(Era::Modern), TransportChoice::Sse) => legacy(channel).await,
        (Protocol::Modern, _, _) => {
            let peer = handshake::discover(&channel, client).await?;
            Ok(ready(channel, peer))
        }
        (
            Protocol::Auto,
            None | Some(Era::Modern),
            TransportChoice::Stdio | TransportChoice::Http,
        ) => {
            match handshake::probe(&channel, client).await {
                Ok(Probe::Settled(peer)) => Ok(ready(channel, peer)),
                Ok(Probe::NotModern(why)) => {
                    tracing::debug!("upstream `{}` is not modern: {why}", settings.name);
                    legacy(channel).await
                }
                // Some servers exit when they receive an unknown method.
                Err(FaultCause::Lost(why)) => {
                    tracing::debug!("upstream `{}` is not modern: {why}", settings.name);
                    drop(channel);
                    legacy(open(settings, way).await?).await
                }
                Err(trouble) => Err(trouble),
            }
        }
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
