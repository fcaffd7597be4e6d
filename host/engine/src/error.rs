//! Why a component cannot be run.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use portcullis_confine::{ConfineError, Exit};

use crate::limits::{MAX_CODE_BYTES, MAX_COMPONENT_BYTES};

/// Why a component cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The component is too large.
    #[error("the component has {0} bytes; at most {MAX_COMPONENT_BYTES} are allowed")]
    TooLarge(usize),
    /// Compiling took too much CPU time.
    #[error(
        "compiling takes more than the {seconds} s of CPU time that a component of {bytes} bytes may use"
    )]
    CpuTime {
        /// The CPU time that was allowed, in seconds.
        seconds: u64,
        /// The size of the component, in bytes.
        bytes: usize,
    },
    /// Compiling took more wall-clock time than this number of seconds.
    #[error("compiling took more than {0} s, the maximum")]
    TimedOut(u64),
    /// The compiled code is too large.
    #[error("the compiled code has more than {MAX_CODE_BYTES} bytes, the maximum")]
    CodeTooLarge,
    /// The compiler refused the component, with this message.
    #[error("{0}")]
    Malformed(String),
    /// The compiler crashed.
    #[error("the compiler ended with {}: the component is malformed or too large", shown(*.0))]
    Crashed(Exit),
    /// The component was refused before, with this message.
    #[error("{0}")]
    RefusedBefore(String),
    /// wasmtime refused the compiled code.
    #[error("wasmtime refused the compiled code")]
    Load(#[source] Box<dyn Error + Send + Sync>),
    /// wasmtime's engine cannot be started.
    #[error("cannot start wasmtime")]
    Engine(#[source] Box<dyn Error + Send + Sync>),
    /// The file of the component cannot be read.
    #[error(transparent)]
    File(#[from] ComponentFileError),
    /// The system cannot run the child process that compiles.
    #[error("cannot run the compiler")]
    Compiler(#[source] io::Error),
    /// The folder of compiled code cannot be used.
    #[error("cannot use the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why the folder cannot be used.
        #[source]
        cause: io::Error,
    },
}

impl CodeError {
    /// Whether the error counts as the component's fault, and not as that of the host or the system.
    /// [`TimedOut`](Self::TimedOut) does not count: wall-clock time also passes while a busy machine runs other
    /// processes. A component that needs too much time exceeds its CPU time.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::TooLarge(_)
            | Self::CpuTime { .. }
            | Self::CodeTooLarge
            | Self::Malformed(_)
            | Self::Crashed(_)
            | Self::RefusedBefore(_)
            | Self::Load(_) => true,
            Self::TimedOut(_)
            | Self::Engine(_)
            | Self::File(_)
            | Self::Compiler(_)
            | Self::Folder { .. } => false,
        }
    }

    pub(crate) fn engine(error: wasmtime::Error) -> Self {
        Self::Engine(error.into_boxed_dyn_error())
    }

    pub(crate) fn load(error: wasmtime::Error) -> Self {
        Self::Load(error.into_boxed_dyn_error())
    }
}

fn shown(ended: Exit) -> String {
    match ended {
        Exit::Exited(code) => format!("status {code}"),
        Exit::Signalled(signal) => format!("signal {signal}"),
    }
}

/// Why the file of a component cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ComponentFileError {
    /// The file cannot be read.
    #[error("cannot read the file")]
    Read(#[from] io::Error),
    /// The path is that of a directory, a FIFO or a device.
    #[error("not a regular file")]
    NotRegular,
    /// The file is too large.
    #[error("the file has more than {MAX_COMPONENT_BYTES} bytes, the maximum for a plugin")]
    TooLarge,
    /// Another program wrote to the file.
    #[error("the file has changed since the host was started: start the host again")]
    Changed,
}

/// Why the child process that compiles failed.
#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    /// The component cannot be read from stdin.
    #[error("cannot read the component")]
    Read(#[source] io::Error),
    /// The child process cannot be confined.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// wasmtime refused the component.
    #[error("{0}")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
    /// The code cannot be written to stdout.
    #[error("cannot write the code")]
    Write(#[source] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_not_the_components_fault() {
        assert!(!CodeError::TimedOut(300).is_refusal());
        assert!(CodeError::CpuTime { seconds: 60, bytes: 1 }.is_refusal());
    }
}
