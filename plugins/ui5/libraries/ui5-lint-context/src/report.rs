//! The linter's findings: parsed from its JSON, and serialised as the tool's results.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::type_info::TypeInfo;

/// The findings in a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileFindings {
    /// Path relative to the project.
    pub file_path: String,
    /// The findings, in the linter's order.
    pub messages: Vec<Finding>,
}

/// A finding of the linter.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The violated rule.
    pub rule_id: String,
    /// The severity.
    #[serde(default)]
    pub severity: Severity,
    /// The line, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Whether the file could not be parsed completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fatal: Option<bool>,
    /// The message.
    pub message: String,
    /// Details. In a [`Part`](crate::Part), they may be empty if an earlier finding has the same
    /// details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_details: Option<String>,
    /// The API that the finding is about. Not part of the results.
    #[serde(default, rename = "ui5TypeInfo", deserialize_with = "if_readable", skip_serializing)]
    pub type_info: Option<TypeInfo>,
}

/// The severity of a finding.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(from = "u64", into = "u64")]
pub enum Severity {
    /// Should be checked.
    Warning,
    /// Should be fixed.
    #[default]
    Error,
}

impl From<u64> for Severity {
    fn from(number: u64) -> Self {
        if number == 1 { Self::Warning } else { Self::Error }
    }
}

impl From<Severity> for u64 {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Warning => 1,
            Severity::Error => 2,
        }
    }
}

impl Finding {
    /// Sort key for a shortened list: 0 is the most severe.
    pub(crate) fn rank(&self) -> u8 {
        match (self.fatal, self.severity) {
            (Some(true), _) => 0,
            (_, Severity::Error) => 1,
            (_, Severity::Warning) => 2,
        }
    }
}

// A newer linter may describe API in another form. The finding is then kept without the description.
fn if_readable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TypeInfo>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// Parses a report written with `--format json --details`. Drops files without findings. Fails if
/// the report is invalid, and says why.
pub fn read(report: &str) -> Result<Vec<FileFindings>, String> {
    let problem = |why: serde_json::Error| {
        format!(
            "The report of the UI5 linter cannot be read: {why}. It has to be its JSON report, as \
             `ui5lint --format json --details` writes it."
        )
    };
    let files: Vec<Value> = serde_json::from_str(report).map_err(problem)?;
    let files: Result<Vec<FileFindings>, _> =
        files.into_iter().map(serde_json::from_value).collect();
    Ok(files.map_err(problem)?.into_iter().filter(|file| !file.messages.is_empty()).collect())
}
