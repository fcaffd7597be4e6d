//! Starts a command, or sends a message to a worker: a process of the command that is kept for further messages. Each
//! function takes a permit.

use std::sync::Arc;

use portcullis_confine::{
    Command, CommandError, Commands, Exit, Output as CommandOutput, WorkingDirectory,
};
use tokio_util::task::AbortOnDropHandle;

use super::grant::ProcessAsk;
use crate::bindings::portcullis::plugin::process::{Output, ProcessError};
use crate::gate::Permit;

/// The permit of a running command. If this value is dropped before the command ends, the record says that the command
/// was stopped.
struct RunningPermit(Option<Permit<ProcessAsk>>);

impl RunningPermit {
    /// Records the outcome of the command.
    fn end(mut self, outcome: &str) {
        self.record(outcome);
    }

    fn record(&mut self, outcome: &str) {
        if let Some(permit) = self.0.take() {
            let recorded = permit.record(outcome);
            debug_assert!(recorded.is_ok(), "a command is on record before it starts");
        }
    }

    /// Records how a command ended.
    fn end_as(self, ran: &Result<CommandOutput, CommandError>) {
        match ran {
            Ok(CommandOutput { ended: Exit::Exited(code), .. }) => {
                self.end(&format!("exit {code}"));
            }
            Ok(CommandOutput { ended: Exit::Signalled(signal), .. }) => {
                self.end(&format!("signal {signal}"));
            }
            Err(fault) => self.end(outcome_of(fault)),
        }
    }
}

impl Drop for RunningPermit {
    fn drop(&mut self) {
        self.record("stopped");
    }
}

fn outcome_of(fault: &CommandError) -> &'static str {
    match fault {
        CommandError::NotFound(_) => "not-found",
        CommandError::NotConfined(_) => "not-confined",
        CommandError::TimedOut => "timed-out",
        CommandError::TooLarge => "too-large",
        CommandError::NotUtf8 | CommandError::Ended(_) | CommandError::System(_) => "failed",
    }
}

/// A running command: a resource of the guest. Dropping this value stops the command.
pub struct Running(pub(super) AbortOnDropHandle<Result<Output, ProcessError>>);

/// Sends one message to a worker of a command and returns the answer.
pub async fn request(
    permit: Permit<ProcessAsk>,
    commands: &Commands,
    command: &Arc<Command>,
    directory: Option<&WorkingDirectory>,
    message: &str,
) -> Result<String, ProcessError> {
    let permit = RunningPermit(Some(permit));
    if message.contains('\n') {
        permit.end("failed");
        return Err(ProcessError::Failed("a request to a worker must be one line".into()));
    }
    let answer = commands.request(command, directory, message).await;
    permit.end(answer.as_ref().map_or_else(outcome_of, |_| "answered"));
    answer.map_err(Into::into)
}

/// Starts a command with the arguments of the permit.
pub async fn start(
    permit: Permit<ProcessAsk>,
    command: Arc<Command>,
    directory: Option<&WorkingDirectory>,
    input: Vec<u8>,
) -> Result<Running, ProcessError> {
    let arguments = permit.ask().arguments.clone();
    let permit = RunningPermit(Some(permit));
    let child = match command.start(directory, &arguments).await {
        Ok(child) => child,
        Err(fault) => {
            permit.end(outcome_of(&fault));
            return Err(fault.into());
        }
    };
    let work = async move {
        let ran = command.finish(child, &input).await;
        permit.end_as(&ran);
        ran.map(output).map_err(Into::into)
    };
    Ok(Running(AbortOnDropHandle::new(tokio::spawn(work))))
}

fn output(CommandOutput { ended, stdout, stderr }: CommandOutput) -> Output {
    let status = match ended {
        Exit::Exited(code) => Some(code),
        Exit::Signalled(_) => None,
    };
    Output { status, stdout, stderr }
}

impl From<CommandError> for ProcessError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::NotFound(program) => Self::NotFound(program),
            CommandError::TimedOut => Self::TimedOut,
            CommandError::TooLarge => Self::TooLarge,
            CommandError::NotConfined(_)
            | CommandError::NotUtf8
            | CommandError::Ended(_)
            | CommandError::System(_) => {
                Self::Failed(portcullis_sanitize::line(&error.to_string(), 1000))
            }
        }
    }
}
