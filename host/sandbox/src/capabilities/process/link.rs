//! The host's side of the interface `process`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portcullis_confine::{Command, WorkingDirectory};
use portcullis_files::Access;
use wasmtime::component::{HasSelf, Linker, Resource};

use super::effect::{self, Running};
use super::grant::ProcessAsk;
use crate::bindings::portcullis::plugin::process::{self, Output, ProcessError};
use crate::gate::Permit;
use crate::sandbox::InstanceState;

/// Links the interface.
pub(super) fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
    process::add_to_linker::<InstanceState, HasSelf<InstanceState>>(linker, |state| state)
}

/// The result for a guest. The outer error is a fault of this program and ends the call.
type LinkResult<T> = wasmtime::Result<Result<T, ProcessError>>;

/// A permitted command with its directory and the permit.
type PermittedCommand = (Arc<Command>, Option<WorkingDirectory>, Permit<ProcessAsk>);

impl InstanceState {
    /// Finds the command, opens its directory and asks the gate.
    fn admit(
        &mut self,
        command: &str,
        directory: Option<String>,
        arguments: &[String],
    ) -> Result<PermittedCommand, ProcessError> {
        // A path that is invalid on this system stays as it is: the path is not a directory of the
        // call, and is refused.
        let native = |path: String| {
            portcullis_roots::native_path(&path).unwrap_or_else(|_| PathBuf::from(path))
        };
        let path = directory.map(native);
        let opened = path.as_ref().map(|path| self.files.directory(path));
        let definition = self.places.commands.get(command);
        let allows_arguments =
            definition.as_ref().is_none_or(|command| command.allows_arguments(arguments));
        let fault = match (&opened, allows_arguments) {
            (Some(None), _) => Some("(the directory is not one of this call)"),
            (_, false) => Some("(the command's `more-args` does not allow these arguments)"),
            (Some(Some(_)) | None, true) => None,
        };
        let opened = opened.flatten();
        let access = opened.as_ref().map_or(Access::Read, |(_, access)| *access);
        let (command, arguments) = (command.to_owned(), arguments.to_vec());
        let ask = ProcessAsk { command, arguments, directory: path.clone(), access, fault };
        let permit = self.gate.pass(ask).map_err(|_| ProcessError::Denied)?;
        let working_directory = path.zip(opened).map(|(path, (handle, access))| WorkingDirectory {
            path,
            handle,
            writable: access == Access::Write,
        });
        Ok((definition.ok_or(ProcessError::Denied)?, working_directory, permit))
    }
}

impl process::Host for InstanceState {
    async fn request(
        &mut self,
        command: String,
        message: String,
        directory: Option<String>,
    ) -> LinkResult<String> {
        let (command, working_directory, permit) = match self.admit(&command, directory, &[]) {
            Ok(admitted) => admitted,
            Err(error) => return Ok(Err(error)),
        };
        let commands = &self.places.commands;
        Ok(effect::request(permit, commands, &command, working_directory.as_ref(), &message).await)
    }
}

impl process::HostRunning for InstanceState {
    async fn start(
        &mut self,
        command: String,
        arguments: Vec<String>,
        input: Vec<u8>,
        directory: Option<String>,
    ) -> LinkResult<Resource<Running>> {
        let (command, working_directory, permit) = match self.admit(&command, directory, &arguments)
        {
            Ok(admitted) => admitted,
            Err(error) => return Ok(Err(error)),
        };
        match effect::start(permit, command, working_directory.as_ref(), input).await {
            Ok(running) => Ok(Ok(self.table.push(running)?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn wait(
        &mut self,
        running: Resource<Running>,
        milliseconds: u32,
    ) -> LinkResult<Option<Output>> {
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
