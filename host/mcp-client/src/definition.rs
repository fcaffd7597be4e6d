//! The section `[upstreams.NAME]` of the configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use portcullis_confine::{Confinement, Host, MAX_HOSTS};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::definition_error::DefinitionError;
use crate::keeper::Terms;

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
    /// What the program, and every process that it starts, may reach. Default: the program runs with the rights of the
    /// host's user.
    pub confine: Option<Confine>,
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
    /// The longest time of a request, in seconds. Each report of progress starts the time again. In all, a request may
    /// take ten minutes, or this time if it is longer.
    #[serde(default = "one_minute")]
    pub timeout_seconds: NonZeroU64,
    /// The longest time for starting or reaching the server and for finding out its revision of MCP, in seconds. If the
    /// first start downloads the program, for example by `npx`, it may take most of this time.
    #[serde(default = "two_minutes")]
    pub start_seconds: NonZeroU64,
    /// The largest message from the server, in bytes.
    #[serde(default = "sixteen_mebibytes")]
    pub answer_bytes: NonZeroU64,
    /// The interval at which the host asks the server for its tools, prompts and resources again, in seconds. With 0,
    /// the host asks again only if there is a reason, such as a change that the server reports.
    #[serde(default)]
    pub refresh_seconds: u64,
    /// The time without a request after which the host ends the connection and the server's program, in seconds. The
    /// next request starts the program again; what the program kept in memory is lost. With 0, the program runs until
    /// the session or the host ends.
    #[serde(default = "half_an_hour")]
    #[schemars(extend("default" = HALF_AN_HOUR))]
    pub idle_seconds: u64,
}

const fn number(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).expect("above 0")
}

fn one_minute() -> NonZeroU64 {
    number(60)
}

fn two_minutes() -> NonZeroU64 {
    number(120)
}

const HALF_AN_HOUR: u64 = 30 * 60;

fn half_an_hour() -> u64 {
    HALF_AN_HOUR
}

fn sixteen_mebibytes() -> NonZeroU64 {
    number(16 * 1024 * 1024)
}

/// What a program may reach in addition to its own package and the files of the system that every program needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Confine {
    /// Files and directories that the program may read: absolute paths or `~/…`.
    #[serde(default)]
    pub reads: Vec<PathBuf>,
    /// Files and directories that the program may also write to: absolute paths or `~/…`. They have to exist.
    #[serde(default)]
    pub writes: Vec<PathBuf>,
    /// Whether the program may connect to other machines and to other processes, whichever they are.
    #[serde(default)]
    pub network: bool,
    /// Without `network`: the hosts that the program may connect to, such as `api.example.com` or `db.example.com:5432`.
    /// Without a port, 443 is meant. Needs Linux with namespaces of users and networks.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub hosts: Vec<Host>,
    /// Private networks in which the hosts may be, in CIDR notation, such as `10.0.0.0/8`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub addresses: Vec<IpNet>,
}

/// The MCP transport of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Stdin and stdout of a child process.
    Stdio,
    /// Streamable HTTP, of 2025-03-26 and later.
    Http,
    /// The HTTP transport with server-sent events, of 2024-11-05.
    Sse,
}

/// Which revision of MCP an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub enum Protocol {
    /// The host finds out which the server supports. If it supports both eras, that of the client is used.
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

/// A secret for an upstream. It is not part of debug output.
#[derive(Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret.
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

/// A definition that was checked.
#[derive(Debug, Clone)]
pub(crate) struct CheckedDefinition {
    pub(crate) target: Target,
    pub(crate) protocol: Protocol,
    pub(crate) timeout: Duration,
    pub(crate) start: Duration,
    pub(crate) answer_bytes: usize,
    /// Interval of periodic refreshes of the listing. `None`: the listing is not refreshed periodically.
    pub(crate) refresh: Option<Duration>,
    /// Time without a request after which the connection is ended. `None`: an idle connection is kept.
    pub(crate) idle: Option<Duration>,
}

impl CheckedDefinition {
    /// A text that identifies the server: its program with the arguments and the working directory, or its URL. The
    /// text contains the names of environment variables and headers, but not their values, which may be secrets.
    pub(crate) fn identity(&self) -> String {
        match &self.target {
            Target::Command(Command { program, args, env, cwd, confine: _ }) => {
                format!("{program:?} {args:?} {:?} {cwd:?}", env.keys())
            }
            Target::Http(address) | Target::Sse(address) | Target::Either(address) => {
                format!("{} {:?}", address.url, address.headers.keys().collect::<Vec<_>>())
            }
        }
    }
}

/// The server, and the transport to it.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Command(Command),
    Http(Address),
    Sse(Address),
    /// Streamable HTTP, or HTTP+SSE if the server does not support streamable HTTP.
    Either(Address),
}

/// A program, with its arguments and environment.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, Secret>,
    pub(crate) cwd: Option<PathBuf>,
    /// How the program is confined. `None`: it is not confined.
    pub(crate) confine: Option<Terms>,
}

/// A URL and the headers of every request to it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// How access tokens are obtained. `None`: no tokens are obtained, because `headers` have `Authorization`.
    pub(crate) oauth: Option<portcullis_login::Settings>,
}

impl Target {
    /// The address, if the server has one.
    pub(crate) fn address(&self) -> Option<&Address> {
        match self {
            Self::Command(_) => None,
            Self::Http(address) | Self::Sse(address) | Self::Either(address) => Some(address),
        }
    }
}

impl Definition {
    /// Checks the keys and values, without starting or reaching the server.
    ///
    /// # Errors
    ///
    /// The first key or value that is wrong, and why.
    pub fn check(&self) -> Result<(), DefinitionError> {
        CheckedDefinition::try_from(self.clone()).map(drop)
    }
}

impl TryFrom<Definition> for CheckedDefinition {
    type Error = DefinitionError;

    fn try_from(definition: Definition) -> Result<Self, DefinitionError> {
        let seconds = |seconds: NonZeroU64| Duration::from_secs(seconds.get().min(YEAR));
        let plan = Self {
            protocol: definition.protocol,
            timeout: seconds(definition.timeout_seconds),
            start: seconds(definition.start_seconds),
            answer_bytes: usize::try_from(definition.answer_bytes.get()).unwrap_or(usize::MAX),
            refresh: NonZeroU64::new(definition.refresh_seconds).map(seconds),
            idle: NonZeroU64::new(definition.idle_seconds).map(seconds),
            target: target(definition)?,
        };
        if let (Target::Sse(_), Protocol::Modern) = (&plan.target, plan.protocol) {
            return Err(DefinitionError::NoSuchTransport);
        }
        Ok(plan)
    }
}

/// Maximum of each time, in seconds. A longer time is reduced to it, because adding a longer time to an instant could
/// overflow.
const YEAR: u64 = 365 * 24 * 60 * 60;

fn target(definition: Definition) -> Result<Target, DefinitionError> {
    let Definition { command, args, env, cwd, confine, url, headers, oauth, transport, .. } =
        definition;
    match (command, url) {
        (Some(_), Some(_)) => Err(DefinitionError::Both("`command`", "`url`")),
        (None, None) => Err(DefinitionError::NoTarget),
        (Some(program), None) => {
            if let Some(Transport::Http | Transport::Sse) = transport {
                return Err(DefinitionError::CommandTransport);
            }
            if !headers.is_empty() {
                return Err(DefinitionError::ForUrl("headers"));
            }
            if oauth.is_some() {
                return Err(DefinitionError::ForUrl("oauth"));
            }
            let program = absolute("command", program)?;
            let cwd = cwd.map(|cwd| absolute("cwd", cwd)).transpose()?;
            if let Some(path) = cwd.clone().filter(|cwd| cwd.is_relative()) {
                return Err(DefinitionError::NotAbsolute { key: "cwd", path });
            }
            check_environment(&env)?;
            let confine = confine.map(confinement).transpose()?;
            Ok(Target::Command(Command { program, args, env, cwd, confine }))
        }
        (None, Some(url)) => {
            if let Some(Transport::Stdio) = transport {
                return Err(DefinitionError::UrlTransport);
            }
            for (key, given) in [
                ("args", !args.is_empty()),
                ("env", !env.is_empty()),
                ("cwd", cwd.is_some()),
                ("confine", confine.is_some()),
            ] {
                if given {
                    return Err(DefinitionError::ForCommand(key));
                }
            }
            let (url, headers) = (address(&url)?, header_map(&headers)?);
            let has_token = headers.contains_key(AUTHORIZATION);
            if has_token && oauth.is_some() {
                return Err(DefinitionError::Both("`oauth`", "`Authorization` in `headers`"));
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

/// A path that does not depend on the working directory of the host, or a bare name.
fn absolute(key: &'static str, path: PathBuf) -> Result<PathBuf, DefinitionError> {
    let path = portcullis_confine::at_home(&path);
    if path.starts_with("~") {
        return Err(DefinitionError::NoHome(key));
    }
    if path.as_os_str().is_empty() {
        return Err(DefinitionError::Empty(key));
    }
    if path.is_relative() && path.components().count() > 1 {
        return Err(DefinitionError::NotAbsolute { key, path });
    }
    Ok(path)
}

/// How a program is confined, with absolute paths.
fn confinement(confine: Confine) -> Result<Terms, DefinitionError> {
    if confine.network && !confine.hosts.is_empty() {
        return Err(DefinitionError::Both("`confine.network`", "`confine.hosts`"));
    }
    if confine.hosts.is_empty() && !confine.addresses.is_empty() {
        return Err(DefinitionError::NoHosts);
    }
    if confine.hosts.len() > MAX_HOSTS {
        return Err(DefinitionError::TooManyHosts(MAX_HOSTS));
    }
    if let Some(twice) =
        confine.hosts.iter().enumerate().find(|(at, host)| confine.hosts[..*at].contains(host))
    {
        return Err(DefinitionError::HostTwice(twice.1.to_string()));
    }
    let all = |key: &'static str, paths: Vec<PathBuf>| {
        let path = |path| match absolute(key, path) {
            Ok(path) if path.is_relative() => Err(DefinitionError::NotAbsolute { key, path }),
            path => path,
        };
        paths.into_iter().map(path).collect::<Result<Vec<_>, _>>()
    };
    let confinement = Confinement {
        read: all("confine.reads", confine.reads)?,
        write: all("confine.writes", confine.writes)?,
        network: confine.network,
        hosts: confine.hosts,
    };
    Ok(Terms { confinement, addresses: confine.addresses })
}

fn check_environment(env: &BTreeMap<String, Secret>) -> Result<(), DefinitionError> {
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) || value.reveal().contains('\0') {
            return Err(DefinitionError::Variable(name.clone()));
        }
    }
    Ok(())
}

fn address(text: &str) -> Result<Url, DefinitionError> {
    let url = Url::parse(text).map_err(DefinitionError::Url)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(DefinitionError::NotHttp);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(DefinitionError::UserInUrl);
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

fn header_map(headers: &BTreeMap<String, Secret>) -> Result<HeaderMap, DefinitionError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key = HeaderName::try_from(name.as_str())
            .map_err(|cause| DefinitionError::HeaderName { name: name.clone(), cause })?;
        if OURS.contains(&key.as_str()) || key.as_str().starts_with("mcp-param-") {
            return Err(DefinitionError::ProtocolHeader(name.clone()));
        }
        let mut value = HeaderValue::try_from(value.reveal())
            .map_err(|cause| DefinitionError::HeaderValue { name: name.clone(), cause })?;
        value.set_sensitive(true);
        if map.insert(key, value).is_some() {
            return Err(DefinitionError::HeaderTwice(name.clone()));
        }
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<CheckedDefinition, String> {
        let definition: Definition = toml::from_str(text).map_err(|error| error.to_string())?;
        definition.try_into().map_err(|error: DefinitionError| error.to_string())
    }

    #[test]
    fn the_transport_follows_from_the_keys() {
        assert!(matches!(plan("command = 'npx'").unwrap().target, Target::Command(_)));
        assert!(matches!(plan("url = 'http://x/mcp'").unwrap().target, Target::Either(_)));
        let http = plan("url = 'https://x/'\ntransport = 'http'").unwrap();
        assert!(matches!(http.target, Target::Http(_)));
        assert_eq!((http.timeout.as_secs(), http.answer_bytes), (60, 16 * 1024 * 1024));
        let sse = plan("url = 'http://x/sse'\ntransport = 'sse'\nheaders = {X-Key = 'a'}").unwrap();
        assert!(matches!(sse.target, Target::Sse(a) if a.headers["x-key"] == "a"));
    }

    #[test]
    fn keys_and_values_that_do_not_fit_are_refused() {
        for (text, expected) in [
            ("", "`command` or `url` is missing"),
            ("command = 'a'\nurl = 'http://x'", "`command` and `url` exclude"),
            ("command = 'a'\ntransport = 'http'", "`transport`"),
            ("url = 'http://x'\ntransport = 'stdio'", "`transport"),
            ("command = 'a'\nheaders = {a = 'b'}", "`headers`"),
            ("command = 'a'\n[confine]\nreads = ['b']", "`confine.reads`"),
            ("url = 'http://x'\n[confine]", "`confine`"),
            (
                "command = 'a'\n[confine]\nnetwork = true\nhosts = ['b.example']",
                "`confine.hosts` exclude",
            ),
            ("command = 'a'\n[confine]\nhosts = ['*.example']", "not a host"),
            ("command = 'a'\n[confine]\nhosts = ['b.example', 'B.example:443']", "given twice"),
            ("command = 'a'\n[confine]\naddresses = ['10.0.0.0/8']", "`confine.hosts`"),
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
