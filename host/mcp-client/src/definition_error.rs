//! Errors in the section `[upstreams.NAME]` of the configuration.

use std::path::PathBuf;

/// Why a definition cannot be used. Each message names the key and contains no secret.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// Two keys exclude each other.
    #[error("{0} and {1} exclude each other: remove one of them")]
    Both(&'static str, &'static str),
    /// The definition names no program and no address.
    #[error(
        "`command` or `url` is missing: name the program to start, or the address of the server"
    )]
    NoTarget,
    /// The server is a program, and the key is for servers at an address.
    #[error(
        "`{0}` is for a `url`, and this server has a `command`; a command gets its secrets in `env`"
    )]
    ForUrl(&'static str),
    /// The server has an address, and the key is for programs.
    #[error("`{0}` is for a `command`, and this server has a `url`")]
    ForCommand(&'static str),
    /// A program has only the transport stdio.
    #[error("`transport`: a `command` uses `stdio`; set `url` instead, or leave `transport` out")]
    CommandTransport,
    /// An address has no transport `stdio`.
    #[error("`transport = \"stdio\"` is for a `command`; with a `url`, set `http` or `sse`")]
    UrlTransport,
    /// The revision does not have the transport.
    #[error(
        "MCP 2026-07-28 has no transport `sse`: leave `protocol` out, or set another `transport`"
    )]
    NoSuchTransport,
    /// A path depends on the working directory of the host.
    #[error("`{key}`: {path} is not an absolute path", path = path.display())]
    NotAbsolute {
        /// The key.
        key: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// A path is empty.
    #[error("`{0}` is empty")]
    Empty(&'static str),
    /// A path begins with `~`, and the user has no home directory.
    #[error("`{0}`: this user has no home directory")]
    NoHome(&'static str),
    /// `confine.addresses` is given without hosts.
    #[error(
        "`confine.addresses` is for the hosts in `confine.hosts`, and there are none: name a host, or leave it out"
    )]
    NoHosts,
    /// `confine.hosts` is too long.
    #[error("`confine.hosts` has more than {0} hosts: with so many, write `network = true`")]
    TooManyHosts(usize),
    /// A host is given twice, perhaps in different spellings.
    #[error("`confine.hosts`: `{0}` is given twice")]
    HostTwice(String),
    /// An environment variable cannot have this name, or this value.
    #[error("`env`: the name or the value of the variable {0:?} is not valid")]
    Variable(String),
    /// The address is not a URL. The message does not repeat the address, because it may contain a password.
    #[error("`url` is not a URL")]
    Url(#[source] url::ParseError),
    /// The scheme of the address is not `http` or `https`.
    #[error(
        "`url` is neither http nor https: write the whole address, such as `http://localhost:3000/mcp`"
    )]
    NotHttp,
    /// The address has a user name or a password.
    #[error(
        "`url` must not contain a user name or a password: write them in `headers`, as `Authorization`"
    )]
    UserInUrl,
    /// A name is not a header name.
    #[error("`headers`: {name:?} is not a valid name of a header")]
    HeaderName {
        /// The name.
        name: String,
        /// What is wrong with it.
        #[source]
        cause: reqwest::header::InvalidHeaderName,
    },
    /// A value is not a header value. The message does not repeat it.
    #[error("`headers`: the value of `{name}` is not valid")]
    HeaderValue {
        /// The name of the header.
        name: String,
        /// What is wrong with the value.
        #[source]
        cause: reqwest::header::InvalidHeaderValue,
    },
    /// The client sets the header itself.
    #[error("`headers`: the MCP client sets `{0}` itself; leave it out")]
    ProtocolHeader(String),
    /// A header is given twice, in different spellings.
    #[error("`headers`: `{0}` is given twice")]
    HeaderTwice(String),
    /// The settings of the login cannot be used.
    #[error("`oauth`: its settings cannot be used")]
    Login(#[from] portcullis_login::SettingsError),
}
