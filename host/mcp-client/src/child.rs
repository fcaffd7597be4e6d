//! A child process: starts it, keeps its last lines of stderr, and ends it together with its process group or job.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use portcullis_confine::{confines_files, terms_of};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::definition::Command;
use crate::fault::FaultCause;
use crate::keeper::{self, Terms, startable};
use crate::lines::{Line, Lines};
use crate::process_group::Group;
use crate::text::{self, LogLimiter};

/// Time limit for a child to end after each step: closing its stdin, sending `SIGTERM`, and ending its process group or
/// job.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum length of a line of stderr, in bytes. The text of a longer line is not shown.
const TAIL_BYTES: usize = 64 * 1024;
/// Maximum length of a line of stderr in logs and errors, in characters. A longer line is cut.
const MAX_SHOWN: usize = 1000;

/// How many of the last lines of stderr are kept for errors.
const SHOWN_LINES: usize = 3;

/// Variables of the host's environment that every child gets.
#[cfg(not(windows))]
const INHERITED: &[&str] = &["HOME", "LANG", "PATH", "TMPDIR"];
#[cfg(windows)]
const INHERITED: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "ProgramData",
    "ProgramFiles",
    "SystemDrive",
    "SystemRoot",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "WINDIR",
];

/// A running child. Dropping this value ends the child and all processes that it started. On Unix without a keeper, it
/// ends only the child's process group.
pub(crate) struct Child {
    process: tokio::process::Child,
    group: Group,
    said: StderrTail,
}

/// The host's ends of the pipes of a child.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

/// The last lines that a child wrote to stderr.
type StderrTail = Arc<Mutex<VecDeque<String>>>;

impl Child {
    /// Starts a command: through the program `launcher` if there is one (see [`keeper::main`]), directly otherwise.
    pub(crate) fn start(
        command: &Command,
        launcher: Option<&Path>,
        upstream: &Arc<str>,
    ) -> Result<(Self, Pipes), FaultCause> {
        if command.confine.is_some() && !confines_files() {
            return Err(FaultCause::NotRunning(
                format!(
                    "this system cannot enforce `confine`; remove `[upstreams.{upstream}.confine]` to \
                     run the program with all rights of the user"
                )
                .into(),
            ));
        }
        let is_kept = cfg!(target_os = "linux") && launcher.is_some();
        let mut process = match launcher {
            Some(launcher) => {
                let mut process = tokio::process::Command::new(launcher);
                let this = std::process::id();
                let terms = terms(command);
                process.arg(keeper::SUBCOMMAND).arg(keeper::first_argument(this, terms.as_ref()));
                process.arg(&command.program);
                process
            }
            None if command.confine.is_some() => {
                let why = "`confine` needs a launcher, and this program has none";
                return Err(FaultCause::NotRunning(why.into()));
            }
            None => tokio::process::Command::new(startable(&command.program)),
        };
        process
            .args(&command.args)
            .env_clear()
            .envs(inherited())
            .envs(command.env.iter().map(|(name, value)| (name, value.reveal())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A keeper that is killed could not end the processes that the server left behind.
            .kill_on_drop(!is_kept);
        if let Some(cwd) = &command.cwd {
            process.current_dir(cwd);
        }
        #[cfg(unix)]
        process.process_group(0);
        #[cfg(windows)]
        process.creation_flags(portcullis_confine::CREATE_NO_WINDOW);
        let started = on_a_thread_that_stays(move || {
            let mut process = process.spawn()?;
            Group::of(&mut process, is_kept).map(|group| (process, group))
        });
        let (mut process, group) = started.map_err(|error| {
            let program = command.program.display();
            FaultCause::NotRunning(
                format!("starting {program}: {error}; check that `command` and `cwd` exist").into(),
            )
        })?;
        let pipes = Pipes {
            stdin: process.stdin.take().expect("piped above"),
            stdout: process.stdout.take().expect("piped above"),
        };
        let said = StderrTail::default();
        let stderr = process.stderr.take().expect("piped above");
        tokio::spawn(listen(stderr, said.clone(), upstream.clone()));
        Ok((Self { process, group, said }, pipes))
    }

    /// The process id. `None`: the child has ended.
    pub(crate) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Waits until the child has ended, and kills what is left of its process group or job. `None`: the status of the
    /// child is not known.
    pub(crate) async fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.process.wait().await.ok();
        self.group.kill();
        status
    }

    /// As [`Self::ended`], but waits for at most `most`. `None`: the child has not ended, or its status is not known.
    pub(crate) async fn ended_within(&mut self, most: Duration) -> Option<ExitStatus> {
        timeout(most, self.ended()).await.ok().flatten()
    }

    /// Ends the child, whose stdin is closed already. A child that does not end gets `SIGTERM`, and is then killed.
    pub(crate) async fn end(mut self) {
        if self.ended_within(EXIT_TIMEOUT).await.is_some() {
            return;
        }
        self.group.ask_to_end();
        if self.ended_within(EXIT_TIMEOUT).await.is_some() {
            return;
        }
        self.group.end_all();
        if self.ended_within(EXIT_TIMEOUT).await.is_some() {
            return;
        }
        self.group.kill();
        let _killed = self.process.start_kill();
        let _reaped = self.process.wait().await;
    }

    /// Why the child ended, with its last lines of stderr.
    pub(crate) fn exit_report(&self, why: &str) -> String {
        let mut text = why.to_owned();
        let said = self.said.lock();
        if !said.is_empty() {
            let last: Vec<&str> = said.iter().map(String::as_str).collect();
            text += &format!("; its last lines on stderr: {}", text::line(&last.join(" | "), 500));
        }
        text
    }
}

/// How the program of a command is confined: by what the operator granted, and by what each program needs. `None`: it is
/// not confined.
fn terms(command: &Command) -> Option<Terms> {
    let Terms { confinement, addresses } = command.confine.as_ref()?;
    let confinement = terms_of(&command.program, &command.args, confinement);
    Some(Terms { confinement, addresses: addresses.clone() })
}

/// Runs `work` on a thread that lives as long as this process. Linux sends the parent-death signal to a child when the
/// thread that started the child ends, and the threads of a runtime may end early.
fn on_a_thread_that_stays<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    type Work = Box<dyn FnOnce() + Send>;
    static THREAD: OnceLock<mpsc::Sender<Work>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (works, work) = mpsc::channel::<Work>();
        std::thread::spawn(move || work.into_iter().for_each(|work| work()));
        works
    });
    let runtime = tokio::runtime::Handle::current();
    let (done, result) = mpsc::sync_channel(1);
    let work = move || {
        let _inside = runtime.enter();
        // The caller waits below.
        let _taken = done.send(work());
    };
    thread.send(Box::new(work)).expect("the thread stays");
    result.recv().expect("the work does not panic")
}

fn inherited() -> Vec<(&'static str, OsString)> {
    INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect()
}

/// Reads stderr to its end, so that no child blocks on a full pipe.
async fn listen(stderr: ChildStderr, said: StderrTail, upstream: Arc<str>) {
    let mut lines = Lines::new(stderr, TAIL_BYTES);
    let mut valve = LogLimiter::new();
    while let Ok(Some(line)) = lines.next().await {
        let line = match line {
            Line::Text(line) => text::line(&String::from_utf8_lossy(line), MAX_SHOWN),
            Line::TooLong(_) => format!("(a line of more than {TAIL_BYTES} bytes)"),
        };
        if line.is_empty() {
            continue;
        }
        if let Some(held) = valve.pass() {
            if held > 0 {
                tracing::info!("upstream `{upstream}`: stderr: ({held} earlier lines suppressed)");
            }
            tracing::info!("upstream `{upstream}`: stderr: {line}");
        }
        let mut said = said.lock();
        if said.len() == SHOWN_LINES {
            said.pop_front();
        }
        said.push_back(line);
    }
}
