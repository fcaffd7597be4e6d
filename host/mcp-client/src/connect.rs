//! From a definition to a connection.

use std::sync::Arc;
use std::time::Duration;

use portcullis_login::Login;
use tokio::sync::{Notify, broadcast};
use tokio::time::timeout;

use crate::calls::{Calls, Notice};
use crate::connection::{Client, Connection, Peer};
use crate::definition::{Plan, Protocol, Target};
use crate::fault::Trouble;
use crate::handshake::{self, Probe};
use crate::wire::{Channel, Era, Http, Requests, Sse, Stdio, Wire};

/// How long nothing is tried after a failure to connect; after each further one twice as long.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What all connections to one upstream have in common.
pub(crate) struct Settings {
    pub(crate) name: Arc<str>,
    pub(crate) plan: Plan,
    pub(crate) client: Client,
    /// Where tokens come from, if it may want any.
    pub(crate) login: Option<Arc<Login>>,
    pub(crate) notices: broadcast::Sender<Notice>,
    pub(crate) changed: Arc<Notify>,
}

/// What earlier connections have taught.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    era: Option<Era>,
    /// Whether it only knows HTTP as of 2024-11-05.
    sse: bool,
}

/// One of the ways to an upstream.
#[derive(Clone, Copy)]
enum Way {
    Stdio,
    Http,
    Sse,
}

/// How tokens for it are got: unless it is a program, has a header already, or is where a token
/// would be sent in the open.
pub(crate) fn login(name: &str, plan: &Plan, client: &Client) -> Result<Option<Login>, String> {
    let address = plan.target.address();
    let Some((address, settings)) = address.and_then(|a| Some((a, a.oauth.clone()?))) else {
        return Ok(None);
    };
    let is_asked_for = settings != portcullis_login::Settings::default();
    match Login::new(name, &address.url, settings, client.logins.as_deref()) {
        Ok(login) => Ok(Some(login)),
        Err(error) if is_asked_for => Err(format!("`oauth`: {error}")),
        Err(_) => Ok(None),
    }
}

/// Connects, and finds out what is spoken.
pub(crate) async fn connect(
    settings: &Settings,
    known: Known,
) -> Result<(Connection, Known), Trouble> {
    let plan = &settings.plan;
    let connecting = async {
        let way = match &plan.target {
            Target::Command(_) => Way::Stdio,
            Target::Http(_) => Way::Http,
            Target::Sse(_) => Way::Sse,
            Target::Either(_) if known.sse => Way::Sse,
            Target::Either(_) => Way::Http,
        };
        let shaken = shake(settings, way, known.era).await;
        let may_be_sse = matches!(plan.target, Target::Either(_)) && !known.sse;
        let (way, connection) = match shaken {
            // What these say, a server that wants to be asked for events says too.
            Err(refused @ Trouble::Refused(400 | 404 | 405 | 406 | 415, _))
                if may_be_sse && plan.protocol != Protocol::Modern =>
            {
                let connection = shake(settings, Way::Sse, None).await;
                (Way::Sse, connection.map_err(|_| refused)?)
            }
            shaken => (way, shaken?),
        };
        let known = Known { era: Some(connection.peer.era), sse: matches!(way, Way::Sse) };
        Ok((connection, known))
    };
    timeout(plan.start, connecting).await.unwrap_or(Err(Trouble::TimedOut(plan.start)))
}

async fn shake(settings: &Settings, way: Way, era: Option<Era>) -> Result<Connection, Trouble> {
    let client = &settings.client;
    let channel = open(settings, way).await?;
    let legacy = async |channel: Channel| {
        let peer = handshake::initialize(&channel, client).await?;
        Ok(ready(channel, peer))
    };
    match (settings.plan.protocol, era, way) {
        (Protocol::Legacy, _, _)
        | (Protocol::Auto, Some(Era::Legacy), _)
        | (Protocol::Auto, None | Some(Era::Modern), Way::Sse) => legacy(channel).await,
        (Protocol::Modern, _, _) => {
            let peer = handshake::discover(&channel, client).await?;
            Ok(ready(channel, peer))
        }
        (Protocol::Auto, None | Some(Era::Modern), Way::Stdio | Way::Http) => {
            match handshake::probe(&channel, client).await {
                Ok(Probe::Settled(peer)) => Ok(ready(channel, peer)),
                Ok(Probe::NotModern(why)) => {
                    tracing::debug!("upstream `{}` is not modern: {why}", settings.name);
                    legacy(channel).await
                }
                // There are servers that end when they are asked what they do not know.
                Err(Trouble::Lost(why)) => {
                    tracing::debug!("upstream `{}` is not modern: {why}", settings.name);
                    drop(channel);
                    legacy(open(settings, way).await?).await
                }
                Err(trouble) => Err(trouble),
            }
        }
    }
}

fn ready(channel: Channel, peer: Peer) -> Connection {
    Connection { channel, peer }
}

async fn open(settings: &Settings, way: Way) -> Result<Channel, Trouble> {
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
        (Target::Http(address) | Target::Sse(address) | Target::Either(address), Way::Sse) => {
            let requests = Requests::new(address, login, &calls, most, plan.start)?;
            Wire::Sse(Sse::open(requests).await?)
        }
        (
            Target::Http(address) | Target::Sse(address) | Target::Either(address),
            Way::Http | Way::Stdio,
        ) => Wire::Http(Http::open(Requests::new(address, login, &calls, most, plan.start)?)),
    };
    Ok(Channel { wire: Arc::new(wire), calls })
}

/// How long nothing is tried after a failure to connect that comes after so many others.
pub(crate) fn pause_after(failures: u32) -> Duration {
    PAUSE.saturating_mul(1 << failures.min(5)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_left_alone_for_longer_each_time() {
        let pauses =
            [0, 1, 2, 3, 4, 5, 6, u32::MAX].map(|failures| pause_after(failures).as_secs());
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
    }
}
