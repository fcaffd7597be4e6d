//! Routes and serves requests. The steps for a request are: find its route, check its rate, check its host and origin
//! (except for probes), authenticate its caller (for protected routes), and serve it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use parking_lot::Mutex;
use portcullis_result_passthrough::PassthroughKey;
use rmcp::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Checked};
use crate::caller::remove_credentials;
use crate::client_address::{Client, PeerAddress};
use crate::cluster_rates::Leases;
use crate::connections::Connection;
use crate::legacy::Legacy;
use crate::openings::Claim;
use crate::origins::Origins;
use crate::principal::{Principal, ProfileName};
use crate::rate_limit::RateLimits;
use crate::refusal_log::RefusalLog;
use crate::request_body::{self, Envelope};
use crate::responses::{
    HttpResponse, bytes_response, cancelled_by_shutdown, ignore_malformed, method_not_allowed,
    not_admitted, text_response,
};
use crate::session_limit::{SessionLimits, SessionSlot};
use crate::sessions::{Restored, SessionPermit, Sessions};
use crate::settings::{Page, Readiness, Settings};
use crate::settings_error::InvalidSettings;
use crate::shared_sessions::{self, Opening, SharedSessions};
use crate::{HEALTH_PATH, MESSAGES_PATH, PATH, READINESS_PATH, SSE_PATH, body, signatures};

/// The header of streamable HTTP with the id of a session.
const SESSION_HEADER: &str = "mcp-session-id";

/// Handles all requests of the server.
pub(crate) struct Router<S> {
    access: Access,
    rates: Mutex<RateLimits<Client>>,
    per_second: NonZeroU32,
    /// The rates that several hosts count together.
    leases: Option<Leases>,
    /// Logs refused requests.
    pub(crate) refusal_log: RefusalLog,
    max_body: usize,
    /// Limits the sessions of both transports together.
    session_limits: Arc<SessionLimits>,
    raw: PassthroughKey,
    pages: BTreeMap<String, Page>,
    readiness: Readiness,
    sessions: Arc<Sessions>,
    streamable: StreamableHttpService<S, Sessions>,
    is_streamable: bool,
    legacy: Option<Arc<Legacy>>,
    factory: Arc<dyn Fn() -> S + Send + Sync>,
    shutdown: CancellationToken,
}

/// The route of a request.
enum Route<'a> {
    /// Whether the process serves HTTP. The route needs no token. The host of the request is not checked, because
    /// probes know only an IP address of the server.
    Health,
    /// Whether the server can serve calls. The same checks apply as to [`Route::Health`].
    Readiness,
    /// OAuth protected-resource metadata. The route needs no token.
    Metadata(&'a Value),
    Protected(ProtectedRoute<'a>),
}

/// A route that needs an authenticated caller.
enum ProtectedRoute<'a> {
    /// Streamable HTTP, with the name if the path is `/mcp/NAME`.
    Streamable(Option<ProfileName>),
    LegacyStream(&'a Arc<Legacy>),
    LegacyMessages(&'a Legacy),
    Page(&'a Page),
}

impl<S: ServerHandler> Router<S> {
    /// Builds the router from the settings.
    ///
    /// # Errors
    ///
    /// A setting cannot be used.
    pub(crate) fn new(
        settings: Settings,
        factory: impl Fn() -> S + Send + Sync + 'static,
        shutdown: CancellationToken,
    ) -> Result<Self, InvalidSettings> {
        signatures::install();
        let max_body = settings.body_bytes.get() as usize;
        let is_reserved = |path: &&String| {
            let own = [PATH, SSE_PATH, MESSAGES_PATH, HEALTH_PATH, READINESS_PATH];
            !path.starts_with('/') || own.contains(&path.as_str())
        };
        if let Some(path) = settings.pages.keys().find(is_reserved) {
            return Err(InvalidSettings::PagePath(path.clone()));
        }
        let factory: Arc<dyn Fn() -> S + Send + Sync> = Arc::new(factory);
        let replay = settings.replay_bytes.get() as usize;
        let shared = settings.cluster.filter(|_| settings.streamable);
        let share = |state| {
            let (kept, raw) = (settings.session_idle, settings.raw.clone());
            SharedSessions::new(state, kept, raw, replay as u64)
        };
        let shared = shared.map(share).transpose().map_err(InvalidSettings::Cluster)?;
        let sessions = Arc::new(Sessions::new(settings.session_idle, replay, shared.clone()));
        // rmcp's check of hosts is switched off, because this router checks hosts and origins in the same way for all
        // paths.
        let mut config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(max_body)
            .with_cancellation_token(shutdown.child_token());
        if let Some(shared) = shared {
            config.session_store = Some(Arc::new(Restored));
            let receiving = shared_sessions::receive(shared, Arc::downgrade(&sessions));
            tokio::spawn(shutdown.clone().run_until_cancelled_owned(receiving));
        }
        let make = factory.clone();
        let streamable = StreamableHttpService::new(move || Ok(make()), sessions.clone(), config);
        Ok(Self {
            access: settings.access,
            rates: Mutex::new(RateLimits::new(settings.requests_per_second)),
            per_second: settings.requests_per_second,
            leases: settings
                .cluster_rates
                .map(|rates| Leases::new(rates, settings.requests_per_second)),
            refusal_log: RefusalLog::default(),
            max_body,
            session_limits: SessionLimits::new(settings.sessions, settings.sessions_per_principal),
            legacy: settings
                .legacy_sse
                .then(|| Legacy::new(settings.raw.clone(), shutdown.clone())),
            raw: settings.raw,
            pages: settings.pages,
            readiness: settings.readiness,
            sessions,
            streamable,
            is_streamable: settings.streamable,
            factory,
            shutdown,
        })
    }

    /// The text of the response to a path that is not served.
    fn nothing_here(&self) -> &'static str {
        if self.is_streamable {
            "nothing is served at this path; MCP is at /mcp"
        } else {
            "nothing is served at this path"
        }
    }

    /// Responds to a request.
    pub(crate) async fn respond(
        &self,
        request: Request<Incoming>,
        connection: &Connection,
    ) -> HttpResponse {
        let access = self.access.now();
        let Some(route) = self.route(&access, request.uri().path()) else {
            return text_response(StatusCode::NOT_FOUND, self.nothing_here());
        };
        // A recognised caller has a rate limit of its own, even if other callers have the same address.
        let recognised = access.callers.recognise(request.headers());
        let counted = Client::of(recognised.as_ref(), connection.peer);
        if let Err(response) = self.count(&counted, connection.peer).await {
            return response;
        }
        match route {
            Route::Health => return probe(request.method(), true),
            Route::Readiness => return probe(request.method(), self.readiness.is_ready()),
            Route::Metadata(_) | Route::Protected(_) => {}
        }
        if let Err(response) = access.origins.check(&request) {
            return response;
        }
        let origin = request.headers().get(header::ORIGIN).cloned();
        let mut response = match Origins::preflight(&request) {
            Some(response) => response,
            None => {
                let served = self.serve(&access, route, request, connection, counted).await;
                served.unwrap_or_else(|refusal| refusal)
            }
        };
        Origins::share(origin, &mut response);
        response
    }

    /// The route of a path. `None`: nothing is served there.
    fn route<'a>(&'a self, access: &'a Checked, path: &str) -> Option<Route<'a>> {
        let legacy = self.legacy.as_ref();
        let metadata = || access.callers.resource().and_then(|resource| resource.metadata_at(path));
        match path {
            PATH => self.streamable_route(None),
            HEALTH_PATH => Some(Route::Health),
            READINESS_PATH => Some(Route::Readiness),
            SSE_PATH => legacy.map(|legacy| Route::Protected(ProtectedRoute::LegacyStream(legacy))),
            MESSAGES_PATH => {
                legacy.map(|legacy| Route::Protected(ProtectedRoute::LegacyMessages(legacy)))
            }
            path => match metadata() {
                Some(metadata) => Some(Route::Metadata(metadata)),
                None => match self.pages.get(path) {
                    Some(page) => Some(Route::Protected(ProtectedRoute::Page(page))),
                    None => self.profile_route(access, path),
                },
            },
        }
    }

    /// The route of streamable HTTP.
    fn streamable_route(&self, profile: Option<ProfileName>) -> Option<Route<'_>> {
        self.is_streamable.then_some(Route::Protected(ProtectedRoute::Streamable(profile)))
    }

    /// The route of `/mcp/NAME`.
    fn profile_route(&self, access: &Checked, path: &str) -> Option<Route<'_>> {
        let name = path.strip_prefix(PATH)?.strip_prefix('/')?;
        self.streamable_route(Some(ProfileName(access.profiles.get(name)?.clone())))
    }

    /// Counts a request of a client.
    ///
    /// # Errors
    ///
    /// The response to a client that sends too many requests.
    async fn count(&self, client: &Client, peer: PeerAddress) -> Result<(), HttpResponse> {
        let is_within = self.rates.lock().take(client, Instant::now());
        let is_within = is_within
            && match (&self.leases, client) {
                (Some(leases), Client::Principal(caller)) => leases.take(caller).await,
                (None, _) | (Some(_), Client::Address(_)) => true,
            };
        if is_within {
            return Ok(());
        }
        self.refusal_log
            .note(peer, &format!("there were over {} requests in a second", self.per_second));
        let mut response = text_response(StatusCode::TOO_MANY_REQUESTS, "too many requests");
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        Err(response)
    }

    /// Authenticates the caller, and checks the caller's rate limit and number of connections. `counted`: the
    /// client whose rate limit already counts this request.
    async fn authenticate(
        &self,
        access: &Checked,
        request: &Request<Incoming>,
        connection: &Connection,
        counted: Client,
    ) -> Result<(Option<Principal>, Client), HttpResponse> {
        let authenticated = access.callers.authenticate(request.headers()).await;
        let principal = authenticated.map_err(|error| {
            self.refusal_log.note(connection.peer, &error.to_string());
            access.callers.refusal(&error)
        })?;
        let client = Client::of(principal.as_ref(), connection.peer);
        if client != counted {
            self.count(&client, connection.peer).await?;
        }
        if !connection.assign(client.clone(), Instant::now()) {
            self.refusal_log.note(connection.peer, "its client has too many connections");
            let mut response =
                text_response(StatusCode::SERVICE_UNAVAILABLE, "you have too many connections");
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            return Err(response);
        }
        Ok((principal, client))
    }

    /// Serves a request whose rate and origin were checked. `Err` holds the response of a refusal.
    async fn serve(
        &self,
        access: &Checked,
        route: Route<'_>,
        request: Request<Incoming>,
        connection: &Connection,
        counted: Client,
    ) -> Result<HttpResponse, HttpResponse> {
        let route = match route {
            Route::Protected(route) => route,
            Route::Metadata(metadata) => {
                let make = || ("application/json", metadata.to_string().into());
                return Ok(page(request.method(), make));
            }
            // `respond` has already responded to probes.
            Route::Health | Route::Readiness => return Ok(probe(request.method(), false)),
        };
        let (principal, client) = self.authenticate(access, &request, connection, counted).await?;
        let place = || self.session_place(client, connection.peer);
        match route {
            ProtectedRoute::Streamable(profile) => {
                let mut request = request;
                if let Some(profile) = profile {
                    request.extensions_mut().insert(profile);
                }
                self.streamable(request, principal, place).await
            }
            ProtectedRoute::LegacyStream(_) if request.method() != Method::GET => {
                Err(method_not_allowed("GET"))
            }
            ProtectedRoute::LegacyStream(legacy) => {
                let place = place()?;
                Ok(legacy.open((self.factory)(), principal, place))
            }
            ProtectedRoute::LegacyMessages(_) if request.method() != Method::POST => {
                Err(method_not_allowed("POST"))
            }
            ProtectedRoute::LegacyMessages(_) if !request_body::is_json(request.headers()) => {
                let why = "a message needs the content type application/json";
                Err(text_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
            }
            ProtectedRoute::LegacyMessages(legacy) => {
                let (mut parts, body) = request_body::read(request, self.max_body).await?;
                remove_credentials(&mut parts.headers);
                let owner = principal.clone();
                parts.extensions.extend(extension(principal));
                Ok(legacy.post(parts, &body, owner.as_ref()).await)
            }
            ProtectedRoute::Page(shown) => {
                let mut response = page(request.method(), || shown.make());
                let headers = response.headers_mut();
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                let nosniff = HeaderValue::from_static("nosniff");
                headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
                if let Some(policy) = shown.policy() {
                    let policy = HeaderValue::from_static(policy);
                    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
                }
                Ok(response)
            }
        }
    }

    /// Serves a request of streamable HTTP. `Err` holds the response of a refusal.
    async fn streamable(
        &self,
        request: Request<Incoming>,
        principal: Option<Principal>,
        place: impl FnOnce() -> Result<SessionSlot, HttpResponse>,
    ) -> Result<HttpResponse, HttpResponse> {
        let (mut parts, body) = request_body::read(request, self.max_body).await?;
        remove_credentials(&mut parts.headers);
        let session = parts.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
        let ends_session = parts.method == Method::DELETE;
        let restored = match session {
            Some(id) => self.sessions.admit(id, principal.as_ref(), ends_session).await,
            None => Ok(None),
        };
        let restored = restored.map_err(|error| not_admitted(&error))?;
        let is_json = request_body::is_json(&parts.headers);
        let posted = match parts.method {
            Method::POST => Some(Envelope::of(&body)?),
            _ => None,
        };
        if posted.as_ref().is_some_and(Envelope::is_malformed_response) {
            return Ok(ignore_malformed());
        }
        let begins = posted.as_ref().is_some_and(Envelope::is_initialize);
        let opening = match (restored, begins) {
            (Some((restored, claim)), _) => {
                Some((self.permit(place()?, &principal, Some(restored), &mut parts), Some(claim)))
            }
            (None, true) => {
                let shared = self.sessions.opening().map_err(|error| not_admitted(&error))?;
                Some((self.permit(place()?, &principal, shared, &mut parts), None))
            }
            (None, false) => None,
        };
        parts.extensions.extend(extension(principal));
        let copy = body.clone();
        let request = Request::from_parts(parts, Full::new(body));
        let mut response = match opening {
            Some((permit, claim)) => self.open(permit, claim, request).await?,
            None => self.streamable.handle(request).await,
        };
        // rmcp's response to a call that the shutdown cancels would say that the server has a fault.
        if response.status() == StatusCode::INTERNAL_SERVER_ERROR && self.shutdown.is_cancelled() {
            return Err(cancelled_by_shutdown());
        }
        if ends_session && response.status() == StatusCode::ACCEPTED {
            // The session has ended now. The servers of the Python and TypeScript SDKs respond with status 200, too.
            // The client of the Python SDK takes every status other than 200 and 204 for a failure.
            *response.status_mut() = StatusCode::OK;
        }
        match posted {
            // rmcp responds with this status to JSON that is not a message.
            Some(envelope)
                if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE =>
            {
                Err(envelope.unreadable(&copy))
            }
            Some(_) | None => Ok(body::unwrap(&self.raw, response).await),
        }
    }

    /// Serves a request that opens a session. If the client gives the request up, the session is opened nevertheless:
    /// half open, it would fail the other requests of the session.
    async fn open(
        &self,
        permit: SessionPermit,
        claim: Option<Claim>,
        request: Request<Full<Bytes>>,
    ) -> Result<HttpResponse, HttpResponse> {
        let streamable = self.streamable.clone();
        let opened = tokio::spawn(async move {
            let _claim = claim;
            permit.during(streamable.handle(request)).await
        });
        opened.await.map_err(|error| {
            tracing::error!("opening a session: {error}");
            text_response(StatusCode::INTERNAL_SERVER_ERROR, "the session could not be opened")
        })
    }

    /// The permission of a request to open a session. The handler finds what several hosts know of the session in the
    /// extensions of the request.
    fn permit(
        &self,
        place: SessionSlot,
        principal: &Option<Principal>,
        shared: Option<Opening>,
        parts: &mut http::request::Parts,
    ) -> SessionPermit {
        if let Some(opening) = &shared {
            parts.extensions.insert(opening.share.clone());
        }
        SessionPermit { place, principal: principal.clone(), shared }
    }

    /// Takes a place for a session of this client.
    fn session_place(
        &self,
        client: Client,
        peer: PeerAddress,
    ) -> Result<SessionSlot, HttpResponse> {
        self.session_limits.take(client).map_err(|why| {
            self.refusal_log.note(peer, why);
            text_response(StatusCode::SERVICE_UNAVAILABLE, why)
        })
    }
}

/// The extensions of a request, in which the handler finds its caller.
fn extension(principal: Option<Principal>) -> http::Extensions {
    let mut extensions = http::Extensions::new();
    if let Some(principal) = principal {
        extensions.insert(principal);
    }
    extensions
}

/// The response to a probe.
fn probe(method: &Method, is_well: bool) -> HttpResponse {
    if method != Method::GET && method != Method::HEAD {
        return method_not_allowed("GET, HEAD");
    }
    if is_well {
        text_response(StatusCode::OK, "ok")
    } else {
        text_response(StatusCode::SERVICE_UNAVAILABLE, "not ready")
    }
}

/// The response with a page or another document.
fn page(method: &Method, make: impl FnOnce() -> (&'static str, Bytes)) -> HttpResponse {
    if method != Method::GET && method != Method::HEAD {
        return method_not_allowed("GET, HEAD");
    }
    let (media_type, text) = make();
    bytes_response(StatusCode::OK, HeaderValue::from_static(media_type), text)
}
