//! Sends one JSON-RPC message to an editor by HTTP POST, and receives the response.

use super::{fault::Fault, reader::Reader};
use crate::answer::shown;
use portcullis_plugin::{
    http::{ErrorCode, Reason},
    prelude::*,
};
use serde_json::Value;
use std::{io, time::Duration};
use unreal_project::now;

/// Maximum length of a response, in bytes.
const MAX_BYTES: u64 = 32 << 20;
/// Time limit for connecting, which suffices for loopback.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time of the call reserved for its answer.
const RESERVE: Duration = Duration::from_millis(750);
/// Pause between two messages to an editor, unless the setting `editor-pause-ms` sets another
/// pause. The editor answers in the thread that draws its windows, and the windows should stay
/// smooth.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum pause that can be set.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Time between two progress notifications during a wait.
const REPORTED: Duration = Duration::from_secs(2);

/// The URL of an editor, and the request for which the editor is called.
#[derive(Clone, Copy)]
pub struct EditorConnection<'r> {
    pub request: &'r Request<'r>,
    pub url: &'r str,
}

/// A message that expects a response.
pub struct Message<'m> {
    pub method: &'m str,
    pub params: Value,
    /// Headers for session and protocol, if any.
    pub headers: &'m [(&'static str, String)],
    /// Time limit for the response.
    pub limit: Duration,
    /// Beginning of the text of progress notifications.
    pub what: &'m str,
    /// Distinguishes messages of one request.
    pub number: u32,
}

/// A response.
#[derive(Debug)]
pub struct RpcResponse {
    pub result: Value,
    /// The session id in the response, if any.
    pub session: Option<String>,
}

impl EditorConnection<'_> {
    /// Waits for the turn to send a message. Each editor gets one message at a time, since it
    /// handles all messages in one thread. The host's limit of concurrent calls (`calls`) bounds
    /// the number of waiting calls.
    pub fn lock(self) -> Option<cache::Claim> {
        cache::claim(&format!("turn at {}", self.url))
    }

    /// The id of a message: a string, since the editor converts numbers to floating point.
    pub fn id(self, number: u32) -> String {
        format!("{}-{number}", self.request.id())
    }

    /// Sends a message once, and waits for its response.
    pub fn request(self, message: &Message<'_>) -> Result<RpcResponse, Fault> {
        std::thread::sleep(left_of(self.last(), now(), pause()?));
        let limit = self.limit(message.limit)?;
        let id = self.id(message.number);
        let Message { method, params, .. } = message;
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut reader = Reader::new(&id);
        let (mut late, mut told) = (false, Duration::ZERO);
        let sent = self.post(&body, message.headers, limit)?.send_watched(
            |piece| {
                reader.take(piece);
                for report in reader.reported() {
                    self.request.progress(report.done, report.total, &report.message);
                }
                // A stream may continue after the response.
                if reader.is_answered() { Err(io::Error::other("answered")) } else { Ok(()) }
            },
            |elapsed| {
                late = elapsed >= limit;
                if elapsed >= told + REPORTED {
                    told = elapsed;
                    let seconds = elapsed.as_secs();
                    let words = format!("{}: waiting for the editor for {seconds} s", message.what);
                    self.request.progress(elapsed.as_secs_f64().floor(), None, &words);
                }
                !late && !self.request.cancelled()
            },
        );
        self.note_end();
        let response = match sent {
            Ok(response) => Some(response),
            Err(_) if reader.is_answered() => None,
            Err(error) => return Err(self.fault(&error.reason, limit, late)),
        };
        let session = response.as_ref().and_then(|response| response.header("mcp-session-id"));
        let session = session.map(str::to_owned);
        if let Some(status) = response.map(|response| response.status).filter(|code| *code != 200) {
            return Err(match status {
                404 if !message.headers.is_empty() => Fault::NoSession,
                _ => self.invalid_response(format!("status {status}")),
            });
        }
        let mut answer = reader.finish().map_err(|why| self.invalid_response(why))?;
        match answer.get("error") {
            Some(error) => Err(Fault::Refused(
                error["code"].as_i64().unwrap_or_default(),
                shown(error["message"].as_str().unwrap_or("it does not say why")),
            )),
            None => Ok(RpcResponse { result: answer["result"].take(), session }),
        }
    }

    /// Sends a notification and ignores any response.
    pub fn notify(self, method: &str, params: &Value, headers: &[(&'static str, String)]) {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if let Ok(post) = self.post(&body, headers, CONNECT_TIMEOUT) {
            let _ignored = post.send_watched(|_| Ok(()), |elapsed| elapsed < CONNECT_TIMEOUT);
        }
        self.note_end();
    }

    /// The time at which the last message ended, in nanoseconds since 1970.
    fn last(self) -> Option<u64> {
        let kept = cache::get(&self.last_key())?;
        Some(u64::from_le_bytes(kept.try_into().ok()?))
    }

    fn note_end(self) {
        cache::set(&self.last_key(), now().to_le_bytes(), MAX_PAUSE);
    }

    fn last_key(self) -> String {
        format!("last message at {}", self.url)
    }

    /// The time limit: `most`, or less if the call has less time left. Fails if the call has no
    /// time left.
    fn limit(self, most: Duration) -> Result<Duration, Fault> {
        let left = self.request.remaining().map_or(most, |left| left.saturating_sub(RESERVE));
        if left.is_zero() { Err(Fault::NoTime) } else { Ok(left.min(most)) }
    }

    /// A POST request with a message. It has a `Content-Length`, which the engine's server requires.
    fn post(
        self,
        body: &Value,
        headers: &[(&'static str, String)],
        limit: Duration,
    ) -> Result<http::Request, Fault> {
        let body = serde_json::to_vec(body).map_err(|error| Fault::from(Failure::from(error)))?;
        let mut post = http::Request::post(self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("content-length", body.len().to_string());
        for (name, value) in headers {
            post = post.header(*name, value);
        }
        Ok(post
            .body(body)
            .connect_timeout(CONNECT_TIMEOUT.min(limit))
            .first_byte_timeout(limit)
            .between_bytes_timeout(limit)
            .max_bytes(MAX_BYTES))
    }

    fn invalid_response(self, why: String) -> Fault {
        Fault::InvalidResponse(self.url.to_owned(), why)
    }

    fn fault(self, reason: &Reason, limit: Duration, late: bool) -> Fault {
        let url = || self.url.to_owned();
        match reason {
            Reason::Code(code) => self.of_code(code, limit),
            Reason::GivenUp if late => Fault::Busy(url(), limit),
            Reason::GivenUp => match self.request.remaining() {
                // Near the deadline of a call, the host reports it as cancelled, although nobody cancelled it.
                Some(left) if left <= RESERVE * 4 => Fault::Busy(url(), limit),
                Some(_) | None => Fault::Cancelled,
            },
            Reason::TooLarge(bytes) => {
                self.invalid_response(format!("it has more than {bytes} bytes"))
            }
            Reason::InvalidUrl => Fault::WrongServer(url(), "this is not an http URL".to_owned()),
            Reason::Interrupted(why) => {
                self.invalid_response(format!("the connection broke: {why}"))
            }
            Reason::Invalid(_)
            | Reason::Sink(_)
            | Reason::Status(_)
            | Reason::NotText
            | Reason::Json(_) => self.invalid_response(shown(&reason.to_string())),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is not ours")]
    fn of_code(self, code: &ErrorCode, limit: Duration) -> Fault {
        let url = self.url.to_owned();
        match code {
            ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => {
                Fault::NotGranted(url)
            }
            ErrorCode::ConnectionRefused
            | ErrorCode::ConnectionTimeout
            | ErrorCode::DestinationNotFound
            | ErrorCode::DestinationUnavailable
            | ErrorCode::DestinationIpUnroutable
            | ErrorCode::DnsTimeout
            | ErrorCode::DnsError(_) => Fault::NotRunning(url),
            ErrorCode::ConnectionReadTimeout
            | ErrorCode::ConnectionWriteTimeout
            | ErrorCode::HttpResponseTimeout => Fault::Busy(url, limit),
            other => self.invalid_response(shown(&format!("{other:?}"))),
        }
    }
}

/// The configured pause. Fails if the setting is not a number of milliseconds in the allowed range.
fn pause() -> Result<Duration, Failure> {
    let Some(set) = settings::get("editor-pause-ms") else { return Ok(PAUSE) };
    let pause = set.trim().parse().ok().map(Duration::from_millis);
    pause.filter(|pause| *pause <= MAX_PAUSE).or_fail(format!(
        "the setting `editor-pause-ms` of this plugin is `{}`: it can be 0 to {}",
        shown(&set),
        MAX_PAUSE.as_millis()
    ))
}

/// The rest of the pause since the last message; times are in nanoseconds since 1970. A clock set
/// back does not extend the pause.
fn left_of(last: Option<u64>, now: u64, pause: Duration) -> Duration {
    let since = last.map(|last| Duration::from_nanos(now.saturating_sub(last)));
    since.map_or(Duration::ZERO, |since| pause.saturating_sub(since))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_kept_and_end() {
        let ms = Duration::from_millis;
        let left = |last, now| left_of(last, now, ms(50));
        assert_eq!(left(None, 7), ms(0), "the first message waits for nothing");
        assert_eq!(left(Some(1_000_000), 1_000_000), ms(50));
        assert_eq!(left(Some(1_000_000), 31_000_000), ms(20));
        assert_eq!(left(Some(1_000_000), 99_000_000), ms(0));
        assert_eq!(left(Some(99_000_000), 1_000_000), ms(50), "the clock was set back");
        assert_eq!(left_of(Some(1), 1, ms(0)), ms(0));
    }
}
