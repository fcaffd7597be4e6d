//! Approvals of components and of the tools of upstream servers: the digest, the time, the user and the reason.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An approval: who approved a component, or the tools of an upstream server, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The SHA-256 digest of the component, or of the names and definitions of the server's tools.
    pub digest: String,
    /// The time of the approval, in RFC 3339, UTC.
    pub time: String,
    /// The name of the operating system's user.
    pub user: String,
    /// The user's reason, or [`FIRST_USE`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The reason of an approval that the host made at the first use of a plugin or server.
pub const FIRST_USE: &str = "first use";

impl Approval {
    /// An approval of this digest by the user of this process, now.
    pub fn now(digest: &str, reason: &str) -> Self {
        Self {
            digest: digest.to_owned(),
            time: portcullis_audit::now(),
            user: whoami::username().unwrap_or_else(|_| "unknown".to_owned()),
            reason: reason.to_owned(),
        }
    }
}

/// An approval that was just written, and the digest that it replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApproval {
    /// The approval.
    pub approval: Approval,
    /// The digest that was approved before. `None`: there was none.
    pub before: Option<String>,
}

/// A plugin or an upstream server, as the key of its approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalKey<'a> {
    /// A plugin, by its name.
    Plugin(&'a str),
    /// An upstream server, by its key in the file.
    Upstream(&'a str),
}

impl fmt::Display for ApprovalKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plugin(name) => write!(f, "plugins.{name}"),
            Self::Upstream(key) => write!(f, "upstreams.{key}"),
        }
    }
}

impl<'a> ApprovalKey<'a> {
    /// The name of the plugin or server in the audit. In the key of a server of `wrap`, `@` and a digest follow the
    /// name.
    pub fn name(self) -> &'a str {
        match self {
            Self::Plugin(name) => name,
            Self::Upstream(key) => key.split('@').next().unwrap_or(key),
        }
    }
}
