//! Tests that responses are equal over every transport and in both eras of MCP.

use serde_json::{Map, Value, json};

use crate::support::PATIENCE;
use crate::support::client::Era;
use crate::support::home::Home;
use crate::support::wire::{Transport, Wire};

const CONFIG: &str = "[host]\nbundled = false\n[limits]\nwall-ms = 1_000_000\ncpu-ms = 1_000_000\n\
    [plugins.echo]\n[plugins.greedy]\n[plugins.conformance.grants.client]\n\
    features = [\"elicitation\", \"sampling\", \"roots\"]\n";

/// A client, and the transcript of its session.
struct Session {
    wire: Wire,
    era: Era,
    next_id: i64,
    /// One entry for each step: the request, the notifications before the answer, and the answer.
    transcript: Vec<(String, Vec<Value>, Value)>,
}

impl Session {
    fn request(&mut self, method: &str, mut params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        if self.era == Era::Modern {
            let mut meta = params["_meta"].as_object().cloned().unwrap_or_default();
            for (key, value) in [
                ("protocolVersion", json!(self.era.version())),
                ("clientCapabilities", json!({"elicitation": {}})),
                ("clientInfo", json!({"name": "blackbox", "version": "1"})),
            ] {
                meta.insert(format!("io.modelcontextprotocol/{key}"), value);
            }
            params["_meta"] = meta.into();
        }
        self.wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the answer to a request, and answers questions. Returns the notifications before the answer, and the
    /// answer.
    fn until_answered(&mut self, id: i64) -> (Vec<Value>, Value) {
        let mut told = Vec::new();
        loop {
            let message = self.wire.receive();
            if message.get("method").is_none() {
                assert_eq!(message["id"], id, "{message}");
                return (told, message);
            }
            if message.get("id").is_some() {
                assert_eq!(message["method"], "elicitation/create", "{message}");
                let (id, result) = (&message["id"], answer());
                self.wire.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
                continue;
            }
            told.push(message);
        }
    }

    /// Sends a request, answers questions, and adds the step to the transcript.
    fn step(&mut self, method: &str, params: Value) {
        let mut id = self.request(method, params.clone());
        let (mut told, mut reply) = self.until_answered(id);
        while reply["result"]["resultType"] == "input_required" {
            let asked = reply["result"]["inputRequests"].as_object().expect("questions").keys();
            let answers: Map<_, _> = asked.map(|key| (key.clone(), answer())).collect();
            let mut params = params.clone();
            params["inputResponses"] = answers.into();
            params["requestState"] = reply["result"]["requestState"].clone();
            id = self.request(method, params);
            let (more, next) = self.until_answered(id);
            told.extend(more);
            reply = next;
        }
        reply["id"] = Value::Null;
        self.transcript.push((format!("{method} {params}"), told, reply));
    }

    fn call(&mut self, tool: &str, arguments: Value) {
        self.step("tools/call", json!({"name": tool, "arguments": arguments}));
    }

    /// Runs a whole session.
    fn live(home: &Home, transport: Transport, era: Era) -> Self {
        let wire = Wire::open(home, transport, era);
        let mut session = Self { wire, era, next_id: 0, transcript: Vec::new() };
        session.begin();
        for list in ["tools", "prompts", "resources", "resources/templates"] {
            session.step(&format!("{list}/list"), json!({}));
        }
        session.call("echo", json!({"text": "hello \u{1f642}\n"}));
        session.call("echo", json!({"text": "long ".repeat(50_000)}));
        session.call("test_multiple_content_types", json!({}));
        session.call("test_error_handling", json!({}));
        session.call("echo", json!({"text": 7}));
        session.call("no_such_tool", json!({}));
        if era == Era::Legacy {
            // In the modern era, HTTP requires a header with the tool's name, and refuses the request without it.
            session.step("tools/call", json!({"arguments": {}}));
        }
        session.step("no/such/method", json!({}));
        for uri in ["test://static-text", "test://static-binary", "test://template/7/data"] {
            session.step("resources/read", json!({"uri": uri}));
        }
        session.step("resources/read", json!({"uri": "test://not-there"}));
        let arguments = json!({"arg1": "a", "arg2": "b"});
        session.step(
            "prompts/get",
            json!({"name": "test_prompt_with_arguments", "arguments": arguments}),
        );
        session.step(
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                "argument": {"name": "arg1", "value": "t"},
            }),
        );
        session.report();
        session.call("test_input_required_result_elicitation", json!({}));
        session.give_up(home);
        session
    }

    fn begin(&mut self) {
        if self.era == Era::Modern {
            return self.step("server/discover", json!({}));
        }
        let client = json!({"name": "blackbox", "version": "1"});
        self.step(
            "initialize",
            json!({
                "protocolVersion": "2024-11-05", "clientInfo": client,
                "capabilities": {"elicitation": {}},
            }),
        );
        self.wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Calls a tool that sends progress, and a tool that sends log records.
    fn report(&mut self) {
        let params = json!({
            "name": "test_tool_with_progress", "arguments": {},
            "_meta": {"progressToken": "mine"},
        });
        self.step("tools/call", params);
        let mut params = json!({"name": "test_tool_with_logging", "arguments": {}});
        match self.era {
            Era::Legacy => self.step("logging/setLevel", json!({"level": "debug"})),
            Era::Modern => params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "debug"}),
        }
        self.step("tools/call", params);
    }

    /// Asserts that a call that would never end can be cancelled, and that other calls are answered.
    fn give_up(&mut self, home: &Home) {
        let params = json!({"name": "spin", "arguments": {"how": "code"}});
        let id = self.request("tools/call", params);
        self.call("echo", json!({"text": "meanwhile"}));
        self.wire.cancel(id);
        let deadline = std::time::Instant::now() + PATIENCE;
        while !home.outcomes().contains(&("spin".into(), "cancelled".into())) {
            assert!(std::time::Instant::now() < deadline, "{:?}", home.outcomes());
            std::thread::yield_now();
        }
        self.call("echo", json!({"text": "after"}));
    }
}

fn answer() -> Value {
    json!({"action": "accept", "content": {"name": "Ada"}})
}

/// A reply without the differences between the eras.
fn common(reply: &Value) -> Value {
    let mut reply = reply.clone();
    if let Some(result) = reply.get_mut("result").and_then(Value::as_object_mut) {
        for key in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            result.remove(key);
        }
    }
    let tools = reply["result"]["tools"].as_array_mut();
    for hints in tools.into_iter().flatten().filter_map(|tool| tool["annotations"].as_object_mut())
    {
        // Clients of 2025-03-26 read the title here.
        hints.remove("title");
    }
    if reply["error"]["code"] == -32002 {
        reply["error"]["code"] = json!(-32602);
    }
    reply
}

#[test]
fn a_session_is_the_same_over_every_transport() {
    let mut sessions = Vec::new();
    for transport in Transport::ALL {
        for era in Era::BOTH.into_iter().filter(|era| transport.speaks(*era)) {
            let home = Home::with(&["conformance", "echo", "greedy"], CONFIG);
            let session = Session::live(&home, transport, era);
            sessions.push((transport, era, session.transcript));
        }
    }
    assert_eq!(sessions.len(), 5);
    for (transport, era, transcript) in &sessions {
        let (_, _, first) = sessions.iter().find(|(_, other, _)| other == era).expect("itself");
        assert_eq!(transcript.len(), first.len(), "{transport:?} {era:?}");
        for (step, expected) in transcript.iter().zip(first) {
            assert_eq!(step, expected, "{transport:?} {era:?}");
        }
    }
    // Checks that the steps succeeded, because equal transcripts could also consist of refusals.
    let (_, _, transcript) = &sessions[0];
    let step = |begin: &str| {
        let found = transcript.iter().find(|(done, ..)| done.starts_with(begin));
        found.unwrap_or_else(|| panic!("{begin} was done"))
    };
    assert_eq!(step("initialize").2["result"]["protocolVersion"], "2024-11-05");
    let tool = |name: &str| step(&format!("tools/call {{\"name\":\"{name}\""));
    assert_eq!(tool("test_tool_with_progress").1.len(), 3);
    assert_eq!(tool("test_tool_with_logging").1.len(), 3);
    let met = &tool("test_input_required_result_elicitation").2;
    assert_eq!(met["result"]["content"][0]["text"], "Hello, Ada!");
    // The answers of both eras are equal, apart from the differences that `common` removes.
    let (_, era, modern) = &sessions[1];
    assert_eq!(*era, Era::Modern);
    for (done, told, reply) in modern.iter().skip(1) {
        let name = done.split(",\"_meta\"").next().unwrap_or_default();
        let (_, legacy_told, legacy_reply) = step(name);
        assert_eq!(common(reply), common(legacy_reply), "{done}");
        assert_eq!(told.len(), legacy_told.len(), "{done}");
    }
}
