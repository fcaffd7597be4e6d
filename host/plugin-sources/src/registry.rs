//! Client of the API of OCI registries, as the OCI distribution specification 1.1 defines it: manifests, blobs, lists
//! and uploads.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderValue, Method, StatusCode};
use portcullis_egress::Origin;
use serde::Deserialize;
use url::Url;

use crate::challenge::Challenge;
use crate::digest::Digest;
use crate::error::SourceError;
use crate::link::next_page;
use crate::login::{Login, Logins};
use crate::manifest::{Descriptor, INDEX, MANIFEST, Manifest};
use crate::reference::{Location, Version};
use crate::requests::{Answer, Ask, Requests, shown};

/// Maximum number of names in a list.
const MAX_NAMES: usize = 2000;

/// Names that a registry lists.
pub(crate) struct NameList {
    pub names: Vec<String>,
    /// Whether the registry has more names than were read.
    pub is_cut: bool,
}

/// Maximum number of pages of a list.
const MAX_PAGES: usize = 20;

/// A connection to a registry.
pub(crate) struct Registry {
    pub(crate) location: Location,
    requests: Requests,
    login: Login,
    /// The authorization that the registry demanded, by scope.
    authorizations: BTreeMap<String, HeaderValue>,
}

/// A manifest as it was sent, with its digest.
pub(crate) struct FoundManifest {
    pub(crate) digest: Digest,
    pub(crate) bytes: Bytes,
    pub(crate) manifest: Manifest,
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: String,
    #[serde(default)]
    access_token: String,
}

/// A list of names: `_catalog` has the member `repositories`, and `tags/list` the member `tags`.
#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    repositories: Option<Vec<String>>,
    #[serde(default)]
    tags: Option<Vec<String>>,
}

/// The body of an error response of a registry.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<OneError>,
}

#[derive(Deserialize)]
struct OneError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl Registry {
    pub(crate) fn at(location: Location, logins: &Logins, most: u64) -> Result<Self, SourceError> {
        let url = location.url("").ok_or_else(|| SourceError::Url(location.to_string()))?;
        let requests = Requests::to(&url, most)?;
        let login = logins.of(&location.host)?;
        Ok(Self { location, requests, login, authorizations: BTreeMap::new() })
    }

    /// The address of a part of the repository.
    fn url(&self, path: &str) -> Result<Url, SourceError> {
        let path = format!("{}/{path}", self.location.repository);
        self.location.url(&path).ok_or(SourceError::Url(path))
    }

    fn pull_scope(&self) -> String {
        format!("repository:{}:pull", self.location.repository)
    }

    fn push_scope(&self) -> String {
        format!("repository:{}:pull,push", self.location.repository)
    }

    /// Sends a request. If the registry demands a login, or the token has expired, obtains the
    /// authorization and sends the request once more.
    async fn send(&mut self, mut ask: Ask<'_>, scope: &str) -> Result<Answer, SourceError> {
        ask.authorization = self.authorizations.get(scope).cloned();
        let (method, url, accept) = (ask.method.clone(), ask.url.clone(), ask.accept);
        let (body, is_large) = (ask.body.clone(), ask.is_large);
        let answer = self.requests.send(ask).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return self.unless_refused(answer, scope);
        }
        let authorization = self.obtain_authorization(&answer, scope).await?;
        self.authorizations.insert(scope.to_owned(), authorization.clone());
        let authorization = Some(authorization);
        let repeated = Ask { method, url, accept, authorization, to_realm: false, body, is_large };
        let answer = self.requests.send(repeated).await?;
        self.unless_refused(answer, scope)
    }

    fn unless_refused(&self, answer: Answer, scope: &str) -> Result<Answer, SourceError> {
        match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.refusal(scope)),
            _ => Ok(answer),
        }
    }

    fn refusal(&self, scope: &str) -> SourceError {
        let hint = match &self.login {
            Login::Basic(_) => "the login that was used may not do this, or is wrong".to_owned(),
            Login::None(hint) => hint.clone(),
        };
        let what = match scope.rsplit(':').next() {
            Some("pull") => format!("to send `{}`", self.location.repository),
            Some("pull,push") => format!("to accept `{}`", self.location.repository),
            _ => "to list its repositories".to_owned(),
        };
        SourceError::Login { registry: self.location.host.clone(), what, hint }
    }

    /// Obtains the authorization that an answer demands.
    async fn obtain_authorization(
        &mut self,
        answer: &Answer,
        scope: &str,
    ) -> Result<HeaderValue, SourceError> {
        let registry = self.location.host.clone();
        let wrong = |why: String| SourceError::Challenge { registry: registry.clone(), why };
        let challenge = Challenge::of(&answer.headers).ok_or_else(|| {
            wrong("it names neither `Basic` nor `Bearer` with a realm".to_owned())
        })?;
        // A server to which a redirect led gets no login.
        if Origin::of(&answer.url).ok().as_ref() != Some(&self.requests.origin) {
            return Err(wrong(format!(
                "the login is demanded by another server, {}",
                shown(&answer.url)
            )));
        }
        let basic = match &self.login {
            Login::Basic(value) => Some(value.clone()),
            Login::None(_) => None,
        };
        let (realm, service) = match challenge {
            Challenge::Basic => return basic.ok_or_else(|| self.refusal(scope)),
            Challenge::Bearer { realm, service } => (realm, service),
        };
        let mut url =
            Url::parse(&realm).map_err(|_| wrong(format!("its realm {realm:?} is not a URL")))?;
        url.query_pairs_mut()
            .extend_pairs(service.map(|name| ("service", name)))
            .append_pair("scope", scope);
        let ask = Ask { authorization: basic, to_realm: true, ..Ask::get(url, "application/json") };
        let answer = self.requests.send(ask).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(self.refusal(scope)),
            _ => return Err(status(&answer)),
        }
        let token: Token = read(&answer)?;
        let token = if token.token.is_empty() { token.access_token } else { token.token };
        let mut value = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| wrong("its token cannot be sent in a header".to_owned()))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// The manifest of a version, checked against the digest that names it. `None`: there is none.
    pub(crate) async fn manifest(
        &mut self,
        version: &Version,
    ) -> Result<Option<FoundManifest>, SourceError> {
        let Some((digest, bytes, url)) = self.manifest_bytes(version, MANIFEST).await? else {
            return Ok(None);
        };
        let what = self.name(version);
        let kind: Kind = parse(&url, &bytes)?;
        if kind.media_type.as_deref().is_some_and(|media| media != MANIFEST)
            || kind.manifests.is_some()
        {
            let media = kind.media_type.unwrap_or_else(|| INDEX.to_owned());
            let why = format!(
                "it is a `{media}`, but a component has a manifest of the type `{MANIFEST}`"
            );
            return Err(SourceError::NotComponent { artifact: what, why });
        }
        Ok(Some(FoundManifest { digest, manifest: parse(&url, &bytes)?, bytes }))
    }

    /// The bytes of a manifest or an index.
    async fn manifest_bytes(
        &mut self,
        version: &Version,
        accept: &str,
    ) -> Result<Option<(Digest, Bytes, Url)>, SourceError> {
        let url = self.url(&format!("manifests/{version}"))?;
        let answer = self.send(Ask::get(url, accept), &self.pull_scope()).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(status(&answer)),
        }
        let found = Digest::of(&answer.body);
        // A tag contains no digest: only the registry's header says which digest it sends.
        let declared =
            answer.headers.get("docker-content-digest").and_then(|value| value.to_str().ok());
        let expected = match version {
            Version::Digest(digest) => Some(digest.clone()),
            Version::Tag(_) => declared.and_then(|text| text.parse().ok()),
        };
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            return Err(SourceError::WrongDigest { what: self.name(version), expected, found });
        }
        Ok(Some((found, answer.body, answer.url)))
    }

    /// The name of a version, for display.
    fn name(&self, version: &Version) -> String {
        let separator = if matches!(version, Version::Tag(_)) { ':' } else { '@' };
        format!("{}{separator}{version}", self.location)
    }

    /// A part of an artifact, checked against its size and its digest.
    pub(crate) async fn blob(
        &mut self,
        part: &Descriptor,
        what: &str,
        most: u64,
    ) -> Result<Bytes, SourceError> {
        let what = format!("{what} of {}", self.location);
        if part.size > most {
            return Err(SourceError::TooLarge { what, most });
        }
        let expected: Digest = part.digest.parse().map_err(|error: crate::InvalidDigest| {
            SourceError::NotComponent {
                artifact: self.location.to_string(),
                why: error.to_string(),
            }
        })?;
        let url = self.url(&format!("blobs/{expected}"))?;
        let ask = Ask { is_large: true, ..Ask::get(url, "*/*") };
        let answer = self.send(ask, &self.pull_scope()).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Err(SourceError::Missing(what)),
            _ => return Err(status(&answer)),
        }
        let found = answer.body.len() as u64;
        if found != part.size {
            return Err(SourceError::WrongSize { what, expected: part.size, found });
        }
        let found = Digest::of(&answer.body);
        if found != expected {
            return Err(SourceError::WrongDigest { what, expected, found });
        }
        Ok(answer.body)
    }

    /// The artifacts that refer to a digest: from the referrers API, or from the tag that stands for the digest in
    /// registries without that API.
    pub(crate) async fn referrers(
        &mut self,
        digest: &Digest,
    ) -> Result<Vec<Descriptor>, SourceError> {
        let url = self.url(&format!("referrers/{digest}"))?;
        let answer = self.send(Ask::get(url, INDEX), &self.pull_scope()).await?;
        let (url, bytes) = match answer.status {
            StatusCode::OK => (answer.url, answer.body),
            // 404 says that there is no such API. Some registries answer an unknown
            // request with another status.
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST => {
                let tag = Version::Tag(format!("sha256-{}", digest.hex()));
                match self.manifest_bytes(&tag, INDEX).await? {
                    Some((_, bytes, url)) => (url, bytes),
                    None => return Ok(Vec::new()),
                }
            }
            _ => return Err(status(&answer)),
        };
        let index: Kind = parse(&url, &bytes)?;
        Ok(index.manifests.unwrap_or_default())
    }

    /// The tags of the repository. `None`: there is no such repository.
    pub(crate) async fn tags(&mut self) -> Result<Option<NameList>, SourceError> {
        let (url, scope) = (self.url("tags/list")?, self.pull_scope());
        self.list(url, &scope).await
    }

    /// The repositories of the registry. `None`: the registry offers no list.
    pub(crate) async fn repositories(&mut self) -> Result<Option<NameList>, SourceError> {
        let url = self.location.url("_catalog?n=500");
        let url = url.ok_or_else(|| SourceError::Url(self.location.to_string()))?;
        self.list(url, "registry:catalog:*").await
    }

    /// The names of a list, page by page, up to [`MAX_NAMES`] and [`MAX_PAGES`].
    async fn list(&mut self, mut url: Url, scope: &str) -> Result<Option<NameList>, SourceError> {
        let (mut names, mut is_cut) = (Vec::new(), false);
        for _ in 0..MAX_PAGES {
            let answer = self.send(Ask::get(url, "application/json"), scope).await?;
            match answer.status {
                StatusCode::OK => {}
                StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => return Ok(None),
                _ => return Err(status(&answer)),
            }
            let Names { repositories, tags } = read(&answer)?;
            names.extend(repositories.or(tags).unwrap_or_default());
            let next = next_page(&answer.headers).and_then(|next| answer.url.join(next).ok());
            is_cut = names.len() > MAX_NAMES || next.is_some();
            match next.filter(|_| names.len() < MAX_NAMES) {
                Some(next) => url = next,
                None => break,
            }
        }
        names.truncate(MAX_NAMES);
        Ok(Some(NameList { names, is_cut }))
    }

    /// Uploads a part of an artifact, unless the registry has it. Returns whether it was uploaded.
    pub(crate) async fn upload(&mut self, bytes: &Bytes) -> Result<bool, SourceError> {
        let (digest, scope) = (Digest::of(bytes), self.push_scope());
        let url = self.url(&format!("blobs/{digest}"))?;
        let ask = Ask { method: Method::HEAD, ..Ask::get(url, "*/*") };
        if self.send(ask, &scope).await?.status == StatusCode::OK {
            return Ok(false);
        }
        let url = self.url("blobs/uploads/")?;
        let body = Some((Bytes::new(), "application/octet-stream"));
        let ask = Ask { method: Method::POST, body, ..Ask::get(url, "*/*") };
        let begun = self.send(ask, &scope).await?;
        if begun.status != StatusCode::ACCEPTED {
            return Err(status(&begun));
        }
        let location = begun.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let refused = |to: &str, why| SourceError::Redirect {
            url: shown(&begun.url),
            to: to.to_owned(),
            why,
        };
        let location = location.ok_or_else(|| refused("", "it names no address for the upload"))?;
        let mut url = begun.url.join(location).map_err(|_| refused(location, "it is not a URL"))?;
        if Origin::of(&url).ok().as_ref() != Some(&self.requests.origin) {
            return Err(refused(location, "uploads go only to the registry that you named"));
        }
        url.query_pairs_mut().append_pair("digest", &digest.to_string());
        let body = Some((bytes.clone(), "application/octet-stream"));
        let ask = Ask { method: Method::PUT, body, is_large: true, ..Ask::get(url, "*/*") };
        let done = self.send(ask, &scope).await?;
        if done.status != StatusCode::CREATED { Err(status(&done)) } else { Ok(true) }
    }

    /// Uploads a manifest under a tag.
    pub(crate) async fn upload_manifest(
        &mut self,
        tag: &str,
        bytes: &Bytes,
    ) -> Result<(), SourceError> {
        let (url, scope) = (self.url(&format!("manifests/{tag}"))?, self.push_scope());
        let body = Some((bytes.clone(), MANIFEST));
        let ask = Ask { method: Method::PUT, body, ..Ask::get(url, "*/*") };
        let done = self.send(ask, &scope).await?;
        if done.status != StatusCode::CREATED { Err(status(&done)) } else { Ok(()) }
    }
}

/// The members that tell an index from a manifest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    manifests: Option<Vec<Descriptor>>,
}

fn read<T: for<'a> Deserialize<'a>>(answer: &Answer) -> Result<T, SourceError> {
    parse(&answer.url, &answer.body)
}

fn parse<T: for<'a> Deserialize<'a>>(url: &Url, bytes: &[u8]) -> Result<T, SourceError> {
    serde_json::from_slice(bytes)
        .map_err(|error| SourceError::Answer { url: shown(url), why: error.to_string() })
}

/// The error for an answer with an unexpected status, with the first error message in its body.
fn status(answer: &Answer) -> SourceError {
    let errors = serde_json::from_slice::<Errors>(&answer.body).map(|all| all.errors);
    let said = errors.unwrap_or_default().into_iter().next();
    let said = said.map(|OneError { code, message }| {
        let text: String = format!("{code} {message}").chars().take(200).collect();
        format!(": {:?}", text.trim())
    });
    let (url, status) = (shown(&answer.url), answer.status.as_u16());
    SourceError::Status { url, status, said: said.unwrap_or_default() }
}
