//! Downloads from a CDN: redirects among granted hosts, a memory of hosts that do not answer, and
//! error messages with the wording of the UI5 MCP server.

use portcullis_plugin::{
    cache,
    http::{self, ErrorCode, Reason, Response},
};
use std::time::Duration;

/// Message for a resource that the server does not have.
pub const NO_SUCH_RESOURCE: &str = "The requested resource does not exist";

/// Maximum wait for a response where other data can be used instead.
pub const SHORT_PATIENCE: Duration = Duration::from_secs(3);

/// Time for which no requests are sent to a host that did not answer.
pub const RESPITE: Duration = Duration::from_secs(60);

/// Maximum number of redirects for one resource.
const MAX_REDIRECTS: usize = 5;

/// Maximum length of a redirect's `Location`, in bytes.
const MAX_ADDRESS_BYTES: usize = 2048;

/// The reason why there is no resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server did not answer completely, or Portcullis denied the request.
    Silent(String),
    /// The server answered, but not with the resource.
    Answer(String),
    /// The URL's own server may not be the cause. For example, the request is invalid, the answer could not be stored,
    /// the call was cancelled, or a server to which it redirects did not answer.
    Local(String),
}

impl Failure {
    /// The message.
    pub fn message(self) -> String {
        match self {
            Self::Silent(why) | Self::Answer(why) | Self::Local(why) => why,
        }
    }
}

/// Message for a failed download, with the reason.
pub fn failed(why: &str, url: &str) -> String {
    format!("Failed to fetch resource from CDN. Error: {why} for URL: {url}")
}

/// Checks the status of a response. Fails with the reason.
pub fn check(status: u16, url: &str) -> Result<(), String> {
    match status {
        200..=299 => Ok(()),
        404 => Err(failed(NO_SUCH_RESOURCE, url)),
        status => {
            let why = format!("The requested resource returned unexpected status \"{status}\"");
            Err(failed(&why, url))
        }
    }
}

/// Downloads a resource of at most `max_bytes` bytes, in at most `patience`, redirects included.
pub fn get(url: &str, patience: Duration, max_bytes: u64) -> Result<Vec<u8>, Failure> {
    let mut time_left = patience;
    let response = follow(url, |address| {
        let begun = std::time::Instant::now();
        let mut body = Vec::new();
        let keep = |piece: &[u8]| {
            body.extend_from_slice(piece);
            Ok(())
        };
        let request = http::Request::get(address).timeout(time_left).max_bytes(max_bytes);
        let sent = request.send_watched(keep, |waited| waited < time_left);
        time_left = time_left.saturating_sub(begun.elapsed());
        Ok(sent.map_err(|error| unanswered(&error, address, patience))?.with(body))
    })?;
    check(response.status, url).map_err(Failure::Answer)?;
    Ok(response.body)
}

trait With {
    fn with(self, body: Vec<u8>) -> Self;
}

impl With for Response {
    fn with(self, body: Vec<u8>) -> Self {
        Self { body, ..self }
    }
}

/// The failure of a request without a complete response. `patience` is the time limit of the wait.
pub fn unanswered(error: &http::Error, url: &str, patience: Duration) -> Failure {
    let is_timeout = matches!(error.reason, Reason::GivenUp) || error.is_timeout();
    let why = if is_timeout {
        format!("no answer within {} seconds", patience.as_secs())
    } else {
        error.reason.to_string()
    };
    kind(error)(failed(&why, url))
}

/// The kind of failure for an error of a request.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "other codes: no whole answer, or a denied request"
)]
fn kind(error: &http::Error) -> fn(String) -> Failure {
    match &error.reason {
        Reason::GivenUp | Reason::Interrupted(_) => Failure::Silent,
        Reason::TooLarge(_) | Reason::Status(_) | Reason::NotText | Reason::Json(_) => {
            Failure::Answer
        }
        Reason::InvalidUrl | Reason::Invalid(_) | Reason::Sink(_) => Failure::Local,
        Reason::Code(code) => match code {
            ErrorCode::HttpResponseBodySize(_)
            | ErrorCode::HttpResponseHeaderSectionSize(_)
            | ErrorCode::HttpResponseHeaderSize(_) => Failure::Answer,
            ErrorCode::InternalError(_) | ErrorCode::ConfigurationError => Failure::Local,
            _ => Failure::Silent,
        },
    }
}

/// Sends a request, and follows redirects: `send` is called with each address. Portcullis checks each
/// address against the plugin's grants. The final response may have any status except a redirect.
pub fn follow(
    url: &str,
    mut send: impl FnMut(&str) -> Result<Response, Failure>,
) -> Result<Response, Failure> {
    let mut address = url.to_owned();
    for _ in 0..=MAX_REDIRECTS {
        let response = send(&address).map_err(|failure| match failure {
            // A failure after a redirect does not make the URL's own server count as silent.
            Failure::Silent(why) | Failure::Local(why) if address != url => {
                Failure::Local(format!("{why}, to which {url} redirects"))
            }
            Failure::Silent(_) | Failure::Answer(_) | Failure::Local(_) => failure,
        })?;
        if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
            return Ok(response);
        }
        let target = response.header("location").and_then(|to| target(&address, to));
        address = target.ok_or_else(|| {
            Failure::Answer(failed("It redirects to an address that cannot be followed", url))
        })?;
    }
    let why = format!("It redirects more than {MAX_REDIRECTS} times");
    Err(Failure::Answer(failed(&why, url)))
}

/// The address that a redirect leads to, unless it is invalid or leaves HTTPS.
fn target(from: &str, to: &str) -> Option<String> {
    let to = to.split('#').next().unwrap_or_default();
    let is_plain = to.len() <= MAX_ADDRESS_BYTES && to.bytes().all(|byte| byte.is_ascii_graphic());
    if to.is_empty() || !is_plain {
        return None;
    }
    let (scheme, rest) = from.split_once("://")?;
    let host = rest.split(['/', '?']).next()?;
    let path = rest[host.len()..].split('?').next()?;
    let target = if to.contains("://") {
        to.to_owned()
    } else if let Some(rest) = to.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if to.starts_with('/') {
        format!("{scheme}://{host}{to}")
    } else {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{host}{folder}/{to}")
    };
    let lower = target.to_lowercase();
    let is_safe = lower.starts_with("https://") || scheme == "http" && lower.starts_with("http://");
    is_safe.then_some(target)
}

/// Why the host of an address did not answer, if that was less than a minute ago.
pub fn silence(url: &str) -> Option<String> {
    let why = cache::get(&format!("silent {}", origin(url)))?;
    Some(String::from_utf8_lossy(&why).into_owned())
}

/// Remembers for a minute that the host of an address does not answer.
pub fn remember_silence(url: &str, why: &str) {
    cache::set(&format!("silent {}", origin(url)), why, RESPITE);
}

fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::{Page, Rehearsal};

    const FROM: &str = "https://ui5.example/1.2.3/list.json";

    fn redirect(rehearsal: Rehearsal, from: &str, to: &str) -> Rehearsal {
        let page = Page::new(302, "elsewhere").header("Location", to);
        rehearsal.server(from, move |_| Ok(page.clone()))
    }

    #[test]
    fn redirects_are_followed_each_with_its_own_grant() {
        for (to, target) in [
            ("https://sdk.example/a.json#part", "https://sdk.example/a.json"),
            ("//sdk.example/a.json", "https://sdk.example/a.json"),
            ("/a.json", "https://ui5.example/a.json"),
            ("a.json?b", "https://ui5.example/1.2.3/a.json?b"),
        ] {
            let rehearsal = redirect(Rehearsal::new(), FROM, to).page(target, 200, "it");
            assert_eq!(get(FROM, SHORT_PATIENCE, 100), Ok(b"it".to_vec()), "{to}");
            let sent: Vec<String> = rehearsal.sent().into_iter().map(|one| one.url).collect();
            assert_eq!(sent, [FROM, target]);
        }
        let _rehearsal = redirect(Rehearsal::new(), FROM, "https://other.example/");
        let Err(Failure::Local(why)) = get(FROM, SHORT_PATIENCE, 100) else { panic!("denied") };
        let expected = format!(
            "denied by the host for URL: https://other.example/, to which {FROM} redirects"
        );
        assert!(why.ends_with(&expected), "{why}");
    }

    #[test]
    fn redirects_that_lead_nowhere_end() {
        for to in ["http://ui5.example/", "ftp://x/", "/\u{202e}a", "", "/a b", "file:///etc/x"] {
            let rehearsal = redirect(Rehearsal::new(), FROM, to);
            let Err(Failure::Answer(why)) = get(FROM, SHORT_PATIENCE, 100) else { panic!("{to}") };
            assert!(why.contains("cannot be followed"), "{why}");
            assert!(why.is_ascii(), "nothing of the answer is shown: {why}");
            assert_eq!(rehearsal.sent().len(), 1);
        }
        let rehearsal = redirect(Rehearsal::new(), FROM, FROM);
        let Err(Failure::Answer(why)) = get(FROM, SHORT_PATIENCE, 100) else { panic!("a circle") };
        assert!(why.contains("more than 5 times"), "{why}");
        assert_eq!(rehearsal.sent().len(), 6);
    }

    #[test]
    fn a_wait_has_an_end() {
        let rehearsal = Rehearsal::new().server(FROM, |_| Err(Reason::GivenUp));
        let Err(Failure::Silent(why)) = get(FROM, SHORT_PATIENCE, 100) else { panic!("silent") };
        assert_eq!(why, failed("no answer within 3 seconds", FROM));
        assert_eq!(rehearsal.sent()[0].patience, Some(SHORT_PATIENCE));
    }

    #[test]
    fn only_a_host_that_does_not_answer_is_silent() {
        let failed = |reason: Reason| {
            let _rehearsal = Rehearsal::new().server(FROM, move |_| Err(reason.clone()));
            get(FROM, SHORT_PATIENCE, 100).expect_err("it fails")
        };
        for reason in [
            Reason::GivenUp,
            Reason::Interrupted("reset".to_owned()),
            Reason::Code(ErrorCode::ConnectionRefused),
            Reason::Code(ErrorCode::DnsTimeout),
            Reason::Code(ErrorCode::TlsCertificateError),
            Reason::Code(ErrorCode::HttpRequestDenied),
        ] {
            assert!(matches!(failed(reason), Failure::Silent(_)));
        }
        for reason in [Reason::TooLarge(100), Reason::Code(ErrorCode::HttpResponseBodySize(None))] {
            assert!(matches!(failed(reason), Failure::Answer(_)));
        }
        for reason in [Reason::Sink("the call was cancelled".to_owned()), Reason::InvalidUrl] {
            assert!(matches!(failed(reason), Failure::Local(_)));
        }
        let _rehearsal = Rehearsal::new().page(FROM, 200, "x".repeat(101).as_str());
        assert!(matches!(get(FROM, SHORT_PATIENCE, 100), Err(Failure::Answer(_))));
    }

    #[test]
    fn silence_counts_for_a_host() {
        let _rehearsal = Rehearsal::new();
        remember_silence("https://a.example/1.2.3/x", "why");
        assert_eq!(silence("https://a.example").as_deref(), Some("why"));
        assert_eq!(silence("https://a.example:81/1.2.3/x"), None);
        assert_eq!(silence("https://b.example/1.2.3/x"), None);
    }
}
