//! The client of a call, as the pipeline sees it: what it takes part in, how it is asked and how it is
//! notified. Transports and the command line implement it.

use std::pin::Pin;
use std::sync::Arc;

use portcullis_mcp_client::{Object, RpcError};
use serde_json::Value;

use crate::sandbox::Notice;

/// A future of a [`Client`], which has no type of its own.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a client is told while its call runs.
#[derive(Debug)]
pub enum Notification {
    /// A plugin's progress or log record.
    Plugin(Notice),
    /// The parameters of an upstream server's `notifications/progress`, as they came.
    Progress(Object),
    /// The parameters of an upstream server's `notifications/message`, as they came.
    Log(Object),
}

/// What an upstream server learns of the client's request.
#[derive(Debug, Default)]
pub struct Origin {
    /// The session, under a name that no other session has: what an upstream server asks in return must not
    /// reach another.
    pub session: Arc<str>,
    /// The request's `_meta`, with the client's progress token and without the protocol's own keys.
    pub meta: Option<Object>,
    /// The client's capabilities, as MCP has them.
    pub capabilities: Option<Object>,
    /// The least severe log records that the client wants, as MCP names the level. `None`: no log records.
    pub log_level: Option<&'static str>,
}

/// Who makes a call, and waits for its answer.
pub trait Client: Send + Sync {
    /// Whether questions go into the answer, as from 2026-07-28 on. Other clients are asked at once.
    fn is_modern(&self) -> bool {
        true
    }

    /// Whether the client wants to be told of progress or of log records.
    fn is_notified(&self) -> bool;

    /// Tells the client something. What does not reach the client is lost.
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()>;

    /// Whether the client itself answers questions of this method, such as `elicitation/create`.
    fn answers(&self, method: &str) -> bool;

    /// Asks the client one question, or answers it in the client's place.
    ///
    /// # Errors
    ///
    /// The error that the asking server gets.
    fn ask<'a>(&'a self, method: &'a str, params: Object)
    -> BoxFuture<'a, Result<Value, RpcError>>;

    /// Ends when the client no longer waits for the answer.
    fn gone(&self) -> BoxFuture<'_, ()>;

    /// What an upstream server learns of the request.
    fn origin(&self) -> Origin;
}

/// The host itself as the client of its own calls: nobody is asked, and nobody is told.
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
        Box::pin(std::future::ready(Err(not_taken_part_in(method))))
    }

    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn origin(&self) -> Origin {
        Origin::default()
    }
}

/// The answer for a server that asks what this client does not answer.
pub fn not_taken_part_in(method: &str) -> RpcError {
    let method = portcullis_sanitize::line(method, 80);
    RpcError::new(RpcError::INTERNAL, format!("this client takes no part in {method}"))
}
