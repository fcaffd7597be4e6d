//! What the lines of an audit say: records of asks and calls, and the first and last line of a segment.

use serde::{Deserialize, Serialize};

use crate::chain::Hash;

/// The version of the format of segments and of the index.
pub const FORMAT: u32 = 1;

/// One record of the audit.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Record {
    /// RFC 3339, UTC.
    pub time: String,
    /// Correlates the records of one request.
    pub request: String,
    /// Whose tool.
    pub plugin: String,
    /// SHA-256 of the component that ran.
    pub digest: String,
    /// Which tool; empty while a plugin is described.
    pub tool: String,
    /// Who asked, where the transport knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What a record is about.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A plugin asked the gate.
    Ask {
        /// For which capability.
        capability: String,
        /// To do what, to what.
        subject: String,
        /// Allowed or denied.
        verdict: Verdict,
        /// What came of it. `None`: the record was written before the deed, and an
        /// [`Event::Outcome`] follows where the deed failed or its outcome tells more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
    /// What came of an earlier ask of the same request, with the same capability and subject.
    Outcome {
        /// For which capability.
        capability: String,
        /// To do what, to what.
        subject: String,
        /// Denied where the deed was refused after all.
        verdict: Verdict,
        /// One word or two, such as `no-entry`, `declined`, `status 404`.
        outcome: String,
    },
    /// Asks (or outcomes) of one kind that are counted, because this call had too many to describe
    /// each of them. Written before the asks that it covers are carried out.
    More {
        /// What is counted.
        of: Counted,
        /// For which capability.
        capability: String,
        /// Allowed or denied, all of them.
        verdict: Verdict,
        /// What came of all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
        /// How many since the record of this kind before. The sum over a call is the number of asks.
        count: u64,
        /// How many of this kind were counted in this call so far.
        total: u64,
        /// Up to this many are covered by this record: where no later record of the kind follows,
        /// because the process was killed, there were between `total` and `covers` of them.
        covers: u64,
        /// The subject of the first of them.
        first: String,
        /// The subject of the last of them so far.
        last: String,
    },
    /// A call ended.
    Call {
        /// Whether the call was let through to the plugin at all.
        verdict: Verdict,
        /// How it ended: `done`, `tool-error`, `need-input`, `cancelled`, or why it failed.
        outcome: String,
        /// Wall time in microseconds.
        duration_us: u64,
        /// Size of the arguments.
        bytes_in: u64,
        /// Size of the answer.
        bytes_out: u64,
    },
}

/// What an [`Event::More`] counts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// Asks.
    Asks,
    /// Outcomes of asks that are counted elsewhere.
    Outcomes,
}

/// There are two, and no third.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It went ahead.
    Allowed,
    /// It did not.
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

/// The first line of a segment: which process writes it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Opened {
    /// Version of the format: [`FORMAT`].
    pub format: u32,
    /// Version of the host.
    pub version: String,
    /// When this line was written: RFC 3339, UTC.
    pub time: String,
    /// The segment's name: that of its file without the ending.
    pub segment: String,
    /// The process.
    pub pid: u32,
    /// When the process began: RFC 3339, UTC.
    pub started: String,
    /// The segment of the same process before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
}

/// The end of the segment before, of the same process.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct After {
    /// Its name.
    pub segment: String,
    /// SHA-256 of its last line.
    pub last: Hash,
}

/// The last line of a segment that was ended as it should be.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Sealed {
    /// When: RFC 3339, UTC.
    pub time: String,
    /// How many lines are before this one.
    pub lines: u64,
    /// Why it ends here: `ended` with the process, or `full`.
    pub reason: String,
}

/// A line of a segment or of the index.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A segment begins.
    Opened(Box<Opened>),
    /// A record.
    Record(Box<Record>),
    /// A segment ends.
    Sealed(Sealed),
    /// A line of the index.
    Note(Box<crate::index::Note>),
    /// A line of a kind that this version does not know.
    Other(String),
}
