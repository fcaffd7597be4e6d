//! The tool `get_log_file_path`: the path of the editor's log.

use crate::{
    answer::{SourceKind, shown},
    live::{Editor, Fault, Kind, value},
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use std::path::PathBuf;
use unreal_project::Project;

/// The path of the log, as the editor tells it.
///
/// # Errors
///
/// When the editor has no tool that tells the path, or does not answer.
pub fn told(editor: &Editor<'_>) -> Result<String, Fault> {
    if editor.seen.kind == Kind::Epic || !editor.offers(LogFilePath::NAME, None) {
        return Err(Fault::Unsupported("the editor does not report its log file"));
    }
    let result = editor.read(LogFilePath::NAME, &json!({}))?;
    value::Reply::of(LogFilePath::NAME, &result).text("logFilePath")
}

/// The path of the log of the first editor that has a project open. The logs of further editors have numbers.
pub fn of_project(project: &Project) -> PathBuf {
    project.dir.join("Saved/Logs").join(format!("{}.log", project.name))
}

about_project! {
    /// Get the path of the editor's log, which also has the output of console commands.
    pub struct LogFilePath {
    }
}

tool_result! {
    /// Where the log is.
    pub struct LogFile {
        log_file_path: String,
    }
}

read_only_tool!(LogFilePath, "get_log_file_path", "Log file path", LogFile);

impl SourceQuery for LogFilePath {
    type Answer = LogFile;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<LogFile, Fault> {
        Ok(LogFile {
            log_file_path: told(editor)?,
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: editor.warnings(None),
        })
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<LogFile, Failure> {
        let file = of_project(&offline.project);
        let missing = (!file.is_file())
            .then(|| "this file does not exist: no editor with this project has written it, or it was deleted".to_owned());
        Ok(LogFile {
            log_file_path: shown(&file.display().to_string()),
            source: SourceKind::Offline,
            as_of: offline.as_of.clone(),
            warnings: offline.warnings_and(missing),
        })
    }
}
