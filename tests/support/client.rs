//! An MCP client of either era, over stdio.

use std::collections::{BTreeMap, HashMap};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::home::{Home, Ran};
use super::process::Process;

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25: begins with `initialize`.
    Legacy,
    /// From 2026-07-28: says who it is in each request.
    Modern,
}

impl Era {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Legacy, Self::Modern];

    /// Its latest revision.
    pub fn version(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }
}

/// Something that came from the server beside a reply.
#[derive(Debug, Clone)]
pub enum Event {
    /// A notification.
    Told(Value),
    /// A question to the client: its method and parameters, and what it was answered.
    Asked(String, Value, Option<Value>),
}

/// A client with a session.
pub struct Client {
    process: Process,
    era: Era,
    capabilities: Value,
    next_id: i64,
    /// Each request that was sent, for the next round.
    sent: HashMap<i64, (String, Value)>,
    /// Replies nobody has waited for yet.
    replies: BTreeMap<i64, Value>,
    /// What they are written as.
    lines: BTreeMap<i64, String>,
    /// As which the last one was written that somebody waited for.
    written: String,
    /// The client's answers to questions, by method: one, or a list of one after the other. A
    /// question without one stays open.
    pub answers: HashMap<String, Value>,
    /// What came beside replies, in the order it came.
    pub events: Vec<Event>,
}

impl Client {
    /// A client that takes part in nothing.
    pub fn start(home: &Home, era: Era) -> Self {
        Self::start_with(home, &["serve"], era, json!({}))
    }

    /// A client with these capabilities, of a server with these arguments.
    pub fn start_with(home: &Home, arguments: &[&str], era: Era, capabilities: Value) -> Self {
        Self::of(&mut home.command(arguments), era, capabilities)
    }

    /// A client with these capabilities, of whatever server this command starts.
    pub fn of(command: &mut Command, era: Era, capabilities: Value) -> Self {
        let process = Process::start(command);
        let mut client = Self {
            process,
            era,
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
                "clientInfo": {"name": "blackbox", "version": "1"},
            });
            let id = client.request("initialize", params);
            let reply = client.reply(id);
            assert!(reply["result"]["serverInfo"]["name"].is_string(), "{reply}");
            client.notify("notifications/initialized", json!({}));
        }
        client
    }

    /// The process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Sends a message as it is.
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

    /// What a modern client says of itself in each request.
    fn introduced(&self, mut meta: Map<String, Value>) -> Map<String, Value> {
        for (key, value) in [
            ("protocolVersion", json!(self.era.version())),
            ("clientCapabilities", self.capabilities.clone()),
            ("clientInfo", json!({"name": "blackbox", "version": "1"})),
        ] {
            meta.insert(format!("io.modelcontextprotocol/{key}"), value);
        }
        meta
    }

    /// Begins to call a tool.
    pub fn begin(&mut self, tool: &str, arguments: Value) -> i64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool, answers what is asked, and answers the reply.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments);
        self.finish(id)
    }

    /// Subscribes to a resource, as its era does; the newer one acknowledges that by itself.
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

    /// Calls a tool and answers the text of its answer, or what went wrong.
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        text_of(&self.call(tool, arguments))
    }

    /// Gives up a request.
    pub fn cancel(&mut self, id: i64) {
        self.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    }

    /// The reply to a request, after all rounds of questions that have an answer.
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

    /// The reply to a request. Whatever else comes is kept in the meantime.
    pub fn reply(&mut self, id: i64) -> Value {
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                self.written = self.lines.remove(&id).unwrap_or_default();
                return reply;
            }
            self.listen();
        }
    }

    /// What the last reply that was waited for has as its result, byte for byte.
    pub fn written(&self) -> &str {
        self.written.split_once("\"result\":").map_or(&self.written, |(_, result)| result)
    }

    /// Waits until something like this has come beside replies.
    pub fn hear(&mut self, what: impl Fn(&Value) -> bool) -> Value {
        loop {
            let told = self.events.iter().find_map(|event| match event {
                Event::Told(told) if what(told) => Some(told.clone()),
                Event::Told(_) | Event::Asked(..) => None,
            });
            if let Some(told) = told {
                return told;
            }
            self.listen();
        }
    }

    /// Takes whatever comes next.
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
            let id = id.unwrap_or_else(|| panic!("a reply to nothing: {message}"));
            assert!(self.sent.contains_key(&id), "a reply to nothing: {message}");
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
            // Some clients declare what they do not do.
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

    /// Whether a reply has come that nobody has waited for.
    pub fn has_reply(&self, id: i64) -> bool {
        self.replies.contains_key(&id)
    }

    /// Ends the session, and the server with it.
    pub fn end(self) -> Ran {
        self.process.end()
    }

    /// The process, to be ended in another way.
    pub fn into_process(self) -> Process {
        self.process
    }
}

/// The text of an answer, or what went wrong, in a line that says which.
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
