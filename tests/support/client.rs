//! An MCP client over stdio, for both eras of MCP.

use std::collections::{BTreeMap, HashMap};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::home::{Home, Ran};
use super::process::Process;

/// The era of MCP that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25: starts with `initialize`.
    Legacy,
    /// From 2026-07-28: describes itself in each request.
    Modern,
}

impl Era {
    /// Both eras.
    pub const BOTH: [Self; 2] = [Self::Legacy, Self::Modern];

    /// The latest revision of the era.
    pub fn version(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }
}

/// A message from the server that is not a reply.
#[derive(Debug, Clone)]
pub enum Event {
    /// A notification.
    Told(Value),
    /// A request to the client: its method, its parameters, and the client's answer.
    Asked(String, Value, Option<Value>),
}

/// A client with a session.
pub struct Client {
    process: Process,
    era: Era,
    /// The name by which the client introduces itself.
    name: &'static str,
    capabilities: Value,
    next_id: i64,
    /// The requests sent, to be repeated in the next round.
    sent: HashMap<i64, (String, Value)>,
    /// Replies that no test has read yet.
    replies: BTreeMap<i64, Value>,
    /// The lines of these replies.
    lines: BTreeMap<i64, String>,
    /// The line of the last reply that a test has read.
    written: String,
    /// The client's answers to the server's requests, by method: one answer, or a list of answers that are given one
    /// after the other. A request without an answer stays open.
    pub answers: HashMap<String, Value>,
    /// Messages other than replies, in order.
    pub events: Vec<Event>,
}

impl Client {
    /// Starts a client without capabilities.
    pub fn start(home: &Home, era: Era) -> Self {
        Self::start_with(home, &["serve"], era, json!({}))
    }

    /// Starts a client with these capabilities, and a server with these arguments.
    pub fn start_with(home: &Home, arguments: &[&str], era: Era, capabilities: Value) -> Self {
        Self::of(&mut home.command(arguments), era, capabilities)
    }

    /// Starts a client with these capabilities, and the server of this command.
    pub fn of(command: &mut Command, era: Era, capabilities: Value) -> Self {
        Self::named("blackbox", command, era, capabilities)
    }

    /// Starts a client with this name and these capabilities, and the server of this command.
    pub fn named(name: &'static str, command: &mut Command, era: Era, capabilities: Value) -> Self {
        let process = Process::start(command);
        let mut client = Self {
            process,
            era,
            name,
            capabilities,
            next_id: 0,
            sent: HashMap::new(),
            replies: BTreeMap::new(),
            lines: BTreeMap::new(),
            written: String::new(),
            answers: HashMap::new(),
            events: Vec::new(),
        };
        if era == Era::Legacy {
            let params = json!({
                "protocolVersion": era.version(),
                "capabilities": client.capabilities,
                "clientInfo": {"name": name, "version": "1"},
            });
            let id = client.request("initialize", params);
            let reply = client.reply(id);
            assert!(reply["result"]["serverInfo"]["name"].is_string(), "{reply}");
            client.notify("notifications/initialized", json!({}));
        }
        client
    }

    /// The server's process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Sends a message unchanged.
    pub fn send(&mut self, message: &Value) {
        self.process.write(format!("{message}\n").as_bytes());
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request, without waiting for its reply.
    pub fn request(&mut self, method: &str, mut params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        if self.era == Era::Modern {
            let meta = params["_meta"].as_object().cloned().unwrap_or_default();
            params["_meta"] = Value::Object(self.introduced(meta));
        }
        self.sent.insert(id, (method.to_owned(), params.clone()));
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Adds the description of a modern client to a request's `_meta`.
    fn introduced(&self, mut meta: Map<String, Value>) -> Map<String, Value> {
        for (key, value) in [
            ("protocolVersion", json!(self.era.version())),
            ("clientCapabilities", self.capabilities.clone()),
            ("clientInfo", json!({"name": self.name, "version": "1"})),
        ] {
            meta.insert(format!("io.modelcontextprotocol/{key}"), value);
        }
        meta
    }

    /// Starts a call of a tool.
    pub fn begin(&mut self, tool: &str, arguments: Value) -> i64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool, answers questions, and returns the reply.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments);
        self.finish(id)
    }

    /// Subscribes to a resource; modern servers acknowledge this separately.
    pub fn watch(&mut self, uri: &str) {
        match self.era {
            Era::Legacy => {
                let id = self.request("resources/subscribe", json!({"uri": uri}));
                assert!(self.reply(id).get("result").is_some(), "{uri} can be subscribed to");
            }
            Era::Modern => {
                let filter = json!({"notifications": {"resourceSubscriptions": [uri]}});
                self.request("subscriptions/listen", filter);
            }
        }
    }

    /// Calls a tool and returns the text of its result, or of the error.
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        text_of(&self.call(tool, arguments))
    }

    /// Cancels a request.
    pub fn cancel(&mut self, id: i64) {
        self.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    }

    /// The reply to a request, after all rounds of questions with an answer.
    pub fn finish(&mut self, mut id: i64) -> Value {
        loop {
            let reply = self.reply(id);
            if reply["result"]["resultType"] != "input_required" {
                return reply;
            }
            let asks = reply["result"]["inputRequests"].as_object().cloned().unwrap_or_default();
            let mut responses = Map::new();
            for (key, ask) in asks {
                let method = ask["method"].as_str().unwrap_or_default().to_owned();
                let answer = self.answer(&method);
                responses.extend(answer.clone().map(|answer| (key, answer)));
                self.events.push(Event::Asked(method, ask["params"].clone(), answer));
            }
            if responses.is_empty() {
                return reply;
            }
            let (method, mut params) = self.sent[&id].clone();
            params["inputResponses"] = Value::Object(responses);
            params["requestState"] = reply["result"]["requestState"].clone();
            id = self.request(&method, params);
        }
    }

    /// The reply to a request. Other messages are stored.
    pub fn reply(&mut self, id: i64) -> Value {
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                self.written = self.lines.remove(&id).unwrap_or_default();
                return reply;
            }
            self.listen();
        }
    }

    /// The text of the last reply read, from its result on; all of it if it has no result.
    pub fn written(&self) -> &str {
        self.written.split_once("\"result\":").map_or(&self.written, |(_, result)| result)
    }

    /// Waits for a notification that matches.
    pub fn hear(&mut self, what: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(told) = self.heard(&what) {
                return told;
            }
            self.listen();
        }
    }

    /// Waits for a notification that matches and comes before the reply to this request. Panics if the reply comes
    /// first: the notification will not come.
    pub fn hear_before(&mut self, id: i64, what: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(told) = self.heard(&what) {
                return told;
            }
            if let Some(reply) = self.replies.get(&id) {
                panic!("the reply came first: {}", text_of(reply));
            }
            self.listen();
        }
    }

    /// A notification that has arrived and matches.
    fn heard(&self, what: impl Fn(&Value) -> bool) -> Option<Value> {
        self.events.iter().find_map(|event| match event {
            Event::Told(told) if what(told) => Some(told.clone()),
            Event::Told(_) | Event::Asked(..) => None,
        })
    }

    /// Reads the next message.
    fn listen(&mut self) {
        let Some(line) = self.process.line() else {
            panic!("the server ended; stderr:\n{}", self.process.stderr());
        };
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("stdout carries MCP only: {error}: {line}"));
        self.take(message, line);
    }

    fn take(&mut self, message: Value, line: String) {
        assert_eq!(message["jsonrpc"], "2.0", "stdout carries MCP only: {message}");
        let Some(method) = message["method"].as_str() else {
            let id = message["id"].as_i64();
            let id = id.unwrap_or_else(|| panic!("a reply without a request: {message}"));
            assert!(self.sent.contains_key(&id), "a reply without a request: {message}");
            self.lines.insert(id, line);
            let before = self.replies.insert(id, message);
            assert!(before.is_none(), "two replies to one request: {before:?}");
            return;
        };
        if message.get("id").is_none() {
            self.events.push(Event::Told(message));
            return;
        }
        let answer = self.answer(method);
        let params = message["params"].clone();
        self.events.push(Event::Asked(method.to_owned(), params, answer.clone()));
        let id = &message["id"];
        match answer {
            // An error, like that of clients that declare features that they do not support.
            Some(Value::Object(answer)) if answer.contains_key("error") => self.send(&json!({
                "jsonrpc": "2.0", "id": id, "error": answer["error"],
            })),
            Some(Value::String(error)) => self.send(&json!({
                "jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": error},
            })),
            Some(result) => self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
            None => {}
        }
    }

    fn answer(&mut self, method: &str) -> Option<Value> {
        let answer = self.answers.get_mut(method)?;
        match answer.as_array_mut() {
            Some(list) if list.is_empty() => None,
            Some(list) => Some(list.remove(0)),
            None => Some(answer.clone()),
        }
    }

    /// Whether an unread reply to the request has arrived.
    pub fn has_reply(&self, id: i64) -> bool {
        self.replies.contains_key(&id)
    }

    /// Ends the session and the server.
    pub fn end(self) -> Ran {
        self.process.end()
    }

    /// The process, to end it in another way.
    pub fn into_process(self) -> Process {
        self.process
    }
}

/// The text of a result, after `error: ` if the tool failed; or the code and the message of an error.
pub fn text_of(reply: &Value) -> String {
    if let Some(error) = reply.get("error") {
        return format!("{} {}", error["code"], error["message"].as_str().unwrap_or_default());
    }
    let result = &reply["result"];
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<_> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let failed = if result["isError"] == true { "error: " } else { "" };
    format!("{failed}{}", texts.join("\n"))
}
