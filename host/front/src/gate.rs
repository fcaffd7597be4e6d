//! Every request, in the order of its checks.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use parking_lot::Mutex;
use portcullis_raw::Raw;
use rmcp::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::caller::{Callers, Principal, forget_credentials};
use crate::legacy::Legacy;
use crate::oauth::Resource;
use crate::origins::Origins;
use crate::posts::{self, Envelope};
use crate::rate::Rate;
use crate::reply::{Reply, not_allowed, of, say};
use crate::sessions::{Opening, Sessions};
use crate::settings::{Page, Settings};
use crate::{MESSAGES_PATH, PATH, SSE_PATH, body, verify};

/// The header in which streamable HTTP names a session.
const SESSION: &str = "mcp-session-id";

/// What stands before rmcp's service.
pub(crate) struct Gate<S> {
    origins: Origins,
    callers: Callers,
    rate: Mutex<Rate>,
    max_body: usize,
    max_sessions: NonZeroU32,
    /// Room for sessions of both transports.
    room: Arc<Semaphore>,
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
    /// What whoever is not let in reads to learn where to get a token.
    Metadata(&'a Value),
    Inside(Inside<'a>),
}

/// Where only callers go that are let in.
enum Inside<'a> {
    Streamable,
    Stream(&'a Arc<Legacy>),
    Messages(&'a Legacy),
    Page(&'a Page),
}

impl<S: ServerHandler> Gate<S> {
    /// Understands the settings.
    ///
    /// # Errors
    ///
    /// In words for whoever made them: which of them makes no sense.
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
            rate: Mutex::new(Rate::new(settings.requests_per_second)),
            max_body,
            max_sessions: settings.sessions,
            room: Arc::new(Semaphore::new(settings.sessions.get() as usize)),
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
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Reply {
        let Some(place) = self.place(request.uri().path()) else {
            return say(StatusCode::NOT_FOUND, "there is nothing here: MCP would be at /mcp");
        };
        if !self.rate.lock().take(Instant::now()) {
            let mut reply = say(StatusCode::TOO_MANY_REQUESTS, "too many requests");
            reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            return reply;
        }
        if let Err(reply) = self.origins.check(&request) {
            return reply;
        }
        let origin = request.headers().get(header::ORIGIN).cloned();
        let mut reply = match Origins::preflight(&request) {
            Some(reply) => reply,
            None => self.enter(place, request).await.unwrap_or_else(|refused| refused),
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

    async fn enter(&self, place: Place<'_>, request: Request<Incoming>) -> Result<Reply, Reply> {
        let place = match place {
            Place::Inside(place) => place,
            Place::Metadata(metadata) => {
                let make = || ("application/json", metadata.to_string().into());
                return Ok(page(request.method(), make));
            }
        };
        let principal = self.callers.identify(request.headers()).await?;
        match place {
            Inside::Streamable => self.streamable(request, principal).await,
            Inside::Stream(_) if request.method() != Method::GET => Err(not_allowed("GET")),
            Inside::Stream(legacy) => {
                let room = self.room()?;
                Ok(legacy.open((self.factory)(), principal, room))
            }
            Inside::Messages(_) if request.method() != Method::POST => Err(not_allowed("POST")),
            Inside::Messages(_) if !posts::is_json(request.headers()) => {
                let why = "a message is application/json";
                Err(say(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
            }
            Inside::Messages(legacy) => {
                let (mut parts, body) = posts::read(request, self.max_body).await?;
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
    ) -> Result<Reply, Reply> {
        let (mut parts, body) = posts::read(request, self.max_body).await?;
        forget_credentials(&mut parts.headers);
        let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok());
        if session.is_some_and(|id| self.sessions.is_foreign(id, principal.as_ref())) {
            // What rmcp says of a session that is not there.
            return Err(say(StatusCode::NOT_FOUND, "Not Found: Session not found"));
        }
        let is_json = posts::is_json(&parts.headers);
        let posted = match parts.method {
            Method::POST => Some(Envelope::of(&body)?),
            _ => None,
        };
        let opening = match &posted {
            Some(envelope) if envelope.is_initialize() => {
                Some(Opening { room: self.room()?, principal: principal.clone() })
            }
            Some(_) | None => None,
        };
        parts.extensions.extend(extension(principal));
        let served = self.streamable.handle(Request::from_parts(parts, Full::new(body)));
        let reply = match opening {
            Some(opening) => opening.during(served).await,
            None => served.await,
        };
        match posted {
            // rmcp's way to say that JSON is no message.
            Some(envelope) if is_json && reply.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                Err(envelope.is_no_message())
            }
            Some(_) | None => Ok(body::unwrap(&self.raw, reply).await),
        }
    }

    fn room(&self) -> Result<OwnedSemaphorePermit, Reply> {
        self.room.clone().try_acquire_owned().map_err(|_| {
            tracing::warn!("over {} sessions: one is turned away", self.max_sessions);
            say(StatusCode::SERVICE_UNAVAILABLE, "too many sessions")
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

fn page(method: &Method, make: impl FnOnce() -> (&'static str, Bytes)) -> Reply {
    if method != Method::GET && method != Method::HEAD {
        return not_allowed("GET, HEAD");
    }
    let (media_type, text) = make();
    of(StatusCode::OK, HeaderValue::from_static(media_type), text)
}
