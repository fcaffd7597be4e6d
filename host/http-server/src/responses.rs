//! Responses of the HTTP server itself.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

/// What goes back to a client.
pub(crate) type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// A status, and why.
pub(crate) fn say(status: StatusCode, text: &str) -> HttpResponse {
    let text = Bytes::copy_from_slice(text.as_bytes());
    of(status, HeaderValue::from_static("text/plain; charset=utf-8"), text)
}

/// JSON.
pub(crate) fn json(status: StatusCode, value: &Value) -> HttpResponse {
    of(status, HeaderValue::from_static("application/json"), value.to_string().into())
}

/// Bytes of some media type.
pub(crate) fn of(status: StatusCode, media_type: HeaderValue, bytes: Bytes) -> HttpResponse {
    let mut reply = Response::new(Full::new(bytes).boxed());
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, media_type);
    reply
}

/// A method that the path does not have.
pub(crate) fn not_allowed(allowed: &'static str) -> HttpResponse {
    let mut reply = say(StatusCode::METHOD_NOT_ALLOWED, "this path has no such method");
    reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    reply
}

/// A JSON-RPC error in answer to a message that could not be understood.
pub(crate) fn error(code: i32, id: Value, message: &str) -> HttpResponse {
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    json(StatusCode::BAD_REQUEST, &error)
}

/// Accepts a malformed JSON-RPC response with 202, and ignores it: a response never gets a response.
pub(crate) fn ignore_malformed() -> HttpResponse {
    tracing::warn!("an answer of a client is passed over: it has both result and error");
    say(StatusCode::ACCEPTED, "")
}
