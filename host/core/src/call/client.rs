//! The client of a call, as the pipeline sees it: the trait [`Client`] asks a client questions and sends it
//! notifications. The MCP server and the command line implement the trait.

use std::pin::Pin;
use std::sync::Arc;

use portcullis_mcp_client::{Object, RpcError};
use serde_json::Value;

use crate::sandbox::CallNotification;
use crate::upstreams::Owner;

/// A boxed future, as the methods of [`Client`] return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A notification to the client while its call runs.
#[derive(Debug)]
pub enum Notification {
    /// A plugin's progress or log record.
    Plugin(CallNotification),
    /// The parameters of an upstream server's `notifications/progress`, unchanged.
    Progress(Object),
    /// The parameters of an upstream server's `notifications/message`, unchanged.
    Log(Object),
}

/// What a call of an upstream server needs of the client's request besides the parameters.
#[derive(Debug, Default)]
pub struct Forwarded {
    /// A name that only this session has. Questions of the upstream server are answered by this session alone.
    pub session: Arc<str>,
    /// The session that owns connections to upstream servers. `None`: the call uses the first connection.
    pub owner: Option<Owner>,
    /// The request's `_meta`, with the client's progress token and without the protocol's own keys.
    pub meta: Option<Object>,
    /// The client's capabilities, in MCP's JSON.
    pub capabilities: Option<Object>,
    /// The minimum level of the log records that the client wants, by its MCP name. `None`: no log records.
    pub log_level: Option<&'static str>,
}

/// The client that makes a call and waits for the answer.
pub trait Client: Send + Sync {
    /// Whether the client speaks MCP 2026-07-28 or later: questions to the client are then part of the answer. Older
    /// clients are asked by a request during the call.
    fn is_modern(&self) -> bool {
        true
    }

    /// Whether the client wants progress notifications or log records.
    fn is_notified(&self) -> bool;

    /// Notifies the client. A notification that does not reach the client is lost.
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()>;

    /// Whether the client itself answers questions of this method, such as `elicitation/create`.
    fn answers(&self, method: &str) -> bool;

    /// Asks the client one question, or answers it in the client's place.
    ///
    /// # Errors
    ///
    /// The question was not answered: the JSON-RPC error for the server that asks.
    fn ask<'a>(&'a self, method: &'a str, params: Object)
    -> BoxFuture<'a, Result<Value, RpcError>>;

    /// Completes when the client no longer waits for the answer.
    fn gone(&self) -> BoxFuture<'_, ()>;

    /// What calls of upstream servers need of the client's request besides the parameters.
    fn forwarded(&self) -> Forwarded;
}

/// The host itself as the client of its own calls, which answers no question and takes no notification.
#[derive(Debug, Default)]
pub struct NoClient;

impl Client for NoClient {
    fn is_notified(&self) -> bool {
        false
    }

    fn notify(&self, _: Notification) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn answers(&self, _: &str) -> bool {
        false
    }

    fn ask<'a>(&'a self, method: &'a str, _: Object) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(std::future::ready(Err(unsupported_method(method))))
    }

    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn forwarded(&self) -> Forwarded {
        Forwarded::default()
    }
}

/// The error for a server that asks a question which the client does not support.
pub fn unsupported_method(method: &str) -> RpcError {
    let method = portcullis_sanitize::line(method, 80);
    RpcError::new(RpcError::INTERNAL, format!("the client does not support {method}"))
}
