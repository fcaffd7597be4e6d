//! Writes the transcript of a case. The transcript is the same on every machine and in both eras of MCP.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::client::Event;
use super::home::{Home, Ran};
use super::windows;

/// Maximum length of a text shown in full, in bytes.
const LONG: usize = 6000;

/// The transcript under construction.
pub struct Picture {
    session: String,
    /// Whether calls ran concurrently, in an unknown order.
    unordered: bool,
    stderr: String,
    after: String,
    /// Texts to replace, with their replacements.
    names: Vec<(String, &'static str)>,
    /// The folder for files and the home folder, if the Windows binary is tested.
    of_windows: Option<(PathBuf, PathBuf)>,
}

impl Picture {
    /// An empty transcript for this home.
    pub fn of(home: &Home, web: Option<SocketAddr>) -> Self {
        let text = |path: &Path| path.to_str().expect("a temporary path is UTF-8").to_owned();
        let mut names = vec![(text(&home.files()), "$FILES"), (text(home.path()), "$HOME")];
        if let Some(address) = web {
            names.insert(0, (address.to_string(), "$WEB"));
            names.push((address.port().to_string(), "$PORT"));
        }
        Self {
            session: String::new(),
            unordered: false,
            stderr: String::new(),
            after: String::new(),
            names,
            of_windows: windows::wine().map(|_| (home.files(), home.path().to_owned())),
        }
    }

    /// Adds concurrent calls, sorted by their text, since their order is not known.
    pub fn together(&mut self, calls: impl FnOnce(&mut Self, &mut Vec<String>)) {
        self.unordered = true;
        let before = std::mem::take(&mut self.session);
        let mut pictures = Vec::new();
        calls(self, &mut pictures);
        pictures.sort_unstable();
        self.session = before + &pictures.concat();
    }

    /// The text added since the last call: for [`Picture::together`].
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.session)
    }

    /// Adds a call and its result.
    pub fn call(&mut self, tool: &str, with: &Value, events: &[Event], reply: &Value) {
        self.line(&format!("> {tool} {}", if with.is_null() { String::new() } else { json(with) }));
        for event in events {
            self.event(event);
        }
        match reply.get("error") {
            Some(error) => self.error(error),
            None => self.result(&reply["result"]),
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Told(message) => {
                let method = message["method"].as_str().unwrap_or_default();
                self.line(&format!("* {method} {}", json(&message["params"])));
            }
            Event::Asked(method, params, answer) => {
                let mut params = params.clone();
                // The generated id and `_meta` are removed.
                if let Some(params) = params.as_object_mut() {
                    params.remove("elicitationId");
                    params.remove("_meta");
                }
                let empty = params.as_object().is_none_or(Map::is_empty);
                let params = if empty { String::new() } else { json(&sorted(&params)) };
                self.line(&format!("? {method} {params}"));
                let answer = answer.as_ref().map_or("(no answer)".to_owned(), json);
                self.line(&format!("! {answer}"));
            }
        }
    }

    fn error(&mut self, error: &Value) {
        let message = error["message"].as_str().unwrap_or_default();
        // The error code -32002 of revisions up to 2025-11-25 is -32602 now.
        let missing = error["code"] == -32002 || message == "there is no such resource";
        let code = if missing { "of a missing resource".into() } else { error["code"].to_string() };
        self.line(&format!("< error {code}: {message}"));
        if let Some(data) = error.get("data") {
            self.line(&format!("  data {}", json(data)));
        }
    }

    /// Adds a result, without parts that only one era has.
    fn result(&mut self, result: &Value) {
        let mut result = result.as_object().cloned().unwrap_or_default();
        let kind = result.remove("resultType");
        result.remove("ttlMs");
        result.remove("cacheScope");
        if kind.as_ref().is_some_and(|kind| kind == "input_required") {
            self.line("< (the tool waits for an answer)");
            return;
        }
        let failed = result.remove("isError").is_some_and(|failed| failed == true);
        self.line(if failed { "< the tool failed" } else { "< done" });
        let content = result.remove("content");
        for block in content.as_ref().and_then(Value::as_array).into_iter().flatten() {
            self.block(block);
        }
        for (key, value) in result {
            self.line(&format!("  {key} {}", json(&value)));
        }
    }

    fn block(&mut self, block: &Value) {
        let plain = block["type"] == "text" && block.as_object().is_some_and(|b| b.len() == 2);
        let Some(text) = block["text"].as_str().filter(|_| plain) else {
            return self.line(&format!("  {}", json(block)));
        };
        if text.len() > LONG {
            return self.line(&format!("  | {} bytes", text.len()));
        }
        for line in text.split('\n') {
            self.line(&format!("  | {}", line.escape_debug().to_string().replace("\\\"", "\"")));
        }
    }

    /// Adds the list of tools with all their fields.
    pub fn list(&mut self, reply: &Value) {
        self.line("> tools/list");
        for tool in reply["result"]["tools"].as_array().into_iter().flatten() {
            self.line(&format!("  {}", tool["name"].as_str().unwrap_or_default()));
            for (key, value) in
                tool.as_object().into_iter().flatten().filter(|(key, _)| *key != "name")
            {
                self.line(&format!("    {key} {}", json(value)));
            }
        }
    }

    /// Adds a message and its reply.
    pub fn message(&mut self, message: &Value, reply: Option<&str>) {
        self.raw(&message.to_string(), reply);
    }

    /// Adds a sent line and the next received line.
    pub fn raw(&mut self, line: &str, reply: Option<&str>) {
        self.line(&format!("> {line}"));
        if let Some(reply) = reply {
            self.line(&format!("< {reply}"));
        }
    }

    /// Adds a command and its output.
    pub fn command(&mut self, arguments: &[&str], ran: &Ran) {
        self.line(&format!("$ portcullis {}", arguments.join(" ")));
        for line in ran.stdout.lines() {
            self.line(&format!("  {line}"));
        }
        match ran.code {
            Some(0) => {}
            Some(code) => self.line(&format!("  (exit code {code})")),
            None => self.line("  (killed)"),
        }
    }

    /// Adds the remaining output of the server, which should be empty, and its exit code.
    pub fn rest(&mut self, ran: &Ran) {
        for line in ran.stdout.lines() {
            self.line(&format!("< {line}"));
        }
        if ran.code != Some(0) {
            self.line(&format!("  (the server ended with {:?})", ran.code));
        }
    }

    /// Adds the messages to the operator.
    pub fn stderr(&mut self, text: &str) {
        for line in text.lines() {
            self.stderr += &format!("{}\n", line.trim_end());
        }
    }

    fn line(&mut self, line: &str) {
        self.session += line.trim_end();
        self.session.push('\n');
    }

    fn section(&mut self, title: &str, lines: &str) {
        if !lines.is_empty() {
            write!(self.after, "\n---- {title}\n{lines}").expect("a String takes any text");
        }
    }

    /// Adds the audit records, one per line, grouped by request, without values that vary.
    pub fn audit(&mut self, records: &[Value]) {
        // The request of an inner call is the request of the plugin's call, with a number.
        let mut runs: Vec<&str> = Vec::new();
        let mut requests: Vec<(&str, String)> = Vec::new();
        for record in records {
            let request = record["request"].as_str().expect("a record has a request");
            let (run, call) = request
                .split_once('.')
                .map_or((request, ""), |(run, _)| (run, &request[run.len()..]));
            let known = runs.iter().position(|known| *known == run);
            let number = known.unwrap_or_else(|| {
                runs.push(run);
                runs.len() - 1
            });
            let known = requests.iter().position(|(known, _)| *known == request);
            let place = known.unwrap_or_else(|| {
                requests.push((request, String::new()));
                requests.len() - 1
            });
            let number =
                if self.unordered { String::new() } else { format!("{}{call} ", number + 1) };
            requests[place].1 += &format!("{number}{}\n", record_line(record));
        }
        let mut groups: Vec<_> = requests.into_iter().map(|(_, lines)| lines).collect();
        if self.unordered {
            groups.sort_unstable();
        }
        self.section("audit", &shortened(&groups.concat()));
    }

    /// Adds the requests that reached the fake web.
    pub fn web(&mut self, asked: Vec<String>) {
        let lines: String = asked.into_iter().map(|request| request + "\n").collect();
        self.section("web", &shortened(&lines));
    }

    /// Adds the changes of files.
    pub fn changes(&mut self, before: &Tree, after: &Tree) {
        let mut lines = String::new();
        for (path, entry) in &after.0 {
            match before.0.get(path) {
                Some(old) if old == entry => {}
                Some(_) => lines += &format!("~ {path} {entry}\n"),
                None => lines += &format!("+ {path} {entry}\n"),
            }
        }
        for path in before.0.keys().filter(|path| !after.0.contains_key(*path)) {
            lines += &format!("- {path}\n");
        }
        self.section("files", &shortened(&lines));
    }

    /// The whole transcript.
    pub fn finish(mut self) -> String {
        let stderr = std::mem::take(&mut self.stderr);
        self.section("stderr", &shortened(&stderr));
        let mut text = self.session + &self.after;
        if let Some((files, home)) = &self.of_windows {
            text = windows::as_here(&text, &[(files, "$FILES"), (home, "$HOME")]);
        }
        for (long, short) in self.names {
            text = text.replace(&long, short);
        }
        text
    }
}

/// Shortens a text: a group of lines that is repeated more than three times is written once, with a count.
fn shortened(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let mut out = String::new();
    let mut at = 0;
    while at < lines.len() {
        // A record on stderr, or a request to the web, has up to five lines.
        let (size, times) = (1..=5)
            .map(|size| (size, repeated(&lines[at..], size)))
            .find(|(_, times)| *times > 3)
            .unwrap_or((1, 1));
        out += &(lines[at..at + size].join("\n") + "\n");
        if times > 1 {
            out += &format!("  ({times} times)\n");
        }
        at += size * times;
    }
    out
}

/// How often the first `size` lines are repeated.
fn repeated(lines: &[&str], size: usize) -> usize {
    let first = &lines[..size.min(lines.len())];
    lines.chunks(size).take_while(|chunk| *chunk == first).count()
}

/// One audit record. Values that vary are checked and removed.
fn record_line(record: &Value) -> String {
    let mut rest = record.as_object().cloned().expect("a record is an object");
    let mut take = |key: &str| rest.remove(key).unwrap_or_else(|| panic!("no `{key}`: {record}"));
    let text = |value: Value| value.as_str().expect("text").to_owned();
    take("time");
    take("request");
    assert_eq!(text(take("digest")).len(), 64, "{record}");
    let who = format!("{}/{}", text(take("plugin")), text(take("tool")));
    let verdict = text(take("verdict"));
    let line = match text(take("event")).as_str() {
        "ask" => {
            let asked =
                format!("{who} {verdict} {}: {}", text(take("capability")), text(take("subject")));
            // `opened` is the usual outcome, and is left out.
            match rest.remove("outcome").map(text) {
                Some(outcome) if outcome != "opened" => format!("{asked} = {outcome}"),
                _ => asked,
            }
        }
        "outcome" => {
            let came = if verdict == "denied" { "denied after all" } else { "outcome" };
            let (capability, subject) = (text(take("capability")), text(take("subject")));
            format!("{who} {came} {capability}: {subject} = {}", text(take("outcome")))
        }
        "more" => {
            // The number of these records depends on the time that passed.
            take("count");
            take("total");
            take("covers");
            take("of");
            take("last");
            format!(
                "{who} {verdict} {}: more, from {}",
                text(take("capability")),
                text(take("first"))
            )
        }
        "call" => {
            take("duration_us");
            take("bytes_in");
            let empty = if take("bytes_out") == 0 { ", no bytes" } else { "" };
            format!("{who} {verdict} call: {}{empty}", text(take("outcome")))
        }
        other => panic!("an unknown event `{other}`"),
    };
    let shown = |c: char| if c.is_control() { c.escape_unicode().collect() } else { c.to_string() };
    let line: String = line.chars().map(shown).collect();
    if rest.is_empty() { line } else { format!("{line} {}", Value::Object(rest)) }
}

/// The value with sorted keys, since their order differs between eras.
fn sorted(value: &Value) -> Value {
    if let Some(map) = value.as_object() {
        let sorted: BTreeMap<_, _> = map.iter().map(|(key, v)| (key, sorted(v))).collect();
        return serde_json::json!(sorted);
    }
    match value.as_array() {
        Some(items) => items.iter().map(sorted).collect(),
        None => value.clone(),
    }
}

/// JSON on one line if short, otherwise on several; only the size of JSON that is longer than [`LONG`].
fn json(value: &Value) -> String {
    let short = value.to_string();
    if short.len() <= 120 {
        return short;
    }
    if short.len() > LONG {
        return format!("({} bytes of JSON)", short.len());
    }
    format!("{value:#}").replace('\n', "\n    ")
}

/// The content of a folder.
#[derive(Debug, PartialEq)]
pub struct Tree(BTreeMap<String, String>);

impl Tree {
    /// Reads the current content.
    pub fn of(folder: &Path) -> Self {
        let mut tree = Self(BTreeMap::new());
        tree.add(folder, "");
        tree
    }

    fn add(&mut self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).expect("a home can be read") {
            let entry = entry.expect("a home can be read");
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().expect("a home can be read");
            let what = if kind.is_dir() {
                self.add(&entry.path(), &format!("{path}/"));
                "a directory".to_owned()
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path()).expect("a home can be read");
                format!("a link to {}", target.display())
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).expect("a home can be read");
                match String::from_utf8_lossy(&bytes) {
                    text if text.len() <= 60 => format!("{text:?}"),
                    _ => format!("{} bytes", bytes.len()),
                }
            } else {
                "something else".to_owned()
            };
            self.0.insert(path, what);
        }
    }
}
