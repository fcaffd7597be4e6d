//! Access tokens for a server that wants them: who issues them is found out, a person logs in or this
//! machine shows who it is, and what came of it is kept and renewed.
//!
//! A [`Login`] belongs to one server. Whoever sends requests there asks it for the [`Token`] before each,
//! and when one was refused says so ([`Login::refused`]), and sends it once more with what comes back.
//! Where only a person can help, the answer says which command to run: nothing here opens a browser.
//!
//! The server, who issues its tokens, and what either of them says are not trusted: documents have ends
//! of size and time, addresses in private networks are asked only where the operator's own words lead
//! there, a token goes to the server it was issued for alone, and what comes back from a browser has to
//! name the issuer and the login that it belongs to.

mod assertion;
mod authorize;
mod callback;
mod challenge;
mod client;
mod discovery;
mod reach;
mod settings;
mod store;
mod tokens;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use parking_lot::Mutex;
use portcullis_scrub::Scrub;
use url::Url;

pub use authorize::Authorized;
pub use challenge::Challenge;
use client::Client;
use discovery::{Found, discover};
use reach::Reach;
pub use settings::{Grant, Settings};
use settings::{Identity, Plan};
pub use store::StoreError;
use store::{Granted, Kept, Stamp, Store, Wanted};
use tokens::{Desk, Issued, Refusal};

/// How long nobody is asked for a token after that did not work: whoever waits would wait in vain.
const PAUSE: Duration = Duration::from_secs(10);

/// Tokens for one server.
pub struct Login {
    name: Box<str>,
    url: Url,
    plan: Plan,
    /// Whether the operator said nothing about logins: then it may be another kind of key that is wanted.
    is_guess: bool,
    reach: Reach,
    /// `None`: nothing outlives this process.
    store: Option<Store>,
    now: Mutex<Now>,
    /// What the server wanted to see when it refused us last.
    wanted: Mutex<Wanted>,
    /// Held while a token is asked for. In it: when that failed last, and why.
    turn: tokio::sync::Mutex<Option<(Instant, String)>>,
}

/// What is granted, as far as is known.
#[derive(Default)]
struct Now {
    granted: Option<Arc<Granted>>,
    /// The file that it was read from, by its looks.
    stamp: Option<Stamp>,
}

/// What is sent with a request, as `Authorization`. It is marked as what is not to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl Token {
    /// The header's value.
    pub fn header(&self) -> &HeaderValue {
        &self.0
    }
}

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// A person has to log in: what for, and with which command.
    Person(String),
    /// This did not work.
    Failed(String),
}

impl Login {
    /// The login at a server, by the operator's name for it. What comes of it is kept in a file in
    /// `folder`, or for as long as this process runs.
    ///
    /// # Errors
    ///
    /// Where the settings do not hold together, or a token would be sent in the open: which key, and
    /// what to do.
    pub fn new(
        name: &str,
        url: &Url,
        settings: Settings,
        folder: Option<&Path>,
    ) -> Result<Self, String> {
        let is_guess = settings == Settings::default();
        let plan = Plan::try_from(settings)?;
        let reach = Reach::new(url, plan.issuer.as_ref());
        if !reach.is_confidential(url) {
            return Err("tokens are sent over https only, or to this machine: change `url`".into());
        }
        // What a machine can ask for by itself has not to be kept.
        let folder = folder.filter(|_| plan.grant == Grant::AuthorizationCode);
        Ok(Self {
            name: name.into(),
            url: url.clone(),
            plan,
            is_guess,
            reach,
            store: folder.map(|folder| Store::new(folder, name)),
            now: Mutex::default(),
            wanted: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        })
    }

    /// The token to send, renewed if it is about to end; `None`: there is none, and the server will say
    /// what it wants.
    pub async fn token(&self) -> Option<Token> {
        let granted = self.granted()?;
        let token = granted.header().map(Token)?;
        if !granted.ends_soon() {
            return Some(token);
        }
        match self.renewed(&token).await {
            Ok(token) => Some(token),
            // Until it has ended, it may do.
            Err(_) => Some(token),
        }
    }

    /// What to send instead, when a request with this token, or without one, was refused.
    ///
    /// # Errors
    ///
    /// Where there is nothing: why, and what to do.
    pub async fn refused(
        &self,
        sent: Option<&Token>,
        challenge: Challenge,
    ) -> Result<Token, Denied> {
        let insufficient = challenge.insufficient;
        self.remember(challenge).await;
        match self.plan.grant {
            Grant::ClientCredentials => self.ask_as_machine(sent).await,
            Grant::AuthorizationCode => {
                if let Some(token) = self.another_than(sent) {
                    return Ok(token);
                }
                match sent {
                    // Renewing it makes it allow no more.
                    Some(sent) if !insufficient => self.renewed(sent).await,
                    Some(_) | None => Err(self.needs_person(insufficient)),
                }
            }
        }
    }

    /// What to say where a token was refused that had just been got.
    pub fn given_up(&self) -> Denied {
        match self.plan.grant {
            Grant::ClientCredentials => Denied::Failed("it refuses the one that was issued".into()),
            Grant::AuthorizationCode => self.needs_person(false),
        }
    }

    /// Forgets the token. Answers whether there was any.
    ///
    /// # Errors
    ///
    /// Where its file cannot be locked or removed: the token is still there.
    pub async fn forget(&self) -> Result<bool, StoreError> {
        // A renewal that has begun ends first: it would write the file again.
        let _turn = self.turn.lock().await;
        let mut stored = false;
        if let Some(store) = self.store.as_ref().filter(|store| store.stamp().is_some()) {
            let _exclusive = store.lock().await?;
            stored = store.remove()?;
        }
        *self.wanted.lock() = Wanted::default();
        let had = std::mem::take(&mut *self.now.lock()).granted.is_some();
        Ok(had || stored)
    }

    /// A text that the server said, without the tokens that are known here.
    pub fn hide(&self, text: &str) -> String {
        let granted = self.now.lock().granted.clone();
        let secrets = granted.iter().flat_map(|granted| {
            [Some(&granted.access), granted.refresh.as_ref()].into_iter().flatten()
        });
        Arc::new(Scrub::new(secrets.map(|secret| secret.0.as_str()))).text(text)
    }

    fn needs_person(&self, insufficient: bool) -> Denied {
        let what = match insufficient {
            true => "it wants its user to allow more",
            false => "it wants its user to log in",
        };
        let name = &self.name;
        let bound = match (&self.plan.scopes, insufficient) {
            (Some(_), true) => "; what is asked for is `scopes` of its `oauth`, and no more",
            (None, false) if self.is_guess => {
                "; or, if it takes keys of another kind, give it one in `headers`"
            }
            (Some(_) | None, _) => "",
        };
        Denied::Person(format!(
            "{what}: run `portcullis upstream login {name}` in a terminal{bound}"
        ))
    }

    /// What is granted now. Another process may have logged in, out, or had it renewed: its file says so.
    fn granted(&self) -> Option<Arc<Granted>> {
        let mut now = self.now.lock();
        if let Some(store) = &self.store {
            let stamp = store.stamp();
            if stamp.is_none() || now.stamp != stamp {
                *now = Now { stamp, granted: self.load(store).map(Arc::new) };
            }
        }
        now.granted.clone()
    }

    /// What is in the file, if it fits the settings.
    fn load(&self, store: &Store) -> Option<Granted> {
        let granted = store.read(self.url.as_str())?.granted?;
        let is_issuer = |issuer: &Url| {
            issuer.as_str().trim_end_matches('/') == granted.issuer.trim_end_matches('/')
        };
        let fits = self.plan.issuer.as_ref().is_none_or(is_issuer)
            && match &self.plan.identity {
                Identity::Registered { id, .. } => *id == granted.client.id,
                Identity::Described(_) | Identity::Unknown => true,
            };
        fits.then_some(granted)
    }

    /// A token that is another than the one that was sent: somebody else was faster.
    fn another_than(&self, sent: Option<&Token>) -> Option<Token> {
        let token = self.granted()?.header().map(Token);
        token.filter(|token| Some(token) != sent)
    }

    /// Has a token renewed, unless somebody else has in the meantime.
    async fn renewed(&self, sent: &Token) -> Result<Token, Denied> {
        let mut failed = self.turn.lock().await;
        let _exclusive = self
            .exclusive()
            .await
            .map_err(|error| Denied::Failed(format!("the token is not renewed: {error}")))?;
        if let Some(token) = self.another_than(Some(sent)) {
            return Ok(token);
        }
        let Some(granted) = self.granted() else { return Err(self.needs_person(false)) };
        rested(&failed)?;
        let Some(refresh) = granted.refresh.clone() else { return Err(self.needs_person(false)) };
        let url = self.reach.endpoint("where tokens are asked for", &granted.token_endpoint);
        let url = url.map_err(Denied::Failed)?;
        let desk = self.desk(&granted.client, &granted.issuer, &url);
        let form = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh.0.clone()),
            ("resource", granted.resource.clone()),
        ];
        match desk.ask(form).await {
            Ok(issued) => {
                let refresh = issued.refresh.clone().or(Some(refresh));
                let issued = Issued { refresh, ..issued };
                let before = Granted::clone(&granted);
                self.keep(before.with(issued)).map_err(Denied::Failed)
            }
            Err(Refusal::Denied(why)) => {
                tracing::info!("`{}`: its token is not renewed: {why}", self.name);
                let without = Granted { refresh: None, ..Granted::clone(&granted) };
                self.keep(without).map_err(Denied::Failed)?;
                Err(self.needs_person(false))
            }
            Err(Refusal::Failed(why)) => {
                let why = format!("renewing it did not work: {why}");
                *failed = Some((Instant::now(), why.clone()));
                Err(Denied::Failed(why))
            }
        }
    }

    /// Asks for a token as this machine.
    async fn ask_as_machine(&self, sent: Option<&Token>) -> Result<Token, Denied> {
        let mut failed = self.turn.lock().await;
        if let Some(token) = self.another_than(sent) {
            return Ok(token);
        }
        rested(&failed)?;
        let asked = async {
            let found = self.discover().await?;
            let Identity::Registered { id, proof } = &self.plan.identity else {
                return Err("`client-id` is missing".to_owned());
            };
            let client = Client::registered(id, proof, &found.issuer)?;
            let scopes = self.scopes(&found);
            let mut form = vec![
                ("grant_type", "client_credentials".to_owned()),
                ("resource", found.resource.clone()),
            ];
            if !scopes.is_empty() {
                form.push(("scope", scopes.join(" ")));
            }
            let desk = self.desk(&client, &found.issuer.name, &found.issuer.token);
            let issued = match desk.ask(form).await {
                Ok(issued) => issued,
                Err(Refusal::Denied(why) | Refusal::Failed(why)) => return Err(why),
            };
            // It is asked for anew, when it has ended.
            let issued = Issued { refresh: None, ..issued };
            self.keep(Granted::new(found, client, scopes, issued))
        };
        asked.await.map_err(|why: String| {
            let why = format!("asking for it did not work: {why}");
            *failed = Some((Instant::now(), why.clone()));
            Denied::Failed(why)
        })
    }

    fn desk<'a>(&'a self, client: &'a Client, issuer: &'a str, url: &'a Url) -> Desk<'a> {
        Desk { reach: &self.reach, plan: &self.plan, client, issuer, url }
    }

    async fn discover(&self) -> Result<Found, String> {
        let hint = self.wanted().metadata.and_then(|url| Url::parse(&url).ok());
        discover(&self.reach, &self.url, hint.as_ref(), self.plan.issuer.as_ref()).await
    }

    /// What is asked for: what the operator says; or what the server does, and what we had already.
    fn scopes(&self, found: &Found) -> Vec<String> {
        if let Some(scopes) = &self.plan.scopes {
            return scopes.clone();
        }
        let wanted = self.wanted().scopes;
        let mut scopes = if wanted.is_empty() { found.scopes.clone() } else { wanted };
        let before = self.granted().filter(|granted| granted.issuer == found.issuer.name);
        let before = before.iter().flat_map(|granted| granted.scopes.iter().cloned());
        // Without it, some issue nothing that a token can be renewed with.
        let offline =
            found.issuer.scopes.iter().filter(|_| self.plan.grant == Grant::AuthorizationCode);
        let offline = offline.filter(|scope| *scope == "offline_access").cloned();
        for scope in before.chain(offline).collect::<Vec<_>>() {
            if !scopes.contains(&scope) && !scopes.is_empty() {
                scopes.push(scope);
            }
        }
        scopes
    }

    /// What the server wanted to see last, as this process or another has heard it.
    fn wanted(&self) -> Wanted {
        let known = self.wanted.lock().clone();
        if known != Wanted::default() {
            return known;
        }
        let kept = self.store.as_ref().and_then(|store| store.read(self.url.as_str()));
        kept.and_then(|kept| kept.wanted).unwrap_or_default()
    }

    /// Notes what the server wants, for the next login, which may be another process's.
    async fn remember(&self, challenge: Challenge) {
        let metadata = challenge.metadata.map(String::from);
        let wanted = Wanted { metadata, scopes: challenge.scopes };
        let before = self.wanted();
        *self.wanted.lock() = wanted.clone();
        let Some(store) = self.store.as_ref().filter(|_| wanted != before) else { return };
        let write = async {
            // Between reading and writing, nobody else may store another token.
            let _exclusive = store.lock().await?;
            let kept = store.read(self.url.as_str()).unwrap_or_default();
            store.write(&Kept { url: self.url.to_string(), wanted: Some(wanted), ..kept })
        };
        if let Err(error) = write.await {
            tracing::warn!("`{}`: what it requires for a login is not stored: {error}", self.name);
        }
    }

    /// Keeps what was granted, and is ready to send it. The lock of its file is held by the caller.
    fn keep(&self, granted: Granted) -> Result<Token, String> {
        let token = granted.header().map(Token).ok_or("the token cannot be sent")?;
        let kept = Some(granted.clone());
        let wanted = Some(self.wanted());
        *self.now.lock() = Now { granted: Some(Arc::new(granted)), stamp: None };
        if let Some(store) = &self.store {
            let kept = Kept { url: self.url.to_string(), granted: kept, wanted };
            store.write(&kept).map_err(|error| error.to_string())?;
        }
        Ok(token)
    }

    /// Keeps other processes from changing the stored token. `None`: nothing is stored in a file.
    async fn exclusive(&self) -> Result<Option<std::fs::File>, StoreError> {
        match &self.store {
            Some(store) => store.lock().await.map(Some),
            None => Ok(None),
        }
    }
}

/// Whether a token may be asked for again; else, why that did not work just now.
fn rested(failed: &Option<(Instant, String)>) -> Result<(), Denied> {
    match failed {
        Some((when, why)) if when.elapsed() < PAUSE => Err(Denied::Failed(why.clone())),
        Some(_) | None => Ok(()),
    }
}

/// 256 bits that nobody can guess, as a text.
fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("random bytes: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
