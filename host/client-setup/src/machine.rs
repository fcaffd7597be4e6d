//! The folders of one user on one machine, by the conventions of its operating system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An operating system, as far as the places of configuration files depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// Linux and other systems with XDG folders.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// The folders in which clients keep their configuration.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The operating system.
    pub os: Os,
    /// The user's home folder.
    pub home: PathBuf,
    /// The project: the folder in which a command was started.
    pub project: PathBuf,
    /// Environment variables with a path that move the files of clients, such as `CODEX_HOME`.
    pub variables: BTreeMap<&'static str, PathBuf>,
}

/// The user has no home folder.
#[derive(Debug, thiserror::Error)]
#[error("your home folder is not known: set the environment variable HOME")]
pub struct NoHome;

/// The variables that move files of clients.
const VARIABLES: [&str; 6] = [
    "APPDATA",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "CONTINUE_GLOBAL_DIR",
    "FLATPAK_XDG_CONFIG_HOME",
    "XDG_CONFIG_HOME",
];

impl Machine {
    /// The machine and the user of this process. `project` is the folder for files of a project.
    ///
    /// # Errors
    ///
    /// [`NoHome`].
    pub fn of_user(project: &Path) -> Result<Self, NoHome> {
        let os = if cfg!(windows) {
            Os::Windows
        } else if cfg!(target_os = "macos") {
            Os::MacOs
        } else {
            Os::Linux
        };
        let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or(NoHome)?;
        let variables = VARIABLES.into_iter().filter_map(|name| Some((name, variable(name)?)));
        Ok(Self { os, home, project: project.to_owned(), variables: variables.collect() })
    }

    /// The folder that a variable names, or else a folder in the user's home folder.
    pub(crate) fn folder(&self, variable: &str, default: &str) -> PathBuf {
        self.variables.get(variable).cloned().unwrap_or_else(|| self.home.join(default))
    }

    /// The folder for the configuration of applications: `~/.config`, `~/Library/Application Support` or `%APPDATA%`.
    pub(crate) fn applications(&self) -> PathBuf {
        match self.os {
            Os::Linux => self.folder("XDG_CONFIG_HOME", ".config"),
            Os::MacOs => self.home.join("Library/Application Support"),
            Os::Windows => self.folder("APPDATA", "AppData/Roaming"),
        }
    }

    /// The folder of programs that use `~/.config` on macOS too.
    pub(crate) fn dot_config(&self) -> PathBuf {
        match self.os {
            Os::Linux => self.folder("XDG_CONFIG_HOME", ".config"),
            Os::MacOs => self.home.join(".config"),
            Os::Windows => self.folder("APPDATA", "AppData/Roaming"),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "clients look for their files where these variables say"
)]
fn variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).map(PathBuf::from);
    // Relative paths are ignored, as the XDG Base Directory Specification demands. A client that used one would look
    // for its file in a folder that depends on where the client is started.
    value.filter(|path| path.is_absolute())
}
