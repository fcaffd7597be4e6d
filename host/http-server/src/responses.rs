//! Responses that the HTTP server makes itself.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use crate::sessions::NotAdmitted;

/// A response of the HTTP server.
pub(crate) type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// A response with plain text.
pub(crate) fn text_response(status: StatusCode, text: &str) -> HttpResponse {
    let text = Bytes::copy_from_slice(text.as_bytes());
    bytes_response(status, HeaderValue::from_static("text/plain; charset=utf-8"), text)
}

/// A response with a body of this media type.
pub(crate) fn bytes_response(
    status: StatusCode,
    media_type: HeaderValue,
    bytes: Bytes,
) -> HttpResponse {
    let mut response = Response::new(Full::new(bytes).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

/// The response to an HTTP method that the path does not support.
pub(crate) fn method_not_allowed(allowed: &'static str) -> HttpResponse {
    let mut response =
        text_response(StatusCode::METHOD_NOT_ALLOWED, "this path does not support this method");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A JSON-RPC error with HTTP status 400, in response to a body that is not accepted.
pub(crate) fn rpc_error(code: i32, id: Value, message: &str) -> HttpResponse {
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    let media_type = HeaderValue::from_static("application/json");
    bytes_response(StatusCode::BAD_REQUEST, media_type, error.to_string().into())
}

/// Accepts a malformed JSON-RPC response with 202, and ignores it: a JSON-RPC response never gets a response.
pub(crate) fn ignore_malformed() -> HttpResponse {
    tracing::warn!("a response of a client is ignored: it has both result and error");
    text_response(StatusCode::ACCEPTED, "")
}

/// The response to a request that may not use a session.
pub(crate) fn not_admitted(error: &NotAdmitted) -> HttpResponse {
    match error {
        // A session of another caller has the same response as one that does not exist.
        NotAdmitted::NoSession => {
            text_response(StatusCode::NOT_FOUND, "Not Found: Session not found")
        }
        NotAdmitted::State(_) | NotAdmitted::Away => {
            tracing::warn!("a session: {}", portcullis_sanitize::error_chain(error));
            let text = "the state that the hosts share cannot be reached now: try again later";
            let mut response = text_response(StatusCode::SERVICE_UNAVAILABLE, text);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
    }
}

/// The response to a request that was cancelled because the server shuts down.
pub(crate) fn cancelled_by_shutdown() -> HttpResponse {
    let text = "this server is shutting down: the request was cancelled, and may have had effects";
    text_response(StatusCode::SERVICE_UNAVAILABLE, text)
}
