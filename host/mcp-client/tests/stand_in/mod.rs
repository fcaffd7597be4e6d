//! Starts the server of `examples/stand-in`, and makes upstreams that connect to it.

#![allow(dead_code, reason = "each test uses some of it")]

use std::io::BufRead;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use portcullis_mcp_client::{
    ClientSettings, Definition, Event, InFlight, Object, RequestOutcome, Upstream, UpstreamRequest,
};
use serde_json::{Value, json};

/// Time limit of a test. Each test needs far less.
pub const BOUND: Duration = Duration::from_secs(180);

/// Runs a test within the time limit.
pub async fn within<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, test).await.expect("the test ends in time")
}

/// The server's program, which is built with the tests.
pub fn program() -> PathBuf {
    let this = std::env::current_exe().expect("a test has a program");
    let target = this.parent().and_then(|deps| deps.parent()).expect("it is in target/…/deps");
    let program = target.join("examples").join(format!("stand-in{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "build {} first: cargo build --examples", program.display());
    program
}

/// A server over HTTP. It is killed when this value is dropped.
pub struct Web {
    child: Child,
    pub url: String,
}

impl Web {
    /// Starts a server. `arguments`: `http` or `sse`, and options.
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(program())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let stdout = child.stdout.take().expect("piped above");
        let mut url = String::new();
        std::io::BufReader::new(stdout).read_line(&mut url).expect("it says where it listens");
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// An upstream with this definition in JSON.
pub fn defined(definition: Value) -> Upstream {
    let definition: Definition = serde_json::from_value(definition).expect("a definition");
    Upstream::new("stand-in", definition, ClientSettings::new("test", "1"))
        .expect("the definition is valid")
}

/// An upstream over stdio. `options`: of the server. `more`: further keys of the definition.
pub fn child_with(options: &[&str], more: Value) -> Upstream {
    let mut args = vec!["stdio"];
    args.extend(options);
    let mut definition = json!({"command": program(), "args": args});
    for (key, value) in more.as_object().into_iter().flatten() {
        definition[key] = value.clone();
    }
    defined(definition)
}

pub fn child(options: &[&str]) -> Upstream {
    child_with(options, json!({}))
}

pub fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("{value} is not an object") };
    object
}

/// A call of a tool, for this session.
pub fn call_for(upstream: &Upstream, session: &str, tool: &str, arguments: Value) -> InFlight {
    let params = json!({"name": tool, "arguments": arguments});
    upstream.request(UpstreamRequest::new("tools/call", object(params), session))
}

pub fn call(upstream: &Upstream, tool: &str, arguments: Value) -> InFlight {
    call_for(upstream, "one", tool, arguments)
}

/// The text of a result.
pub fn text(outcome: RequestOutcome) -> String {
    match outcome {
        RequestOutcome::Complete(result) => {
            result["content"][0]["text"].as_str().expect("a text").to_owned()
        }
        RequestOutcome::NeedInput { .. } | RequestOutcome::Error(_) => {
            panic!("no result: {outcome:?}")
        }
    }
}

/// The text of the result of a tool call.
pub async fn said(upstream: &Upstream, tool: &str, arguments: Value) -> String {
    text(call(upstream, tool, arguments).outcome().await.expect("it answers"))
}

/// Waits for the next question, and returns its key.
pub async fn question(call: &mut InFlight) -> portcullis_mcp_client::QuestionKey {
    loop {
        match call.next().await {
            Some(Event::Ask { key, .. }) => return key,
            Some(Event::Done(done)) => panic!("it ended: {done:?}"),
            Some(_) => {}
            None => panic!("it has ended"),
        }
    }
}

/// Waits until the server has noted something that begins with this text.
pub async fn has_seen(upstream: &Upstream, what: &str) {
    while !said(upstream, "seen", json!({})).await.lines().any(|line| line.starts_with(what)) {
        tokio::task::yield_now().await;
    }
}

/// Whether a process has this id and has not ended.
pub fn is_running(process: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        // The state follows the name in parentheses. `Z`: a zombie, which has ended and was not reaped.
        Ok(stat) => !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => false,
    }
}
