//! Access tokens for MCP servers: finds the authorization server, has a person log in or authenticates this
//! machine, stores the tokens and renews them.
//!
//! A [`Login`] belongs to one server. Before each request, the client of this server asks the login for the [`Token`].
//! When the server refuses a request, the client calls [`Login::refused`], and sends the request once more with the
//! token that this function returns. If a person has to log in, the error names the command to run: this crate opens no
//! browser.
//!
//! The server and the authorization server are not trusted. Their documents have limits of size and time. Requests
//! go to hosts in private networks only if the configuration names the host, or if the server itself has a private
//! address. A token is sent only to the server that it was issued for. An authorization response must have the `state`
//! of its login, and must not name another issuer.

mod assertion;
mod authorize;
mod callback;
mod challenge;
mod client;
mod discovery;
mod error;
mod random;
mod requests;
mod response;
mod settings;
mod store;
mod token_endpoint;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderValue;
use parking_lot::Mutex;
use portcullis_scrub::Scrub;
use url::Url;

pub use assertion::KeyError;
pub use authorize::AuthorizationResult;
pub use callback::ListenError;
pub use challenge::Challenge;
use client::Client;
pub use client::ClientError;
pub use discovery::DiscoveryError;
use discovery::{DiscoveryResult, discover};
pub use error::{LoginError, LoginNeeded, NoToken};
pub use random::RandomError;
use requests::OauthRequests;
pub use requests::RequestError;
pub use response::ResponseError;
use settings::{CheckedSettings, Identity};
pub use settings::{Grant, Settings, SettingsError};
pub use store::StoreError;
use store::{Demand, FileStamp, Store, StoredLogin, StoredToken};
pub use token_endpoint::{InvalidToken, TokenError};
use token_endpoint::{IssuedToken, TokenEndpoint};

/// Time after a failed token request in which no other token request is sent, except for the login of a person. Callers
/// that need a new token get the same error meanwhile.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// Tokens for one server.
pub struct Login {
    name: Box<str>,
    url: Url,
    settings: CheckedSettings,
    /// Whether the configuration has no `oauth` for the server. If so, the server may expect other credentials than an
    /// OAuth token.
    is_unconfigured: bool,
    requests: OauthRequests,
    /// `None`: tokens are not stored in a file.
    store: Option<Store>,
    current: Mutex<CurrentToken>,
    /// The server's demand for a token when it last refused a request.
    wanted: Mutex<Demand>,
    /// Held during a token request. Contains the time and the error of the last failed request, if the request involved
    /// no person: a renewal, or a request with `client-credentials`.
    token_request: tokio::sync::Mutex<Option<(Instant, Arc<LoginError>)>>,
}

/// The token in use.
#[derive(Default)]
struct CurrentToken {
    granted: Option<Arc<StoredToken>>,
    /// Time and size of the file that the token was read from.
    stamp: Option<FileStamp>,
}

/// An access token: the value of `Authorization`, marked as sensitive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl Token {
    /// The header's value.
    pub fn header(&self) -> &HeaderValue {
        &self.0
    }
}

impl Login {
    /// The login at the server `name` of the configuration. The token is stored in a file in `folder`. Without a
    /// folder, or with `client-credentials`, the token is kept in memory only.
    ///
    /// # Errors
    ///
    /// The settings contradict each other, or a token would be sent without TLS.
    pub fn new(
        name: &str,
        url: &Url,
        settings: Settings,
        folder: Option<&Path>,
    ) -> Result<Self, SettingsError> {
        let is_unconfigured = settings == Settings::default();
        let settings = CheckedSettings::try_from(settings)?;
        let requests = OauthRequests::new(url, settings.issuer.as_ref());
        if !requests.is_confidential(url) {
            return Err(SettingsError::NotConfidential);
        }
        // With `client-credentials`, a new token can be requested at any time.
        let folder = folder.filter(|_| settings.grant == Grant::AuthorizationCode);
        Ok(Self {
            name: name.into(),
            url: url.clone(),
            settings,
            is_unconfigured,
            requests,
            store: folder.map(|folder| Store::new(folder, name)),
            current: Mutex::default(),
            wanted: Mutex::default(),
            token_request: tokio::sync::Mutex::default(),
        })
    }

    /// The token to send, renewed if it is about to expire and there is a refresh token. `None`: there is no token. The
    /// client then sends its request without one, and the server's refusal states what the server demands.
    pub async fn token(&self) -> Option<Token> {
        let granted = self.granted()?;
        let token = granted.header().map(Token)?;
        if !granted.ends_soon() {
            return Some(token);
        }
        match self.renew(&token).await {
            Ok(token) => Some(token),
            // The server may accept the token until it expires.
            Err(error) => {
                let error = portcullis_sanitize::error_chain(&error);
                tracing::debug!("`{}`: its token is not renewed yet: {error}", self.name);
                Some(token)
            }
        }
    }

    /// The token to send after a request with the token `sent`, or without one, was refused.
    ///
    /// # Errors
    ///
    /// There is no other token. The error says why, and how to get one.
    pub async fn refused(
        &self,
        sent: Option<&Token>,
        challenge: Challenge,
    ) -> Result<Token, NoToken> {
        let insufficient = challenge.insufficient;
        self.remember(challenge).await;
        match self.settings.grant {
            Grant::ClientCredentials => self.request_as_machine(sent).await,
            Grant::AuthorizationCode => {
                if let Some(token) = self.other_than(sent) {
                    return Ok(token);
                }
                match sent {
                    // A renewed token has no additional scopes.
                    Some(sent) if !insufficient => self.renew(sent).await,
                    Some(_) | None => Err(self.needs_person(insufficient)),
                }
            }
        }
    }

    /// The error to report when the server refuses a token that was just issued.
    pub fn new_token_refused(&self) -> NoToken {
        match self.settings.grant {
            Grant::ClientCredentials => NoToken::from(LoginError::RefusedNewToken),
            Grant::AuthorizationCode => self.needs_person(false),
        }
    }

    /// Deletes the token and the file. Returns whether there was a token or a file.
    ///
    /// # Errors
    ///
    /// The file cannot be locked or removed; the token still exists.
    pub async fn forget(&self) -> Result<bool, StoreError> {
        // A renewal would write the file again: wait until it ends.
        let _turn = self.token_request.lock().await;
        let mut was_stored = false;
        if let Some(store) = self.store.as_ref().filter(|store| store.stamp().is_some()) {
            let _exclusive = store.lock().await?;
            was_stored = store.remove()?;
        }
        *self.wanted.lock() = Demand::default();
        let had_token = std::mem::take(&mut *self.current.lock()).granted.is_some();
        Ok(had_token || was_stored)
    }

    /// Removes the tokens of this login from a text.
    pub fn hide(&self, text: &str) -> String {
        let granted = self.current.lock().granted.clone();
        let secrets = granted.iter().flat_map(|granted| {
            [Some(&granted.access), granted.refresh.as_ref()].into_iter().flatten()
        });
        Arc::new(Scrub::new(secrets.map(|secret| secret.0.as_str()))).text(text)
    }

    fn needs_person(&self, insufficient: bool) -> NoToken {
        NoToken::LoginNeeded(LoginNeeded {
            upstream: self.name.clone(),
            insufficient,
            has_scopes: self.settings.scopes.is_some(),
            is_configured: !self.is_unconfigured,
        })
    }

    /// The current token. The file is read again if another process has changed it.
    fn granted(&self) -> Option<Arc<StoredToken>> {
        let mut current = self.current.lock();
        if let Some(store) = &self.store {
            let stamp = store.stamp();
            if stamp.is_none() || current.stamp != stamp {
                *current = CurrentToken { stamp, granted: self.load(store).map(Arc::new) };
            }
        }
        current.granted.clone()
    }

    /// The token in the file, if its issuer and its client are those of the settings.
    fn load(&self, store: &Store) -> Option<StoredToken> {
        let granted = store.read(self.url.as_str())?.granted?;
        let is_issuer = |issuer: &Url| {
            issuer.as_str().trim_end_matches('/') == granted.issuer.trim_end_matches('/')
        };
        let fits = self.settings.issuer.as_ref().is_none_or(is_issuer)
            && match &self.settings.identity {
                Identity::Registered { id, .. } => *id == granted.client.id,
                Identity::MetadataDocument(_) | Identity::Unregistered => true,
            };
        fits.then_some(granted)
    }

    /// The current token, if it differs from the token `sent`: another task or process renewed it.
    fn other_than(&self, sent: Option<&Token>) -> Option<Token> {
        let token = self.granted()?.header().map(Token);
        token.filter(|token| Some(token) != sent)
    }

    /// Renews a token, unless another task or process has renewed it.
    async fn renew(&self, sent: &Token) -> Result<Token, NoToken> {
        let mut last_failure = self.token_request.lock().await;
        let _exclusive = self.exclusive().await.map_err(LoginError::from)?;
        if let Some(token) = self.other_than(Some(sent)) {
            return Ok(token);
        }
        let Some(granted) = self.granted() else { return Err(self.needs_person(false)) };
        check_pause(&last_failure)?;
        let Some(refresh) = granted.refresh.clone() else { return Err(self.needs_person(false)) };
        let url = self.requests.endpoint("the token endpoint", &granted.token_endpoint);
        let url = url.map_err(TokenError::from).map_err(LoginError::from)?;
        let endpoint = self.token_endpoint(&granted.client, &granted.issuer, &url);
        let form = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh.0.clone()),
            ("resource", granted.resource.clone()),
        ];
        match endpoint.request(form).await {
            Ok(issued) => {
                let refresh = issued.refresh.clone().or(Some(refresh));
                let issued = IssuedToken { refresh, ..issued };
                let before = StoredToken::clone(&granted);
                Ok(self.keep(before.with(issued))?)
            }
            Err(error @ TokenError::Refused { is_final: true, .. }) => {
                tracing::info!("`{}`: its token is not renewed: {error}", self.name);
                let without = StoredToken { refresh: None, ..StoredToken::clone(&granted) };
                self.keep(without)?;
                Err(self.needs_person(false))
            }
            Err(cause) => {
                let error = Arc::new(LoginError::Renewal(cause));
                *last_failure = Some((Instant::now(), error.clone()));
                Err(NoToken::Failed(error))
            }
        }
    }

    /// Requests a token with `client-credentials`.
    async fn request_as_machine(&self, sent: Option<&Token>) -> Result<Token, NoToken> {
        let mut last_failure = self.token_request.lock().await;
        if let Some(token) = self.other_than(sent) {
            return Ok(token);
        }
        check_pause(&last_failure)?;
        let asked = async {
            let found = self.discover().await?;
            let Identity::Registered { id, credential } = &self.settings.identity else {
                return Err(LoginError::Settings(SettingsError::NoCredentials));
            };
            let client = Client::registered(id, credential, &found.issuer)?;
            let scopes = self.scopes(&found);
            let mut form = vec![
                ("grant_type", "client_credentials".to_owned()),
                ("resource", found.resource.clone()),
            ];
            if !scopes.is_empty() {
                form.push(("scope", scopes.join(" ")));
            }
            let endpoint = self.token_endpoint(&client, &found.issuer.name, &found.issuer.token);
            let issued = endpoint.request(form).await?;
            // A refresh token is not needed: when the server refuses the expired token, a new one is requested.
            let issued = IssuedToken { refresh: None, ..issued };
            self.keep(StoredToken::new(found, client, scopes, issued))
        };
        asked.await.map_err(|error: LoginError| {
            let error = Arc::new(error);
            *last_failure = Some((Instant::now(), error.clone()));
            NoToken::Failed(error)
        })
    }

    fn token_endpoint<'a>(
        &'a self,
        client: &'a Client,
        issuer: &'a str,
        url: &'a Url,
    ) -> TokenEndpoint<'a> {
        TokenEndpoint { requests: &self.requests, settings: &self.settings, client, issuer, url }
    }

    async fn discover(&self) -> Result<DiscoveryResult, DiscoveryError> {
        let hint = self.wanted().metadata.and_then(|url| Url::parse(&url).ok());
        discover(&self.requests, &self.url, hint.as_ref(), self.settings.issuer.as_ref()).await
    }

    /// The scopes to request. If the configuration has scopes, only these are requested. Otherwise, the scopes that the
    /// server demands are requested or, if it demands none, those that the resource metadata lists. If that is at least
    /// one scope, two kinds of scopes are added: those of the current token and, for a login of a person,
    /// `offline_access` if the issuer supports it.
    fn scopes(&self, found: &DiscoveryResult) -> Vec<String> {
        if let Some(scopes) = &self.settings.scopes {
            return scopes.clone();
        }
        let wanted = self.wanted().scopes;
        let mut scopes = if wanted.is_empty() { found.scopes.clone() } else { wanted };
        let before = self.granted().filter(|granted| granted.issuer == found.issuer.name);
        let before = before.iter().flat_map(|granted| granted.scopes.iter().cloned());
        // Some authorization servers issue a refresh token only for this scope.
        let offline =
            found.issuer.scopes.iter().filter(|_| self.settings.grant == Grant::AuthorizationCode);
        let offline = offline.filter(|scope| *scope == "offline_access").cloned();
        for scope in before.chain(offline).collect::<Vec<_>>() {
            if !scopes.contains(&scope) && !scopes.is_empty() {
                scopes.push(scope);
            }
        }
        scopes
    }

    /// The server's last demand for a token. It may have been received by another process.
    fn wanted(&self) -> Demand {
        let known = self.wanted.lock().clone();
        if known != Demand::default() {
            return known;
        }
        let kept = self.store.as_ref().and_then(|store| store.read(self.url.as_str()));
        kept.and_then(|kept| kept.wanted).unwrap_or_default()
    }

    /// Stores the server's demand for the next login, which may happen in another process.
    async fn remember(&self, challenge: Challenge) {
        let metadata = challenge.metadata.map(String::from);
        let wanted = Demand { metadata, scopes: challenge.scopes };
        let before = self.wanted();
        *self.wanted.lock() = wanted.clone();
        let Some(store) = self.store.as_ref().filter(|_| wanted != before) else { return };
        let write = async {
            // No other process may store a token between reading and writing.
            let _exclusive = store.lock().await?;
            let kept = store.read(self.url.as_str()).unwrap_or_default();
            store.write(&StoredLogin { url: self.url.to_string(), wanted: Some(wanted), ..kept })
        };
        if let Err(error) = write.await {
            tracing::warn!("`{}`: its requirements for a login are not stored: {error}", self.name);
        }
    }

    /// Stores a token and returns it. The caller holds the lock of the file.
    fn keep(&self, granted: StoredToken) -> Result<Token, LoginError> {
        let token = granted.header().map(Token).ok_or(LoginError::NotSendable)?;
        let kept = Some(granted.clone());
        let wanted = Some(self.wanted());
        *self.current.lock() = CurrentToken { granted: Some(Arc::new(granted)), stamp: None };
        if let Some(store) = &self.store {
            let kept = StoredLogin { url: self.url.to_string(), granted: kept, wanted };
            store.write(&kept)?;
        }
        Ok(token)
    }

    /// Keeps other processes from changing the stored token until the result is dropped. `None`: tokens are not stored.
    async fn exclusive(&self) -> Result<Option<std::fs::File>, StoreError> {
        match &self.store {
            Some(store) => store.lock().await.map(Some),
            None => Ok(None),
        }
    }
}

/// Fails with the last error if the last token request failed less than [`RETRY_PAUSE`] ago.
fn check_pause(last_failure: &Option<(Instant, Arc<LoginError>)>) -> Result<(), NoToken> {
    match last_failure {
        Some((when, error)) if when.elapsed() < RETRY_PAUSE => Err(NoToken::Failed(error.clone())),
        Some(_) | None => Ok(()),
    }
}
