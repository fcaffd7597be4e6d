//! Finds the route of a request, checks its rate, its origin and its caller, in this order, and serves it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use parking_lot::Mutex;
use portcullis_result_passthrough::Raw;
use rmcp::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::caller::{Callers, forget_credentials};
use crate::client_address::{Client, PeerAddress};
use crate::connections::Connection;
use crate::legacy::Legacy;
use crate::oauth::Resource;
use crate::origins::Origins;
use crate::principal::{Principal, Refused};
use crate::rate_limit::RateLimits;
use crate::refusals::Refusals;
use crate::request_body::{self, Envelope};
use crate::responses::{HttpResponse, ignore_malformed, not_allowed, of, say};
use crate::session_limit::{SessionLimits, SessionPlace};
use crate::sessions::{Opening, Sessions};
use crate::settings::{Page, Settings};
use crate::{MESSAGES_PATH, PATH, SSE_PATH, body, verify};

/// The header in which streamable HTTP names a session.
const SESSION: &str = "mcp-session-id";

/// The HTTP handler in front of rmcp's service.
pub(crate) struct Router<S> {
    origins: Origins,
    callers: Callers,
    rates: Mutex<RateLimits<Client>>,
    per_second: NonZeroU32,
    /// Those who are not let in, in the log.
    pub(crate) refusals: Refusals,
    max_body: usize,
    /// The places for sessions of both transports.
    rooms: Arc<SessionLimits>,
    raw: Raw,
    pages: BTreeMap<String, Page>,
    sessions: Arc<Sessions>,
    streamable: StreamableHttpService<S, Sessions>,
    is_streamable: bool,
    legacy: Option<Arc<Legacy>>,
    factory: Arc<dyn Fn() -> S + Send + Sync>,
}

/// Where a request goes.
enum Place<'a> {
    /// OAuth protected-resource metadata. It needs no token.
    Metadata(&'a Value),
    Inside(Inside<'a>),
}

/// Routes that need an authenticated caller.
enum Inside<'a> {
    Streamable,
    Stream(&'a Arc<Legacy>),
    Messages(&'a Legacy),
    Page(&'a Page),
}

impl<S: ServerHandler> Router<S> {
    /// Builds the router from the settings.
    ///
    /// # Errors
    ///
    /// A message for the operator: which setting is invalid, and why.
    pub(crate) fn new(
        settings: Settings,
        factory: impl Fn() -> S + Send + Sync + 'static,
        shutdown: CancellationToken,
    ) -> Result<Self, String> {
        verify::install();
        let max_body = settings.body_bytes.get() as usize;
        let taken = |path: &&String| {
            !path.starts_with('/') || [PATH, SSE_PATH, MESSAGES_PATH].contains(&path.as_str())
        };
        if let Some(path) = settings.pages.keys().find(taken) {
            return Err(format!("a page cannot be at `{path}`"));
        }
        let factory: Arc<dyn Fn() -> S + Send + Sync> = Arc::new(factory);
        let replay = settings.replay_bytes.get() as usize;
        let sessions = Arc::new(Sessions::new(settings.session_idle, replay));
        // Hosts and origins are checked here, for all paths alike.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(max_body)
            .with_cancellation_token(shutdown.child_token());
        let make = factory.clone();
        let streamable = StreamableHttpService::new(move || Ok(make()), sessions.clone(), config);
        let oauth = settings.oauth.map(Resource::new).transpose()?;
        Ok(Self {
            origins: Origins::new(&settings.allowed_hosts, &settings.allowed_origins)?,
            callers: Callers::new(settings.token.as_deref(), oauth),
            rates: Mutex::new(RateLimits::new(settings.requests_per_second)),
            per_second: settings.requests_per_second,
            refusals: Refusals::default(),
            max_body,
            rooms: SessionLimits::new(settings.sessions, settings.sessions_per_principal),
            legacy: settings.legacy_sse.then(|| Legacy::new(settings.raw.clone(), shutdown)),
            raw: settings.raw,
            pages: settings.pages,
            sessions,
            streamable,
            is_streamable: settings.streamable,
            factory,
        })
    }

    /// Answers a request, whatever it is.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        connection: &Connection,
    ) -> HttpResponse {
        let Some(place) = self.place(request.uri().path()) else {
            return say(StatusCode::NOT_FOUND, "there is nothing here: MCP would be at /mcp");
        };
        // A recognised caller has a rate limit of its own: requests of other callers do not count against it.
        let recognised = self.callers.recognise(request.headers());
        let counted = Client::of(recognised.as_ref(), connection.peer);
        if let Err(reply) = self.count(&counted, connection.peer) {
            return reply;
        }
        if let Err(reply) = self.origins.check(&request) {
            return reply;
        }
        let origin = request.headers().get(header::ORIGIN).cloned();
        let mut reply = match Origins::preflight(&request) {
            Some(reply) => reply,
            None => {
                let entered = self.enter(place, request, connection, counted).await;
                entered.unwrap_or_else(|refused| refused)
            }
        };
        Origins::share(origin, &mut reply);
        reply
    }

    fn place(&self, path: &str) -> Option<Place<'_>> {
        let legacy = self.legacy.as_ref();
        let metadata = || self.callers.resource().and_then(|ours| ours.metadata_at(path));
        match path {
            PATH => self.is_streamable.then_some(Place::Inside(Inside::Streamable)),
            SSE_PATH => legacy.map(|legacy| Place::Inside(Inside::Stream(legacy))),
            MESSAGES_PATH => legacy.map(|legacy| Place::Inside(Inside::Messages(legacy))),
            path => match metadata() {
                Some(metadata) => Some(Place::Metadata(metadata)),
                None => self.pages.get(path).map(|page| Place::Inside(Inside::Page(page))),
            },
        }
    }

    /// Counts a request of a client.
    fn count(&self, client: &Client, peer: PeerAddress) -> Result<(), HttpResponse> {
        if self.rates.lock().take(client, Instant::now()) {
            return Ok(());
        }
        self.refusals.note(peer, &format!("there were over {} in a second", self.per_second));
        let mut reply = say(StatusCode::TOO_MANY_REQUESTS, "too many requests");
        reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        Err(reply)
    }

    /// Authenticates the caller, and checks the caller's rate limit and number of connections.
    async fn identify(
        &self,
        request: &Request<Incoming>,
        connection: &Connection,
        counted: Client,
    ) -> Result<(Option<Principal>, Client), HttpResponse> {
        let identified = self.callers.identify(request.headers()).await;
        let principal = identified.map_err(|refused: Refused| {
            self.refusals.note(connection.peer, refused.why());
            self.callers.refusal(&refused)
        })?;
        let client = Client::of(principal.as_ref(), connection.peer);
        if client != counted {
            self.count(&client, connection.peer)?;
        }
        if !connection.belongs_to(client.clone(), Instant::now()) {
            self.refusals.note(connection.peer, "its client has too many connections");
            let mut reply = say(StatusCode::SERVICE_UNAVAILABLE, "you have too many connections");
            reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            return Err(reply);
        }
        Ok((principal, client))
    }

    async fn enter(
        &self,
        place: Place<'_>,
        request: Request<Incoming>,
        connection: &Connection,
        counted: Client,
    ) -> Result<HttpResponse, HttpResponse> {
        let place = match place {
            Place::Inside(place) => place,
            Place::Metadata(metadata) => {
                let make = || ("application/json", metadata.to_string().into());
                return Ok(page(request.method(), make));
            }
        };
        let (principal, client) = self.identify(&request, connection, counted).await?;
        let room = || self.room(client, connection.peer);
        match place {
            Inside::Streamable => self.streamable(request, principal, room).await,
            Inside::Stream(_) if request.method() != Method::GET => Err(not_allowed("GET")),
            Inside::Stream(legacy) => {
                let room = room()?;
                Ok(legacy.open((self.factory)(), principal, room))
            }
            Inside::Messages(_) if request.method() != Method::POST => Err(not_allowed("POST")),
            Inside::Messages(_) if !request_body::is_json(request.headers()) => {
                let why = "a message is application/json";
                Err(say(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
            }
            Inside::Messages(legacy) => {
                let (mut parts, body) = request_body::read(request, self.max_body).await?;
                forget_credentials(&mut parts.headers);
                let owner = principal.clone();
                parts.extensions.extend(extension(principal));
                Ok(legacy.post(parts, &body, owner.as_ref()).await)
            }
            Inside::Page(shown) => {
                let mut reply = page(request.method(), || shown.make());
                let headers = reply.headers_mut();
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                let as_said = HeaderValue::from_static("nosniff");
                headers.insert(header::X_CONTENT_TYPE_OPTIONS, as_said);
                if let Some(policy) = shown.policy() {
                    let policy = HeaderValue::from_static(policy);
                    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
                }
                Ok(reply)
            }
        }
    }

    async fn streamable(
        &self,
        request: Request<Incoming>,
        principal: Option<Principal>,
        room: impl FnOnce() -> Result<SessionPlace, HttpResponse>,
    ) -> Result<HttpResponse, HttpResponse> {
        let (mut parts, body) = request_body::read(request, self.max_body).await?;
        forget_credentials(&mut parts.headers);
        let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok());
        if session.is_some_and(|id| self.sessions.is_foreign(id, principal.as_ref())) {
            // What rmcp says of a session that is not there.
            return Err(say(StatusCode::NOT_FOUND, "Not Found: Session not found"));
        }
        let is_json = request_body::is_json(&parts.headers);
        let posted = match parts.method {
            Method::POST => Some(Envelope::of(&body)?),
            _ => None,
        };
        if posted.as_ref().is_some_and(Envelope::is_broken_answer) {
            return Ok(ignore_malformed());
        }
        let opening = match &posted {
            Some(envelope) if envelope.is_initialize() => {
                Some(Opening { room: room()?, principal: principal.clone() })
            }
            Some(_) | None => None,
        };
        parts.extensions.extend(extension(principal));
        let kept = body.clone();
        let served = self.streamable.handle(Request::from_parts(parts, Full::new(body)));
        let reply = match opening {
            Some(opening) => opening.during(served).await,
            None => served.await,
        };
        match posted {
            // rmcp's way to say that JSON is no message.
            Some(envelope) if is_json && reply.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                Err(envelope.is_unreadable(&kept))
            }
            Some(_) | None => Ok(body::unwrap(&self.raw, reply).await),
        }
    }

    fn room(&self, client: Client, peer: PeerAddress) -> Result<SessionPlace, HttpResponse> {
        self.rooms.take(client).map_err(|why| {
            self.refusals.note(peer, why);
            say(StatusCode::SERVICE_UNAVAILABLE, why)
        })
    }
}

/// What a handler learns of its caller.
fn extension(principal: Option<Principal>) -> http::Extensions {
    let mut extensions = http::Extensions::new();
    if let Some(principal) = principal {
        extensions.insert(principal);
    }
    extensions
}

fn page(method: &Method, make: impl FnOnce() -> (&'static str, Bytes)) -> HttpResponse {
    if method != Method::GET && method != Method::HEAD {
        return not_allowed("GET, HEAD");
    }
    let (media_type, text) = make();
    of(StatusCode::OK, HeaderValue::from_static(media_type), text)
}
