//! Talks to a running editor, to read from a project and to change it.

pub mod classes;
mod connection;
mod editor_server;
mod epic;
mod fault;
pub mod names;
mod place;
mod reader;
pub mod value;

pub use editor_server::{EditorServer, Kind};
pub use fault::Fault;

use crate::offline::Offline;
use connection::{EditorConnection, Message};
use editor_server::{detect, detect_uncached, forget};
use portcullis_plugin::prelude::*;
use serde_json::Value;
use std::{
    cell::Cell,
    path::{Path, PathBuf},
    time::Duration,
};
use unreal_project::{Project, now};

/// Time limit for reading.
const READING: Duration = Duration::from_secs(30);
/// Time limit for changes, such as an import or a console command.
const WRITING: Duration = Duration::from_secs(300);
/// Time for which an answer is cached.
const KEPT: Duration = Duration::from_secs(2);
/// Maximum size of a cached answer, in bytes.
const MAX_KEPT: usize = 1 << 20;

/// An editor that has the requested project open, or does not tell which project it has open.
pub struct Editor<'r> {
    pub request: &'r Request<'r>,
    /// The URL of its server.
    pub url: String,
    /// The server's own description: product, tools and project.
    pub seen: EditorServer,
    /// The project on this disk; `None` if the call has none.
    pub project: Option<Project>,
    messages: Cell<u32>,
}

/// The URL of an editor, from the operator's settings.
pub fn address(kind: Kind) -> Option<String> {
    let set = settings::get(kind.setting()).filter(|url| !url.trim().is_empty())?;
    let set = set.trim().trim_end_matches('/');
    let has_path = set.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    Some(if has_path { set.to_owned() } else { format!("{set}/mcp") })
}

/// For every configured URL: the kind of server expected there, the URL, and the editor or the
/// reason why none is used.
pub fn looked_at<'r>(
    request: &'r Request<'r>,
    project: Option<&Project>,
) -> Vec<(Kind, String, Result<Editor<'r>, Fault>)> {
    let kinds = [Kind::UnrealMcpServer, Kind::Epic];
    let set = kinds.into_iter().filter_map(|kind| Some((kind, address(kind)?)));
    set.map(|(kind, url)| {
        let found = Editor::at(request, kind, &url, project);
        (kind, url, found)
    })
    .collect()
}

/// The first editor that has this project open, or does not tell which one it has open. If there is
/// none, the fault that the user most needs to know.
pub fn editor<'r>(
    request: &'r Request<'r>,
    project: Option<&Project>,
) -> Result<Editor<'r>, Fault> {
    let mut worst = Fault::NotSet;
    for kind in [Kind::UnrealMcpServer, Kind::Epic] {
        let Some(url) = address(kind) else { continue };
        match Editor::at(request, kind, &url, project) {
            Ok(editor) => return Ok(editor),
            // Of several faults, the first unusual one is returned: the user has to know of it.
            Err(fault) if worst.is_usual() => worst = fault,
            Err(_) => {}
        }
    }
    Err(worst)
}

impl<'r> Editor<'r> {
    fn at(
        request: &'r Request<'r>,
        kind: Kind,
        url: &str,
        project: Option<&Project>,
    ) -> Result<Self, Fault> {
        let seen = detect(EditorConnection { request, url }, kind)?;
        let editor = Self {
            request,
            url: url.to_owned(),
            seen,
            project: project.cloned(),
            messages: Cell::new(100),
        };
        if let Some(project) = project {
            editor.check(project)?;
        }
        Ok(editor)
    }

    /// Whether the editor tells which project it has open.
    pub fn is_identified(&self) -> bool {
        self.seen.project.is_some()
    }

    /// The action for the question to the user: `what` the editor is asked to do, with the product,
    /// its URL and the project.
    pub fn deed(&self, what: &str) -> String {
        let project = match &self.project {
            Some(project) => format!(", which has the project {} open", project.dir.display()),
            None => String::new(),
        };
        format!("{what}, with {} at {}{project}", self.seen.product(), self.url)
    }

    /// Fails if the editor has another project open. Passes if the editor does not tell its project: see
    /// [`is_identified`](Self::is_identified).
    fn check(&self, project: &Project) -> Result<(), Fault> {
        let EditorServer { project: absolute, relative, .. } = &self.seen;
        let other = match (absolute, relative) {
            (Some(theirs), _) => Some(theirs).filter(|it| !place::is_same(it, &project.dir)),
            (None, Some(theirs)) => Some(theirs).filter(|it| place::contradicts(it, &project.dir)),
            (None, None) => None,
        };
        match other {
            Some(theirs) => {
                Err(Fault::OtherProject { url: self.url.clone(), theirs: theirs.clone() })
            }
            None => Ok(()),
        }
    }

    /// Fails unless it is certain that the editor has the project of this call open.
    pub fn check_for_change(&self) -> Result<(), Fault> {
        match &self.project {
            Some(project) => self.check(project)?,
            None => return Err(Fault::NotSet),
        }
        if self.is_identified() { Ok(()) } else { Err(Fault::Unidentified(self.url.clone())) }
    }

    /// Translates a path of this plugin to a path of the editor.
    ///
    /// # Errors
    ///
    /// When the editor runs on Windows and cannot find the path.
    pub fn path_there(&self, path: &str) -> Result<String, Failure> {
        place::for_editor(path, self.seen.project.as_deref())
            .map_err(|why| Failure::new(format!("{}: {why}", crate::answer::shown(path))))
    }

    /// Translates a path that the editor names to a path of this plugin.
    pub fn path_here(&self, path: &str) -> PathBuf {
        let ours = self.project.as_ref().map(|project| &*project.dir).unwrap_or(Path::new(""));
        place::of_editor(path, self.seen.project.as_deref(), ours)
    }

    /// The files of the project, for facts that the editor does not tell; `None` if the call has no
    /// project, or its files cannot be read.
    pub fn files(&self) -> Option<Offline> {
        let dir = self.project.as_ref()?.dir.display().to_string();
        Offline::open(self.request, Some(&dir)).ok()
    }

    /// Whether the server offers a tool. If `argument` is given, the tool must also have this argument.
    pub fn offers(&self, tool: &str, argument: Option<&str>) -> bool {
        let arguments = self.seen.tools.get(tool);
        arguments.is_some_and(|all| argument.is_none_or(|one| all.iter().any(|name| name == one)))
    }

    /// Calls a read-only tool of UnrealMCPServer.
    pub fn read(&self, tool: &str, arguments: &Value) -> Result<Value, Fault> {
        let params = json!({ "name": tool, "arguments": arguments });
        value::of_tool(&self.ask_to_read("tools/call", &params, tool)?)
    }

    /// Calls a read-only tool of Epic's server.
    pub fn epic(&self, set: &str, tool: &str, arguments: &Value) -> Result<Value, Fault> {
        let params = epic::call(&self.seen, set, tool, arguments)?;
        epic::returned(&self.ask_to_read("tools/call", &params, tool)?, tool)
    }

    /// The description of a toolset of Epic's server: its tools, with the schemas of their arguments.
    pub fn describe_toolset(&self, toolset: &str) -> Result<Value, Fault> {
        match epic::describe(&self.seen, toolset) {
            Some(params) => {
                let _turn = self.wire().lock();
                value::of_tool(&self.ask("tools/call", &params, READING, "describe_toolset")?)
            }
            None => Ok(epic::described(&self.seen, toolset)),
        }
    }

    /// Calls a tool of Epic's server without the cache, since the answer can change at any time.
    pub fn epic_now(&self, set: &str, tool: &str, arguments: &Value) -> Result<Value, Fault> {
        let params = epic::call(&self.seen, set, tool, arguments)?;
        let _turn = self.wire().lock();
        epic::returned(&self.ask("tools/call", &params, READING, tool)?, tool)
    }

    /// The text of a resource, ignoring the empty binary content beside it.
    pub fn resource(&self, uri: &str) -> Result<String, Fault> {
        let result = self.ask_to_read("resources/read", &json!({ "uri": uri }), "a resource")?;
        let text = result["contents"][0]["text"].as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| {
            Fault::InvalidResponse(self.url.clone(), "the resource has no text".to_owned())
        })
    }

    /// Sends a read-only request, unless its answer is cached.
    fn ask_to_read(&self, method: &str, params: &Value, what: &str) -> Result<Value, Fault> {
        let key = format!("read from {} {} {method} {params}", self.url, self.generation());
        let kept = || serde_json::from_slice(&cache::get(&key)?).ok();
        if let Some(kept) = kept() {
            return Ok(kept);
        }
        // A change may take minutes: readers do not wait for it.
        if cache::get(&work_key(&self.url)).is_some_and(|at_work| at_work == b"yes") {
            return Err(Fault::AtWork(self.url.clone()));
        }
        let _turn = self.wire().lock();
        if let Some(kept) = kept() {
            return Ok(kept);
        }
        let result = self.ask(method, params, READING, what)?;
        if let Ok(bytes) = serde_json::to_vec(&result)
            && bytes.len() <= MAX_KEPT
        {
            cache::set(&key, bytes, KEPT);
        }
        Ok(result)
    }

    /// Calls a tool of UnrealMCPServer that changes something. Before the call, the server and its
    /// open project are checked again. The call is not repeated if its outcome is unknown.
    pub fn write(&self, tool: &str, arguments: &Value) -> Result<Value, Fault> {
        let params = json!({ "name": tool, "arguments": arguments });
        let told = value::of_tool(&self.change(&params, tool)?)?;
        match value::Reply::of(tool, &told).object("") {
            Ok(_) => Ok(told),
            // The malformed answer does not tell whether the editor has made the change.
            Err(misshapen) => Err(Fault::Unknown(Box::new(misshapen))),
        }
    }

    /// Like [`write`](Self::write), for Epic's server.
    pub fn write_epic(&self, set: &str, tool: &str, arguments: &Value) -> Result<Value, Fault> {
        let params = epic::call(&self.seen, set, tool, arguments)?;
        match epic::returned(&self.change(&params, tool)?, tool) {
            Err(misshapen @ Fault::Misshapen(..)) => Err(Fault::Unknown(Box::new(misshapen))),
            returned => returned,
        }
    }

    fn change(&self, params: &Value, what: &str) -> Result<Value, Fault> {
        let _turn = self.wire().lock();
        let seen = detect_uncached(self.wire(), self.seen.kind)?;
        let project = self.project.clone();
        let now = Self { seen, project, url: self.url.clone(), messages: Cell::new(200), ..*self };
        now.check_for_change()?;
        // If the call is killed before it clears this mark, the mark expires by itself.
        let left = self.request.remaining().unwrap_or(WRITING).min(WRITING);
        cache::set(&work_key(&now.url), b"yes", left);
        let done = now.ask("tools/call", params, WRITING, what);
        cache::set(&work_key(&now.url), b"no", WRITING);
        // Whatever the result, cached answers may be outdated.
        now.count_change();
        done.map_err(|fault| match fault {
            fault if fault.may_have_run() => Fault::Unknown(Box::new(fault)),
            fault => fault,
        })
    }

    /// Sends one message. The lock must be held (see `EditorConnection::lock`).
    fn ask(
        &self,
        method: &str,
        params: &Value,
        limit: Duration,
        what: &str,
    ) -> Result<Value, Fault> {
        let wire = self.wire();
        let number = self.messages.get();
        self.messages.set(number + 1);
        let mut headers = self.seen.headers();
        let mut params = params.clone();
        if self.seen.kind == Kind::Epic && method == "tools/call" {
            params["_meta"] = json!({ "progressToken": wire.id(number) });
        }
        let send = |headers: &[(&'static str, String)]| {
            let params = params.clone();
            wire.request(&Message { method, params, headers, limit, what, number })
        };
        let mut answered = send(&headers);
        if matches!(answered, Err(Fault::NoSession)) {
            // A server that does not know the session has not run the request. It is sent once
            // more, in a new session.
            headers = detect_uncached(wire, self.seen.kind)?.headers();
            answered = send(&headers);
        }
        match &answered {
            Err(Fault::Cancelled | Fault::Busy(..)) if self.seen.kind == Kind::Epic => {
                let reason = "its caller no longer waits for it";
                let params = json!({ "requestId": wire.id(number), "reason": reason });
                wire.notify("notifications/cancelled", &params, &headers);
            }
            Err(Fault::NotRunning(_) | Fault::NoSession | Fault::WrongServer(..)) => {
                forget(&self.url);
            }
            Ok(_) | Err(_) => {}
        }
        Ok(answered?.result)
    }

    fn wire(&self) -> EditorConnection<'_> {
        EditorConnection { request: self.request, url: &self.url }
    }

    /// Part of the cache key; differs after every change that this plugin asked the editor for.
    fn generation(&self) -> String {
        let kept = cache::get(&changes_key(&self.url)).unwrap_or_default();
        String::from_utf8(kept).unwrap_or_default()
    }

    fn count_change(&self) {
        cache::set(&changes_key(&self.url), now().to_string(), None);
    }
}

fn changes_key(url: &str) -> String {
    format!("last change at {url}")
}

fn work_key(url: &str) -> String {
    format!("at work at {url}")
}
