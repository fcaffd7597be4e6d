//! Runs the server over HTTP: streamable HTTP in both eras, or HTTP+SSE of MCP 2024-11-05.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tokio::sync::mpsc;

use crate::script::{Out, Server};

/// A body that is sent piece by piece.
pub struct Written(mpsc::UnboundedReceiver<Bytes>);

impl Body for Written {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

struct Web {
    server: Arc<Server>,
    sse: bool,
    /// The sessions by their ids, each with the stream for messages that belong to no request.
    sessions: Mutex<HashMap<String, Option<Out>>>,
    /// The rest of an answer whose stream was interrupted.
    rest: Mutex<Option<Value>>,
}

pub async fn serve(server: Arc<Server>, sse: bool) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    // Room for all concurrent connections of a test. Without room, a connection is retried only after seconds.
    let listener = socket.listen(4096)?;
    println!("http://{}/mcp", listener.local_addr()?);
    let web = Arc::new(Web { server, sse, sessions: Mutex::default(), rest: Mutex::default() });
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let web = web.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| {
                let web = web.clone();
                async move { Ok::<_, Infallible>(web.handle(request).await) }
            });
            let served = hyper::server::conn::http1::Builder::new();
            let _gone = served.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Web {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Response<Written> {
        let header = |name: &str| {
            request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        if self.server.is("locked") && header("authorization").as_deref() != Some("Bearer key") {
            // The response repeats the key, as a careless server might.
            let key = header("authorization").unwrap_or_default();
            let mut response =
                plain(401, &format!("who are you? {key} {}", key.replace('/', "%2f")));
            if let Some(at) = self.server.value("metadata") {
                let challenge = format!("Bearer resource_metadata=\"{at}\", scope=\"read\"");
                let challenge = challenge.parse().expect("a header's value");
                response.headers_mut().insert("www-authenticate", challenge);
            }
            return response;
        }
        if self.server.is("elsewhere") {
            let mut response = plain(307, "");
            response
                .headers_mut()
                .insert("location", "http://127.0.0.1:1/".parse().expect("a URL"));
            return response;
        }
        let session = header("mcp-session-id");
        for name in ["mcp-name", "mcp-param-region", "last-event-id", "mcp-protocol-version"] {
            if let Some(value) = header(name) {
                self.server.saw(format!("{name}: {value}"));
            }
        }
        let region = header("mcp-param-region");
        match *request.method() {
            Method::GET if self.sse => self.events_of_2024(),
            Method::GET => {
                let events = self.events(session, header("last-event-id").is_some());
                self.server.saw("GET");
                events
            }
            Method::DELETE => {
                self.server.saw("DELETE");
                self.sessions.lock().remove(&session.unwrap_or_default());
                plain(200, "")
            }
            _ => {
                let query = request.uri().query().map(str::to_owned);
                let body = request.into_body().collect().await.map(|body| body.to_bytes());
                let message: Value =
                    serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
                if self.sse {
                    return self.post_of_2024(query, message).await;
                }
                self.post(session, region.is_some(), message).await
            }
        }
    }

    async fn post(
        self: Arc<Self>,
        session: Option<String>,
        has_region: bool,
        message: Value,
    ) -> Response<Written> {
        let version = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
        let modern = message.pointer(version).is_some();
        if modern && self.server.is("legacy") {
            return plain(400, "what is this?");
        }
        let begins = message["method"] == "initialize";
        if !modern && !begins {
            if self.server.forget.swap(false, Ordering::Relaxed) {
                self.sessions.lock().clear();
            }
            let known = session.as_ref().is_some_and(|id| self.sessions.lock().contains_key(id));
            let amnesia = self.server.is("amnesia") && message["method"] == "tools/call";
            if !known || amnesia {
                return self.no_such_session();
            }
        }
        let region = message.pointer("/params/arguments/region").is_some();
        if modern && region && !has_region {
            let error = json!({"code": -32020, "message": "where is the header?"});
            return answer(400, &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
        if message.get("id").is_none() || message.get("method").is_none() {
            let (out, _) = mpsc::unbounded_channel();
            self.server.take(message, out).await;
            return plain(202, "");
        }
        let (out, outgoing) = mpsc::unbounded_channel();
        let server = self.server.clone();
        tokio::spawn(async move { server.take(message, out).await });
        let mut response = self.clone().reply(outgoing).await;
        if begins && !modern {
            // Each id is used once, because the client of a forgotten session may still delete the session.
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let id = format!("session-{}", NEXT.fetch_add(1, Ordering::Relaxed));
            self.sessions.lock().insert(id.clone(), None);
            response.headers_mut().insert("mcp-session-id", id.parse().expect("visible ASCII"));
        }
        response
    }

    fn no_such_session(&self) -> Response<Written> {
        if !self.server.is("400") {
            return plain(404, "no such session");
        }
        let error = json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
        answer(400, &json!({"jsonrpc": "2.0", "id": null, "error": error}))
    }

    /// The response to a request: events if the option `events` is set or the first message is not the answer,
    /// otherwise JSON.
    async fn reply(
        self: Arc<Self>,
        mut messages: mpsc::UnboundedReceiver<Value>,
    ) -> Response<Written> {
        let (body, written) = mpsc::unbounded_channel();
        let Some(first) = messages.recv().await else { return plain(500, "") };
        if first.get("method").is_none() && !self.server.is("events") {
            return answer(200, &first);
        }
        tokio::spawn(async move {
            // The stream may end before the answer is sent.
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message["method"].as_str() {
                    Some("interrupt") => {
                        let _gone = body.send("id: 7\nretry: 10\ndata:\n\n".into());
                        *self.rest.lock() = messages.recv().await;
                        return;
                    }
                    Some("garbage") => {}
                    Some(_) | None => {
                        if body.send(event(&message)).is_err() {
                            return;
                        }
                    }
                }
                next = tokio::select! {
                    message = messages.recv() => message,
                    () = body.closed() => None,
                };
            }
        });
        stream(written)
    }

    /// The stream of a legacy server: the rest of an interrupted answer, or messages that belong to no request.
    fn events(&self, session: Option<String>, resumes: bool) -> Response<Written> {
        let (body, written) = mpsc::unbounded_channel();
        if resumes && let Some(rest) = self.rest.lock().take() {
            let _gone = body.send(event(&rest));
            return stream(written);
        }
        let id = session.unwrap_or_default();
        if !self.sessions.lock().contains_key(&id) || self.server.is("no-get") {
            return plain(405, "");
        }
        let (out, messages) = mpsc::unbounded_channel();
        self.server.listeners.lock().push((Value::Null, out.clone()));
        self.sessions.lock().insert(id, Some(out));
        let _gone = body.send(": hello\n\n".into());
        pour(messages, body);
        stream(written)
    }

    fn events_of_2024(&self) -> Response<Written> {
        let (body, written) = mpsc::unbounded_channel();
        let (out, messages) = mpsc::unbounded_channel();
        self.server.listeners.lock().push((Value::Null, out.clone()));
        let id = self.sessions.lock().len().to_string();
        let host = if self.server.is("foreign") { "http://127.0.0.1:1" } else { "" };
        let _gone = body.send(format!("event: endpoint\ndata: {host}/messages?{id}\n\n").into());
        self.sessions.lock().insert(id, Some(out));
        pour(messages, body);
        stream(written)
    }

    /// Takes a message. With the option `late`, a call of `ask` is refused when `seen` is called next.
    async fn post_of_2024(&self, query: Option<String>, message: Value) -> Response<Written> {
        let session = query.and_then(|id| self.sessions.lock().get(&id).cloned().flatten());
        let Some(out) = session else { return plain(404, "no such endpoint") };
        let tool = message.pointer("/params/name").and_then(Value::as_str).unwrap_or_default();
        let (is_asked, is_seen) = (tool == "ask", tool == "seen");
        let server = self.server.clone();
        tokio::spawn(async move { server.take(message, out).await });
        if self.server.is("late") && is_asked {
            self.server.late.notified().await;
            return plain(500, "too late");
        }
        if is_seen {
            self.server.late.notify_one();
        }
        plain(202, "")
    }
}

fn pour(mut messages: mpsc::UnboundedReceiver<Value>, body: mpsc::UnboundedSender<Bytes>) {
    tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            let pretended = matches!(message["method"].as_str(), Some("garbage" | "interrupt"));
            if !pretended && body.send(event(&message)).is_err() {
                return;
            }
        }
    });
}

fn event(message: &Value) -> Bytes {
    format!("event: message\ndata: {message}\n\n").into()
}

fn respond(status: u16, kind: &str, body: Written) -> Response<Written> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response.headers_mut().insert("content-type", kind.parse().expect("a type"));
    response
}

fn stream(written: mpsc::UnboundedReceiver<Bytes>) -> Response<Written> {
    respond(200, "text/event-stream", Written(written))
}

fn whole(status: u16, kind: &str, text: String) -> Response<Written> {
    let (body, written) = mpsc::unbounded_channel();
    let _kept = body.send(text.into());
    respond(status, kind, Written(written))
}

fn plain(status: u16, text: &str) -> Response<Written> {
    whole(status, "text/plain", text.to_owned())
}

fn answer(status: u16, message: &Value) -> Response<Written> {
    whole(status, "application/json", message.to_string())
}
