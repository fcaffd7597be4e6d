//! The client of a request: what it can be asked, and asking it.

use std::fmt;

use portcullis_mcp_client::{Object, RpcError};
use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, InputRequest, LoggingLevel};
use rmcp::service::{Peer, RequestContext, ServiceError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ANSWER_TIME;

/// Who makes a request.
pub struct Caller<'a> {
    /// The request.
    pub cx: &'a RequestContext<RoleServer>,
    /// Whether it speaks 2026-07-28 or later: it is asked in answers.
    pub modern: bool,
    /// What it takes part in: see [`features`].
    pub features: Vec<&'static str>,
    /// The least level of log records that it wants; `None`: none.
    pub logs: Option<LoggingLevel>,
    /// URIs of the roots that it is said to have, where it takes no part in roots.
    pub roots: Vec<String>,
    /// Fires when the host ends.
    pub shutdown: &'a CancellationToken,
}

impl Caller<'_> {
    pub(crate) fn peer(&self) -> &Peer<RoleServer> {
        &self.cx.peer
    }

    pub(crate) async fn given_up(&self) {
        tokio::select! {
            () = self.cx.ct.cancelled() => {}
            () = self.shutdown.cancelled() => {}
        }
    }

    pub(crate) fn wants_log(&self, level: LoggingLevel) -> bool {
        self.logs.is_some_and(|least| rank(level) >= rank(least))
    }

    /// Whether this question is one for the client itself.
    pub(crate) fn is_asked(&self, method: &str) -> bool {
        let feature = method.split('/').next().unwrap_or_default();
        self.features.contains(&feature)
    }

    /// Asks one question of a client of the era with `initialize`, or answers it for the client.
    pub(crate) async fn ask(&self, method: &str, params: Object) -> Result<Value, RpcError> {
        if !self.is_asked(method) {
            if method == "roots/list" {
                let roots: Vec<_> = self.roots.iter().map(|uri| json!({ "uri": uri })).collect();
                return Ok(json!({ "roots": roots }));
            }
            return Err(internal(format!("this client takes no part in {method}")));
        }
        let request = json!({ "method": method, "params": params });
        let request = serde_json::from_value(request)
            .map_err(|error| internal(format!("this is no question of MCP: {error}")))?;
        let answer = ask(self.peer(), request, self.given_up()).await;
        answer.map_err(|why| internal(why.to_string()))
    }

    /// Asks every question of a round.
    pub(crate) async fn ask_all(&self, requests: Object) -> Result<Object, RpcError> {
        let mut answers = Object::new();
        for (key, request) in requests {
            let method = request["method"].as_str().unwrap_or_default();
            let params = request["params"].as_object().cloned().unwrap_or_default();
            answers.insert(key, self.ask(method, params).await?);
        }
        Ok(answers)
    }
}

/// Why a question to a client has no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// Whoever asked has given up.
    GivenUp,
    /// The client took longer than [`ANSWER_TIME`].
    Late,
    /// It answered with something else than an answer.
    Formless,
    /// It answered with an error, or could not be asked: why.
    Failed(String),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GivenUp => f.write_str("the client gave up"),
            Self::Late => f.write_str("the client did not answer in time"),
            Self::Formless => f.write_str("the client answered with something else"),
            Self::Failed(why) => write!(f, "the client could not be asked: {why}"),
        }
    }
}

/// Puts one question to a client of the era with `initialize`, until `given_up` is done.
///
/// # Errors
///
/// [`NoAnswer`].
pub async fn ask(
    peer: &Peer<RoleServer>,
    request: InputRequest,
    given_up: impl Future<Output = ()>,
) -> Result<Value, NoAnswer> {
    let asking = async {
        match request {
            InputRequest::Elicitation(request) => {
                peer.create_elicitation(request.params).await.map(|answer| json!(answer))
            }
            InputRequest::CreateMessage(request) => {
                peer.create_message(request.params).await.map(|answer| json!(answer))
            }
            InputRequest::ListRoots(_) => peer.list_roots().await.map(|answer| json!(answer)),
            // rmcp may come to know more kinds.
            _ => Err(ServiceError::UnexpectedResponse),
        }
    };
    tokio::select! {
        answer = tokio::time::timeout(ANSWER_TIME, asking) => match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(ServiceError::UnexpectedResponse)) => Err(NoAnswer::Formless),
            Ok(Err(error)) => Err(NoAnswer::Failed(portcullis_sanitize::line(&error.to_string(), 300))),
            Err(_) => Err(NoAnswer::Late),
        },
        () = given_up => Err(NoAnswer::GivenUp),
    }
}

fn internal(message: String) -> RpcError {
    RpcError::new(RpcError::INTERNAL, &message)
}

/// RFC 5424 severities, the least first.
pub const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

/// The place of a level among them.
pub fn rank(level: LoggingLevel) -> u8 {
    LEVELS.iter().zip(0..).find(|(one, _)| **one == level).map_or(0, |(_, rank)| rank)
}

/// A level as MCP writes it.
pub fn level_name(level: LoggingLevel) -> &'static str {
    let names = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    names[usize::from(rank(level))]
}

/// What a client with these capabilities takes part in.
pub fn features(capabilities: &ClientCapabilities) -> Vec<&'static str> {
    let has = [
        (capabilities.elicitation.is_some(), "elicitation"),
        (capabilities.sampling.is_some(), "sampling"),
        (capabilities.roots.is_some(), "roots"),
    ];
    has.into_iter().filter_map(|(has, feature)| has.then_some(feature)).collect()
}
