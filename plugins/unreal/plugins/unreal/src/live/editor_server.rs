//! Detects which server listens at a URL, with which tools and which open project.

use super::{
    connection::{EditorConnection, Message},
    epic,
    fault::Fault,
    place,
};
use crate::answer::shown;
use portcullis_plugin::{ListKind, prelude::*};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// The requested MCP revision.
const PROTOCOL: &str = "2025-06-18";
/// Time limit for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(4);
/// Time for which a found server is cached.
const FOUND_TTL: Duration = Duration::from_secs(5);
/// Time for which it is cached that a server is missing or busy.
const NOT_FOUND_TTL: Duration = Duration::from_secs(2);
/// Maximum number of pages of the list of tools.
const MAX_PAGES: u32 = 20;

/// The kind of server.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The plugin `UnrealMCPServer`
    UnrealMcpServer,
    /// The engine's own server, `ModelContextProtocol`, since 5.8
    Epic,
}

impl Kind {
    /// The setting with the server's URL.
    pub fn setting(self) -> &'static str {
        match self {
            Self::UnrealMcpServer => "editor-url",
            Self::Epic => "epic-url",
        }
    }

    /// The name of the product.
    pub fn product(self) -> &'static str {
        match self {
            Self::UnrealMcpServer => "UnrealMCPServer",
            Self::Epic => "Epic's Unreal MCP",
        }
    }
}

/// The tools by which Epic's server is recognised, since it reports no name.
const META_TOOLS: [&str; 3] = ["list_toolsets", "describe_toolset", "call_tool"];

/// The MCP server of an editor, as detected at a URL.
#[data]
#[derive(Clone, Debug, PartialEq)]
pub struct EditorServer {
    pub kind: Kind,
    pub name: String,
    pub version: String,
    pub protocol: String,
    /// The MCP session id, if the server gave one
    pub session: Option<String>,
    /// Its tools, each with the names of its arguments
    pub tools: BTreeMap<String, Vec<String>>,
    /// The full names of the toolsets of Epic's server; empty for UnrealMCPServer
    pub toolsets: Vec<String>,
    /// The absolute folder of its project as the server writes it; none if the server does not report it
    pub project: Option<String>,
    /// The folder of its project relative to the engine, if the server reports no absolute one
    pub relative: Option<String>,
}

impl EditorServer {
    /// The product and its version, for people.
    pub fn product(&self) -> String {
        let words = [self.kind.product(), &self.version];
        words.join(" ").trim().to_owned()
    }

    /// The HTTP headers of the session, for each message.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let Some(session) = &self.session else { return Vec::new() };
        vec![("mcp-session-id", session.clone()), ("mcp-protocol-version", self.protocol.clone())]
    }
}

fn key(url: &str) -> String {
    format!("editor at {url}")
}

/// The server at a URL, from the cache or by a request.
pub fn detect(wire: EditorConnection<'_>, kind: Kind) -> Result<EditorServer, Fault> {
    if let Some(known) = cached(wire.url, kind) {
        return known;
    }
    let _turn = wire.lock();
    cached(wire.url, kind).unwrap_or_else(|| detect_uncached(wire, kind))
}

/// The cached result for a URL: the server, or the reason why there is none. `None` if nothing
/// usable is cached.
fn cached(url: &str, kind: Kind) -> Option<Result<EditorServer, Fault>> {
    let kept = cache::get(&key(url))?;
    match kept.as_slice() {
        b"nobody" => Some(Err(Fault::NotRunning(url.to_owned()))),
        b"busy" => Some(Err(Fault::Busy(url.to_owned(), HANDSHAKE_TIMEOUT))),
        json => {
            let seen: EditorServer = serde_json::from_slice(json).ok()?;
            (seen.kind == kind).then_some(Ok(seen))
        }
    }
}

/// Asks which server is at the URL, and caches the result. The lock must be held
/// (see `EditorConnection::lock`).
pub fn detect_uncached(wire: EditorConnection<'_>, kind: Kind) -> Result<EditorServer, Fault> {
    let seen = handshake(wire, kind);
    let kept: Option<(Vec<u8>, Duration)> = match &seen {
        Ok(seen) => serde_json::to_vec(seen).ok().map(|bytes| (bytes, FOUND_TTL)),
        Err(Fault::NotRunning(_)) => Some((b"nobody".to_vec(), NOT_FOUND_TTL)),
        Err(Fault::Busy(..)) => Some((b"busy".to_vec(), NOT_FOUND_TTL)),
        Err(_) => None,
    };
    match kept {
        Some((bytes, time)) => cache::set(&key(wire.url), bytes, time),
        None => forget(wire.url),
    }
    note_presence(wire, seen.is_ok(), matches!(seen, Err(Fault::Busy(..) | Fault::Cancelled)));
    seen
}

/// Removes the server at a URL from the cache.
pub fn forget(url: &str) {
    cache::set(&key(url), b"", Duration::from_millis(1));
}

/// Notifies clients when an editor appears or disappears, since the resources depend on the editor.
/// A busy editor has not disappeared.
fn note_presence(wire: EditorConnection<'_>, is_there: bool, is_busy: bool) {
    if is_busy {
        return;
    }
    let key = format!("editor at {} was there", wire.url);
    let now: &[u8] = if is_there { b"yes" } else { b"no" };
    let before = cache::get(&key);
    if before.as_deref() == Some(now) {
        return;
    }
    cache::set(&key, now, None);
    if is_there || before.is_some() {
        wire.request.list_changed(ListKind::Resources);
    }
}

fn handshake(wire: EditorConnection<'_>, kind: Kind) -> Result<EditorServer, Fault> {
    let hello = json!({
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": { "name": "portcullis-unreal", "version": env!("CARGO_PKG_VERSION") },
    });
    let answered = wire.request(&message("initialize", hello, &[], 0)).map_err(|fault| {
        if matches!(fault, Fault::InvalidResponse(..) | Fault::Refused(..)) {
            return Fault::WrongServer(wire.url.to_owned(), fault.to_string());
        }
        fault
    })?;
    let server = &answered.result["serverInfo"];
    let name = shown(server["name"].as_str().unwrap_or_default());
    if kind == Kind::UnrealMcpServer && name != kind.product() {
        return Err(Fault::WrongServer(
            wire.url.to_owned(),
            format!("its server has the name `{name}`, not `{}`", kind.product()),
        ));
    }
    let mut seen = EditorServer {
        kind,
        name,
        version: shown(server["version"].as_str().unwrap_or_default()),
        protocol: shown(answered.result["protocolVersion"].as_str().unwrap_or(PROTOCOL)),
        session: answered.session.filter(|id| id.bytes().all(|byte| byte.is_ascii_graphic())),
        tools: BTreeMap::new(),
        toolsets: Vec::new(),
        project: None,
        relative: None,
    };
    let headers = seen.headers();
    if kind == Kind::Epic {
        wire.notify("notifications/initialized", &json!({}), &headers);
    }
    seen.tools = tools(wire, &headers)?;
    match kind {
        Kind::UnrealMcpServer => {
            let call = json!({ "name": "get_project_config", "arguments": {} });
            let result = wire.request(&message("tools/call", call, &headers, 90))?.result;
            let config = super::value::of_tool(&result)?;
            let told = config["paths"]["projectDir"].as_str().map(shown).unwrap_or_default();
            let log = log_path(wire, &headers, &seen)?;
            seen.project = place::of_plugin(&told, &log);
            seen.relative = Some(told).filter(|told| seen.project.is_none() && !told.is_empty());
        }
        Kind::Epic => {
            let has = |tool: &&str| seen.tools.contains_key(*tool);
            // With its tool search switched off, Epic's server lists every tool itself, prefixed with the
            // name of its toolset.
            let is_flat = seen.tools.keys().any(|name| name.contains(".AssetTools."));
            if !META_TOOLS.iter().all(has) && !is_flat {
                return Err(Fault::WrongServer(
                    wire.url.to_owned(),
                    format!("it does not have the tools {}", META_TOOLS.join(", ")),
                ));
            }
            seen.toolsets = epic::toolsets(wire, &seen)?;
            seen.project = epic::project(wire, &seen)?;
        }
    }
    Ok(seen)
}

/// The path of the editor's log, as the server reports it; empty if the server has no tool for it,
/// or the tool fails.
fn log_path(
    wire: EditorConnection<'_>,
    headers: &[(&'static str, String)],
    seen: &EditorServer,
) -> Result<String, Fault> {
    if !seen.tools.contains_key("get_log_file_path") {
        return Ok(String::new());
    }
    let call = json!({ "name": "get_log_file_path", "arguments": {} });
    let result = wire.request(&message("tools/call", call, headers, 93))?.result;
    match super::value::of_tool(&result) {
        Ok(told) => Ok(told["logFilePath"].as_str().map(shown).unwrap_or_default()),
        Err(Fault::Failed(_)) => Ok(String::new()),
        Err(fault) => Err(fault),
    }
}

fn message<'m>(
    method: &'m str,
    params: Value,
    headers: &'m [(&'static str, String)],
    number: u32,
) -> Message<'m> {
    let what = "looking for the editor";
    Message { method, params, headers, limit: HANDSHAKE_TIMEOUT, what, number }
}

/// The tools on the first `MAX_PAGES` pages, with the names of their arguments. An empty cursor ends the list.
fn tools(
    wire: EditorConnection<'_>,
    headers: &[(&'static str, String)],
) -> Result<BTreeMap<String, Vec<String>>, Fault> {
    let mut tools = BTreeMap::new();
    let mut params = json!({});
    for page in 1..=MAX_PAGES {
        let result = wire.request(&message("tools/list", params, headers, page))?.result;
        for tool in result["tools"].as_array().into_iter().flatten() {
            let properties = tool["inputSchema"]["properties"].as_object();
            let names = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
            if let Some(name) = tool["name"].as_str() {
                tools.insert(name.to_owned(), names);
            }
        }
        match result["nextCursor"].as_str().filter(|cursor| !cursor.is_empty()) {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    Ok(tools)
}
