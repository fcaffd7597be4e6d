//! Reads the body of a POST request: bounded in size and time, and recognised as a JSON-RPC message.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use portcullis_json_bounds::{Excess, scan};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::responses::{HttpResponse, error, say};
use crate::timeouts::RECEIVE_TIMEOUT;

/// JSON-RPC: what was sent is no JSON.
const PARSE_ERROR: i32 = -32700;

/// JSON-RPC: what was sent is no message.
const INVALID_REQUEST: i32 = -32600;

/// Reads all of a request that has at most `max` bytes.
pub(crate) async fn read(
    request: Request<Incoming>,
    max: usize,
) -> Result<(Parts, Bytes), HttpResponse> {
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(RECEIVE_TIMEOUT, Limited::new(body, max).collect()).await {
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

/// What a message is known by before it is parsed.
#[derive(Debug)]
pub(crate) struct Envelope {
    is_initialize: bool,
    /// Of an answer, too: whether it is one is for [`Self::is_broken_answer`].
    id: Value,
    is_broken_answer: bool,
}

impl Envelope {
    /// Scans a body, and builds nothing of it in memory.
    pub(crate) fn of(body: &[u8]) -> Result<Self, HttpResponse> {
        let outline = scan(body);
        let id = outline.id().and_then(|id| serde_json::from_str(&id).ok());
        let envelope = Self {
            is_initialize: outline.is_method("initialize"),
            id: id.unwrap_or(Value::Null),
            is_broken_answer: !outline.has_method() && outline.has_result() && outline.has_error(),
        };
        if let Err(excess) = outline.check() {
            let code = match excess {
                Excess::Depth => PARSE_ERROR,
                Excess::Units { .. } => INVALID_REQUEST,
            };
            return Err(error(code, envelope.id, &excess.to_string()));
        }
        // The right quotes and brackets, for now: what is in them is read with the message.
        if let Err(error) = serde_json::from_slice::<IgnoredAny>(body) {
            return Err(envelope.is_no_json(&error));
        }
        let is_object = body.trim_ascii_start().starts_with(b"{");
        if !is_object || (outline.has_method() && !outline.has_named_method()) {
            return Err(envelope.is_no_message());
        }
        Ok(envelope)
    }

    /// Whether the message begins a session. All others need no room for one.
    pub(crate) fn is_initialize(&self) -> bool {
        self.is_initialize
    }

    /// Whether the message is an answer with both `result` and `error`, which is none.
    pub(crate) fn is_broken_answer(&self) -> bool {
        self.is_broken_answer
    }

    /// The answer to a body that could not be read as a message.
    pub(crate) fn is_unreadable(&self, body: &[u8]) -> HttpResponse {
        match serde_json::from_slice::<Value>(body) {
            Ok(_) => self.is_no_message(),
            Err(error) => self.is_no_json(&error),
        }
    }

    fn is_no_json(&self, why: &serde_json::Error) -> HttpResponse {
        tracing::debug!("a body is no JSON: {why}");
        error(PARSE_ERROR, self.id.clone(), &format!("this is no JSON: {why}"))
    }

    fn is_no_message(&self) -> HttpResponse {
        self.invalid("this is no JSON-RPC message; batches are not part of this protocol")
    }

    /// The answer to a message that may not come now.
    pub(crate) fn invalid(&self, why: &str) -> HttpResponse {
        error(INVALID_REQUEST, self.id.clone(), why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refused(body: &str) -> Value {
        told(Envelope::of(body.as_bytes()).unwrap_err()).await
    }

    async fn told(reply: HttpResponse) -> Value {
        assert_eq!(reply.status(), 400);
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused_with_the_right_code() {
        for body in ["", "{", "nul", "{\"id\":1", &"[".repeat(100_000)] {
            let said = refused(body).await;
            assert_eq!(said["error"]["code"], PARSE_ERROR, "{}", &body[..body.len().min(20)]);
        }
        for body in ["[]", " [\"initialize\", 1]", "1", "null", "{\"method\":1}"] {
            assert_eq!(refused(body).await["error"]["code"], INVALID_REQUEST, "{body}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert_eq!(refused(&deep).await["error"]["code"], PARSE_ERROR);
        // Its quotes are right, and what is between them is no text.
        let body = br#"{"method":"ping","id":"a","params":"\ud800"}"#;
        let said = told(Envelope::of(body).unwrap().is_unreadable(body)).await;
        assert_eq!((&said["error"]["code"], &said["id"]), (&PARSE_ERROR.into(), &"a".into()));
    }

    #[tokio::test]
    async fn what_has_too_many_values_is_refused_with_its_id() {
        let many = "0,".repeat(200_000);
        let said = refused(&format!(r#"{{"params":[{many}0],"method":"x","id":7}}"#)).await;
        assert_eq!((&said["error"]["code"], &said["id"]), (&INVALID_REQUEST.into(), &7.into()));
        let large = format!(r#"{{"params":"{many}","method":"x","id":7}}"#);
        assert!(Envelope::of(large.as_bytes()).is_ok());
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
