//! Records of asks and calls, and the first and the last line of a segment.

use serde::{Deserialize, Serialize};

use crate::hash::Hash;

/// The version of the format of segments and of the index.
pub const FORMAT: u32 = 1;

/// One record of the audit.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Record {
    /// When the record was written: RFC 3339, UTC, with milliseconds.
    pub time: String,
    /// The correlation id of the request. All records of one request have the same id.
    pub request: String,
    /// The source: the plugin or the upstream server that was called or approved.
    pub plugin: String,
    /// SHA-256 of the plugin's component, or of the definition of the upstream's tool; empty for other work of an
    /// upstream.
    pub digest: String,
    /// The name of the tool, or the MCP method with a name or a URI. Empty while a plugin is prepared, and for
    /// approvals.
    pub tool: String,
    /// The caller. `None`: no caller is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// The kind of a record, with the fields of this kind.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A plugin asked the gate for an effect.
    Ask {
        /// The capability.
        capability: String,
        /// The effect and its object, such as `read /a/b`.
        subject: String,
        /// Allowed or denied.
        verdict: Verdict,
        /// The outcome. `None`: the record was written before the effect. An [`Event::Outcome`] follows if the
        /// effect fails, or if its outcome says more than that the effect was done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
    /// The outcome of an earlier ask of the same request, with the same capability and subject.
    Outcome {
        /// The capability.
        capability: String,
        /// The effect and its object, such as `read /a/b`.
        subject: String,
        /// Denied if the effect was refused after the ask was allowed.
        verdict: Verdict,
        /// A word or two, such as `no-entry`, `declined`, `status 404`.
        outcome: String,
    },
    /// A count of asks (or outcomes) of one kind, because the call has too many for a record each. Written
    /// before the effects of the asks that it covers.
    More {
        /// Whether asks or outcomes are counted.
        of: Counted,
        /// The capability.
        capability: String,
        /// The verdict of all counted asks.
        verdict: Verdict,
        /// The outcome of all counted asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
        /// The number of asks (or outcomes) since the last record of this kind. The sum over a call is the number of
        /// counted asks.
        count: u64,
        /// The number of asks (or outcomes) of this kind in this call so far.
        total: u64,
        /// The total number of asks that this record covers, including asks that may follow it. If the process was
        /// killed before it wrote a later record of this kind, there were between `total` and `covers` asks.
        covers: u64,
        /// The subject of the first counted ask.
        first: String,
        /// The subject of the last counted ask so far.
        last: String,
    },
    /// A call, or one of its rounds, ended.
    Call {
        /// Whether the call was passed to its source.
        verdict: Verdict,
        /// How the call or the round ended: `done`, `tool-error`, `need-input`, `cancelled`, or why it failed.
        outcome: String,
        /// Wall time in microseconds.
        duration_us: u64,
        /// Size of the arguments in bytes.
        bytes_in: u64,
        /// Size of the answer in bytes.
        bytes_out: u64,
        /// The rules that found secrets, hidden text or instructions to models in the result of an upstream server,
        /// by their names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<String>,
    },
    /// A component, or the tools of an upstream server, were approved. The record's digest is the approved one.
    Approval {
        /// The digest that was approved before. `None`: nothing was approved before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        /// The operating system's name of the user who approved.
        user: String,
        /// Why: the operator's words, or `first use`.
        reason: String,
    },
}

/// What an [`Event::More`] counts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// Asks.
    Asks,
    /// Outcomes of asks. The asks themselves have separate records.
    Outcomes,
}

/// The decision about an ask or a call.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The effect may happen, or the call was passed to its source.
    Allowed,
    /// The effect or the call was refused.
    Denied,
}

impl Verdict {
    /// The verdict's word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
        }
    }
}

/// The first line of a segment. It names the process that writes the segment.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct SegmentHeader {
    /// Version of the format: [`FORMAT`].
    pub format: u32,
    /// Version of the host.
    pub version: String,
    /// When this line was written: RFC 3339, UTC.
    pub time: String,
    /// The segment's name: the name of its file without the extension.
    pub segment: String,
    /// The id of the process.
    pub pid: u32,
    /// When the process started: RFC 3339, UTC.
    pub started: String,
    /// The segment before this one, of the same process. `None`: this segment is the first of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<PreviousSegment>,
}

/// The end of the segment before this one, of the same process.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct PreviousSegment {
    /// The name of the segment.
    pub segment: String,
    /// The SHA-256 digest of its last line.
    pub last: Hash,
}

/// The last line of a segment, which shows that the segment is complete.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct SegmentSeal {
    /// When this line was written: RFC 3339, UTC.
    pub time: String,
    /// The number of lines before this one.
    pub lines: u64,
    /// Why the segment ends here. `ended`: the process ends. `full`: the segment has its maximum size.
    pub reason: String,
}
