//! An MCP server that demands tokens, its issuer and a browser, all on this machine and scripted by the tests.

#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use portcullis_login::{Challenge, Login, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// Time limit of a test. Each test needs far less.
const BOUND: Duration = Duration::from_secs(120);

/// Runs a test within the time limit.
pub async fn within<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, test).await.expect("the test ends in time")
}

/// The response to a request for a path.
#[derive(Clone)]
pub enum Reply {
    Json(Value),
    Status(u16, Value),
    Redirect(String),
    /// A body of this number of spaces.
    Bytes(usize),
    /// No response.
    Silence,
    /// These replies, one after the other. The last one stays.
    InTurn(Vec<Self>),
}

impl Reply {
    /// The reply to the next request.
    fn next(&mut self) -> Self {
        match self {
            Self::InTurn(replies) if replies.len() > 1 => replies.remove(0),
            Self::InTurn(replies) => replies[0].clone(),
            Self::Json(_)
            | Self::Status(..)
            | Self::Redirect(_)
            | Self::Bytes(_)
            | Self::Silence => self.clone(),
        }
    }
}

/// The server and its issuer. Both end when this value is dropped.
pub struct Stand {
    /// The origin of both: scheme, host and port.
    pub origin: String,
    replies: Arc<Mutex<BTreeMap<String, Reply>>>,
    asked: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Stand {
    /// Starts a server and an issuer that follow the standards: `/token` issues the token `first` with a refresh token.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let replies: Arc<Mutex<BTreeMap<String, Reply>>> = Arc::default();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let serving = tokio::spawn(serve(listener, replies.clone(), asked.clone()));
        let stand = Self { origin, replies, asked, serving };
        stand.reply("/.well-known/oauth-protected-resource/mcp", Reply::Json(stand.resource()));
        stand.reply("/.well-known/oauth-authorization-server", Reply::Json(stand.issuer()));
        stand.reply("/register", Reply::Status(201, json!({"client_id": "registered"})));
        stand.issue("first", 3600);
        stand
    }

    /// The resource metadata of the server.
    pub fn resource(&self) -> Value {
        json!({
            "resource": format!("{}/mcp", self.origin),
            "authorization_servers": [self.origin],
            "scopes_supported": ["read"],
        })
    }

    /// The metadata of the issuer.
    pub fn issuer(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.origin);
        json!({
            "issuer": self.origin,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "registration_endpoint": at("/register"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "private_key_jwt"],
            "scopes_supported": ["read", "write", "offline_access"],
        })
    }

    /// Changes one member of the issuer's metadata.
    pub fn issuer_says(&self, key: &str, value: Value) {
        let mut issuer = self.issuer();
        issuer[key] = value;
        self.reply("/.well-known/oauth-authorization-server", Reply::Json(issuer));
    }

    /// Leaves one member out of the issuer's metadata.
    pub fn issuer_omits(&self, key: &str) {
        let mut issuer = self.issuer();
        issuer.as_object_mut().unwrap().remove(key).unwrap();
        self.reply("/.well-known/oauth-authorization-server", Reply::Json(issuer));
    }

    pub fn reply(&self, path: &str, reply: Reply) {
        self.replies.lock().insert(path.to_owned(), reply);
    }

    /// From now on, `/token` issues this token, with this lifetime in seconds.
    pub fn issue(&self, token: &str, seconds: u64) {
        let issued = json!({
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": seconds,
            "refresh_token": format!("renews-{token}"),
        });
        self.reply("/token", Reply::Json(issued));
    }

    /// The received requests that begin with this text. Each is its method, path, body and `Authorization`, separated
    /// by spaces.
    pub fn asked(&self, beginning: &str) -> Vec<String> {
        let asked = self.asked.lock();
        asked.iter().filter(|asked| asked.starts_with(beginning)).cloned().collect()
    }

    pub fn url(&self) -> Url {
        format!("{}/mcp", self.origin).parse().unwrap()
    }

    /// A login at this server, with settings in TOML, as an operator writes them.
    pub fn login(&self, settings: &str, folder: Option<&std::path::Path>) -> Login {
        let settings: Settings = toml::from_str(settings).unwrap();
        Login::new("it", &self.url(), settings, folder).unwrap()
    }

    /// The challenge of this server when it refuses a request with this status. `more`: further parameters.
    pub fn challenge(&self, status: u16, more: &str) -> Challenge {
        let mut headers = HeaderMap::new();
        let at = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
        let value = format!("Bearer resource_metadata=\"{at}\"{more}");
        headers.insert("www-authenticate", HeaderValue::try_from(value).unwrap());
        Challenge::of(status, &headers).unwrap()
    }
}

async fn serve(
    listener: TcpListener,
    replies: Arc<Mutex<BTreeMap<String, Reply>>>,
    asked: Arc<Mutex<Vec<String>>>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (replies, asked) = (replies.clone(), asked.clone());
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                let (replies, asked) = (replies.clone(), asked.clone());
                async move { Ok::<_, Infallible>(answer(request, &replies, &asked).await) }
            });
            let served = hyper::server::conn::http1::Builder::new();
            let _gone = served.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    replies: &Mutex<BTreeMap<String, Reply>>,
    asked: &Mutex<Vec<String>>,
) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let authorization = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
    let path = parts.uri.path().to_owned();
    asked.lock().push(format!(
        "{} {path} {} {}",
        parts.method,
        String::from_utf8_lossy(&body),
        authorization.unwrap_or("-")
    ));
    let reply = match parts.method == "POST" && !parts.headers.contains_key("content-length") {
        true => Some(Reply::Status(411, json!({"error": "how long is it?"}))),
        false => replies.lock().get_mut(&path).map(Reply::next),
    };
    let (status, body) = match reply {
        None => (404, Bytes::new()),
        Some(Reply::Json(value)) => (200, value.to_string().into()),
        Some(Reply::Status(status, value)) => (status, value.to_string().into()),
        Some(Reply::Bytes(bytes)) => (200, vec![b' '; bytes].into()),
        Some(Reply::Redirect(to)) => {
            let response = Response::builder().status(302).header("location", to);
            return response.body(Full::default()).unwrap();
        }
        Some(Reply::Silence | Reply::InTurn(_)) => std::future::pending().await,
    };
    Response::builder().status(status).body(Full::from(body)).unwrap()
}

/// Redirects like a browser that opened the address `shown`: requests the redirect URI with the query `with`, in which
/// `STATE` stands for the login's `state`. Returns the response.
pub async fn come_back(shown: &str, with: &str) -> Result<String, String> {
    let url: Url = shown.parse().map_err(|error| format!("{shown}: {error}"))?;
    let param = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned()).ok_or(format!("{shown} has no {name}"))
    };
    let (state, back) = (param("state")?, param("redirect_uri")?);
    visit(&format!("{back}?{}", with.replace("STATE", &state))).await
}

/// Sends a GET request to an address of this machine. Returns the response.
pub async fn visit(address: &str) -> Result<String, String> {
    let url: Url = address.parse().map_err(|error| format!("{address}: {error}"))?;
    let host = url.socket_addrs(|| None).map_err(|error| error.to_string())?[0];
    let mut stream = TcpStream::connect(host).await.map_err(|error| error.to_string())?;
    let target = &url[url::Position::BeforePath..];
    let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
    let mut said = String::new();
    stream.read_to_string(&mut said).await.map_err(|error| error.to_string())?;
    Ok(said)
}
