//! A confined child that tries to break out: each attempt must fail, and allowed operations must work.
//!
//! This program is both the host and the child: `cargo test` starts it as the host, and the host starts the same
//! program again as a confined child.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, unused_imports, reason = "other systems confine less")
)]

#[path = "escape/unconfined.rs"]
mod unconfined;

#[cfg(target_os = "linux")]
#[path = "escape/calls.rs"]
mod calls;
#[cfg(target_os = "linux")]
#[path = "escape/scopes.rs"]
mod scopes;
#[cfg(target_os = "linux")]
#[path = "escape/workers.rs"]
mod workers;

use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use portcullis_confine::{
    Child, ChildSpec, Confinement, Exit, Output, Reply, ResourceLimits, SUBCOMMAND,
};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some(SUBCOMMAND) => {
            eprintln!("{}", portcullis_sanitize::error_chain(&portcullis_confine::main()));
            ExitCode::from(127)
        }
        Some("attempt") => {
            let name = arguments.next().expect("the name of an attempt");
            let arguments: Vec<_> = arguments.collect();
            attempt(&name, &arguments)
        }
        #[cfg(target_os = "linux")]
        Some("scope-host") => {
            let files: Vec<_> = arguments.collect();
            println!("{}", scopes::host(&files).join("\n"));
            ExitCode::SUCCESS
        }
        #[cfg(target_os = "linux")]
        Some("without-landlock") => {
            unconfined::without_landlock();
            runtime().block_on(unconfined::check());
            ExitCode::SUCCESS
        }
        _ => {
            host();
            ExitCode::SUCCESS
        }
    }
}

/// The confined child: tries one operation. The exit code is 0 if the operation worked, and 1 if it was refused.
fn attempt(name: &str, with: &[String]) -> ExitCode {
    let path = |n: usize| Path::new(&with[n]);
    let worked = match name {
        "nothing" => true,
        "read" => fs::read(path(0)).is_ok(),
        "list" => fs::read_dir(path(0)).is_ok(),
        "write" => fs::write(path(0), "written").is_ok(),
        "remove" => fs::remove_file(path(0)).is_ok(),
        "rename" => fs::rename(path(0), path(1)).is_ok(),
        "link" => {
            fs::hard_link(path(0), path(1)).is_ok() && fs::write(path(1), "through a link").is_ok()
        }
        "read-through-link" => {
            #[cfg(unix)]
            let made = std::os::unix::fs::symlink(path(0), path(1)).is_ok();
            #[cfg(not(unix))]
            let made = false;
            made && fs::read(path(1)).is_ok()
        }
        #[cfg(target_os = "linux")]
        "calls" => {
            let wrong = calls::attempt(&with[0], path(1), path(2), path(3));
            println!("{}", wrong.join("\n"));
            wrong.is_empty()
        }
        "threads" => std::thread::spawn(|| 1).join().is_ok_and(|answer| answer == 1),
        "connect" | "listen" | "send" | "resolve" | "unix-socket" => reach(name, with),
        "run" => std::process::Command::new(path(0)).status().is_ok(),
        #[cfg(unix)]
        "leave-the-group" => rustix::process::setsid().is_ok(),
        #[cfg(unix)]
        "signal-the-parent" => {
            let parent = rustix::process::getppid().expect("there is one");
            rustix::process::kill_process(parent, rustix::process::Signal::CONT).is_ok()
        }
        "memory" => {
            let bytes: usize = with[0].parse().expect("a number");
            let mut all: Vec<u8> = Vec::new();
            all.try_reserve_exact(bytes).is_ok()
        }
        "environment" => {
            println!("{:?}", std::env::vars().collect::<Vec<_>>());
            true
        }
        "spin" => loop {
            std::hint::spin_loop();
        },
        "sleep-beside" => sleep_beside(path(0)),
        "sleep" => {
            let file = fs::File::create(path(0)).expect("a file");
            file.lock().expect("nobody else has it");
            println!("locked");
            std::thread::sleep(Duration::from_secs(600));
            true
        }
        "flood" => flood(),
        "echo" => {
            for line in std::io::stdin().lines() {
                println!("{}", line.expect("a line"));
            }
            true
        }
        other => unreachable!("no attempt is called {other}"),
    };
    ExitCode::from(u8::from(!worked))
}

fn flood() -> bool {
    let line = [b'x'; 65536];
    loop {
        if std::io::Write::write_all(&mut std::io::stdout(), &line).is_err() {
            break true;
        }
    }
}

/// Starts a process that takes the lock of a file and keeps it. Returns when that process has the lock.
#[expect(clippy::zombie_processes, reason = "the process is left behind on purpose")]
fn sleep_beside(file: &Path) -> bool {
    let me = std::env::current_exe().expect("this program");
    let mut child = std::process::Command::new(me);
    child.args(["attempt", "sleep"]).arg(file).stdout(std::process::Stdio::piped());
    let child = child.spawn().expect("a child");
    let mut said = [0; 6];
    let mut stdout = child.stdout.expect("piped above");
    std::io::Read::read_exact(&mut stdout, &mut said).is_ok() && said == *b"locked"
}

fn reach(name: &str, with: &[String]) -> bool {
    match name {
        "connect" => TcpStream::connect(&with[0]).is_ok(),
        "listen" => TcpListener::bind("127.0.0.1:0").is_ok(),
        "send" => {
            UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"x", &with[0])).is_ok()
        }
        "resolve" => std::net::ToSocketAddrs::to_socket_addrs(&(with[0].as_str(), 80)).is_ok(),
        #[cfg(unix)]
        "unix-socket" => std::os::unix::net::UnixStream::connect(&with[0]).is_ok(),
        other => unreachable!("no attempt is called {other}"),
    }
}

struct Stage {
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Stage {
    fn spec(&self, arguments: &[&str], network: bool) -> ChildSpec {
        let me = std::env::current_exe().expect("this program");
        // The files that every program needs to start.
        let system = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null"];
        let mut read: Vec<PathBuf> = system.iter().map(PathBuf::from).collect();
        read.extend([me.clone(), self.path("read")]);
        ChildSpec {
            program: me,
            arguments: ["attempt"].iter().chain(arguments).map(OsString::from).collect(),
            environment: vec![("GIVEN".into(), "yes".into())],
            directory: Some(self.path("read")),
            confinement: Confinement {
                read,
                write: vec![self.path("write")],
                network,
                hosts: Vec::new(),
            },
            limits: ResourceLimits {
                memory: Some(256 << 20),
                cpu_seconds: Some(2),
                ..ResourceLimits::default()
            },
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, spec: ChildSpec, most: usize) -> Option<Output> {
        self.runtime
            .block_on(async {
                let child = Child::start(spec).expect("a child");
                let work = child.finish(b"", most);
                tokio::time::timeout(Duration::from_secs(60), work).await.expect("it ends")
            })
            .expect("the system works")
    }

    fn expect(&self, works: bool, arguments: &[&str]) {
        self.expect_with(works, arguments, false);
    }

    fn expect_with(&self, works: bool, arguments: &[&str], network: bool) {
        let output = self.run(self.spec(arguments, network), 10_000).expect("it says little");
        let code = i32::from(!works);
        assert_eq!(output.ended, Exit::Exited(code), "{arguments:?}: {output:?}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[cfg(not(target_os = "linux"))]
fn host() {
    println!("confining: {}", portcullis_confine::strength());
    runtime().block_on(unconfined::check());
    let stage = Stage { folder: tempfile::tempdir().expect("a folder"), runtime: runtime() };
    fs::create_dir(stage.path("read")).expect("a folder");
    environment(&stage);
    left_behind(&stage);
    output_and_end(&stage);
    conversation(&stage);
    #[cfg(windows)]
    scripts(&stage);
}

#[cfg(target_os = "linux")]
fn host() {
    let strength = portcullis_confine::strength();
    println!("confining: {strength}");
    assert!(
        strength.starts_with("files by Landlock, system calls by seccomp"),
        "this test needs a kernel with Landlock (Linux 5.13 or newer) and seccomp"
    );
    let stage = Stage { folder: tempfile::tempdir().expect("a folder"), runtime: runtime() };
    for folder in ["read", "write", "outside"] {
        fs::create_dir(stage.path(folder)).expect("a folder");
        fs::write(stage.path(folder).join("file"), "content").expect("a file");
    }
    files(&stage);
    system_calls(&stage);
    scopes::check();
    network(&stage);
    processes(&stage);
    amounts(&stage);
    conversation(&stage);
    fs::create_dir(stage.path("work")).expect("a folder");
    stage.runtime.block_on(workers::check(&stage.path("work")));
    let me = std::env::current_exe().expect("this program");
    let checked = std::process::Command::new(me).arg("without-landlock").status();
    assert!(checked.expect("it can be started").success(), "its errors are printed above");
}

#[cfg(target_os = "linux")]
fn files(stage: &Stage) {
    let at = |path: &str| stage.path(path).display().to_string();
    stage.expect(true, &["nothing"]);
    stage.expect(true, &["read", &at("read/file")]);
    stage.expect(true, &["list", &at("read")]);
    stage.expect(true, &["read", &at("write/file")]);
    stage.expect(true, &["write", &at("write/new")]);
    stage.expect(true, &["rename", &at("write/new"), &at("write/newer")]);
    stage.expect(true, &["remove", &at("write/newer")]);
    stage.expect(false, &["write", &at("read/file")]);
    stage.expect(false, &["write", &at("read/new")]);
    stage.expect(false, &["remove", &at("read/file")]);
    stage.expect(false, &["rename", &at("read/file"), &at("write/moved")]);
    stage.expect(false, &["link", &at("read/file"), &at("write/linked")]);
    for outside in ["outside/file", "read/../outside/file"] {
        stage.expect(false, &["read", &at(outside)]);
        stage.expect(false, &["write", &at(outside)]);
    }
    stage.expect(false, &["read-through-link", &at("outside/file"), &at("write/link")]);
    stage.expect(false, &["list", &at("outside")]);
    for path in ["/etc/passwd", "/proc/1/environ", "/proc/self/root/etc/passwd"] {
        stage.expect(false, &["read", path]);
    }
    let parent = format!("/proc/{}/environ", std::process::id());
    stage.expect(false, &["read", &parent]);
    assert_eq!(fs::read_to_string(stage.path("read/file")).expect("a file"), "content");
    assert_eq!(fs::read_to_string(stage.path("outside/file")).expect("a file"), "content");
}

/// Tries system calls that Landlock does not restrict, such as changing metadata of files that may only be read.
#[cfg(target_os = "linux")]
fn system_calls(stage: &Stage) {
    let at = |path: &str| stage.path(path).display().to_string();
    for place in ["read/file", "outside/file"] {
        let before = calls::metadata_of(&stage.path(place));
        for family in calls::FAMILIES {
            // A file outside cannot even be opened: only the calls with a path are tried on it.
            if place == "outside/file" && !matches!(*family, "modes" | "times" | "owners") {
                continue;
            }
            stage.expect(true, &["calls", family, &at(place), &at("write"), &at("read/file")]);
        }
        assert_eq!(calls::metadata_of(&stage.path(place)), before, "{place}");
    }
    stage.expect(true, &["threads"]);
}

#[cfg(target_os = "linux")]
fn network(stage: &Stage) {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let tcp = tcp.local_addr().expect("a port").to_string();
    let udp = udp.local_addr().expect("a port").to_string();
    let socket = stage.path("write/socket").display().to_string();
    let _listening = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    for attempt in [
        &["connect", tcp.as_str()][..],
        &["listen"],
        &["send", &udp],
        &["unix-socket", &socket],
        &["resolve", "portcullis.example"],
    ] {
        stage.expect(false, attempt);
    }
    stage.expect_with(true, &["connect", &tcp], true);
    stage.expect_with(true, &["send", &udp], true);
}

#[cfg(target_os = "linux")]
fn processes(stage: &Stage) {
    stage.expect(true, &["run", "/usr/bin/true"]);
    stage.expect(false, &["run", &stage.path("outside/file").display().to_string()]);
    stage.expect(false, &["leave-the-group"]);
    if has_signal_scope() {
        stage.expect(false, &["signal-the-parent"]);
    }
    environment(stage);
    left_behind(stage);
}

/// The child has the environment variables that it is given, and none of the host's that reveal something about the
/// user.
fn environment(stage: &Stage) {
    let output = stage.run(stage.spec(&["environment"], false), 10_000).expect("it says little");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("(\"GIVEN\", \"yes\")"), "{said}");
    for name in ["PATH", "CARGO", "USER"] {
        assert!(!said.contains(&format!("(\"{name}\"")), "{said}");
    }
}

/// A process that the child started ends with the child, although the child did not wait for it.
fn left_behind(stage: &Stage) {
    let file = stage.path("lock");
    let lock = file.to_str().expect("a temporary path is UTF-8");
    let begun = Instant::now();
    let mut spec = stage.spec(&["sleep-beside", lock], false);
    spec.confinement.write.push(stage.folder.path().to_owned());
    let output = stage.run(spec, 10_000).expect("it says little");
    assert_eq!(output.ended, Exit::Exited(0), "{output:?}");
    assert!(begun.elapsed() < Duration::from_secs(50), "nobody waits for what it left behind");
    let gone = || fs::File::open(&file).expect("it was made").try_lock().is_ok();
    assert!((0..100).any(|_| gone() || pause()), "it outlives the child");
}

/// Whether Landlock restricts signals, which it does since Linux 6.12.
#[cfg(target_os = "linux")]
fn has_signal_scope() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux says its release");
    let mut numbers = release.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(12))
}

fn pause() -> bool {
    std::thread::sleep(Duration::from_millis(20));
    false
}

#[cfg(target_os = "linux")]
fn amounts(stage: &Stage) {
    stage.expect(true, &["memory", "100000000"]);
    stage.expect(false, &["memory", "500000000"]);
    let output = stage.run(stage.spec(&["spin"], false), 10).expect("it says nothing");
    assert!(matches!(output.ended, Exit::Signalled(_)), "a limit of computing: {output:?}");
    output_and_end(stage);
}

fn output_and_end(stage: &Stage) {
    assert!(stage.run(stage.spec(&["flood"], false), 1_000_000).is_none(), "a limit of output");
    let missing = ChildSpec { program: "/nowhere".into(), ..stage.spec(&[], false) };
    let output = stage.run(missing, 10_000).expect("it says little");
    assert_eq!(output.ended, Exit::Exited(127));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere"), "{output:?}");
}

fn conversation(stage: &Stage) {
    stage.runtime.block_on(async {
        let mut child = Child::start(stage.spec(&["echo"], false)).expect("a child");
        for line in ["{}", "{\"a\": 1}", ""] {
            let answer = child.ask(line, 100).await.expect("the system works");
            assert_eq!(answer, Reply::Text(line.to_owned()));
        }
        assert!(child.is_running());
        assert_eq!(child.memory().is_some_and(|bytes| bytes > 0), cfg!(target_os = "linux"));
        let answer = child.ask(&"x".repeat(200), 100).await.expect("the system works");
        assert_eq!(answer, Reply::TooLong);
        let mut child = Child::start(stage.spec(&["nothing"], false)).expect("a child");
        assert_eq!(child.ask("anybody?", 100).await.expect("the system works"), Reply::Ended);
    });
}

/// A script of Windows, such as `npm.cmd`, is started by its name without the ending, and gets its arguments as they
/// are.
#[cfg(windows)]
fn scripts(stage: &Stage) {
    fs::write(stage.path("tool.cmd"), "@echo got %1 in %CD%\r\n").expect("a file");
    let program = portcullis_confine::find(&stage.path("tool")).expect("it has one of the endings");
    let spec = ChildSpec { program, arguments: vec!["a b".into()], ..stage.spec(&[], false) };
    let output = stage.run(spec, 10_000).expect("it says little");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = stage.path("read").display().to_string().to_lowercase();
    assert!(said.contains("got \"a b\" in "), "{said} {output:?}");
    assert!(said.trim_end().to_lowercase().ends_with(&read), "{said} {read}");
}
