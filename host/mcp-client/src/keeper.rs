//! Starts the program of an upstream server. On Linux and Windows, the program and all processes that it started end
//! with the host, even if the host is killed.
//!
//! On Linux, a keeper runs between the host and the server's program. The keeper is this program itself, started once
//! more with [`SUBCOMMAND`]. It is a subreaper: it adopts every process that the server's program leaves behind, even a
//! process that started a session of its own with `setsid`. The keeper ends all of them when the program ends, when the
//! host asks for it, or when the host is gone. If the keeper itself is killed, the system kills the program, too.
//!
//! On Windows, the process that was started with [`SUBCOMMAND`] puts itself into a job, starts the program there and
//! waits for its end. Everything in the job ends with this process. The host puts this process into a second job, which
//! ends with the host.
//!
//! On other systems, the program is not tied to the host: the process that was started with [`SUBCOMMAND`] becomes the
//! program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use portcullis_confine::{Confinement, ResourceLimits, restrict};
use serde::{Deserialize, Serialize};

/// The first argument that tells this program to become an upstream: see [`main`].
pub const SUBCOMMAND: &str = "become-upstream";

/// The signal that tells a keeper to end everything at once.
#[cfg(target_os = "linux")]
pub(crate) const END_ALL: rustix::process::Signal = rustix::process::Signal::USR1;

/// On Linux, the prefix of the argument after [`SUBCOMMAND`], if the process becomes the program and not its keeper.
const ITSELF: &str = "=";

/// Separates the parent's process id from the terms of the program, which are JSON.
const CONFINED: &str = ":";

/// Separates the parent's process id from the number of the descriptor over which sockets are handed to the keeper.
#[cfg(target_os = "linux")]
const CHANNEL: &str = "/";

/// How a program is confined.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Terms {
    /// What the program may reach.
    pub(crate) confinement: Confinement,
    /// The addresses that are not public and that the granted hosts may have.
    pub(crate) addresses: Vec<IpNet>,
}

/// The terms in an argument. `None`: the argument is not one of this program.
fn read_terms(terms: Option<&str>) -> Option<Option<Terms>> {
    terms.map(serde_json::from_str).transpose().ok()
}

/// The failure of a process that was started with other arguments than those of this program.
fn not_for_users() -> String {
    format!("{SUBCOMMAND} is an internal command of portcullis")
}

/// Runs in the child process: becomes the program that the further arguments name, or its keeper. Returns only an
/// error.
pub fn main() -> String {
    let mut arguments = std::env::args_os().skip(2);
    let first = arguments.next().and_then(|first| first.into_string().ok()).unwrap_or_default();
    let (itself, first) = match first.strip_prefix(ITSELF) {
        Some(first) => (true, first),
        None => (cfg!(not(target_os = "linux")), &*first),
    };
    let (parent, terms) = first.split_once(CONFINED).unzip();
    let parent = parent.unwrap_or(first);
    #[cfg(target_os = "linux")]
    let (parent, channel) = match parent.split_once(CHANNEL) {
        Some((parent, channel)) => (parent, channel.parse().ok()),
        None => (parent, None),
    };
    let (Ok(parent), Some(terms), Some(program)) =
        (parent.parse::<i32>(), read_terms(terms), arguments.next())
    else {
        return not_for_users();
    };
    let arguments: Vec<OsString> = arguments.collect();
    #[cfg(target_os = "linux")]
    if !itself {
        return linux::keep(parent, terms.as_ref(), program, arguments);
    }
    #[cfg(target_os = "linux")]
    if let Some(terms) = &terms
        && let Err(why) = linux::enter_network(channel, &terms.confinement.hosts)
    {
        return why;
    }
    #[cfg(not(target_os = "linux"))]
    let _always = itself;
    become_program(parent, terms.as_ref(), program, arguments)
}

/// The argument after [`SUBCOMMAND`]: the process id of the parent, and the terms of the program. `None`: the program is
/// not confined.
pub(crate) fn first_argument(parent: u32, terms: Option<&Terms>) -> String {
    let terms = terms
        .map(|terms| serde_json::to_string(terms).expect("`terms_of` has paths that are text"));
    match terms {
        Some(terms) => format!("{parent}{CONFINED}{terms}"),
        None => parent.to_string(),
    }
}

/// Confines this process if `terms` are given, and becomes the program. On Linux, the program ends with its parent,
/// which is the keeper. On Windows, this process waits for the program, and exits with the program's status. Returns
/// only an error.
fn become_program(
    parent: i32,
    terms: Option<&Terms>,
    program: OsString,
    arguments: Vec<OsString>,
) -> String {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
            return format!("asking the system to end this process with its keeper: {error}");
        }
        // The parent may have ended before this call.
        if !is_parent(parent) {
            return "the keeper has ended".to_owned();
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _used_on_linux_only = parent;
    if let Some(terms) = terms
        && let Err(error) = restrict(&terms.confinement, &ResourceLimits::default())
    {
        return format!("confining the server: {}", portcullis_sanitize::error_chain(&error));
    }
    #[cfg(windows)]
    {
        use portcullis_confine::Job;
        // The host puts this process into a job, too, but perhaps only after the program below was started.
        if let Err(error) = Job::new(&ResourceLimits::default()).and_then(Job::enter) {
            return format!("tying the processes of the server to this one: {error}");
        }
    }
    let mut command = std::process::Command::new(startable(Path::new(&program)));
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

/// The file to start for the name of a program. On Windows, names such as `npx` mean files such as `npx.cmd`, which the
/// system does not find by itself.
pub(crate) fn startable(program: &Path) -> PathBuf {
    let found = if cfg!(windows) { portcullis_confine::find(program) } else { None };
    found.unwrap_or_else(|| program.to_owned())
}

/// Whether a process is still the parent of this process.
#[cfg(target_os = "linux")]
fn is_parent(process: i32) -> bool {
    rustix::process::getppid().is_some_and(|now| now.as_raw_nonzero().get() == process)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::fs;
    use std::process::Command;
    use std::sync::mpsc::{Sender, channel};
    use std::time::{Duration, Instant};

    use rustix::process::{self, Pid, Signal, WaitOptions, WaitStatus};
    use tokio::signal::unix::{SignalKind, signal};

    use portcullis_confine::Host;

    use super::{CHANNEL, ITSELF, SUBCOMMAND, Terms, first_argument, is_parent};
    use crate::relay;

    /// Interval at which to check for the host on a system without process descriptors.
    const LOOK: Duration = Duration::from_millis(500);

    /// The longest time to wait until all killed processes have ended.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// Why all processes have to end.
    enum Reason {
        /// The program has ended.
        Ended(WaitStatus),
        /// The host sent the signal to end, or the host has ended.
        HostDemands,
    }

    /// Starts the program, waits for a reason to end, and ends all processes. Returns only the error of a step before
    /// the wait.
    pub(super) fn keep(
        host: i32,
        terms: Option<&Terms>,
        program: OsString,
        arguments: Vec<OsString>,
    ) -> String {
        let (reasons, reason) = channel();
        if let Err(error) = process::set_child_subreaper(Some(process::getpid())) {
            return format!("becoming the parent of the processes that the server starts: {error}");
        }
        if let Err(error) = listen(reasons.clone()) {
            return format!("handling signals: {error}");
        }
        watch(host, reasons.clone());
        let handover = match terms.filter(|terms| !terms.confinement.hosts.is_empty()) {
            Some(terms) => match relay::handover() {
                Ok((here, there)) => Some((terms.clone(), here, there)),
                Err(error) => return format!("preparing the network of the server: {error}"),
            },
            None => None,
        };
        let channel = handover.as_ref().map(|(_, _, there)| relay::number(there));
        let mut command = Command::new("/proc/self/exe");
        let me = launcher_argument(std::process::id(), channel, terms);
        command.arg(SUBCOMMAND).arg(me).arg(program).args(arguments);
        let child = match command.spawn() {
            Ok(child) => child.id(),
            Err(error) => return format!("starting the launcher of the server: {error}"),
        };
        if let Some((terms, here, _closed)) = handover
            && let Err(error) = start_relay(terms, here)
        {
            return format!("connecting the server to its hosts: {error}");
        }
        // If the keeper held the pipes of the program open, the host would not notice that the program closed them.
        if let Err(error) = let_go_of_pipes() {
            return format!("closing the pipes of the server: {error}");
        }
        std::thread::spawn(move || reap(child, &reasons));
        let ended = reason.recv().unwrap_or(Reason::HostDemands);
        end_all();
        leave(&ended)
    }

    /// The argument of the launcher: as [`first_argument`], with the descriptor over which it hands its sockets over.
    fn launcher_argument(keeper: u32, channel: Option<i32>, terms: Option<&Terms>) -> String {
        let first = first_argument(keeper, terms);
        let (id, terms) =
            first.split_at(first.find(|one: char| !one.is_ascii_digit()).unwrap_or(first.len()));
        let channel = channel.map(|channel| format!("{CHANNEL}{channel}")).unwrap_or_default();
        format!("{ITSELF}{id}{channel}{terms}")
    }

    /// In the launcher: moves this process into a network in which only `hosts` exist, and hands the sockets of this
    /// network to the keeper. Does nothing without hosts.
    pub(super) fn enter_network(channel: Option<i32>, hosts: &[Host]) -> Result<(), String> {
        if hosts.is_empty() {
            return Ok(());
        }
        let channel = channel.ok_or_else(super::not_for_users)?;
        let handed = |error: std::io::Error| format!("handing sockets to the keeper: {error}");
        let channel = relay::inherited(channel).map_err(handed)?;
        let listeners = portcullis_confine::enter_network(hosts).map_err(|error| {
            format!(
                "confining the server to its hosts: {}",
                portcullis_sanitize::error_chain(&error)
            )
        })?;
        relay::hand_over(&channel, &listeners).map_err(handed)
    }

    /// Starts the thread that connects the program to its hosts. Its messages go to the stderr of the server, which the
    /// host logs.
    fn start_relay(terms: Terms, channel: std::os::fd::OwnedFd) -> std::io::Result<()> {
        use std::io::Write as _;
        use std::os::fd::AsFd as _;
        let stderr = fs::File::from(std::io::stderr().as_fd().try_clone_to_owned()?);
        let log: relay::Log = std::sync::Arc::new(move |text: &str| {
            // Nobody may read it any more.
            let _written = writeln!(&stderr, "portcullis: {text}");
        });
        std::thread::spawn(move || {
            let hosts = &terms.confinement.hosts;
            if let Err(error) = relay::run(&channel, hosts, &terms.addresses, &log) {
                log(&format!("no connection to any host: {error}"));
            }
        });
        Ok(())
    }

    /// Handles `SIGTERM`, `SIGINT` and `SIGHUP` without effect, because signals to the process group are meant for the
    /// program. Reports `END_ALL`.
    fn listen(reasons: Sender<Reason>) -> std::io::Result<()> {
        let (done, result) = channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
            let handled = runtime.and_then(|runtime| {
                let _entered = runtime.enter();
                let end = signal(SignalKind::user_defined1())?;
                // A handler stays in place after its receiver was dropped.
                for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()]
                {
                    let _receiver = signal(kind)?;
                }
                Ok((runtime, end))
            });
            let (waits, result) = match handled {
                Ok(waits) => (Some(waits), Ok(())),
                Err(error) => (None, Err(error)),
            };
            let _keeper_waits = done.send(result);
            if let Some((runtime, mut end)) = waits {
                runtime.block_on(end.recv());
                let _keeper_ends = reasons.send(Reason::HostDemands);
            }
        });
        result.recv().map_err(std::io::Error::other)?
    }

    /// Reports the end of the host, from a thread of its own.
    fn watch(host: i32, reasons: Sender<Reason>) {
        std::thread::spawn(move || {
            let descriptor = Pid::from_raw(host)
                .and_then(|host| process::pidfd_open(host, process::PidfdFlags::empty()).ok());
            // The host may have ended before this call, and the system may have reused its id.
            if let Some(descriptor) = &descriptor
                && is_parent(host)
            {
                use rustix::event::{PollFd, PollFlags, poll};
                while poll(&mut [PollFd::new(descriptor, PollFlags::IN)], None).is_err() {}
            }
            while is_parent(host) {
                std::thread::sleep(LOOK);
            }
            let _ending = reasons.send(Reason::HostDemands);
        });
    }

    fn let_go_of_pipes() -> std::io::Result<()> {
        let nothing = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        rustix::stdio::dup2_stderr(&nothing)?;
        Ok(())
    }

    /// Reaps processes that have ended, until there is no child. Reports the end of the program.
    fn reap(program: u32, reasons: &Sender<Reason>) {
        loop {
            match process::wait(WaitOptions::empty()) {
                Ok(Some((ended, status))) => {
                    if ended.as_raw_nonzero().get().cast_unsigned() == program {
                        let _ending = reasons.send(Reason::Ended(status));
                    }
                }
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Kills all descendants. A process whose parent was killed becomes a child of this process, and the next pass of
    /// the loop finds it.
    fn end_all() {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let children = children();
            if children.is_empty() {
                return;
            }
            for child in children {
                // The process may have ended by itself.
                let _gone = process::kill_process(child, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The child processes of this process.
    fn children() -> Vec<Pid> {
        let me = process::getpid().as_raw_nonzero().get();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let children = processes.filter_map(|entry| {
            let process: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name, in parentheses, may contain any character. The state and the parent follow it.
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?;
            (parent.parse() == Ok(me)).then(|| Pid::from_raw(process)).flatten()
        });
        children.collect()
    }

    /// Ends this process: with the signal or the exit status of the program, or with status 0 if the host demanded the
    /// end.
    fn leave(reason: &Reason) -> ! {
        let Reason::Ended(status) = reason else { std::process::exit(0) };
        if let Some(signal) = status.terminating_signal() {
            let none = process::Rlimit { current: Some(0), maximum: Some(0) };
            let _no_core = process::setrlimit(process::Resource::Core, none);
            if let Some(named) = Signal::from_named_raw(signal) {
                let _ends = process::kill_process(process::getpid(), named);
                // A signal that this process handles does not end it. This process then exits with the status below.
                std::thread::sleep(Duration::from_millis(10));
            }
            std::process::exit(128 + signal);
        }
        std::process::exit(status.exit_status().unwrap_or(1))
    }
}
