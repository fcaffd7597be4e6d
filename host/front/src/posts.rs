//! What a client posts: how large, how slow, and whether it is a message at all.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::accept::SLOW;
use crate::reply::{Reply, error, say};

/// JSON-RPC: what was sent is no JSON.
const PARSE_ERROR: i32 = -32700;

/// JSON-RPC: what was sent is no message.
const INVALID_REQUEST: i32 = -32600;

/// Reads all of a request that has at most `max` bytes.
pub(crate) async fn read(request: Request<Incoming>, max: usize) -> Result<(Parts, Bytes), Reply> {
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(SLOW, Limited::new(body, max).collect()).await {
        Ok(Ok(body)) => Ok((parts, body.to_bytes())),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(say(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"))
        }
        Ok(Err(_)) => Err(say(StatusCode::BAD_REQUEST, "the body was cut off")),
        Err(_) => Err(say(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
    }
}

/// Whether a body is said to be JSON. Pages of other origins cannot say so without being asked first.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// What every message has, whatever it is.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Envelope {
    method: Option<String>,
    id: Option<Value>,
}

impl Envelope {
    /// Reads no more than is needed of a body.
    pub(crate) fn of(body: &[u8]) -> Result<Self, Reply> {
        let no_json = |error: &serde_json::Error| {
            tracing::debug!("a body is no JSON: {error}");
            self::error(PARSE_ERROR, Value::Null, &format!("this is no JSON: {error}"))
        };
        if body.trim_ascii_start().starts_with(b"{") {
            return serde_json::from_slice(body).map_err(|error| {
                if error.is_data() { Self::default().is_no_message() } else { no_json(&error) }
            });
        }
        serde_json::from_slice::<IgnoredAny>(body).map_err(|error| no_json(&error))?;
        Err(Self::default().is_no_message())
    }

    /// Whether the message begins a session. All others need no room for one.
    pub(crate) fn is_initialize(&self) -> bool {
        self.method.as_deref() == Some("initialize")
    }

    /// The answer to JSON that is not what JSON-RPC says.
    pub(crate) fn is_no_message(&self) -> Reply {
        self.invalid("this is no JSON-RPC message; batches are not part of this protocol")
    }

    /// The answer to a message that may not come now.
    pub(crate) fn invalid(&self, why: &str) -> Reply {
        let id = self.id.clone().filter(|id| id.is_string() || id.is_i64() || id.is_u64());
        error(INVALID_REQUEST, id.unwrap_or(Value::Null), why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refused(body: &str) -> Value {
        let reply = Envelope::of(body.as_bytes()).unwrap_err();
        assert_eq!(reply.status(), 400);
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused_with_the_right_code() {
        for body in ["", "{", "nul", "{\"id\":1", &"[".repeat(100_000), "{\"id\":\"\\ud800\"}"] {
            let said = refused(body).await;
            assert_eq!(said["error"]["code"], PARSE_ERROR, "{}", &body[..body.len().min(20)]);
        }
        for body in ["[]", " [\"initialize\", 1]", "1", "null", "{\"method\":1}"] {
            assert_eq!(refused(body).await["error"]["code"], INVALID_REQUEST, "{body}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert_eq!(refused(&deep).await["error"]["code"], PARSE_ERROR);
    }

    #[test]
    fn a_message_is_known_by_its_method() {
        let of = |body: &str| Envelope::of(body.as_bytes()).unwrap().is_initialize();
        assert!(of(r#" {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#));
        assert!(of(r#"{"method":"\u0069nitialize"}"#));
        assert!(!of(r#"{"params":{"method":"initialize"}}"#));
        assert!(!of(r#"{"id":1,"result":{}}"#));
    }
}
