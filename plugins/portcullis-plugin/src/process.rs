//! Processes on the host's machine: commands, by the names that the operator gave them.
//!
//! ```no_run
//! # use portcullis_plugin::prelude::*;
//! # fn install(request: &Request, directory: &str) -> Result<(), Failure> {
//! let done = process::command("npm-install").directory(directory).run(|waited| {
//!     request.progress(waited.as_secs_f64(), None, "installing");
//!     !request.cancelled()
//! })?;
//! if !done.success() {
//!     return Err(Failure::new(done.said()));
//! }
//! # Ok(())
//! # }
//! ```

use crate::bindings::portcullis::plugin::process as wit;
#[cfg(target_family = "wasm")]
use crate::bindings::portcullis::plugin::process as host;
#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::process as host;
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt, path::Path, time::Duration};

/// Time between two calls of `go_on` while a command runs.
const STEP: Duration = Duration::from_millis(500);

/// A command to run, by default in an empty directory.
pub fn command(name: &str) -> Command {
    Command { name: name.to_owned(), arguments: Vec::new(), input: Vec::new(), directory: None }
}

/// A command with its arguments, input and directory.
#[derive(Clone, Debug)]
pub struct Command {
    name: String,
    arguments: Vec<String>,
    input: Vec<u8>,
    directory: Option<String>,
}

impl Command {
    /// Adds an argument after those that the operator wrote, if the operator allows further arguments.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets the content of stdin.
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Sets the working directory: a directory that an argument or a grant opens to the call, or one
    /// inside it. The command may write there if the call may.
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().display().to_string());
        self
    }

    /// Runs the command to its end. Calls `go_on` twice a second with the time so far; `false` stops the
    /// command.
    pub fn run(self, mut go_on: impl FnMut(Duration) -> bool) -> Result<Output, Error> {
        let Self { name, arguments, input, directory } = self;
        let running = host::Running::start(&name, &arguments, &input, directory.as_deref())?;
        let mut waited = Duration::ZERO;
        loop {
            let step = u32::try_from(STEP.as_millis()).expect("half a second");
            if let Some(wit::Output { status, stdout, stderr }) = running.wait(step)? {
                return Ok(Output { status, stdout, stderr });
            }
            waited += STEP;
            if !go_on(waited) {
                return Err(Error::Stopped);
            }
        }
    }

    /// Sends a message to the command as a worker: a process that the host keeps running between calls. Returns the
    /// worker's response. Ignores the arguments and the input that were set.
    pub fn request<T: DeserializeOwned>(self, message: &impl Serialize) -> Result<T, Error> {
        let message =
            serde_json::to_string(message).map_err(|error| Error::Failed(error.to_string()))?;
        let answer = host::request(&self.name, &message, self.directory.as_deref())?;
        serde_json::from_str(&answer).map_err(|error| {
            Error::Failed(format!("the output of the command is not the expected JSON: {error}"))
        })
    }
}

/// The output of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Exit code; `None` if a signal ended the command.
    pub status: Option<i32>,
    /// The content of stdout.
    pub stdout: Vec<u8>,
    /// The content of stderr.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Whether the exit code is 0.
    pub fn success(&self) -> bool {
        self.status == Some(0)
    }

    /// Stdout as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The last five lines of stderr that are not blank, for a message about a failure. If stderr has no such line, the
    /// last five of stdout.
    pub fn said(&self) -> String {
        let last = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            lines[lines.len().saturating_sub(5)..].join("\n")
        };
        match last(&self.stderr) {
            said if said.is_empty() => last(&self.stdout),
            said => said,
        }
    }
}

/// The reason why a command has no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no grant for the command, for these arguments or for this directory.
    Denied,
    /// The program with this name is not on the host's machine.
    NotFound(String),
    /// The operator's time limit was exceeded.
    TimedOut,
    /// The operator's limit of output was exceeded.
    TooLarge,
    /// `go_on` returned `false`: see [`Command::run`].
    Stopped,
    /// The command failed, or its response is not valid: the reason.
    Failed(String),
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied => f.write_str("the command was denied by the host"),
            Self::NotFound(program) => write!(f, "there is no program `{program}` on this machine"),
            Self::TimedOut => f.write_str("the command took too long, and was ended"),
            Self::TooLarge => {
                f.write_str("the command was stopped, because its output is too large")
            }
            Self::Stopped => f.write_str("the command was stopped"),
            Self::Failed(why) if why.is_empty() => f.write_str("the command failed"),
            Self::Failed(why) => write!(f, "the command failed: {why}"),
        }
    }
}

impl From<wit::ProcessError> for Error {
    fn from(error: wit::ProcessError) -> Self {
        match error {
            wit::ProcessError::Denied => Self::Denied,
            wit::ProcessError::NotFound(program) => Self::NotFound(program),
            wit::ProcessError::TimedOut => Self::TimedOut,
            wit::ProcessError::TooLarge => Self::TooLarge,
            wit::ProcessError::Failed(why) => Self::Failed(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::Rehearsal;
    use serde_json::{Value, json};

    #[test]
    fn commands_and_workers_answer_as_the_test_defines() {
        let _rehearsal = Rehearsal::new()
            .command("list", |arguments, input, directory| {
                let said = format!("{arguments:?} {} {directory}", String::from_utf8_lossy(input));
                Ok(Output { status: Some(0), stdout: said.into_bytes(), stderr: Vec::new() })
            })
            .worker("double", |message, _| {
                let number: i64 = message.parse().map_err(|_| Error::Failed("no number".into()))?;
                Ok((2 * number).to_string())
            });
        let listed = command("list").argument("-l").input("in").directory("/a").run(|_| true);
        let listed = listed.expect("it is there");
        assert!(listed.success());
        assert_eq!(listed.text(), "[\"-l\"] in /a");
        assert_eq!(command("double").request(&21), Ok(42));
        let failed: Result<Value, _> = command("double").request(&json!({}));
        assert_eq!(failed, Err(Error::Failed("no number".into())));
        assert_eq!(command("other").run(|_| true), Err(Error::Denied));
    }

    #[test]
    fn the_last_lines_of_stderr_or_else_stdout_are_reported() {
        let output = |stdout: &str, stderr: &str| Output {
            status: Some(1),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        assert_eq!(output("a\n", "").said(), "a");
        assert_eq!(output("a\n", "b\n\nc\n").said(), "b\nc");
    }
}
