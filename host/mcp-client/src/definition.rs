//! What an operator writes about an upstream, and what of it can be used.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

/// One upstream, as its operator writes it under `[upstreams.NAME]`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Definition {
    /// The program to start: an absolute path, `~/…`, or a name that is looked for in `PATH`. Default: none; then
    /// `url` is required.
    pub command: Option<PathBuf>,
    /// Arguments of the program. They do not pass through a shell.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables of the program, in addition to the few that every program gets.
    #[serde(default)]
    pub env: BTreeMap<String, Secret>,
    /// The working directory of the program: an absolute path or `~/…`. Default: the host's working directory.
    pub cwd: Option<PathBuf>,
    /// The `http` or `https` address of the server. Default: none; then `command` is required.
    pub url: Option<String>,
    /// Headers of every request to the server.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// How access tokens for the server are obtained, if the server wants any and `headers` have no `Authorization`.
    /// Default: a person logs in.
    pub oauth: Option<portcullis_login::Settings>,
    /// The MCP transport. Default: `stdio` for a `command`; `http` for a `url`, or `sse` where the server does not
    /// understand `http`.
    pub transport: Option<Transport>,
    /// The revision of MCP that the server speaks.
    #[serde(default)]
    #[schemars(extend("default" = "auto"))]
    pub protocol: Protocol,
    /// The longest time of a request, in seconds. Each report of progress starts the time again, up to ten minutes in
    /// all.
    #[serde(default = "one_minute")]
    pub timeout_seconds: NonZeroU64,
    /// The longest time until the server has started and has said which protocol it speaks, in seconds.
    #[serde(default = "half_a_minute")]
    pub start_seconds: NonZeroU64,
    /// The largest message from the server, in bytes.
    #[serde(default = "sixteen_mebibytes")]
    pub answer_bytes: NonZeroU64,
    /// How often the server is asked for its tools again, in seconds. With 0, it is asked only when it says that they
    /// changed, and on demand.
    #[serde(default)]
    pub refresh_seconds: u64,
}

const fn number(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).expect("above 0")
}

fn one_minute() -> NonZeroU64 {
    number(60)
}

fn half_a_minute() -> NonZeroU64 {
    number(30)
}

fn sixteen_mebibytes() -> NonZeroU64 {
    number(16 * 1024 * 1024)
}

/// How an upstream is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Over stdin and stdout of a child process.
    Stdio,
    /// Streamable HTTP, of 2025-03-26 and later.
    Http,
    /// HTTP with server-sent events, of 2024-11-05.
    Sse,
}

/// Which revision of MCP an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub enum Protocol {
    /// The host asks the server, and remembers the answer.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// A revision with a handshake: 2024-11-05 to 2025-11-25.
    #[serde(rename = "legacy")]
    Legacy,
    /// Revision 2026-07-28, which has no handshake.
    #[serde(rename = "2026-07-28")]
    Modern,
}

/// A text that is shown to nobody: it has a value only for the upstream.
#[derive(Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// A definition that holds together.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) target: Target,
    pub(crate) protocol: Protocol,
    pub(crate) timeout: Duration,
    pub(crate) start: Duration,
    pub(crate) answer_bytes: usize,
    /// `None`: never by the clock.
    pub(crate) refresh: Option<Duration>,
}

/// What is spoken with.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Command(Command),
    Http(Address),
    Sse(Address),
    /// Streamable HTTP, or HTTP with server-sent events: what it understands.
    Either(Address),
}

/// A program and what it is started with.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, Secret>,
    pub(crate) cwd: Option<PathBuf>,
}

/// A URL and the headers of every request to it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// How tokens are got; `None`: they are not, as there is a header already.
    pub(crate) oauth: Option<portcullis_login::Settings>,
}

impl Target {
    /// Where it is, if that is a URL.
    pub(crate) fn address(&self) -> Option<&Address> {
        match self {
            Self::Command(_) => None,
            Self::Http(address) | Self::Sse(address) | Self::Either(address) => Some(address),
        }
    }
}

impl TryFrom<Definition> for Plan {
    type Error = String;

    fn try_from(definition: Definition) -> Result<Self, String> {
        let seconds = |seconds: NonZeroU64| Duration::from_secs(seconds.get().min(YEAR));
        let plan = Self {
            protocol: definition.protocol,
            timeout: seconds(definition.timeout_seconds),
            start: seconds(definition.start_seconds),
            answer_bytes: usize::try_from(definition.answer_bytes.get()).unwrap_or(usize::MAX),
            refresh: NonZeroU64::new(definition.refresh_seconds).map(seconds),
            target: target(definition)?,
        };
        if let (Target::Sse(_), Protocol::Modern) = (&plan.target, plan.protocol) {
            return Err("`protocol = \"2026-07-28\"`: there is no such thing over `transport = \
                \"sse\"`; leave `protocol` out"
                .to_owned());
        }
        Ok(plan)
    }
}

/// Longest time, in seconds: longer ones could not be added to a clock.
const YEAR: u64 = 365 * 24 * 60 * 60;

fn target(definition: Definition) -> Result<Target, String> {
    let Definition { command, args, env, cwd, url, headers, oauth, transport, .. } = definition;
    match (command, url) {
        (Some(_), Some(_)) => Err("`command` and `url`: give one of them".to_owned()),
        (None, None) => Err("`command` or `url` is missing: give the program that is to be \
            started, or the address that it listens at"
            .to_owned()),
        (Some(program), None) => {
            if let Some(Transport::Http | Transport::Sse) = transport {
                return Err("`transport`: a `command` is spoken with over `stdio`; give `url` \
                    instead, or leave `transport` out"
                    .to_owned());
            }
            if !headers.is_empty() {
                return Err(
                    "`headers` are for a `url`; give a `command` its secrets in `env`".to_owned()
                );
            }
            if oauth.is_some() {
                return Err(
                    "`oauth` is for a `url`; give a `command` its secrets in `env`".to_owned()
                );
            }
            let program = absolute("command", program)?;
            let cwd = cwd.map(|cwd| absolute("cwd", cwd)).transpose()?;
            if cwd.as_ref().is_some_and(|cwd| cwd.is_relative()) {
                return Err("`cwd` is not an absolute path".to_owned());
            }
            check_environment(&env)?;
            Ok(Target::Command(Command { program, args, env, cwd }))
        }
        (None, Some(url)) => {
            if let Some(Transport::Stdio) = transport {
                return Err("`transport = \"stdio\"` is for a `command`; with `url` it is `http` \
                    or `sse`"
                    .to_owned());
            }
            for (key, given) in
                [("args", !args.is_empty()), ("env", !env.is_empty()), ("cwd", cwd.is_some())]
            {
                if given {
                    return Err(format!("`{key}` is for a `command`, and here is a `url`"));
                }
            }
            let (url, headers) = (address(&url)?, header_map(&headers)?);
            let has_token = headers.contains_key(AUTHORIZATION);
            if has_token && oauth.is_some() {
                return Err("`oauth` and `Authorization` in `headers`: give one of them".to_owned());
            }
            let oauth = oauth.or_else(|| (!has_token).then(Default::default));
            let address = Address { url, headers, oauth };
            Ok(match transport {
                Some(Transport::Http) => Target::Http(address),
                Some(Transport::Sse) => Target::Sse(address),
                None | Some(Transport::Stdio) => Target::Either(address),
            })
        }
    }
}

/// A path whose meaning does not depend on where the host was started; or a bare name.
fn absolute(key: &str, path: PathBuf) -> Result<PathBuf, String> {
    if let Ok(rest) = path.strip_prefix("~") {
        let home = std::env::home_dir().ok_or_else(|| format!("`{key}`: this user has no home"))?;
        return Ok(home.join(rest));
    }
    if path.as_os_str().is_empty() {
        return Err(format!("`{key}` is empty"));
    }
    if path.is_relative() && path.components().count() > 1 {
        return Err(format!("`{key}`: {} is not an absolute path", path.display()));
    }
    Ok(path)
}

fn check_environment(env: &BTreeMap<String, Secret>) -> Result<(), String> {
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) || value.reveal().contains('\0') {
            return Err(format!("`env`: {name:?} cannot be a variable with this value"));
        }
    }
    Ok(())
}

fn address(text: &str) -> Result<Url, String> {
    // The text itself is not repeated: a password may be in it.
    let url = Url::parse(text).map_err(|error| format!("`url` is no URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("`url` is neither http nor https".into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`url`: a user and password belong into `headers`, as `Authorization`".into());
    }
    Ok(url)
}

/// Headers that the protocol itself sets.
const OURS: &[&str] = &[
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

fn header_map(headers: &BTreeMap<String, Secret>) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key = HeaderName::try_from(name.as_str())
            .map_err(|_| format!("`headers`: {name:?} is no header's name"))?;
        if OURS.contains(&key.as_str()) || key.as_str().starts_with("mcp-param-") {
            return Err(format!("`headers`: `{name}` is set by the protocol; leave it out"));
        }
        let mut value = HeaderValue::try_from(value.reveal())
            .map_err(|_| format!("`headers`: the value of `{name}` cannot be a header's"))?;
        value.set_sensitive(true);
        if map.insert(key, value).is_some() {
            return Err(format!("`headers`: `{name}` is there twice"));
        }
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<Plan, String> {
        let definition: Definition = toml::from_str(text).map_err(|error| error.to_string())?;
        definition.try_into()
    }

    #[test]
    fn the_transport_follows_from_what_is_there() {
        assert!(matches!(plan("command = 'npx'").unwrap().target, Target::Command(_)));
        assert!(matches!(plan("url = 'http://x/mcp'").unwrap().target, Target::Either(_)));
        let http = plan("url = 'https://x/'\ntransport = 'http'").unwrap();
        assert!(matches!(http.target, Target::Http(_)));
        assert_eq!((http.timeout.as_secs(), http.answer_bytes), (60, 16 * 1024 * 1024));
        let sse = plan("url = 'http://x/sse'\ntransport = 'sse'\nheaders = {X-Key = 'a'}").unwrap();
        assert!(matches!(sse.target, Target::Sse(a) if a.headers["x-key"] == "a"));
    }

    #[test]
    fn what_does_not_fit_is_refused_by_the_name_of_its_key() {
        for (text, expected) in [
            ("", "`command` or `url` is missing"),
            ("command = 'a'\nurl = 'http://x'", "`command` and `url`"),
            ("command = 'a'\ntransport = 'http'", "`transport`"),
            ("url = 'http://x'\ntransport = 'stdio'", "`transport"),
            ("command = 'a'\nheaders = {a = 'b'}", "`headers`"),
            ("url = 'http://x'\nenv = {A = 'b'}", "`env`"),
            ("command = 'a'\n[oauth]", "`oauth`"),
            ("url = 'http://x'\nheaders = {authorization = 'b'}\n[oauth]", "`oauth`"),
            ("url = 'http://x'\n[oauth]\nscope = 'a'", "scope"),
            ("url = 'http://x'\nargs = ['b']", "`args`"),
            ("url = 'http://x'\ncwd = '/'", "`cwd`"),
            ("url = 'ftp://x'", "neither http nor https"),
            ("url = 'http://me:word@x'", "Authorization"),
            ("url = 'http://x'\nheaders = {Mcp-Session-Id = 'b'}", "Mcp-Session-Id"),
            ("url = 'http://x'\nheaders = {a = \"b\\n\"}", "`a`"),
            ("command = './a'", "not an absolute path"),
            ("command = 'a'\ncwd = 'b'", "`cwd`"),
            ("command = 'a'\nenv = {'B=' = 'c'}", "`env`"),
            ("command = 'a'\ntimeout-seconds = 0", "timeout-seconds"),
            ("command = 'a'\nshell = true", "shell"),
            ("command = 'a'\nprotocol = '2025'", "2025"),
            ("url = 'http://x'\ntransport = 'sse'\nprotocol = '2026-07-28'", "`protocol"),
        ] {
            let error = plan(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let text = "url = 'http://x'\nheaders = {Authorization = 'Bearer hidden'}";
        let definition: Definition = toml::from_str(text).unwrap();
        let shown = format!("{definition:?} {:?}", plan(text).unwrap());
        assert!(!shown.contains("hidden"), "{shown}");
    }
}
