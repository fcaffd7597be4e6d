//! The project that a fake editor has open, as the editor tells it.

/// The project that the editor has open, in its own words.
pub struct OpenProject {
    /// The absolute folder, without a slash at its end.
    pub folder: String,
    /// `projectDir` of `get_project_config`.
    pub config: String,
    /// The absolute path of the log; empty if the editor does not tell it.
    pub log: String,
}

impl OpenProject {
    /// `FPaths::ProjectDir` of an installed engine is relative to the engine's binaries. `FPaths` has slashes on Windows,
    /// too, and a folder on another drive than the engine cannot be relative.
    pub fn of(folder: &str) -> Self {
        let folder = folder.trim_end_matches('/').to_owned();
        let name = folder.rsplit('/').next().unwrap_or_default();
        let config = match is_on_drive(&folder) {
            true => format!("{folder}/"),
            false => format!("../../../../..{folder}/"),
        };
        Self { config, log: format!("{folder}/Saved/Logs/{name}.log"), folder }
    }
}

/// Whether a path begins with a drive of Windows.
pub fn is_on_drive(path: &str) -> bool {
    path.as_bytes().get(1) == Some(&b':')
}
