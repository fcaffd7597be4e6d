//! A session, and the caller of a request in it.

#![expect(deprecated, reason = "roots, sampling and logging are in both eras until 2027")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use portcullis_http_server::Principal;
use portcullis_roots::Roots;
use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, ErrorCode, LoggingLevel, ProgressToken};
use rmcp::service::{Peer, RequestContext, ServiceError};
use tokio_util::sync::CancellationToken;

use super::client::{LEVELS, rank};
use super::input::Exchange;
use super::news::Watch;
use portcullis_core::sandbox::Context;

/// How long a client may take to say what its roots are.
const ROOTS_TIME: Duration = Duration::from_secs(3);

/// Questions for the roots in one request, where they change while the client answers.
const ROOTS_QUESTIONS: usize = 3;

/// One session.
#[derive(Default)]
pub struct Session {
    /// What a client of the era with `initialize` is subscribed to.
    pub subscriptions: Mutex<HashMap<String, Watch>>,
    /// Whether the client has introduced itself.
    pub begun: AtomicBool,
    /// Fires when the session is over.
    pub over: Over,
    /// Unlike any other session's.
    pub name: Name,
    roots: Mutex<KnownRoots>,
    /// The least level of log records that the client wants: 1 + its rank; 0: it did not say.
    level: AtomicU8,
}

/// What is known of the client's roots.
#[derive(Default)]
struct KnownRoots {
    /// The operator's roots narrowed by the client's, as the client last named them.
    last: Option<Roots>,
    /// Counts the client's notices that its roots have changed: an answer to a question from before such a
    /// notice is out of date.
    changes: u64,
}

/// A name that nobody else has.
pub struct Name(pub String);

impl Default for Name {
    fn default() -> Self {
        Self(portcullis_core::call::request_id())
    }
}

/// Fires when it is dropped.
#[derive(Default)]
pub struct Over(pub CancellationToken);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Session {
    /// The session's roots. `None`: the client has to be asked, and only the answer to this request can carry the
    /// question. Where the client has roots and does not say which, no path can be opened; it is asked again
    /// with the next request.
    pub async fn roots(
        &self,
        operator: &Roots,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        exchange: &Exchange,
    ) -> Option<Roots> {
        if caller.capabilities.roots.is_none() {
            return Some(operator.clone());
        }
        if caller.modern {
            // Nothing tells of a change in this revision: each call asks.
            let roots = narrowed(operator, &exchange.roots()?);
            self.roots.lock().last = Some(roots.clone());
            return Some(roots);
        }
        Some(self.roots_by_asking(operator, &cx.peer).await)
    }

    /// The roots of a client of the era with `initialize`, which is asked where its roots are not known.
    async fn roots_by_asking(&self, operator: &Roots, peer: &Peer<RoleServer>) -> Roots {
        for _ in 0..ROOTS_QUESTIONS {
            let changes = {
                let known = self.roots.lock();
                if let Some(last) = &known.last {
                    return last.clone();
                }
                known.changes
            };
            let Some(client) = ask_roots(peer).await else { return operator.unknown() };
            let roots = match client {
                ClientRoots::Named(client) => narrowed(operator, &client),
                ClientRoots::HasNone => operator.clone(),
            };
            let mut known = self.roots.lock();
            if known.changes == changes {
                known.last = Some(roots.clone());
                return roots;
            }
            // They have changed since the question.
        }
        operator.unknown()
    }

    /// The roots for a request that cannot ask the client, and for work without a request: as the client last
    /// named them. Until then, no path of a client that has roots can be opened.
    pub fn last_roots(&self, operator: &Roots, has_roots: bool) -> Roots {
        match &self.roots.lock().last {
            _ if !has_roots => operator.clone(),
            Some(last) => last.clone(),
            None => operator.unknown(),
        }
    }

    /// The client's roots have changed: they are asked for again with the next call.
    pub fn forget_roots(&self) {
        let mut known = self.roots.lock();
        known.last = None;
        known.changes += 1;
    }

    /// The least level of log records that a client of the era with `initialize` wants.
    pub fn logs(&self) -> Option<LoggingLevel> {
        match self.level.load(Ordering::Relaxed) {
            0 => Some(LoggingLevel::Info),
            level => LEVELS.get(usize::from(level - 1)).copied(),
        }
    }

    /// From now on the client wants log records of this level and above.
    pub fn set_level(&self, level: LoggingLevel) {
        self.level.store(1 + rank(level), Ordering::Relaxed);
    }
}

/// What a client answers to the question for its roots.
enum ClientRoots {
    /// URIs.
    Named(Vec<String>),
    /// It declares roots and does not know the method: it has none.
    HasNone,
}

/// The operator's roots as far as the client names them. A client that names none narrows nothing.
fn narrowed(operator: &Roots, client: &[String]) -> Roots {
    if client.is_empty() {
        return operator.clone();
    }
    operator.narrowed_by_uris(client.iter().map(String::as_str))
}

/// Asks a client for its roots. `None`: it does not say.
async fn ask_roots(peer: &Peer<RoleServer>) -> Option<ClientRoots> {
    match tokio::time::timeout(ROOTS_TIME, peer.list_roots()).await {
        Ok(Ok(answer)) => {
            Some(ClientRoots::Named(answer.roots.into_iter().map(|root| root.uri).collect()))
        }
        Ok(Err(ServiceError::McpError(error))) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            tracing::warn!("the client declares roots and does not know `roots/list`");
            Some(ClientRoots::HasNone)
        }
        Ok(Err(error)) => {
            tracing::warn!("the client declares roots and does not tell them: {error}");
            None
        }
        Err(_) => {
            tracing::warn!("the client declares roots and does not tell them in time");
            None
        }
    }
}

/// Whether the request is of the era with `initialize`.
pub fn is_legacy(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version().is_none_or(|version| version.has_initialize())
}

/// Who calls, and what that client takes part in.
#[derive(Clone)]
pub struct Caller {
    protocol: String,
    /// Whether it speaks 2026-07-28 or later: questions go into answers.
    pub modern: bool,
    /// What the client declared.
    pub capabilities: ClientCapabilities,
    /// Who it is, where the transport knows.
    pub principal: Option<String>,
    /// The request's `_meta` without the reserved keys.
    pub meta: Option<String>,
    /// By which the client wants to be told of progress.
    pub progress: Option<ProgressToken>,
    /// The level that this one request asks for, in the era without sessions.
    level: Option<LoggingLevel>,
}

impl Caller {
    /// The caller of a request.
    pub fn of(cx: &RequestContext<RoleServer>) -> Self {
        let parts = cx.extensions.get::<http::request::Parts>();
        let principal = parts.and_then(|parts| parts.extensions.get::<Principal>());
        let reserved =
            |key: &String| key == "progressToken" || key.starts_with("io.modelcontextprotocol/");
        let meta: serde_json::Map<_, _> = cx
            .meta
            .0
            .0
            .iter()
            .filter(|(key, _)| !reserved(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        Self {
            protocol: cx.protocol_version().map_or_else(String::new, |v| v.as_str().to_owned()),
            modern: !is_legacy(cx),
            capabilities: cx.client_capabilities().unwrap_or_default(),
            principal: principal.map(Principal::to_string),
            meta: (!meta.is_empty()).then(|| serde_json::Value::Object(meta).to_string()),
            progress: cx.meta.get_progress_token(),
            level: cx.meta.log_level(),
        }
    }

    fn features(&self) -> Vec<String> {
        let mut features = Vec::new();
        if let Some(elicitation) = &self.capabilities.elicitation {
            // Before there were two modes, the capability meant forms.
            if elicitation.form.is_some() || elicitation.url.is_none() {
                features.push("elicitation.form".to_owned());
            }
            if elicitation.url.is_some() {
                features.push("elicitation.url".to_owned());
            }
        }
        if let Some(sampling) = &self.capabilities.sampling {
            features.push("sampling".to_owned());
            if sampling.tools.is_some() {
                features.push("sampling.tools".to_owned());
            }
        }
        if self.capabilities.roots.is_some() {
            features.push("roots".to_owned());
        }
        let extensions = self.capabilities.extensions.iter().flatten();
        features.extend(extensions.map(|(id, _)| format!("extension:{id}")));
        features
    }

    /// Whether the client takes part in a feature, by the contract's name for it.
    pub fn supports(&self, feature: &str) -> bool {
        self.features().iter().any(|known| known == feature)
    }

    /// The least level of log records that it wants, if it wants any.
    pub fn logs(&self, session: &Session) -> Option<LoggingLevel> {
        // Of the era without sessions: only what the request itself asks for.
        if self.modern { self.level } else { session.logs() }
    }

    /// What a guest can learn of the call.
    pub fn context(&self, exchange: &Exchange) -> Context {
        Context {
            protocol: self.protocol.clone(),
            principal: self.principal.clone(),
            meta: self.meta.clone(),
            features: self.features(),
            answers: exchange.answers(),
            state: exchange.state(),
            ..Context::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use portcullis_roots::{HostFiles, Intent, Kind, Refusal, Root};

    use super::*;

    #[test]
    fn without_asking_the_roots_are_those_that_the_client_last_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let operator = Roots::new(
            vec![Root::open(folder.path(), &HostFiles::default()).unwrap()],
            HostFiles::default(),
        );
        let opened = |roots: &Roots| {
            let path = file.to_str().unwrap();
            roots.designate(path, Kind::File, Intent::Read, &[]).map(drop)
        };
        let session = Session::default();
        assert_eq!(opened(&session.last_roots(&operator, false)), Ok(()));
        let unknown = session.last_roots(&operator, true);
        assert_eq!(opened(&unknown), Err(Refusal::Unknown));
        session.roots.lock().last = Some(operator.clone());
        assert_eq!(opened(&session.last_roots(&operator, true)), Ok(()));
        session.forget_roots();
        let forgotten = session.last_roots(&operator, true);
        assert_eq!(opened(&forgotten), Err(Refusal::Unknown));
    }
}
