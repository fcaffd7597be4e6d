//! Starting a confined child, talking with it, and ending it with all that it started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::restrict::{Bounds, Reach, restrict};

/// The first argument by which this program knows that it is to become a confined child: see
/// [`main`].
pub const SUBCOMMAND: &str = "become-confined";

/// Of what a child writes to stderr, so many bytes are kept and the rest is dropped.
const SAID_BYTES: u64 = 64 * 1024;

/// What a child is, and what it may reach.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The program, by an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// All of its environment. `HOME` and `TMPDIR` are an empty folder of its own unless they are
    /// here.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory, of which nothing is in reach because of that; or its own empty folder.
    pub directory: Option<PathBuf>,
    /// What else it may reach than its own empty folder.
    pub reach: Reach,
    /// How much of everything.
    pub bounds: Bounds,
}

#[derive(Serialize, Deserialize)]
struct Terms {
    reach: Reach,
    bounds: Bounds,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal: by its number.
    Signalled(i32),
}

impl From<std::process::ExitStatus> for Ended {
    fn from(status: std::process::ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signalled(signal);
        }
        Self::Exited(status.code().unwrap_or(-1))
    }
}

/// What a child that was run to its end left.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub ended: Ended,
    /// What it wrote to stdout.
    pub stdout: Vec<u8>,
    /// What it wrote to stderr.
    pub stderr: Vec<u8>,
}

/// What a child answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// One line, without its end.
    Text(String),
    /// One line that is not UTF-8. Nothing more should be asked.
    NoText,
    /// More than it may. Nothing more can be had from it.
    TooLong,
    /// Nothing: it has ended.
    Ended,
}

/// A running child. Dropped, it is killed, with all of its process group.
pub struct Child {
    group: Group,
    process: tokio::process::Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    said: JoinHandle<Vec<u8>>,
    _folder: Option<tempfile::TempDir>,
}

impl Child {
    /// Starts a child that is confined before it becomes the program.
    ///
    /// # Errors
    ///
    /// Where the system starts no process. That the program itself cannot be started only shows in
    /// its end: status 127, and why on stderr.
    pub fn start(mut spec: Spec) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("confined-").tempdir()?;
        spec.reach.write.push(folder.path().to_owned());
        let terms = Terms { reach: spec.reach, bounds: spec.bounds };
        let mut command = Command::new(std::env::current_exe()?);
        command
            .env_clear()
            .arg(SUBCOMMAND)
            .arg(serde_json::to_string(&terms)?)
            .arg(spec.program)
            .args(spec.arguments)
            .envs(["HOME", "TMPDIR"].map(|name| (name, folder.path())))
            .envs(spec.environment)
            .current_dir(spec.directory.as_deref().unwrap_or(folder.path()));
        Ok(Self { _folder: Some(folder), ..Self::of(command)? })
    }

    /// Starts this program once more with these arguments, for a part of its work that restricts
    /// itself. It has no environment.
    ///
    /// # Errors
    ///
    /// Where the system starts no process.
    pub fn of_this_program(arguments: &[&str]) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env_clear().args(arguments).current_dir(std::path::MAIN_SEPARATOR_STR);
        Self::of(command)
    }

    fn of(mut command: Command) -> std::io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command.spawn()?;
        let mut stderr = process.stderr.take().expect("piped above");
        // Always read, so that no child waits for somebody to read it.
        let said = tokio::spawn(async move {
            let mut said = Vec::new();
            let _read = (&mut stderr).take(SAID_BYTES).read_to_end(&mut said).await;
            let _rest = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
            said
        });
        Ok(Self {
            group: Group(process.id()),
            stdin: process.stdin.take(),
            stdout: BufReader::new(process.stdout.take().expect("piped above")),
            said,
            process,
            _folder: None,
        })
    }

    /// Gives the child its input and waits for its end. `None`: it wrote more than `most` bytes to
    /// stdout, and was ended.
    ///
    /// # Errors
    ///
    /// Where the system fails.
    pub async fn finish(mut self, input: &[u8], most: usize) -> std::io::Result<Option<Output>> {
        let stdin = self.stdin.take();
        let talk = talk(stdin, input, &mut self.stdout, most);
        tokio::pin!(talk);
        let stdout = tokio::select! {
            stdout = &mut talk => stdout?,
            // Whom it started and left behind may hold the pipes open: its own end is what counts.
            _ = self.process.wait() => {
                self.group.kill();
                talk.await?
            }
        };
        let Some(stdout) = stdout else { return Ok(None) };
        let ended = self.process.wait().await?.into();
        self.group.kill();
        let stderr = (&mut self.said).await.unwrap_or_default();
        Ok(Some(Output { ended, stdout, stderr }))
    }

    /// Sends one line and waits for one line of at most so many bytes.
    ///
    /// # Errors
    ///
    /// Where the system fails.
    pub async fn ask(&mut self, line: &str, most: usize) -> std::io::Result<Line> {
        let Some(stdin) = &mut self.stdin else { return Ok(Line::Ended) };
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
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Line::Ended),
            Err(error) => Err(error),
            Ok(_) if answer.last() == Some(&b'\n') => {
                answer.pop();
                Ok(String::from_utf8(answer).map_or(Line::NoText, Line::Text))
            }
            Ok(_) if answer.len() > most => Ok(Line::TooLong),
            Ok(_) => Ok(Line::Ended),
        }
    }

    /// Ends the child, and says what it wrote to stderr.
    pub async fn end(mut self) -> String {
        self.group.kill();
        let said = tokio::time::timeout(Duration::from_secs(1), &mut self.said).await;
        let said = said.ok().and_then(Result::ok).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Bytes of memory that the child itself uses; `None` where the system does not say.
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

/// Writes a child's input and reads its output. `None`: that is more than `most` bytes.
async fn talk(
    stdin: Option<ChildStdin>,
    input: &[u8],
    stdout: &mut BufReader<ChildStdout>,
    most: usize,
) -> std::io::Result<Option<Vec<u8>>> {
    let feed = async {
        // A child that ends early does not read all: its end counts, not the broken pipe.
        if let Some(mut stdin) = stdin {
            let _fed = stdin.write_all(input).await;
        }
        std::future::pending::<std::convert::Infallible>().await
    };
    let listen = async {
        let mut output = Vec::new();
        stdout.take(most as u64 + 1).read_to_end(&mut output).await?;
        Ok((output.len() <= most).then_some(output))
    };
    tokio::select! {
        never = feed => match never {},
        output = listen => output,
    }
}

/// A process group, which ends with this value.
struct Group(Option<u32>);

impl Group {
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.0.take()
            && let Some(group) = rustix::process::Pid::from_raw(group.cast_signed())
        {
            // There may be nobody left in it.
            let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The child's side: restricts this process and becomes the program. Comes back only where that
/// fails, with why.
pub fn main() -> String {
    let mut arguments = std::env::args_os().skip(2);
    let terms = arguments.next().unwrap_or_default();
    let terms: Result<Terms, _> = serde_json::from_slice(terms.as_encoded_bytes());
    let (Ok(terms), Some(program)) = (terms, arguments.next()) else {
        return format!("{SUBCOMMAND} is for {} itself", env!("CARGO_PKG_NAME"));
    };
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
    {
        return format!("asking to end with the host: {error}");
    }
    if let Err(error) = restrict(&terms.reach, &terms.bounds) {
        return error;
    }
    let mut command = std::process::Command::new(&program);
    command.args(arguments);
    #[cfg(unix)]
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let error = match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    };
    format!("{}: {error}", PathBuf::from(program).display())
}
