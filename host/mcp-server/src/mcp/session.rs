//! What is known of one session and of who calls in it.

#![expect(deprecated, reason = "roots, sampling and logging are in both eras until 2027")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use portcullis_http_server::Principal;
use portcullis_roots::Roots;
use portcullis_wrap::{LEVELS, rank};
use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProgressToken,
};
use rmcp::service::RequestContext;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::input::Exchange;
use super::news::Watch;
use portcullis_core::call::{Answer, Call, Failure};
use portcullis_core::plugins::Loaded;
use portcullis_core::sandbox::{Context, Notice};

/// How long a client may take to say what its roots are.
const ROOTS_TIME: Duration = Duration::from_secs(3);

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
    /// The operator's roots narrowed by the client's; `None`: to be asked for.
    roots: Mutex<Option<Roots>>,
    /// The least level of log records that the client wants: 1 + its rank; 0: it did not say.
    level: AtomicU8,
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
    /// The session's roots. `None`: the client has to be asked, and only the answer to this
    /// request can carry the question.
    pub async fn roots(
        &self,
        operator: &Roots,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        exchange: &Exchange,
    ) -> Option<Roots> {
        if let Some(known) = &*self.roots.lock() {
            return Some(known.clone());
        }
        let declared = caller.capabilities.roots.is_some();
        let client = if !declared {
            None
        } else if caller.modern {
            Some(exchange.roots()?)
        } else {
            ask_roots(cx).await
        };
        // A client that names none, or does not answer, has not narrowed anything.
        let roots = match client.filter(|client| !client.is_empty()) {
            Some(client) => operator.narrowed_by_uris(client.iter().map(String::as_str)),
            None => operator.clone(),
        };
        *self.roots.lock() = Some(roots.clone());
        Some(roots)
    }

    /// The session's roots, where they are known.
    pub fn known_roots(&self) -> Option<Roots> {
        self.roots.lock().clone()
    }

    /// The client's roots have changed: they are asked for again with the next call.
    pub fn forget_roots(&self) {
        *self.roots.lock() = None;
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

async fn ask_roots(cx: &RequestContext<RoleServer>) -> Option<Vec<String>> {
    match tokio::time::timeout(ROOTS_TIME, cx.peer.list_roots()).await {
        Ok(Ok(answer)) => Some(answer.roots.into_iter().map(|root| root.uri).collect()),
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
    progress: Option<ProgressToken>,
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

    /// What a guest can learn of the call; where its notices go is added by [`run`].
    pub fn context(&self, session: &Session, exchange: &Exchange) -> (Context, u8) {
        let least = self.logs(session).map_or(u8::MAX, rank);
        let context = Context {
            protocol: self.protocol.clone(),
            principal: self.principal.clone(),
            meta: self.meta.clone(),
            features: self.features(),
            answers: exchange.answers(),
            state: exchange.state(),
            ..Context::default()
        };
        (context, least)
    }
}

/// Runs a call, and tells the client what it reports until it ends.
pub async fn run(
    loaded: &Loaded,
    mut call: Call,
    least: u8,
    shutdown: &CancellationToken,
    caller: &Caller,
    cx: &RequestContext<RoleServer>,
) -> Result<Answer, Failure> {
    let cancel = call.cancel.clone();
    let mut notices = None;
    if caller.progress.is_some() || least < u8::MAX {
        let (sender, receiver) = unbounded_channel();
        call.context.notices = Some(sender);
        notices = Some(receiver);
    }
    let running = portcullis_core::call::call(loaded, call);
    tokio::pin!(running);
    loop {
        tokio::select! {
            biased;
            answer = &mut running => {
                // What was reported before the end is told before the end.
                while let Some(notice) = notices.as_mut().and_then(|n| n.try_recv().ok()) {
                    tell(notice, least, caller, cx).await;
                }
                return answer;
            }
            Some(notice) = next(&mut notices) => tell(notice, least, caller, cx).await,
            () = cx.ct.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            () = shutdown.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
        }
    }
}

async fn next(notices: &mut Option<UnboundedReceiver<Notice>>) -> Option<Notice> {
    match notices {
        Some(notices) => notices.recv().await,
        None => std::future::pending().await,
    }
}

async fn tell(notice: Notice, least: u8, caller: &Caller, cx: &RequestContext<RoleServer>) {
    let told = match notice {
        Notice::Progress { done, total, message } => {
            let Some(token) = &caller.progress else { return };
            let mut progress = ProgressNotificationParam::new(token.clone(), done);
            progress.total = total;
            progress.message = message.map(|message| portcullis_sanitize::line(&message, 1000));
            Box::pin(cx.peer.notify_progress(progress)).await
        }
        Notice::Log { level, logger, data } => {
            if (level as u8) < least {
                return;
            }
            let level = LEVELS[level as usize];
            let mut record = LoggingMessageNotificationParam::new(level, data);
            record.logger = logger;
            Box::pin(cx.peer.notify_logging_message(record)).await
        }
    };
    if let Err(error) = told {
        tracing::debug!("a notice did not reach the client: {error}");
    }
}
