//! Reads the bodies of requests, within limits of size and time, and checks that they are JSON-RPC messages.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use portcullis_json_bounds::{Excess, scan};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::responses::{HttpResponse, rpc_error, text_response};
use crate::timeouts::RECEIVE_TIMEOUT;

/// The JSON-RPC error code of a body that is not JSON.
const PARSE_ERROR: i32 = -32700;

/// The JSON-RPC error code of JSON that is not a message.
const INVALID_REQUEST: i32 = -32600;

/// Reads the body of a request, which may have at most `max` bytes.
pub(crate) async fn read(
    request: Request<Incoming>,
    max: usize,
) -> Result<(Parts, Bytes), HttpResponse> {
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(RECEIVE_TIMEOUT, Limited::new(body, max).collect()).await {
        Ok(Ok(body)) => Ok((parts, body.to_bytes())),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(text_response(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"))
        }
        Ok(Err(_)) => Err(text_response(StatusCode::BAD_REQUEST, "the body was cut off")),
        Err(_) => Err(text_response(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
    }
}

/// Whether the header `Content-Type` says that the body is JSON. A web page of another origin can send such a request
/// only after a preflight request.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// The parts of a message that are read before the message is parsed.
#[derive(Debug)]
pub(crate) struct Envelope {
    is_initialize: bool,
    /// The id of a request or of a response.
    id: Value,
    is_malformed_response: bool,
}

impl Envelope {
    /// Scans a body without building its values in memory.
    pub(crate) fn of(body: &[u8]) -> Result<Self, HttpResponse> {
        let outline = scan(body);
        let id = outline.id().and_then(|id| serde_json::from_str(&id).ok());
        let envelope = Self {
            is_initialize: outline.is_method("initialize"),
            id: id.unwrap_or(Value::Null),
            is_malformed_response: !outline.has_method()
                && outline.has_result()
                && outline.has_error(),
        };
        if let Err(excess) = outline.check() {
            let code = match excess {
                Excess::Depth => PARSE_ERROR,
                Excess::Units { .. } => INVALID_REQUEST,
            };
            return Err(rpc_error(code, envelope.id, &excess.to_string()));
        }
        // This checks the syntax only. The contents of strings are checked when the message is parsed.
        if let Err(error) = serde_json::from_slice::<IgnoredAny>(body) {
            return Err(envelope.not_json(&error));
        }
        let is_object = body.trim_ascii_start().starts_with(b"{");
        if !is_object || (outline.has_method() && !outline.has_named_method()) {
            return Err(envelope.not_a_message());
        }
        Ok(envelope)
    }

    /// Whether the message opens a session.
    pub(crate) fn is_initialize(&self) -> bool {
        self.is_initialize
    }

    /// Whether the message is a malformed response: it has both `result` and `error`.
    pub(crate) fn is_malformed_response(&self) -> bool {
        self.is_malformed_response
    }

    /// The error for a body that could not be parsed as a message.
    pub(crate) fn unreadable(&self, body: &[u8]) -> HttpResponse {
        match serde_json::from_slice::<Value>(body) {
            Ok(_) => self.not_a_message(),
            Err(error) => self.not_json(&error),
        }
    }

    fn not_json(&self, why: &serde_json::Error) -> HttpResponse {
        tracing::debug!("the body of a request is not JSON: {why}");
        rpc_error(PARSE_ERROR, self.id.clone(), &format!("the body is not JSON: {why}"))
    }

    fn not_a_message(&self) -> HttpResponse {
        self.invalid("the body is not a JSON-RPC message; batches are not supported")
    }

    /// The error for JSON that is not a message, or for a message that is not accepted now.
    pub(crate) fn invalid(&self, why: &str) -> HttpResponse {
        rpc_error(INVALID_REQUEST, self.id.clone(), why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error for a body that is not accepted.
    async fn refused(body: &str) -> Value {
        json_of(Envelope::of(body.as_bytes()).unwrap_err()).await
    }

    async fn json_of(response: HttpResponse) -> Value {
        assert_eq!(response.status(), 400);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }

    #[tokio::test]
    async fn bodies_that_are_not_messages_get_the_right_error_code() {
        for body in ["", "{", "nul", "{\"id\":1", &"[".repeat(100_000)] {
            let said = refused(body).await;
            assert_eq!(said["error"]["code"], PARSE_ERROR, "{}", &body[..body.len().min(20)]);
        }
        for body in ["[]", " [\"initialize\", 1]", "1", "null", "{\"method\":1}"] {
            assert_eq!(refused(body).await["error"]["code"], INVALID_REQUEST, "{body}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert_eq!(refused(&deep).await["error"]["code"], PARSE_ERROR);
        // The syntax is right, but the string contains half of a surrogate pair.
        let body = br#"{"method":"ping","id":"a","params":"\ud800"}"#;
        let said = json_of(Envelope::of(body).unwrap().unreadable(body)).await;
        assert_eq!((&said["error"]["code"], &said["id"]), (&PARSE_ERROR.into(), &"a".into()));
    }

    #[tokio::test]
    async fn the_error_for_too_many_values_has_the_id_of_the_message() {
        let many = "0,".repeat(200_000);
        let said = refused(&format!(r#"{{"params":[{many}0],"method":"x","id":7}}"#)).await;
        assert_eq!((&said["error"]["code"], &said["id"]), (&INVALID_REQUEST.into(), &7.into()));
        let large = format!(r#"{{"params":"{many}","method":"x","id":7}}"#);
        assert!(Envelope::of(large.as_bytes()).is_ok());
    }

    #[test]
    fn initialize_is_recognised_by_the_method() {
        let of = |body: &str| Envelope::of(body.as_bytes()).unwrap().is_initialize();
        assert!(of(r#" {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#));
        assert!(of(r#"{"method":"\u0069nitialize"}"#));
        assert!(!of(r#"{"params":{"method":"initialize"}}"#));
        assert!(!of(r#"{"id":1,"result":{}}"#));
    }
}
