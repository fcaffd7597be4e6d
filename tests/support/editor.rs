//! Stand-ins for the MCP servers of a running Unreal Editor, including their oddities.
//!
//! Each stand-in follows the source of a real server. `epic.rs` and `plugin.rs` name the sources. The stand-ins use
//! plain TCP and JSON, without dependencies. Each test defines the editor's assets, which must match the packages that
//! the test has written.

use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

#[path = "editor/epic.rs"]
mod epic;
#[path = "editor/open_project.rs"]
mod open_project;
#[path = "editor/plugin.rs"]
mod plugin;
#[path = "editor/toolsets.rs"]
mod toolsets;

use open_project::{OpenProject, is_on_drive};

/// Limit of a connection's idle time: longer than any expected step.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum size of a request body, in bytes.
const MAX_BODY: usize = 8 << 20;

/// The kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// `UnrealMCPServer` at commit c7dba6b (December 2025), with ten tools.
    Plugin,
    /// `UnrealMCPServer` at commit 836be8c: paging, dependencies, no export of Blueprints in answers.
    NewerPlugin,
    /// The engine's own server of UE 5.8: sessions, event streams, meta tools.
    Epic,
}

/// A fault to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// No response until the connection is closed, like an editor with an open dialogue. The request is not performed.
    Stall,
    /// Like `Stall`, but the request is performed.
    DoneAndSilent,
    /// Half of the response, then the connection is closed. The request is performed.
    Half,
    /// The response in pieces of this many bytes.
    Pieces(usize),
    /// Another MCP server.
    OtherMcp,
    /// An HTTP server that does not speak MCP.
    Html,
    /// Exported texts have at least this many bytes.
    Large(usize),
    /// The session is lost, once.
    SessionLost,
    /// The toolsets are not registered yet.
    Starting,
    /// The response comes after this time, as it does while shaders are compiled.
    Slow(Duration),
    /// The editor ends: it closes the connection without a response, and accepts no other.
    Dies,
}

/// An asset of the editor.
#[derive(Clone, Debug, Default)]
pub struct Asset {
    /// `/Game/Doors/BP_Door`
    pub package: String,
    /// `BP_Door`
    pub name: String,
    /// `/Script/Engine.Blueprint`
    pub class: String,
    /// Its tags, including `ParentClass`.
    pub tags: BTreeMap<String, String>,
    /// Hard dependencies.
    pub hard: Vec<String>,
    /// Soft dependencies.
    pub soft: Vec<String>,
    /// Whether the asset has unsaved changes.
    pub is_dirty: bool,
}

impl Asset {
    /// `/Game/Doors/BP_Door.BP_Door`
    pub fn object(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }

    /// `/Game/Doors`
    pub fn folder(&self) -> &str {
        self.package.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// Headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The message.
    pub body: Value,
    /// Time of arrival.
    pub at: Instant,
}

impl Arrived {
    fn now(headers: &BTreeMap<String, String>, body: &Value) -> Self {
        Self { headers: headers.clone(), body: body.clone(), at: Instant::now() }
    }
}

/// A change that the editor has made.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
}

/// A running fake editor; ends with the test.
pub struct Editor {
    /// The address of its server.
    pub address: SocketAddr,
    state: Arc<State>,
    /// The thread that accepts connections.
    accepting: Option<JoinHandle<()>>,
}

struct State {
    server: Server,
    project: Mutex<OpenProject>,
    /// False results that replace the true ones, by tool.
    lies: Mutex<BTreeMap<String, Value>>,
    assets: Mutex<Vec<Asset>>,
    /// Faults by tool or method; "" for all.
    traps: Mutex<BTreeMap<String, Trap>>,
    arrived: Mutex<Vec<Arrived>>,
    done: Mutex<Vec<Done>>,
    /// Whether a game runs in the editor.
    is_playing: Mutex<bool>,
    stopped: Mutex<bool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Editor {
    /// Starts an editor that has the project in this absolute folder open.
    pub fn start(server: Server, project: &str, assets: Vec<Asset>) -> Self {
        Self::start_at("127.0.0.1:0".parse().expect("an address"), server, project, assets)
    }

    /// Ends the editor, and starts it at the same address with the project in this absolute folder.
    pub fn restart(&mut self, project: &str) {
        self.end();
        *self = Self::start_at(self.address, self.state.server, project, self.state.assets());
    }

    /// Ends the editor: nothing listens at its address any longer.
    pub fn end(&mut self) {
        *lock(&self.state.stopped) = true;
        // Wakes the thread that accepts connections.
        let _woken = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            accepting.join().expect("it ends");
        }
    }

    fn start_at(address: SocketAddr, server: Server, project: &str, assets: Vec<Asset>) -> Self {
        let listener = TcpListener::bind(address).expect("a loopback address");
        let address = listener.local_addr().expect("a loopback address");
        let state = Arc::new(State {
            server,
            project: Mutex::new(OpenProject::of(project)),
            lies: Mutex::default(),
            assets: Mutex::new(assets),
            traps: Mutex::default(),
            arrived: Mutex::default(),
            done: Mutex::default(),
            is_playing: Mutex::default(),
            stopped: Mutex::new(false),
        });
        let serving = Arc::clone(&state);
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if *lock(&serving.stopped) {
                    return;
                }
                let (Ok(stream), serving) = (stream, Arc::clone(&serving)) else { continue };
                std::thread::spawn(move || serving.serve(stream));
            }
        });
        Self { address, state, accepting: Some(accepting) }
    }

    /// The URL of its server.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Sets a fault for a tool or a method; with "" for all.
    pub fn set_trap(&self, name: &str, trap: Trap) {
        lock(&self.state.traps).insert(name.to_owned(), trap);
    }

    /// Opens another project.
    pub fn open(&self, project: &str) {
        *lock(&self.state.project) = OpenProject::of(project);
    }

    /// Changes what the editor tells about its project: `projectDir` of its configuration, and the path of its log,
    /// which is empty if the editor does not tell it.
    pub fn tell_project(&self, config: &str, log: &str) {
        let mut project = lock(&self.state.project);
        config.clone_into(&mut project.config);
        log.clone_into(&mut project.log);
    }

    /// Sets a false result that replaces a tool's true one.
    pub fn lie(&self, tool: &str, result: Value) {
        lock(&self.state.lies).insert(tool.to_owned(), result);
    }

    /// Removes all faults and lies.
    pub fn mend(&self) {
        lock(&self.state.traps).clear();
        lock(&self.state.lies).clear();
    }

    /// All requests so far.
    pub fn arrived(&self) -> Vec<Arrived> {
        lock(&self.state.arrived).clone()
    }

    /// All changes so far.
    pub fn done(&self) -> Vec<Done> {
        lock(&self.state.done).clone()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if self.accepting.is_some() {
            self.end();
        }
    }
}

/// An HTTP response.
struct Answer {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Whether the end of the connection ends the body, so that no length is sent.
    is_stream: bool,
}

impl Answer {
    /// An error in the form of the engine's server.
    fn fault(status: &'static str, code: &str) -> Self {
        let code = format!("errors.com.epicgames.httpserver.{code}");
        let body = json!({ "errorCode": code, "errorMessage": "" }).to_string().into_bytes();
        Self::json(status, body)
    }

    fn json(status: &'static str, body: Vec<u8>) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { status, headers, body, is_stream: false }
    }
}

impl State {
    fn serve(&self, stream: TcpStream) {
        let patience = stream.set_read_timeout(Some(PATIENCE));
        let (Ok(()), Ok(reading)) = (patience, stream.try_clone()) else { return };
        let (mut reader, mut writer) = (BufReader::new(reading), stream);
        while let Some((line, headers)) = read_head(&mut reader) {
            let is_last = headers.get("connection").is_some_and(|value| value == "close");
            let went_on = self.answer(&line, headers, &mut reader, &mut writer);
            if went_on.is_none() || is_last {
                return;
            }
        }
    }

    /// `None`: close the connection.
    fn answer(
        &self,
        line: &str,
        headers: BTreeMap<String, String>,
        reader: &mut impl Read,
        writer: &mut impl Write,
    ) -> Option<()> {
        let Some(length) = headers.get("content-length").and_then(|text| text.parse().ok()) else {
            let (fault, stays_open) = self.fault_without_length(line);
            write(writer, &fault, None)?;
            return stays_open.then_some(());
        };
        let mut body = vec![0; usize::min(length, MAX_BODY)];
        reader.read_exact(&mut body).ok()?;
        if !line.starts_with("POST /mcp ") {
            let fault = Answer::fault("404 Not Found", "route_handler_not_found");
            return write(writer, &fault, None);
        }
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        lock(&self.arrived).push(Arrived::now(&headers, &body));
        let trap = self.trap(&body);
        match trap {
            Some(Trap::Html) => {
                let html = "<!doctype html><title>It works</title>".as_bytes().to_vec();
                let headers = vec![("content-type", "text/html".to_owned())];
                let page = Answer { status: "200 OK", headers, body: html, is_stream: false };
                return write(writer, &page, None);
            }
            Some(Trap::Dies) => {
                *lock(&self.stopped) = true;
                return None;
            }
            Some(Trap::Stall) => {
                wait_for_the_end(reader);
                return None;
            }
            Some(Trap::Slow(time)) => std::thread::sleep(time),
            _ => {}
        }
        let answer = match self.server {
            Server::Epic => epic::answer(self, &headers, &body, trap),
            Server::Plugin | Server::NewerPlugin => plugin::answer(self, &body, trap),
        };
        send(answer, trap, reader, writer)
    }

    /// The response to a request without `Content-Length`, and whether the connection stays open.
    fn fault_without_length(&self, line: &str) -> (Answer, bool) {
        if line.starts_with("POST") {
            // The engine does not support chunked bodies.
            let fault = Answer::fault("411 Length Required", "missing_content_length_header");
            return (fault, false);
        }
        let fault = match self.server {
            Server::Epic => Answer::fault("405 Method Not Allowed", "method_not_allowed"),
            Server::Plugin | Server::NewerPlugin => {
                Answer::fault("404 Not Found", "route_handler_not_found")
            }
        };
        (fault, true)
    }

    fn trap(&self, body: &Value) -> Option<Trap> {
        let mut traps = lock(&self.traps);
        let params = &body["params"];
        let tool = params["arguments"]["tool_name"].as_str().or(params["name"].as_str());
        let names = [tool, body["method"].as_str(), Some("")];
        let name = names.into_iter().flatten().find(|name| traps.contains_key(*name))?;
        let trap = traps.get(name).copied();
        // A session is lost once. The client then gets a new session.
        if trap == Some(Trap::SessionLost) {
            traps.remove(name);
        }
        trap
    }

    fn do_it(&self, tool: &str, arguments: &Value) {
        let done = Done { tool: tool.to_owned(), arguments: arguments.clone() };
        lock(&self.done).push(done);
    }

    fn assets(&self) -> Vec<Asset> {
        lock(&self.assets).clone()
    }

    /// The asset with this object path.
    fn find_object(&self, object: &str) -> Option<Asset> {
        self.assets().into_iter().find(|asset| asset.object().eq_ignore_ascii_case(object))
    }

    fn find(&self, package: &str) -> Option<Asset> {
        self.assets().into_iter().find(|asset| asset.package.eq_ignore_ascii_case(package))
    }
}

/// Sends a response, with the fault that the trap sets. `None`: close the connection.
fn send(
    mut answer: Answer,
    trap: Option<Trap>,
    reader: &mut impl Read,
    writer: &mut impl Write,
) -> Option<()> {
    match trap {
        Some(Trap::DoneAndSilent) => {
            wait_for_the_end(reader);
            None
        }
        Some(Trap::Half) => {
            let whole = answer.body.len();
            answer.body.truncate(whole / 2);
            write(writer, &answer, Some(whole));
            None
        }
        Some(Trap::Pieces(size)) => {
            let is_stream = answer.is_stream;
            let body = std::mem::take(&mut answer.body);
            write(writer, &answer, Some(body.len()))?;
            for piece in body.chunks(size.max(1)) {
                writer.write_all(piece).and_then(|()| writer.flush()).ok()?;
            }
            (!is_stream).then_some(())
        }
        _ => {
            write(writer, &answer, None)?;
            (!answer.is_stream).then_some(())
        }
    }
}

/// Waits until the client closes the connection.
fn wait_for_the_end(reader: &mut impl Read) {
    let mut rest = [0; 64];
    while reader.read(&mut rest).is_ok_and(|read| read > 0) {}
}

/// The first line of a request, and its headers.
fn read_head(reader: &mut impl BufRead) -> Option<(String, BTreeMap<String, String>)> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.take(16 << 10).read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let headers = lines.iter().skip(1).filter_map(|line| line.split_once(':'));
    let headers =
        headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    Some((lines.first()?.clone(), headers))
}

/// Writes a response; `None` if the client is gone.
fn write(writer: &mut impl Write, answer: &Answer, length: Option<usize>) -> Option<()> {
    let length = length.unwrap_or(answer.body.len());
    let mut head = format!("HTTP/1.1 {}\r\n", answer.status);
    if !answer.is_stream {
        head.push_str(&format!("content-length: {length}\r\n"));
    }
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(if answer.is_stream {
        "connection: close\r\n\r\n"
    } else {
        "keep-alive: timeout=15\r\n\r\n"
    });
    writer.write_all(head.as_bytes()).ok()?;
    writer.write_all(&answer.body).ok()?;
    writer.flush().ok()
}

/// A JSON object of strings.
fn texts(all: &BTreeMap<String, String>) -> Value {
    Value::Object(all.iter().map(|(key, value)| (key.clone(), json!(value))).collect::<Map<_, _>>())
}

/// A text similar to the engine's T3D.
fn t3d(asset: &Asset, trap: Option<Trap>) -> String {
    let mut text = format!("Begin Object Class={} Name=\"{}\"\n", asset.class, asset.name);
    text.push_str("   Note=\"T\u{FC}r \u{202E}and a bell \u{7}\"\n");
    if let Some(Trap::Large(bytes)) = trap {
        while text.len() < bytes {
            text.push_str("   Property=(X=1.000000,Y=2.000000,Z=3.000000)\n");
        }
    }
    text + "End Object\n"
}
