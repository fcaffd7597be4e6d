//! What the linter found: read from its JSON, and written as the tool's results.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::type_info::TypeInfo;

/// What the linter found in a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileFindings {
    /// The file, relative to the project.
    pub file_path: String,
    /// What was found, in the linter's order.
    pub messages: Vec<Finding>,
}

/// One thing the linter found.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule that is not kept.
    pub rule_id: String,
    /// How bad it is.
    #[serde(default)]
    pub severity: Severity,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Whether the file could not be read to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fatal: Option<bool>,
    /// What is wrong.
    pub message: String,
    /// More about it. Empty when an earlier finding says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_details: Option<String>,
    /// Which API it is about. Not part of the results.
    #[serde(default, rename = "ui5TypeInfo", deserialize_with = "if_readable", skip_serializing)]
    pub type_info: Option<TypeInfo>,
}

/// How bad a finding is.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(from = "u64", into = "u64")]
pub enum Severity {
    /// To be looked at.
    Warning,
    /// To be repaired.
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
    /// What comes first when not everything can be shown: 0 is worst.
    pub(crate) fn rank(&self) -> u8 {
        match (self.fatal, self.severity) {
            (Some(true), _) => 0,
            (_, Severity::Error) => 1,
            (_, Severity::Warning) => 2,
        }
    }
}

// A newer linter may describe API in other ways: the finding counts, with or without the description.
fn if_readable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TypeInfo>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// Reads a report that the linter wrote with `--format json --details`. Files without findings are left
/// out. Fails with what is wrong with the report.
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
