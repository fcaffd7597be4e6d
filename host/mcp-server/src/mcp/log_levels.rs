//! The levels of log records: their order and their names.

#![expect(deprecated, reason = "logging is in both eras until 2027")]

use rmcp::model::LoggingLevel;

/// The levels of log records (RFC 5424), the least severe first.
pub const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

/// The index of a level in [`LEVELS`].
pub fn rank(level: LoggingLevel) -> u8 {
    LEVELS.iter().zip(0..).find(|(one, _)| **one == level).map_or(0, |(_, rank)| rank)
}

/// MCP's name for a level.
pub fn level_name(level: LoggingLevel) -> &'static str {
    let names = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    names[usize::from(rank(level))]
}
