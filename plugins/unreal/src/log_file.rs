//! The tool `get_log_file_path`: where the editor writes its log.

use crate::{
    answer::{SourceKind, shown},
    live::{Editor, Fault, Kind, value},
    offline::Offline,
    source::{Asked, answer},
};
use portcullis_plugin::prelude::*;

/// Say where the editor writes its log. That is where console commands leave what they print.
#[arguments]
pub struct LogFilePath {
    /// Absolute path of the project's folder, or in it. May be left out when one project is open.
    #[path(directory, read, nearest = ["Content", "Config", "Source", "Plugins"])]
    project_dir: Option<String>,
}

/// Where the log is.
#[data]
pub struct LogFile {
    log_file_path: String,
    source: SourceKind,
    as_of: String,
    warnings: Vec<String>,
}

impl Tool for LogFilePath {
    const NAME: &'static str = "get_log_file_path";
    const TITLE: Option<&'static str> = Some("Log file path");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    type Output = Json<LogFile>;

    fn call(self, request: &Request) -> Result<Json<LogFile>, Failure> {
        answer(&self, request).map(Json)
    }
}

impl Asked for LogFilePath {
    type Answer = LogFile;

    fn project_dir(&self) -> Option<&str> {
        self.project_dir.as_deref()
    }

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<LogFile, Fault> {
        if editor.seen.kind == Kind::Epic || !editor.offers(Self::NAME, None) {
            return Err(Fault::Unsupported("the editor does not tell its log file"));
        }
        let result = editor.read(Self::NAME, &json!({}))?;
        Ok(LogFile {
            log_file_path: value::text(&result, "logFilePath"),
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: editor.warnings(None),
        })
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<LogFile, Failure> {
        let project = &offline.project;
        let file = project.dir.join("Saved/Logs").join(format!("{}.log", project.name));
        let missing = (!file.is_file())
            .then(|| "there is no such file yet: the editor has not run here".to_owned());
        Ok(LogFile {
            log_file_path: shown(&file.display().to_string()),
            source: SourceKind::Offline,
            as_of: offline.as_of.clone(),
            warnings: offline.warnings_and(missing),
        })
    }
}
