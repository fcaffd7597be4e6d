//! Runs the linter as a worker, a process that the host keeps for the next call.
//!
//! One worker lints all projects: the plugin sends it the files, so that the worker needs no access to a
//! project. A worker runs in the project's directory only in three cases: the only linter is the project's
//! own, the project's configuration of the linter is code that must be run, or the project is
//! [`Unsuitable`](crate::files::Unsuitable).

use crate::files::{self, Files};
use portcullis_plugin::{
    changes,
    process::{self, Error},
    serde::{Deserialize, Serialize},
};
use serde_json::Value;
use std::path::Path;
use ui5_lint_context::{FileFindings, read};

/// The operator's name for the command that runs the worker, `plugins/ui5/commands/ui5-lint-worker.mjs`.
pub const COMMAND: &str = "ui5lint";

/// The members that both kinds of orders have. An order to a worker in the project's directory has no others.
#[derive(Serialize)]
#[serde(crate = "portcullis_plugin::serde", rename_all = "camelCase")]
struct WorkerOrder {
    fix: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_patterns: Option<Vec<String>>,
}

/// An order to a worker that lints all projects.
#[derive(Serialize)]
#[serde(crate = "portcullis_plugin::serde")]
struct LintOrder<'a> {
    /// The directory of the project, by which the worker recognises the project in the next request.
    project: &'a str,
    #[serde(flatten)]
    files: Files,
    #[serde(flatten)]
    order: &'a WorkerOrder,
}

/// The answer of the worker.
#[derive(Default, Deserialize)]
#[serde(crate = "portcullis_plugin::serde")]
struct Answer {
    /// The linter's report.
    results: Option<Value>,
    /// The fixed files.
    #[serde(default)]
    fixes: Vec<Fixed>,
    /// No linter was found, or the project can only be linted in its own directory.
    #[serde(default)]
    missing: bool,
    /// The reason why there is no report.
    error: Option<String>,
}

/// A file that the linter has fixed.
#[derive(Deserialize)]
#[serde(crate = "portcullis_plugin::serde")]
struct Fixed {
    /// Absolute, or relative to the project.
    path: String,
    /// SHA-256 of the content that the linter read.
    sha256: String,
    contents: String,
}

/// The linter's report on a project. Fixes are written to all files together, or to none. The error
/// is a text for the answer.
pub fn lint(
    directory: &str,
    patterns: Option<Vec<String>>,
    fix: bool,
) -> Result<Vec<FileFindings>, String> {
    let order = WorkerOrder { fix, file_patterns: patterns };
    let shared = match files::read(Path::new(directory)) {
        Ok(files) => {
            let message = LintOrder { project: directory, files, order: &order };
            process::command(COMMAND).request(&message)
        }
        Err(_unsuitable) => Ok(Answer { missing: true, ..Answer::default() }),
    };
    let answer = match shared {
        Ok(Answer { missing: true, .. }) => {
            process::command(COMMAND).directory(directory).request(&order)
        }
        answer => answer,
    };
    match answer {
        Ok(Answer { results: Some(results), fixes, .. }) => {
            let report = read(&results.to_string())?;
            if !fixes.is_empty() {
                write(Path::new(directory), fixes)?;
            }
            Ok(report)
        }
        Ok(Answer { missing: true, .. }) => Err(missing(directory)),
        Ok(Answer { error, .. }) => {
            Err(error.unwrap_or_else(|| "The UI5 linter gave no answer".to_owned()))
        }
        Err(Error::NotFound(program)) => Err(format!(
            "The UI5 linter needs `{program}`, which is not on this machine: install Node.js 20.11 or newer"
        )),
        Err(Error::Denied) => Err(format!(
            "The UI5 linter may not be run here: the operator has not granted the command `{COMMAND}`"
        )),
        Err(error) => Err(format!("The UI5 linter gave no answer: {error}")),
    }
}

fn write(directory: &Path, fixes: Vec<Fixed>) -> Result<(), String> {
    let add = |changes: changes::Changes, Fixed { path, sha256, contents }| {
        changes.replace_version(directory.join(path), &sha256, contents)
    };
    fixes.into_iter().fold(changes::new(), add).apply().map_err(|error| {
        format!("Nothing was fixed, because not all files could be written: {error}")
    })
}

fn missing(directory: &str) -> String {
    format!(
        "There is no UI5 linter: it is installed neither in {directory} nor globally. Install it with \
         `npm install --save-dev @ui5/linter` in the project, or with `npm install --global @ui5/linter`"
    )
}
