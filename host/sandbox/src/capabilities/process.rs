//! The capability `process`: commands that the operator defines, in directories of the call.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portcullis_confine::{Command, Commands, Ended, Fault, Output as Ran, Place};
use portcullis_files::Access;
use serde::Deserialize;
use tokio_util::task::AbortOnDropHandle;
use wasmtime::component::Resource;

use crate::bindings::portcullis::plugin::process::{self, Output, ProcessError};
use crate::capabilities::{Capability, Grants, Named, listed};
use crate::gate::{Ask, Permit};
use crate::sandbox::State;

/// Which commands a plugin may use.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessGrant {
    /// Their names in `portcullis.toml`.
    pub commands: Named<String>,
}

impl fmt::Display for ProcessGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} in the directories a call names", self.commands)
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<ProcessGrant>, target: &str) -> Result<(), String> {
    let commands = Named::add(sum.take().map(|sum| sum.commands), target.to_owned());
    *sum = Some(ProcessGrant { commands });
    Ok(())
}

/// One use of a command.
#[derive(Debug)]
pub struct ProcessAsk {
    /// The command's name.
    pub command: String,
    /// Its arguments, beyond those of the operator.
    pub arguments: Vec<String>,
    /// Where, as the plugin spells it. `None`: in an empty directory of its own.
    pub directory: Option<PathBuf>,
    /// What it may do there.
    pub access: Access,
    /// What no grant can allow, where there is such a thing.
    pub fault: Option<&'static str>,
}

impl Ask for ProcessAsk {
    type Grant = ProcessGrant;
    const CAPABILITY: Capability = Capability::Process;

    fn grant(grants: &Grants) -> Option<&ProcessGrant> {
        grants.process.as_ref()
    }

    fn is_within(&self, grant: &ProcessGrant) -> bool {
        self.fault.is_none() && grant.commands.contains(&self.command)
    }

    fn is_grantable(&self) -> bool {
        self.fault.is_none()
    }

    fn subject(&self) -> String {
        let mut command = portcullis_sanitize::line(&self.command, 80);
        if !self.arguments.is_empty() {
            let arguments = portcullis_sanitize::line(&self.arguments.join(" "), 500);
            command += &format!(" {}", portcullis_audit::without_secrets(&arguments));
        }
        let fault = self.fault.map(|fault| format!(" {fault}")).unwrap_or_default();
        match &self.directory {
            Some(path) => format!("run {command} in {} to {}{fault}", path.display(), self.access),
            None => format!("run {command} in an empty directory{fault}"),
        }
    }

    fn remedy(&self, granted: Option<&ProcessGrant>) -> String {
        let there = granted.into_iter().flat_map(|granted| granted.commands.iter());
        format!("commands = {}", listed(there, &portcullis_sanitize::line(&self.command, 80)))
    }
}

/// The permit of a command that runs. Where the call ends before the command, the record says that the command
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
    fn end_as(self, ran: &Result<Ran, Fault>) {
        match ran {
            Ok(Ran { ended: Ended::Exited(code), .. }) => self.end(&format!("exit {code}")),
            Ok(Ran { ended: Ended::Signalled(signal), .. }) => {
                self.end(&format!("signal {signal}"));
            }
            Err(fault) => self.end(word(fault)),
        }
    }
}

impl Drop for RunningPermit {
    fn drop(&mut self) {
        self.record("stopped");
    }
}

fn word(fault: &Fault) -> &'static str {
    match fault {
        Fault::NotFound(_) => "not-found",
        Fault::TimedOut => "timed-out",
        Fault::TooLarge => "too-large",
        Fault::Failed(_) => "failed",
    }
}

/// A command that runs: a resource of the guest.
pub struct Running(AbortOnDropHandle<Result<Output, ProcessError>>);

/// What a guest is answered. The outer error ends its call: a fault of this program.
type Outcome<T> = wasmtime::Result<Result<T, ProcessError>>;

impl State {
    /// The command, and the directory it is to work in, if the gate lets them through.
    fn admit(
        &mut self,
        command: &str,
        directory: Option<String>,
        arguments: &[String],
    ) -> Result<(Arc<Command>, Option<Place>, Permit<ProcessAsk>), ProcessError> {
        let path = directory.map(PathBuf::from);
        let opened = path.as_ref().map(|path| self.files.directory(path));
        let known = self.places.commands.get(command);
        let fits = known.as_ref().is_none_or(|command| command.takes(arguments));
        let fault = match (&opened, fits) {
            (Some(None), _) => Some("which is no directory of this call"),
            (_, false) => Some("with arguments that its `more-args` does not allow"),
            (Some(Some(_)) | None, true) => None,
        };
        let opened = opened.flatten();
        let access = opened.as_ref().map_or(Access::Read, |(_, access)| *access);
        let (command, arguments) = (command.to_owned(), arguments.to_vec());
        let ask = ProcessAsk { command, arguments, directory: path.clone(), access, fault };
        let permit = self.gate.pass(ask).map_err(|_| ProcessError::Denied)?;
        let place = path.zip(opened).map(|(path, (handle, access))| {
            let write = access == Access::Write;
            Place { path, handle, write }
        });
        Ok((known.ok_or(ProcessError::Denied)?, place, permit))
    }
}

impl From<Fault> for ProcessError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NotFound(program) => Self::NotFound(program),
            Fault::TimedOut => Self::TimedOut,
            Fault::TooLarge => Self::TooLarge,
            Fault::Failed(why) => Self::Failed(portcullis_sanitize::line(&why, 1000)),
        }
    }
}

impl process::Host for State {
    async fn request(
        &mut self,
        command: String,
        message: String,
        directory: Option<String>,
    ) -> Outcome<String> {
        let (command, place, permit) = match self.admit(&command, directory, &[]) {
            Ok(admitted) => admitted,
            Err(error) => return Ok(Err(error)),
        };
        let commands = &self.places.commands;
        Ok(request(permit, commands, &command, place.as_ref(), &message).await)
    }
}

impl process::HostRunning for State {
    async fn start(
        &mut self,
        command: String,
        arguments: Vec<String>,
        input: Vec<u8>,
        directory: Option<String>,
    ) -> Outcome<Resource<Running>> {
        let (command, place, permit) = match self.admit(&command, directory, &arguments) {
            Ok(admitted) => admitted,
            Err(error) => return Ok(Err(error)),
        };
        match start(permit, command, place.as_ref(), input).await {
            Ok(running) => Ok(Ok(self.table.push(running)?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn wait(
        &mut self,
        running: Resource<Running>,
        milliseconds: u32,
    ) -> Outcome<Option<Output>> {
        let running = self.table.get_mut(&running)?;
        let time = Duration::from_millis(milliseconds.into());
        Ok(match tokio::time::timeout(time, &mut running.0).await {
            Err(_) => Ok(None),
            Ok(Ok(ended)) => ended.map(Some),
            Ok(Err(error)) => Err(ProcessError::Failed(error.to_string())),
        })
    }

    async fn drop(&mut self, running: Resource<Running>) -> wasmtime::Result<()> {
        self.table.delete(running)?;
        Ok(())
    }
}

/// Has a worker of a command answer one message.
async fn request(
    permit: Permit<ProcessAsk>,
    commands: &Commands,
    command: &Arc<Command>,
    place: Option<&Place>,
    message: &str,
) -> Result<String, ProcessError> {
    let permit = RunningPermit(Some(permit));
    if message.contains('\n') {
        permit.end("failed");
        return Err(ProcessError::Failed("a request is one line".into()));
    }
    let answer = commands.request(command, place, message).await;
    permit.end(answer.as_ref().map_or_else(word, |_| "answered"));
    answer.map_err(Into::into)
}

/// Starts a command with the arguments of the permit.
async fn start(
    permit: Permit<ProcessAsk>,
    command: Arc<Command>,
    place: Option<&Place>,
    input: Vec<u8>,
) -> Result<Running, ProcessError> {
    let arguments = permit.ask().arguments.clone();
    let permit = RunningPermit(Some(permit));
    let child = match command.start(place, &arguments).await {
        Ok(child) => child,
        Err(fault) => {
            permit.end(word(&fault));
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

fn output(Ran { ended, stdout, stderr }: Ran) -> Output {
    let status = match ended {
        Ended::Exited(code) => Some(code),
        Ended::Signalled(_) => None,
    };
    Output { status, stdout, stderr }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_are_the_commands_that_are_named() {
        let grant: ProcessGrant = toml::from_str("commands = [\"npm\", \"git\"]").unwrap();
        for (command, expected) in [("npm", true), ("git", true), ("node", false), ("", false)] {
            let ask = ProcessAsk {
                command: command.into(),
                arguments: Vec::new(),
                directory: Some("/a".into()),
                access: Access::Write,
                fault: None,
            };
            assert_eq!(ask.is_within(&grant), expected, "{command}");
        }
    }

    #[test]
    fn a_grant_of_no_command_is_none() {
        let error = toml::from_str::<ProcessGrant>("commands = []").unwrap_err().to_string();
        assert!(error.contains("name at least one"), "{error}");
    }
}
