//! The log services of the system that can get copies of the audit's records.

use schemars::JsonSchema;
use serde::Deserialize;

/// A log service of the system that gets copies of the audit's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogService {
    /// The journal of systemd.
    // By its native protocol: <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.
    Journald,
    /// Syslog, with the facility `authpriv`.
    // By the datagrams that `syslog(3)` of the C library sends.
    Syslog,
}
