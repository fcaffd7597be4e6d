//! A fake model service with the APIs of four providers, whose answers the test sets.

use std::collections::VecDeque;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::PATIENCE;
use super::http::Message;

/// The reaction to one request.
#[derive(Debug, Clone)]
pub enum Turn {
    /// Answers with this text.
    Says(String),
    /// Answers with this text, cut off at the limit of tokens.
    Cut(String),
    /// Refuses.
    Refuses,
    /// Fails with a status, a header (none if empty), and an error in the API's form.
    Fails(u16, (&'static str, &'static str), &'static str),
    /// Answers with this content type and this body, for every API.
    Raw(&'static str, String),
    /// Answers with this text after a while.
    Slow(Duration, String),
    /// Does not answer while the client waits.
    Hangs,
}

/// A received request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

/// The service; ends with the test.
pub struct Model {
    /// Its address.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The next reactions, and the one repeated afterwards.
    turns: Mutex<(VecDeque<Turn>, Option<Turn>)>,
    asked: Mutex<Vec<Asked>>,
    more: Condvar,
    /// Number of clients that gave up waiting.
    left: Mutex<usize>,
    stopped: AtomicBool,
}

/// The APIs: the value of `provider`, the path, and the header with the key.
pub const DIALECTS: [(&str, &str, &str); 4] = [
    ("anthropic", "/v1/messages", "x-api-key"),
    ("openai", "/v1/responses", "authorization"),
    ("chat", "/v1/chat/completions", "authorization"),
    ("ollama", "/api/chat", "authorization"),
];

impl Model {
    /// A service that reacts to all requests like this.
    pub fn that(turn: Turn) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback address");
        let address = listener.local_addr().expect("a loopback address");
        let shared = Arc::new(Shared::default());
        lock(&shared.turns).1 = Some(turn);
        let serving = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), serving) = (stream, serving.clone()) else { continue };
                thread::spawn(move || serving.serve(stream));
            }
        });
        Self { address, shared }
    }

    /// Adds a reaction for one request.
    pub fn once(&self, turn: Turn) {
        lock(&self.shared.turns).0.push_back(turn);
    }

    /// Replaces all reactions by this one.
    pub fn always(&self, turn: Turn) {
        *lock(&self.shared.turns) = (VecDeque::new(), Some(turn));
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// Waits for that many requests.
    pub fn wait(&self, count: usize) -> Vec<Asked> {
        let asked = lock(&self.shared.asked);
        let (asked, late) = self
            .shared
            .more
            .wait_timeout_while(asked, PATIENCE, |asked| asked.len() < count)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!late.timed_out(), "{} of {count} requests were made", asked.len());
        asked.clone()
    }

    /// Number of clients that gave up waiting.
    pub fn left(&self) -> usize {
        *lock(&self.shared.left)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections.
        let _woken = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let mut reader = BufReader::new(stream.try_clone().expect("a connection"));
        while let Some(request) = Message::read(&mut reader) {
            let path = request.line.split(' ').nth(1).unwrap_or_default().to_owned();
            let body = serde_json::from_slice(&request.body).unwrap_or_default();
            let dialect = DIALECTS.iter().find(|(_, at, _)| *at == path).map(|(name, ..)| *name);
            // The reaction is taken before the request is visible to the test.
            let turn = {
                let mut turns = lock(&self.turns);
                turns.0.pop_front().or_else(|| turns.1.clone()).expect("it always does something")
            };
            lock(&self.asked).push(Asked { path, headers: request.headers, body });
            self.more.notify_all();
            let Some(dialect) = dialect else {
                if reply(&stream, 404, ("", ""), "application/json", "{}").is_err() {
                    return;
                }
                continue;
            };
            let done = match turn {
                Turn::Says(text) => json_reply(&stream, &said(dialect, &text, "stop")),
                Turn::Cut(text) => json_reply(&stream, &said(dialect, &text, "length")),
                Turn::Refuses => json_reply(&stream, &refused(dialect)),
                Turn::Fails(status, header, why) => {
                    let error = match dialect {
                        "ollama" => json!({"error": why}),
                        _ => json!({"type": "error", "error": {"type": "error", "message": why}}),
                    };
                    reply(&stream, status, header, "application/json", &error.to_string())
                }
                Turn::Raw(kind, body) => reply(&stream, 200, ("", ""), kind, &body),
                Turn::Slow(time, text) => {
                    thread::sleep(time);
                    json_reply(&stream, &said(dialect, &text, "stop"))
                }
                Turn::Hangs => {
                    let _gone = reader.read(&mut [0]);
                    *lock(&self.left) += 1;
                    return;
                }
            };
            if done.is_err() {
                return;
            }
        }
    }
}

/// A response with this text. `end`: the reason for its end, in the terms of Chat Completions.
pub fn said(dialect: &str, text: &str, end: &str) -> Value {
    let is_cut = end == "length";
    match dialect {
        "anthropic" => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "served-1",
            "content": [{"type": "thinking", "thinking": "", "signature": "c2ln"},
                {"type": "text", "text": text, "citations": null}],
            "stop_reason": if is_cut { "max_tokens" } else { "end_turn" },
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }),
        "openai" => json!({
            "id": "resp_1", "object": "response", "model": "served-1",
            "status": if is_cut { "incomplete" } else { "completed" },
            "incomplete_details": is_cut.then(|| json!({"reason": "max_output_tokens"})),
            "output": [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}],
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }),
        "ollama" => json!({
            "model": "served-1", "message": {"role": "assistant", "content": text}, "done": true,
            "done_reason": end, "prompt_eval_count": 11, "eval_count": 7,
        }),
        _ => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "model": "served-1",
            "choices": [{"index": 0, "finish_reason": end,
                "message": {"role": "assistant", "content": text, "refusal": null}}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7},
        }),
    }
}

/// A response of a model that refuses. Ollama has no form for this.
fn refused(dialect: &str) -> Value {
    let mut answer = said(dialect, "", "stop");
    match dialect {
        "anthropic" => {
            answer["stop_reason"] = "refusal".into();
            answer["stop_details"] = json!({"type": "refusal", "category": "general_harms"});
        }
        "openai" => {
            answer["output"][1]["content"] = json!([{"type": "refusal", "refusal": "I can't."}]);
        }
        "ollama" => answer["message"]["content"] = "I can't help with that.".into(),
        _ => answer["choices"][0]["message"]["refusal"] = "I can't.".into(),
    }
    answer
}

fn json_reply(stream: &TcpStream, body: &Value) -> std::io::Result<()> {
    reply(stream, 200, ("", ""), "application/json", &body.to_string())
}

fn reply(
    mut stream: &TcpStream,
    status: u16,
    (name, value): (&str, &str),
    kind: &str,
    body: &str,
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\n");
    if !name.is_empty() {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
