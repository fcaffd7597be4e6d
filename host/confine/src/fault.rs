//! Why a command gave no answer.

/// Why a command gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Its program is not there: what was looked for.
    NotFound(String),
    /// It took longer than it may.
    TimedOut,
    /// It answered more than it may.
    TooLarge,
    /// It ended without an answer, or the system failed: why, as far as that is known.
    Failed(String),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
