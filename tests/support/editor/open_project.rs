//! The project that a fake editor has open, as the editor reports it.

/// The project that the editor has open, as the editor reports it.
pub struct OpenProject {
    /// The absolute folder, without a trailing slash.
    pub folder: String,
    /// `projectDir` of `get_project_config`.
    pub config: String,
    /// The absolute path of the log. Empty if the editor does not report it.
    pub log: String,
}

impl OpenProject {
    /// `FPaths::ProjectDir` of an installed engine is relative to the engine's binaries. `FPaths` uses slashes on every
    /// system. A folder on another drive than the engine has an absolute path.
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
