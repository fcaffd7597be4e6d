//! A temporary home folder for each test: configuration, plugins, state, and files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::BINARY;
use super::guests::guests;
use super::process::Process;
use super::windows;

/// A temporary home folder.
pub struct Home {
    _folder: TempDir,
    path: PathBuf,
    variables: Vec<(String, String)>,
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code.
    pub code: Option<i32>,
    /// The content of stdout.
    pub stdout: String,
    /// The content of stderr.
    pub stderr: String,
}

/// A command that starts the binary under test, in this home, with these variables and few others.
pub fn binary(home: &Path, variables: &[(String, String)]) -> Command {
    if let Some(wine) = windows::wine() {
        return wine.command(home, variables);
    }
    let mut command = Command::new(BINARY);
    let variables = variables.iter().map(|(name, value)| (name, value));
    command.env_clear().env("HOME", home).envs(variables);
    command
}

impl Home {
    /// A new home with an empty folder `files`.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("portcullis-").tempdir().expect("a folder");
        // The temporary folder may be a link; use its target.
        let path = folder.path().canonicalize().expect("it was just made");
        fs::create_dir(path.join("files")).expect("it was just made");
        if windows::wine().is_some() {
            windows::lay_out(&path);
        }
        Self { _folder: folder, path, variables: Vec::new() }
    }

    /// A home with these test plugins and this configuration.
    pub fn with(names: &[&str], config: &str) -> Self {
        let home = Self::new();
        for name in names {
            home.install(name);
        }
        home.configure(config);
        home
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder for files.
    pub fn files(&self) -> PathBuf {
        self.path.join("files")
    }

    /// The path of a file in the folder for files, as text.
    pub fn file(&self, name: &str) -> String {
        windows::path(&self.files().join(name))
    }

    /// The plugin folder.
    pub fn plugins(&self) -> PathBuf {
        let plugins = self.path.join(".local/share/portcullis/plugins");
        fs::create_dir_all(&plugins).expect("a home can be written");
        plugins
    }

    /// The configuration file.
    pub fn config(&self) -> PathBuf {
        let folder = self.path.join(".config/portcullis");
        fs::create_dir_all(&folder).expect("a home can be written");
        folder.join("portcullis.toml")
    }

    /// Writes the configuration. `$FILES` and `$HOME` are replaced by this home's folders.
    pub fn configure(&self, text: &str) {
        let text = text
            .replace("$FILES", &windows::path(&self.files()))
            .replace("$HOME", &windows::path(&self.path));
        fs::write(self.config(), text).expect("a home can be written");
    }

    /// Copies a test plugin into the plugin folder.
    pub fn install(&self, name: &str) {
        let component = guests().component(name);
        fs::copy(component, self.plugins().join(format!("{name}.wasm"))).expect("it was built");
        let cache = self.path.join(".cache/portcullis");
        if !cache.join("compiled").exists() {
            guests().remember(&cache);
        }
    }

    /// Sets an environment variable for later commands.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// The binary with these arguments, in this home and with a minimal environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = binary(&self.path, &self.variables);
        command.current_dir(&self.path).args(arguments);
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    /// Runs a command to its end, with this stdin.
    pub fn run_with(&self, arguments: &[&str], stdin: &str) -> Ran {
        let mut process = Process::start(&mut self.command(arguments));
        process.write(stdin.as_bytes());
        process.end()
    }

    /// The folder of the audit.
    pub fn audit_folder(&self) -> PathBuf {
        self.path.join(".local/state/portcullis/audit")
    }

    /// The records of calls in the audit, segment by segment.
    pub fn audit(&self) -> Vec<Value> {
        let mut records = self.audit_with_approvals();
        records.retain(|record| record["event"] != "approval");
        records
    }

    /// The records of the audit, segment by segment. Panics unless the audit is whole.
    pub fn audit_with_approvals(&self) -> Vec<Value> {
        let folder = self.audit_folder();
        let report = portcullis_audit::verify(&folder).expect("the audit can be read");
        assert!(report.is_whole(), "{:#?}", report.faults);
        let mut records = Vec::new();
        let read = portcullis_audit::read_records(&folder, |record| {
            records.push(serde_json::to_value(record).expect("a record is JSON"));
        });
        read.expect("the audit can be read");
        records
    }

    /// The tool and the outcome of each call in the audit log.
    pub fn outcomes(&self) -> Vec<(String, String)> {
        let text = |record: &Value, key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let records = self.audit();
        let calls = records.iter().filter(|record| record["event"] == "call");
        calls.map(|record| (text(record, "tool"), text(record, "outcome"))).collect()
    }
}

/// Makes a FIFO with the command `mkfifo`, since there is no safe Rust function.
pub fn make_fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).stdin(Stdio::null()).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo {}", path.display());
}
