//! Unwraps results in response bodies: a result that was wrapped in `_meta` to pass through rmcp replaces the
//! result around it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header;
use http_body::{Body, Frame};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use portcullis_result_passthrough::{Events, PassthroughKey};

use crate::responses::HttpResponse;

/// Unwraps the results in a response of rmcp.
pub(crate) async fn unwrap(raw: &PassthroughKey, response: HttpResponse) -> HttpResponse {
    let has_media_type = |kind: &str| {
        let given = response.headers().get(header::CONTENT_TYPE);
        given.is_some_and(|given| given.as_bytes().starts_with(kind.as_bytes()))
    };
    if has_media_type("text/event-stream") {
        let events = Events::new(raw.clone());
        return response.map(|inner| UnwrappedBody { inner, events }.boxed());
    }
    if !has_media_type("application/json") {
        return response;
    }
    let (parts, body) = response.into_parts();
    let Ok(body) = body.collect().await;
    let body = body.to_bytes();
    let body = raw.unwrap(&body).map_or(body, Bytes::from);
    HttpResponse::from_parts(parts, Full::new(body).boxed())
}

/// The body of an event stream whose results are unwrapped.
struct UnwrappedBody {
    inner: BoxBody<Bytes, Infallible>,
    events: Events,
}

impl Body for UnwrappedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            let Some(Ok(frame)) = ready!(Pin::new(&mut self.inner).poll_frame(cx)) else {
                let rest = self.events.finish();
                return Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest))));
            };
            let out = match frame.into_data() {
                Ok(data) => self.events.push(data),
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out))));
            }
        }
    }
}
