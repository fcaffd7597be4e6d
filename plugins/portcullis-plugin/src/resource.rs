//! Resources: content that clients can read by URI.

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

/// The resources of a plugin. Implement this trait for a type of its own, and name the type in
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
    /// The resources of the manifest, which always exist.
    fn fixed() -> Vec<Resource> {
        Vec::new()
    }

    /// URI templates, each for the resources whose URIs match it.
    fn templates() -> Vec<Template> {
        Vec::new()
    }

    /// One page of the resources that are not [`fixed`](Self::fixed). `cursor` is [`Listing::next`] of the previous
    /// page, or `None` for the first page.
    fn list(_request: &Request<'_>, _cursor: Option<&str>) -> Result<Listing, Failure> {
        Ok(Listing::default())
    }

    /// Reads a resource. For a missing resource return [`Failure::not_found`].
    fn read(request: &Request<'_>, uri: &str) -> Result<Contents, Failure>;

    /// A tag that changes whenever the resource changes. While a client is subscribed to the resource, the host calls
    /// this function every few seconds. `None`: unknown.
    fn version(_request: &Request<'_>, _uri: &str) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// Values for a variable of a template, the best first. `context` has the names and values of the
    /// variables that are already filled in.
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

/// A resource in a list.
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

    /// Sets the description.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// Sets the MIME type.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.0.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the size in bytes.
    pub fn size(mut self, bytes: u64) -> Self {
        self.0.size = Some(bytes);
        self
    }
}

/// A URI template for the resources whose URIs match it.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(pub ResourceTemplate);

impl Template {
    /// A template from its URI template (RFC 6570) and a short name.
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

    /// Sets the description.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// Sets the MIME type.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.0.mime_type = Some(mime_type.into());
        self
    }
}

/// A page of resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The resources of this page.
    pub resources: Vec<Resource>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
    /// How long the page stays valid, and for whom, if known.
    pub fresh: Option<(Duration, Scope)>,
}

/// Which callers may share a cached result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This caller alone.
    Private,
    /// Every caller.
    Public,
}

/// The contents of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// At least one item. A resource that is a collection has several.
    pub all: Vec<ResourceContents>,
    /// How long the contents stay valid, and for whom, if known.
    pub fresh: Option<(Duration, Scope)>,
}

impl Contents {
    /// Text contents.
    pub fn text(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self::of(uri.into(), mime_type.into(), ResourceData::Text(text.into()))
    }

    /// Binary contents.
    pub fn bytes(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        Self::of(uri.into(), mime_type.into(), ResourceData::Bytes(bytes.into()))
    }

    /// Appends the items of `more`.
    pub fn and(mut self, more: Self) -> Self {
        self.all.extend(more.all);
        self
    }

    /// Sets how long the contents stay valid, and for whom.
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
    /// The failure for a missing resource.
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
