//! Builds and starts the two servers, and has clients for them: raw JSON-RPC, one thread, blocking I/O.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio as Pipe};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The era of MCP.
#[derive(Clone, Copy, PartialEq)]
pub enum Era {
    /// 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        })
    }
}

/// How a server is started.
#[derive(Clone)]
pub struct Server {
    program: PathBuf,
    args: Vec<OsString>,
    http: Vec<OsString>,
    home: PathBuf,
}

impl Server {
    /// The same server, with a root if it is started over stdio.
    pub fn with_root(mut self, root: &Path) -> Self {
        self.args.extend(["--root".into(), root.into()]);
        self
    }

    fn command(&self, args: &[OsString]) -> Command {
        let mut command = command(&self.program);
        command.args(args).env_clear().env("HOME", &self.home);
        for (name, folder) in
            [("CONFIG", "config"), ("DATA", "data"), ("STATE", "state"), ("CACHE", "cache")]
        {
            command.env(format!("XDG_{name}_HOME"), self.home.join(folder));
        }
        command
    }
}

#[expect(clippy::disallowed_methods, reason = "what is measured are processes")]
fn command(program: &Path) -> Command {
    Command::new(program)
}

const ANY_PORT: &str = "127.0.0.1:0";

fn server(program: &Path, home: &Path, args: &[&str], http: &[&str]) -> Server {
    Server {
        program: program.to_owned(),
        args: args.iter().map(OsString::from).collect(),
        http: http.iter().map(OsString::from).collect(),
        home: home.to_owned(),
    }
}

/// Portcullis with a plugin, and a temporary home folder for it.
pub struct Portcullis {
    server: Server,
    home: TempDir,
}

impl Portcullis {
    /// Portcullis with the plugin `echo`.
    pub fn build() -> Self {
        Self::with("echo")
    }

    /// Portcullis with a guest of `tests/guests` as its plugin. Builds the guest, because `cargo bench` does not build it.
    pub fn with(guest: &str) -> Self {
        let home = tempfile::tempdir().expect("a folder for a home");
        let config = configure(home.path(), guest);
        let config = config.to_str().expect("a temporary folder has a plain name");
        let (stdio, http) =
            (["serve", "--config", config], ["serve", "--config", config, "--http", ANY_PORT]);
        let program = Path::new(env!("CARGO_BIN_EXE_portcullis"));
        Self { server: server(program, home.path(), &stdio, &http), home }
    }

    /// How Portcullis is started.
    pub fn server(&self) -> Server {
        self.server.clone()
    }
}

/// Both servers.
pub struct Servers {
    native: Server,
    /// Portcullis.
    pub portcullis: Portcullis,
}

impl Servers {
    /// Builds the native server and the guest, because `cargo bench` does not build them.
    pub fn build() -> Self {
        let portcullis = Portcullis::build();
        cargo(&["build", "--release", "--package", "portcullis", "--example", "native-echo"]);
        let folder = portcullis.server.program.parent().expect("a binary lies in a folder");
        let native = folder.join(format!("examples/native-echo{}", env::consts::EXE_SUFFIX));
        let native = server(&native, portcullis.home.path(), &[], &[ANY_PORT]);
        Self { native, portcullis }
    }

    /// Both servers, the native one first.
    pub fn both(&self) -> [Server; 2] {
        [self.native.clone(), self.portcullis.server()]
    }
}

/// Builds the guest, and writes a configuration in which the guest is a plugin.
#[expect(clippy::disallowed_methods, reason = "a benchmark may write to its own folder")]
fn configure(home: &Path, guest: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("plugins");
    let target_dir = target.to_str().expect("the target folder has a plain name");
    let profile = ["--profile", "plugin", "--target", "wasm32-wasip2"];
    let package = format!("guest-{guest}");
    let build = ["build", "--package", &package, "--target-dir", target_dir];
    cargo(&[build.as_slice(), &profile].concat());
    let built = target.join(format!("wasm32-wasip2/plugin/guest_{guest}.wasm"));
    let plugins = home.join("plugins");
    std::fs::create_dir_all(&plugins).expect("the home can be written to");
    std::fs::copy(&built, plugins.join(format!("{guest}.wasm"))).expect("the guest was built");
    let config = home.join("portcullis.toml");
    let text =
        format!("[host]\nplugin-dirs = [{plugins:?}]\n[http]\nrequests-per-second = 1_000_000\n");
    std::fs::write(&config, text).expect("the home can be written to");
    config
}

#[expect(clippy::disallowed_methods, reason = "cargo says where cargo is")]
fn cargo(args: &[&str]) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = command(Path::new(&cargo))
        .args(args)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "cargo {}: {status}", args.join(" "));
}

fn request(id: u32, era: Era, method: &str, mut params: Value) -> Value {
    if era == Era::Modern {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "speed", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn echo(id: u32, era: Era) -> Value {
    request(id, era, "tools/call", json!({"name": "echo", "arguments": {"text": "hello"}}))
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The line of a call of a tool.
pub fn call(era: Era, tool: &str, arguments: &Value) -> Vec<u8> {
    line(&request(1, era, "tools/call", json!({"name": tool, "arguments": arguments})))
}

/// Writes a manifest into this project, and returns a call of `run_manifest_validation` on it.
#[expect(clippy::disallowed_methods, reason = "a benchmark may write to its own folder")]
pub fn manifest_call(project: &Path) -> Vec<u8> {
    let path = project.join("manifest.json");
    std::fs::write(&path, include_str!("manifest.json")).expect("the project can be written to");
    call(Era::Legacy, "run_manifest_validation", &json!({"manifestPath": path}))
}

/// A server, and a client of it over stdin and stdout.
pub struct Stdio {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    era: Era,
    echo: Vec<u8>,
    answer: Vec<u8>,
}

impl Stdio {
    /// Starts the server, and returns once the server has answered the first request.
    pub fn start(server: Server, era: Era) -> Self {
        let mut child = server
            .command(&server.args)
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::null())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("the stream is a pipe");
        let output = BufReader::new(child.stdout.take().expect("the stream is a pipe"));
        let (echo, answer) = (line(&echo(1, era)), Vec::new());
        let mut session = Self { child, input, output, era, echo, answer };
        match era {
            Era::Legacy => {
                let params = json!({
                    "protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "speed", "version": "0"},
                });
                session.exchange(&line(&request(0, era, "initialize", params)));
                let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                session.input.write_all(&line(&notification)).expect("the server listens");
            }
            Era::Modern => session.exchange(&line(&request(0, era, "server/discover", json!({})))),
        }
        session
    }

    /// Sends a line, and reads the answer, which must be a result.
    pub fn exchange(&mut self, line: &[u8]) {
        self.input.write_all(line).expect("the server listens");
        self.read();
    }

    fn read(&mut self) {
        self.answer.clear();
        // Notifications are skipped. The server sends one after it has compiled a plugin.
        while self.answer.is_empty() || holds(&self.answer, br#""method":"#) {
            self.answer.clear();
            let length = self.output.read_until(b'\n', &mut self.answer);
            assert_ne!(length.expect("the server answers"), 0, "the server has ended");
        }
        is_result(&self.answer);
    }

    /// Calls `echo` and waits for its answer.
    pub fn echo(&mut self) {
        self.input.write_all(&self.echo).expect("the server listens");
        self.read();
    }

    /// The time of this many calls of `echo`, with at most `in_flight` of them in flight.
    pub fn echo_in_flight(&mut self, calls: u32, in_flight: u32) -> Duration {
        // Requests in flight at the same time need different ids.
        let request = |id| line(&echo(id, self.era));
        let requests: Vec<_> = (0..calls).map(|id| request(100 + id)).collect();
        let (first, rest) = requests.split_at(in_flight.min(calls) as usize);
        let mut rest = rest.iter();
        let began = Instant::now();
        self.input.write_all(&first.concat()).expect("the server listens");
        for _ in 0..calls {
            self.read();
            if let Some(request) = rest.next() {
                self.input.write_all(request).expect("the server listens");
            }
        }
        began.elapsed()
    }

    /// Lists the tools.
    pub fn list_tools(&mut self) {
        let line = line(&request(2, self.era, "tools/list", json!({})));
        self.exchange(&line);
    }

    /// Resident memory in bytes, where the system reports it.
    #[expect(clippy::disallowed_methods, reason = "the system tells it in a file")]
    pub fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib * 1024)
    }

    /// Closes stdin and stdout, as clients do, and waits until the server has ended.
    pub fn end(self) {
        let Self { mut child, input, output, .. } = self;
        drop((input, output));
        child.wait().expect("the server ends");
    }
}

/// A server, and a client of it on one HTTP connection.
pub struct Http {
    child: Child,
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
    _stderr: BufReader<ChildStderr>,
}

impl Http {
    /// Starts the server and connects to the address that it prints.
    pub fn start(server: Server) -> Self {
        let mut child = server
            .command(&server.http)
            .stdin(Pipe::null())
            .stdout(Pipe::null())
            .stderr(Pipe::piped())
            .spawn()
            .expect("the server starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("the stream is a pipe"));
        let address = loop {
            let mut printed = String::new();
            let read = stderr.read_line(&mut printed).expect("the server speaks");
            assert!(read > 0, "the server does not say where it is");
            let address = printed.trim().split_once("http://").map(|(_, address)| address);
            if let Some(address) = address.and_then(|address| address.strip_suffix("/mcp")) {
                break address.to_owned();
            }
        };
        let stream = TcpStream::connect(&address).expect("the server listens");
        stream.set_nodelay(true).expect("the option of a socket can be set");
        let body = echo(1, Era::Modern).to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Self { child, stream: BufReader::new(stream), request: request.into(), _stderr: stderr }
    }

    /// Calls `echo` and waits for its answer.
    pub fn echo(&mut self) {
        self.stream.get_mut().write_all(&self.request).expect("the server listens");
        let mut length = None;
        loop {
            let mut head = String::new();
            self.stream.read_line(&mut head).expect("the server answers");
            let head = head.trim().to_ascii_lowercase();
            if let Some(value) = head.strip_prefix("content-length:") {
                length = value.trim().parse().ok();
            }
            if head.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length.expect("an answer in JSON has a length")];
        self.stream.read_exact(&mut body).expect("the server answers");
        is_result(&body);
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.expect("a child can be ended");
    }
}

fn holds(answer: &[u8], text: &[u8]) -> bool {
    answer.windows(text.len()).any(|window| window == text)
}

/// Panics unless the answer is a result: a fast error must not count as a fast answer.
fn is_result(answer: &[u8]) {
    let failed = holds(answer, br#""isError":true"#) || !holds(answer, br#""result":"#);
    assert!(!failed, "no result: {}", String::from_utf8_lossy(answer));
}
