//! A process of the binary under test, with lines of input and output and a time limit.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::PATIENCE;
use super::home::Ran;

/// The content of stderr so far.
#[derive(Default)]
struct Said {
    /// The bytes, and whether stderr is closed.
    bytes: Mutex<(Vec<u8>, bool)>,
    more: Condvar,
}

/// A running process; ends with the test at the latest.
pub struct Process {
    child: Arc<Mutex<Child>>,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    said: Arc<Said>,
    reading: Option<JoinHandle<()>>,
    deadline: Instant,
    /// Dropping this sender stops the watchdog.
    _watched: Sender<()>,
}

impl Process {
    /// Starts a command.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        let child = Arc::new(Mutex::new(child));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                match stdout.read_until(b'\n', &mut line) {
                    Ok(1..) if sender.send(line).is_ok() => {}
                    _ => return,
                }
            }
        });
        let said = Arc::new(Said::default());
        let reading = std::thread::spawn({
            let said = said.clone();
            move || said.collect(stderr)
        });
        let (watched, watch) = channel();
        std::thread::spawn({
            let child = child.clone();
            move || {
                // Killing the process also unblocks a test that writes to its stdin.
                if watch.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    let _gone = lock(&child).kill();
                }
            }
        });
        Self {
            child,
            stdin,
            lines,
            said,
            reading: Some(reading),
            deadline: Instant::now() + PATIENCE,
            _watched: watched,
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        lock(&self.child).id()
    }

    /// Writes to stdin. Errors are ignored: they show in the process's output.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            let _gone = stdin.write_all(bytes).and_then(|()| stdin.flush());
        }
    }

    /// The next line of stdout. `None`: stdout is closed.
    pub fn line(&mut self) -> Option<String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => Some(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("nothing came for {PATIENCE:?}; stderr:\n{}", self.stderr())
            }
        }
    }

    /// The content of stderr so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&lock(&self.said.bytes).0).into_owned()
    }

    /// Waits for a text on stderr, and returns all of stderr so far.
    pub fn hear(&self, needle: &str) -> String {
        let mut said = lock(&self.said.bytes);
        loop {
            let text = String::from_utf8_lossy(&said.0).into_owned();
            if text.contains(needle) {
                return text;
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            assert!(!said.1 && !left.is_zero(), "it never said {needle:?}: {text}");
            said = match self.said.more.wait_timeout(said, left) {
                Ok((said, _)) => said,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Closes stdin.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Kills the process.
    pub fn kill(mut self) {
        let _gone = lock(&self.child).kill();
        self.wait();
    }

    /// Closes stdin and waits for the end.
    pub fn end(mut self) -> Ran {
        self.close();
        let stdout: String = std::iter::from_fn(|| self.line()).map(|line| line + "\n").collect();
        let code = self.wait();
        Ran { code, stdout, stderr: self.stderr() }
    }

    /// Like [`Process::end`], with the time taken.
    pub fn end_timed(self) -> (Ran, Duration) {
        let began = Instant::now();
        let ran = self.end();
        (ran, began.elapsed())
    }

    fn wait(&mut self) -> Option<i32> {
        if let Some(reading) = self.reading.take() {
            reading.join().expect("reading does not panic");
        }
        lock(&self.child).wait().expect("it was started").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        if matches!(child.try_wait(), Ok(None)) {
            let _gone = child.kill();
            let _status = child.wait();
        }
    }
}

impl Said {
    fn collect(&self, mut from: impl Read) {
        let mut piece = [0; 8192];
        loop {
            let length = from.read(&mut piece).unwrap_or(0);
            let mut said = lock(&self.bytes);
            said.0.extend_from_slice(&piece[..length]);
            said.1 = length == 0;
            drop(said);
            self.more.notify_all();
            if length == 0 {
                return;
            }
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of open files and connections of a process.
pub fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).expect("it runs").count()
}

/// Number of threads of a process with this name.
pub fn threads(process: u32, name: &str) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let names = threads.filter_map(|thread| {
        // A thread may have ended since it was listed.
        std::fs::read_to_string(thread.expect("a thread").path().join("comm")).ok()
    });
    names.filter(|one| one.trim() == name).count()
}

/// Current memory of a process, in bytes.
pub fn memory(process: u32) -> u64 {
    status(process, "VmRSS:")
}

/// Peak memory of a process, in bytes.
pub fn peak_memory(process: u32) -> u64 {
    status(process, "VmHWM:")
}

fn status(process: u32, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("Linux says this");
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes * 1024
}
