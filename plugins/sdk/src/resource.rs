//! What the plugin has to read: resources, by URI.

use std::time::Duration;

use crate::{
    bindings::{
        exports::portcullis::plugin::manifest::ResourceTemplate,
        portcullis::plugin::types::{
            CacheScope, Error, Freshness, ResourceContents, ResourceData, ResourceInfo,
        },
        resources::{Page, ReadResult},
    },
    failure::{Failure, NOT_FOUND},
    request::Request,
};

/// What the plugin has to read. Implement it for a type of its own, and name that in
/// [`plugin!`](crate::plugin) as `resources`.
///
/// ```
/// # use portcullis_plugin::prelude::*;
/// struct Notes;
///
/// impl Resources for Notes {
///     fn fixed() -> Vec<Resource> {
///         vec![Resource::new("notes://about", "about").mime_type("text/plain")]
///     }
///
///     fn read(_request: &Request, uri: &str) -> Result<Contents, Failure> {
///         match uri {
///             "notes://about" => Ok(Contents::text(uri, "text/plain", "My notes.")),
///             _ => Err(Failure::not_found(uri)),
///         }
///     }
/// }
/// ```
pub trait Resources {
    /// Those that are always there.
    fn fixed() -> Vec<Resource> {
        Vec::new()
    }

    /// Families of them, as URI templates.
    fn templates() -> Vec<Template> {
        Vec::new()
    }

    /// Those that come and go, page by page: what follows behind `cursor`, which is one that an
    /// earlier page ended with.
    fn list(_request: &Request<'_>, _cursor: Option<&str>) -> Result<Listing, Failure> {
        Ok(Listing::default())
    }

    /// One of them. One that is not there: [`Failure::not_found`].
    fn read(request: &Request<'_>, uri: &str) -> Result<Contents, Failure>;

    /// A tag that changes when the resource does. While somebody is subscribed to the resource, the
    /// host asks for it every few seconds. `None`: it cannot be told.
    fn version(_request: &Request<'_>, _uri: &str) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// What a variable of a template may be, the best first. `context` has the variables already
    /// filled in.
    fn complete(
        _request: &Request<'_>,
        _template: &str,
        _variable: &str,
        _value: &str,
        _context: &[(String, String)],
    ) -> Vec<String> {
        Vec::new()
    }
}

/// A plugin without resources.
impl Resources for () {
    fn read(_request: &Request<'_>, uri: &str) -> Result<Contents, Failure> {
        Err(Failure::not_found(uri))
    }
}

/// Something to read.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource(pub ResourceInfo);

impl Resource {
    /// A resource, by its URI and a short name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self(ResourceInfo {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: Vec::new(),
            annotations: None,
            extra: None,
        })
    }

    /// The name people see.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.0.title = Some(title.into());
        self
    }

    /// What it holds.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// In which form.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.0.mime_type = Some(mime_type.into());
        self
    }

    /// How many bytes.
    pub fn size(mut self, bytes: u64) -> Self {
        self.0.size = Some(bytes);
        self
    }
}

/// A family of resources.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(pub ResourceTemplate);

impl Template {
    /// A family, by its URI template (RFC 6570) and a short name.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self(ResourceTemplate {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            icons: Vec::new(),
            annotations: None,
            extra: None,
        })
    }

    /// The name people see.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.0.title = Some(title.into());
        self
    }

    /// What they hold.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// In which form.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.0.mime_type = Some(mime_type.into());
        self
    }
}

/// A page of resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Those on this page.
    pub resources: Vec<Resource>,
    /// Where it ended, if there is more.
    pub next: Option<String>,
    /// For how long it holds, where that is known.
    pub fresh: Option<(Duration, Scope)>,
}

/// Who may be given the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This caller.
    Private,
    /// Every caller.
    Public,
}

/// What a resource holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// At least one; several for a resource that is a collection.
    pub all: Vec<ResourceContents>,
    /// For how long it holds, where that is known.
    pub fresh: Option<(Duration, Scope)>,
}

impl Contents {
    /// Text.
    pub fn text(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self::of(uri.into(), mime_type.into(), ResourceData::Text(text.into()))
    }

    /// Bytes.
    pub fn bytes(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        Self::of(uri.into(), mime_type.into(), ResourceData::Bytes(bytes.into()))
    }

    /// These, and those.
    pub fn and(mut self, more: Self) -> Self {
        self.all.extend(more.all);
        self
    }

    /// Says for how long it holds, and for whom.
    pub fn fresh(mut self, time: Duration, scope: Scope) -> Self {
        self.fresh = Some((time, scope));
        self
    }

    fn of(uri: String, mime_type: String, data: ResourceData) -> Self {
        let contents = ResourceContents { uri, mime_type: Some(mime_type), data, extra: None };
        Self { all: vec![contents], fresh: None }
    }
}

impl Failure {
    /// There is no such resource.
    pub fn not_found(uri: &str) -> Self {
        let message = format!("there is no resource {uri}");
        Self::Protocol(Error { code: NOT_FOUND, message, data: None })
    }
}

fn freshness(fresh: Option<(Duration, Scope)>) -> Option<Freshness> {
    let (time, scope) = fresh?;
    let scope = match scope {
        Scope::Private => CacheScope::Private,
        Scope::Public => CacheScope::Public,
    };
    Some(Freshness { ttl_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX), scope })
}

impl From<Listing> for Page {
    fn from(Listing { resources, next, fresh }: Listing) -> Self {
        let resources = resources.into_iter().map(|Resource(info)| info).collect();
        Self { resources, next, freshness: freshness(fresh) }
    }
}

impl From<Contents> for ReadResult {
    fn from(Contents { all, fresh }: Contents) -> Self {
        Self { contents: all, freshness: freshness(fresh) }
    }
}
