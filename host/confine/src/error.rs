//! The errors of this crate.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// The cause of an error. Its type differs between operating systems.
type Cause = Box<dyn Error + Send + Sync>;

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program does not exist: its path, or the name that was looked for in `PATH`.
    #[error("the program `{0}` was not found")]
    NotFound(String),
    /// This system cannot confine access to files, and the operator did not allow this command to run unconfined.
    #[error(
        "this system cannot confine programs, and the command `{0}` may not run unconfined; the operator can allow it to \
         run with all rights of the user: `unconfined-commands = [\"{0}\"]` in portcullis.toml"
    )]
    NotConfined(String),
    /// The command took longer than its limit.
    #[error("the command took longer than its limit")]
    TimedOut,
    /// The answer is larger than the limit of the command.
    #[error("the answer is larger than the limit of the command")]
    TooLarge,
    /// The answer is not text.
    #[error("the answer is not UTF-8")]
    NotUtf8,
    /// The command ended without an answer. The text is its stderr.
    #[error("{0}")]
    Ended(String),
    /// The system failed.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Why the definition of a command is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DefinitionError {
    /// An argument `@NAME` names no script of this program.
    #[error("no script `{0}` comes with this program")]
    UnknownScript(String),
    /// A path is relative.
    #[error("{} is not an absolute path", .0.display())]
    RelativePath(PathBuf),
    /// `read` or `write` does not contain `{}` exactly once.
    #[error("`own-limits.{0}` must contain {{}} once: the path goes there")]
    OwnLimitsPath(&'static str),
    /// `switch` is empty, or a name in it does not begin with `-`.
    #[error("`own-limits.switch` must name at least one option, and each name must begin with `-`")]
    OwnLimitsSwitch,
    /// `more-args` is not a regular expression.
    #[error("`more-args`: {0}")]
    MoreArgs(regex::Error),
}

/// Why a process cannot be confined, although the system has the means.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// A resource limit was refused.
    #[error("cannot limit {resource}")]
    Limit {
        /// The resource, or all resources.
        resource: String,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
    /// Landlock refused.
    #[error("cannot restrict access to files")]
    Files(#[source] Cause),
    /// seccomp refused.
    #[error("cannot restrict system calls")]
    SystemCalls(#[source] Cause),
}

/// Why a process could not get a network with some hosts only.
#[derive(Debug, thiserror::Error)]
#[error(
    "{step} failed. `hosts` needs a kernel that lets this user make namespaces of users and networks; to allow all hosts \
     instead, write `network = true`"
)]
pub struct NetworkError {
    /// What was being done.
    pub(crate) step: &'static str,
    /// The error of the system.
    #[source]
    pub(crate) cause: io::Error,
}

/// Why this process, a child of the host, could not confine itself and become its program. On Windows, it starts the program
/// instead.
#[derive(Debug, thiserror::Error)]
pub enum BecomeError {
    /// The arguments are not those of [`Child::start`](crate::Child::start).
    #[error("this command is not meant for users: the host starts it")]
    NotByHost,
    /// The system cannot be told to kill the child when the host ends.
    #[error("cannot make the child end with the host")]
    EndWithHost(#[source] io::Error),
    /// The child cannot be confined.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// The program cannot be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
}
