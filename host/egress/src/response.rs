//! Removes secrets from the responses to outgoing requests.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use portcullis_scrub::{Scrub, Stream};

use crate::Fault;

/// The body of a response, which is read while it arrives.
pub type ResponseBody = UnsyncBoxBody<Bytes, Fault>;

/// Removes the secrets from a response: from its headers, body and trailers. Lengths do not change.
///
/// # Errors
///
/// [`Fault::Encoded`] if the body is compressed: secrets in a compressed body cannot be found.
pub(crate) fn scrubbed(
    response: Response<ResponseBody>,
    scrub: &Arc<Scrub>,
) -> Result<Response<ResponseBody>, Fault> {
    if scrub.is_empty() {
        return Ok(response);
    }
    if is_compressed(response.headers()) && !response.body().is_end_stream() {
        tracing::warn!(
            "a response is refused: it is compressed although the request did not allow it, so secrets in it \
             cannot be found"
        );
        return Err(Fault::Encoded);
    }
    let (mut parts, body) = response.into_parts();
    parts.headers = scrubbed_headers(&parts.headers, scrub);
    // The extensions contain the reason phrase of the status, which the server chooses.
    parts.extensions.clear();
    let body = ScrubbedBody {
        body,
        stream: Some(Stream::new(scrub.clone())),
        scrub: scrub.clone(),
        trailers: None,
    };
    Ok(Response::from_parts(parts, body.boxed_unsync()))
}

/// Whether the body has a coding other than `identity` and `chunked`.
fn is_compressed(headers: &HeaderMap) -> bool {
    let all = [CONTENT_ENCODING, TRANSFER_ENCODING].map(|name| headers.get_all(name));
    all.iter().flatten().any(|value| {
        let codings = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let known: [&[u8]; 3] = [b"", b"identity", b"chunked"];
        codings
            .into_iter()
            .any(|coding| !known.iter().any(|known| coding.eq_ignore_ascii_case(known)))
    })
}

fn scrubbed_headers(headers: &HeaderMap, scrub: &Arc<Scrub>) -> HeaderMap {
    let mut scrubbed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        // Secrets are replaced by `*`, which is valid in names and in values.
        let name = HeaderName::from_bytes(&scrub.bytes(name.as_str().as_bytes()));
        let value = HeaderValue::from_bytes(&scrub.bytes(value.as_bytes()));
        if let (Ok(name), Ok(value)) = (name, value) {
            scrubbed.append(name, value);
        }
    }
    scrubbed
}

/// A body from which secrets are removed while it is read.
struct ScrubbedBody {
    body: ResponseBody,
    /// `None` after the end of the data.
    stream: Option<Stream>,
    scrub: Arc<Scrub>,
    /// The trailers, to be returned after the data.
    trailers: Option<HeaderMap>,
}

impl Body for ScrubbedBody {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let this = self.get_mut();
        loop {
            let Some(stream) = &mut this.stream else {
                return Poll::Ready(
                    this.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))),
                );
            };
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        let scrubbed = stream.push(&data);
                        if !scrubbed.is_empty() {
                            return Poll::Ready(Some(Ok(Frame::data(scrubbed.into()))));
                        }
                        continue;
                    }
                    Err(frame) => {
                        this.trailers = frame
                            .into_trailers()
                            .ok()
                            .map(|found| scrubbed_headers(&found, &this.scrub));
                    }
                },
                Some(Err(fault)) => {
                    // The bytes held back may be the beginning of a secret. They are not returned.
                    this.stream = None;
                    return Poll::Ready(Some(Err(fault)));
                }
                None => {}
            }
            let rest = this.stream.take().map(Stream::finish).unwrap_or_default();
            if !rest.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(rest.into()))));
            }
        }
    }
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
