//! Starts a confined child, exchanges data with it, and kills it together with the processes that it started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::environment::{of_folder, of_machine};
use crate::error::BecomeError;
use crate::resource_limits::ResourceLimits;
use crate::restrict::{Confinement, restrict};

/// The first argument of this program when it is started as a confined child: the program must then call
/// [`main`].
pub const SUBCOMMAND: &str = "become-confined";

/// Maximum size of a child's stderr that is kept, in bytes. The rest is dropped.
const MAX_STDERR_BYTES: u64 = 64 * 1024;

/// The program of a child, its arguments and environment, its confinement and its limits.
#[derive(Debug, Clone)]
pub struct ChildSpec {
    /// The absolute path of the program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its environment. The variables of the user's folders, such as `HOME` and `TMPDIR`, name an empty folder of the
    /// child's own unless they are set here. On Windows, the host's variables that describe the machine are added. The
    /// child gets no other variable.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory. `None`: its own empty folder. Naming a folder here gives the
    /// child no access to it.
    pub directory: Option<PathBuf>,
    /// The files that the child may reach in addition to its own empty folder, and whether it may use the network.
    pub confinement: Confinement,
    /// Its resource limits.
    pub limits: ResourceLimits,
}

/// The confinement and the limits of a child, as the host passes them to it: in an argument, as JSON.
#[derive(Serialize, Deserialize)]
struct Terms {
    confinement: Confinement,
    limits: ResourceLimits,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this exit code.
    Exited(i32),
    /// By a signal with this number.
    Signalled(i32),
}

impl From<std::process::ExitStatus> for Exit {
    fn from(status: std::process::ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signalled(signal);
        }
        Self::Exited(status.code().unwrap_or(-1))
    }
}

/// The output of a child that has ended.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub ended: Exit,
    /// Its stdout.
    pub stdout: Vec<u8>,
    /// Its stderr, up to a limit.
    pub stderr: Vec<u8>,
}

/// A child's reply to one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// One line, without its line end.
    Text(String),
    /// One line that is not UTF-8. The child should not be asked again.
    NotUtf8,
    /// More bytes than the limit. The child cannot be asked again.
    TooLong,
    /// No whole line: the child has ended, or has closed its stdin or stdout.
    Ended,
}

/// A running child. When this value is dropped, the child is killed, and with it, on Unix, its process group
/// and, on Windows, all processes that it started.
pub struct Child {
    group: Group,
    process: tokio::process::Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: JoinHandle<Vec<u8>>,
    _folder: Option<tempfile::TempDir>,
}

impl Child {
    /// Starts a child, which confines itself before it becomes the program.
    ///
    /// # Errors
    ///
    /// The system cannot create a folder or start a process. A program that cannot be started is not an error here: the
    /// child then ends with status 127 and a message on stderr.
    pub fn start(mut spec: ChildSpec) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("confined-").tempdir()?;
        spec.confinement.write.push(folder.path().to_owned());
        let terms = Terms { confinement: spec.confinement, limits: spec.limits };
        let mut command = Command::new(std::env::current_exe()?);
        command
            .env_clear()
            .envs(of_machine())
            .envs(of_folder(folder.path()))
            .envs(spec.environment)
            .arg(SUBCOMMAND)
            .arg(serde_json::to_string(&terms)?)
            .arg(spec.program)
            .args(spec.arguments)
            .current_dir(spec.directory.as_deref().unwrap_or(folder.path()));
        Ok(Self { _folder: Some(folder), ..Self::spawn(command)? })
    }

    /// Starts this program once more with these arguments and an environment that tells nothing of the user. The child
    /// must confine itself: see `restrict`.
    ///
    /// # Errors
    ///
    /// The system cannot start a process.
    pub fn of_this_program(arguments: &[&str]) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env_clear().envs(of_machine()).args(arguments);
        command.current_dir(std::path::MAIN_SEPARATOR_STR);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> std::io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        #[cfg(windows)]
        command.creation_flags(crate::job::CREATE_NO_WINDOW);
        let mut process = command.spawn()?;
        let group = Group::of(&mut process)?;
        let mut stderr = process.stderr.take().expect("stderr is a pipe");
        // The whole stderr is read, because a child must not block on a full pipe.
        let stderr_kept = tokio::spawn(async move {
            let mut kept = Vec::new();
            let _read = (&mut stderr).take(MAX_STDERR_BYTES).read_to_end(&mut kept).await;
            let _rest = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
            kept
        });
        Ok(Self {
            group,
            stdin: process.stdin.take(),
            stdout: BufReader::new(process.stdout.take().expect("stdout is a pipe")),
            stderr: stderr_kept,
            process,
            _folder: None,
        })
    }

    /// Writes the child's input and waits for the child's end. `None`: the child wrote more than `most` bytes to
    /// stdout, and was killed.
    ///
    /// # Errors
    ///
    /// A pipe fails.
    pub async fn finish(mut self, input: &[u8], most: usize) -> std::io::Result<Option<Output>> {
        let stdin = self.stdin.take();
        let exchange = exchange(stdin, input, &mut self.stdout, most);
        tokio::pin!(exchange);
        let stdout = tokio::select! {
            stdout = &mut exchange => stdout?,
            // Processes that the child started may hold the pipes open after its end.
            _ = self.process.wait() => {
                self.group.kill();
                exchange.await?
            }
        };
        let Some(stdout) = stdout else { return Ok(None) };
        let ended = self.process.wait().await?.into();
        self.group.kill();
        let stderr = (&mut self.stderr).await.unwrap_or_default();
        Ok(Some(Output { ended, stdout, stderr }))
    }

    /// Sends one line and waits for one line of at most `most` bytes. There is no time limit.
    ///
    /// # Errors
    ///
    /// A pipe fails.
    pub async fn ask(&mut self, line: &str, most: usize) -> std::io::Result<Reply> {
        let Some(stdin) = &mut self.stdin else { return Ok(Reply::Ended) };
        let sent = stdin.write_all(format!("{line}\n").as_bytes()).await;
        let mut answer = Vec::new();
        let read = match sent {
            Ok(()) => {
                let mut limited = (&mut self.stdout).take(most as u64 + 1);
                limited.read_until(b'\n', &mut answer).await
            }
            Err(error) => Err(error),
        };
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reply::Ended),
            Err(error) => Err(error),
            Ok(_) if answer.last() == Some(&b'\n') => {
                answer.pop();
                Ok(String::from_utf8(answer).map_or(Reply::NotUtf8, Reply::Text))
            }
            Ok(_) if answer.len() > most => Ok(Reply::TooLong),
            Ok(_) => Ok(Reply::Ended),
        }
    }

    /// Kills the child and returns its stderr, up to a limit.
    pub async fn end(mut self) -> String {
        self.group.kill();
        let stderr = tokio::time::timeout(Duration::from_secs(1), &mut self.stderr).await;
        let stderr = stderr.ok().and_then(Result::ok).unwrap_or_default();
        String::from_utf8_lossy(&stderr).into_owned()
    }

    /// Resident memory of the child in bytes, without the processes that it started. On systems other than Linux,
    /// always `None`.
    pub fn memory(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        {
            let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.process.id()?));
            let pages: u64 = statm.ok()?.split(' ').nth(1)?.parse().ok()?;
            Some(pages * rustix::param::page_size() as u64)
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Whether the child has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }
}

/// Writes a child's input and reads its output. `None`: the output is larger than `most` bytes.
async fn exchange(
    stdin: Option<ChildStdin>,
    input: &[u8],
    stdout: &mut BufReader<ChildStdout>,
    most: usize,
) -> std::io::Result<Option<Vec<u8>>> {
    let write = async {
        // Errors of writing are ignored: the child may end before it has read its input.
        if let Some(mut stdin) = stdin {
            let _written = stdin.write_all(input).await;
        }
        std::future::pending::<std::convert::Infallible>().await
    };
    let read = async {
        let mut output = Vec::new();
        stdout.take(most as u64 + 1).read_to_end(&mut output).await?;
        Ok((output.len() <= most).then_some(output))
    };
    tokio::select! {
        never = write => match never {},
        output = read => output,
    }
}

/// The processes of a child, which are killed when this value is dropped: on Unix its process group.
#[cfg(unix)]
struct Group(Option<u32>);

/// The processes of a child, which are killed when this value is dropped.
#[cfg(windows)]
struct Group(Option<crate::job::Job>);

impl Group {
    #[cfg(unix)]
    #[expect(clippy::unnecessary_wraps, reason = "as on Windows")]
    fn of(process: &mut tokio::process::Child) -> std::io::Result<Self> {
        Ok(Self(process.id()))
    }

    #[cfg(windows)]
    fn of(process: &mut tokio::process::Child) -> std::io::Result<Self> {
        crate::job::Job::of(process).map(|job| Self(Some(job)))
    }

    #[cfg(windows)]
    fn kill(&mut self) {
        self.0 = None;
    }

    #[cfg(unix)]
    fn kill(&mut self) {
        if let Some(group) = self.0.take()
            && let Some(group) = rustix::process::Pid::from_raw(group.cast_signed())
        {
            // All processes of the group may have ended.
            let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs in the child: confines this process and becomes the program. On Windows, this process does not become the
/// program: it starts the program, waits for its end, and exits with its exit code. Returns only if it fails, with the
/// reason.
pub fn main() -> BecomeError {
    match become_program() {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

fn become_program() -> Result<std::convert::Infallible, BecomeError> {
    let mut arguments = std::env::args_os().skip(2);
    let terms = arguments.next().unwrap_or_default();
    let terms: Result<Terms, _> = serde_json::from_slice(terms.as_encoded_bytes());
    let (Ok(terms), Some(program)) = (terms, arguments.next()) else {
        return Err(BecomeError::NotByHost);
    };
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| BecomeError::EndWithHost(error.into()))?;
    restrict(&terms.confinement, &terms.limits)?;
    let mut command = std::process::Command::new(&program);
    command.args(arguments);
    #[cfg(unix)]
    let cause = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(windows)]
    let cause = match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    };
    Err(BecomeError::Start { program: program.into(), cause })
}
