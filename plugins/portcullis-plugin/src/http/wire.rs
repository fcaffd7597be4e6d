//! Sends a request through `wasi:http`.

use super::{ErrorCode, Head, Outgoing, Reason, Sink, Timeouts, Watch};
use std::time::{Duration, Instant};
use wasip2::{
    clocks::monotonic_clock::subscribe_duration,
    http::{
        outgoing_handler,
        types::{
            Fields, HeaderError, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
            RequestOptions, Scheme, http_error_code,
        },
    },
    io::{
        poll::{Pollable, poll},
        streams::StreamError,
    },
};

/// Maximum number of bytes written to a stream at once. The pieces are small, so that the head of a request reaches the
/// server before the host ends the body at one of its limits.
const WRITE_BYTES: usize = 4096;
/// Maximum number of bytes read from a stream at once.
const READ_BYTES: u64 = 64 * 1024;
/// Time between two calls of `watch`.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Sends the request, passes the body of the response to `sink` and returns its head.
pub fn send(
    outgoing: Outgoing,
    sink: &mut Sink<'_>,
    watch: &mut Watch<'_>,
) -> Result<Head, Reason> {
    let Outgoing { method, url, mut headers, body, timeouts } = outgoing;
    let body = body.unwrap_or_default();
    let has_length = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    if !body.is_empty() && !has_length {
        headers.push(("content-length".to_owned(), body.len().to_string()));
    }
    let request = OutgoingRequest::new(fields(headers)?);
    let scheme = if url.secure { Scheme::Https } else { Scheme::Http };
    request.set_method(&method_of(method)).map_err(|()| Reason::Invalid("method"))?;
    request.set_scheme(Some(&scheme)).map_err(|()| Reason::InvalidUrl)?;
    request.set_authority(Some(&url.authority)).map_err(|()| Reason::InvalidUrl)?;
    request.set_path_with_query(Some(&url.path)).map_err(|()| Reason::InvalidUrl)?;
    let request_body = request.body().expect("the body is taken once");

    let pending = outgoing_handler::handle(request, options(timeouts)).map_err(Reason::Code)?;
    let started = Instant::now();
    let written = write(request_body, &body, started, watch);
    if matches!(written, Err(Reason::GivenUp)) {
        return Err(Reason::GivenUp);
    }
    wait(&pending.subscribe(), started, watch)?;
    let response = pending
        .get()
        .expect("the response is ready")
        .expect("the response is taken once")
        .map_err(Reason::Code)?;
    // A server may respond before it has read the whole body. So a failed write is not an error if there is a
    // response. Without a response, the code above has returned an error.
    drop(written);

    let head = (response.status(), response.headers().entries());
    read(&response, sink, started, watch)?;
    Ok(head)
}

/// Waits until the pollable is ready, or `watch` ends the wait.
fn wait(ready: &Pollable, started: Instant, watch: &mut Watch<'_>) -> Result<(), Reason> {
    while !ready.ready() {
        let round = subscribe_duration(nanoseconds(WATCH_INTERVAL));
        poll(&[ready, &round]);
        if !ready.ready() && !watch(started.elapsed()) {
            return Err(Reason::GivenUp);
        }
    }
    Ok(())
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn fields(headers: Vec<(String, String)>) -> Result<Fields, Reason> {
    let headers: Vec<_> =
        headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
    Fields::from_list(&headers).map_err(|error| match error {
        HeaderError::InvalidSyntax => Reason::Invalid("header"),
        HeaderError::Forbidden => Reason::Invalid("header: the host sets it itself"),
        HeaderError::Immutable => Reason::Invalid("header: the host sets it"),
    })
}

fn method_of(method: String) -> Method {
    match method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        _ => Method::Other(method),
    }
}

fn options(timeouts: Timeouts) -> Option<RequestOptions> {
    let Timeouts { connect, first_byte, between_bytes } = timeouts;
    // Without any limit, there are no options.
    connect.or(first_byte).or(between_bytes)?;
    let options = RequestOptions::new();
    // A host that does not support one of these limits keeps its own.
    let _ = options.set_connect_timeout(connect.map(nanoseconds));
    let _ = options.set_first_byte_timeout(first_byte.map(nanoseconds));
    let _ = options.set_between_bytes_timeout(between_bytes.map(nanoseconds));
    Some(options)
}

/// Writes the body. While the server reads slowly, calls `watch`, as during the wait for the response.
fn write(
    body: OutgoingBody,
    bytes: &[u8],
    started: Instant,
    watch: &mut Watch<'_>,
) -> Result<(), Reason> {
    if !bytes.is_empty() {
        let stream = body.write().expect("the stream is taken once");
        let ready = stream.subscribe();
        let mut rest = bytes;
        while !rest.is_empty() {
            wait(&ready, started, watch)?;
            let room = stream.check_write().map_err(interrupted)?;
            let room = usize::try_from(room).unwrap_or(usize::MAX).min(WRITE_BYTES);
            let (piece, behind) = rest.split_at(room.min(rest.len()));
            stream.write(piece).map_err(interrupted)?;
            rest = behind;
        }
        stream.flush().map_err(interrupted)?;
        wait(&ready, started, watch)?;
        // `check_write` returns the error of the flush, if there is one.
        stream.check_write().map_err(interrupted)?;
    }
    OutgoingBody::finish(body, None).map_err(Reason::Code)
}

fn read(
    response: &IncomingResponse,
    sink: &mut Sink<'_>,
    started: Instant,
    watch: &mut Watch<'_>,
) -> Result<(), Reason> {
    let body = response.consume().expect("the body is taken once");
    let stream = body.stream().expect("the stream is taken once");
    loop {
        wait(&stream.subscribe(), started, watch)?;
        match stream.read(READ_BYTES) {
            Ok(piece) => sink(&piece)?,
            Err(StreamError::Closed) => return Ok(()),
            Err(error) => return Err(interrupted(error)),
        }
    }
}

fn interrupted(error: StreamError) -> Reason {
    match error {
        StreamError::LastOperationFailed(error) => match http_error_code(&error) {
            Some(code) => Reason::Code(code),
            None => Reason::Interrupted(error.to_debug_string()),
        },
        StreamError::Closed => Reason::Code(ErrorCode::ConnectionTerminated),
    }
}
