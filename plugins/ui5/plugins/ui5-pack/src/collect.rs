//! Fetches the data for a pack: the API reference of one release, lists of versions, and manifest schemas.

use crate::{
    archive::Draft,
    contents::{Contents, MAX_ITEM, Part},
};
use portcullis_plugin::{Request, http};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, time::Duration};
use ui5::Cdn;
use ui5_data::{CORE, Document, Framework, api_address, is_version, libraries, list_address};

/// URL of the repository in which the schemas of manifests are released.
pub(crate) const SCHEMAS: &str = "https://raw.githubusercontent.com/UI5/manifest";

/// The branches with a `mapping.json` that lists schemas: `main` for manifests of version 1, `v2` for version 2.
const SCHEMA_BRANCHES: [&str; 2] = ["main", "v2"];

/// The version of the oldest schema that plugins fetch.
const OLDEST_SCHEMA: semver::Version = semver::Version::new(1, 48, 1);

/// Maximum size of a list, in bytes; far above real ones.
const MAX_LIST_BYTES: u64 = 8 * 1024 * 1024;

/// Time limit for each wait for a server.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The data to pack, and their sources.
#[derive(Clone, Debug)]
pub(crate) struct PackOrder {
    /// The framework of the API reference.
    pub framework: Framework,
    /// The version of the API reference.
    pub version: Version,
    /// The CDN that serves the framework.
    pub cdn: Cdn,
    /// URL of the repository with the schemas of manifests, such as [`SCHEMAS`]. `None`: leave the schemas
    /// out.
    pub schemas: Option<String>,
}

/// A pack that was made.
#[derive(Debug)]
pub(crate) struct Packed {
    /// The list of contents.
    pub contents: Contents,
    /// The bytes of the file.
    pub archive: Vec<u8>,
    /// The data that are missing since they could not be fetched, each with the reason.
    pub missing: Vec<String>,
}

/// A version, as users write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// `latest`.
    Latest,
    /// The newest patch of a minor version, such as `1.136`.
    Minor(String),
    /// This version, such as `1.136.5`.
    Exact(String),
}

impl std::str::FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let parts: Vec<&str> = text.split('.').collect();
        match parts[..] {
            _ if text == "latest" => Ok(Self::Latest),
            [major, minor] if is_number(major) && is_number(minor) => {
                Ok(Self::Minor(text.to_owned()))
            }
            _ if is_version(text) && semver::Version::parse(text).is_ok() => {
                Ok(Self::Exact(text.to_owned()))
            }
            _ => Err(format!("'{text}' is not a version: write 1.136, 1.136.5, or latest")),
        }
    }
}

/// Collects the data of an order. `made` is the current time, in seconds since 1970.
///
/// Fails with the reason if the API reference cannot be fetched, or if the order has no exact version and the lists
/// of versions cannot be fetched. Otherwise lists and schemas may be missing, since their sources may be blocked.
pub(crate) fn pack(order: &PackOrder, made: u64, request: &Request<'_>) -> Result<Packed, String> {
    let mut pack = Collection { draft: Draft::new(made), made, request };
    let mut missing = Vec::new();
    let version = match (pack.add_lists(order), &order.version) {
        (Ok(versions), _) => resolve(order, &versions)?,
        (Err(why), Version::Exact(version)) => {
            missing.push(format!("the lists of versions ({why})"));
            version.clone()
        }
        // Only the lists have the full version number.
        (Err(why), Version::Latest | Version::Minor(_)) => return Err(why),
    };
    pack.add_apis(&order.cdn.base(order.framework, Some(&version.to_lowercase())))?;
    if let Some(source) = &order.schemas {
        for branch in SCHEMA_BRANCHES {
            if let Err(why) = pack.add_schemas(source.trim_end_matches('/'), branch) {
                missing.push(format!("manifest schemas of the branch {branch} ({why})"));
            }
        }
    }
    if request.cancelled() {
        return Err("The call was cancelled".to_owned());
    }
    let contents = |items| Contents::new(made, order.framework, version, items);
    let (contents, archive) = pack.draft.finish(contents)?;
    Ok(Packed { contents, archive, missing })
}

/// A pack that is being collected.
struct Collection<'r> {
    draft: Draft,
    made: u64,
    request: &'r Request<'r>,
}

impl Collection<'_> {
    /// Adds the lists of versions. Returns the versions.
    fn add_lists(&mut self, order: &PackOrder) -> Result<Map<String, Value>, String> {
        let mut versions = Map::new();
        for document in Document::ALL {
            let url = format!("{}/{}", order.cdn.base(order.framework, None), document.name());
            let text = match (self.fetch_object(&url, MAX_LIST_BYTES)?, document) {
                (Some(text), _) => text,
                (None, Document::Versions) => return Err(absent(&url)),
                // A mirror may lack the overview, which has only the ends of maintenance.
                (None, Document::Overview) => continue,
            };
            let record = json!({ "fetched": self.made, "body": String::from_utf8_lossy(&text) });
            let part = Part::Versions(order.framework, document);
            self.draft.add(&part, record.to_string().as_bytes())?;
            if document == Document::Versions {
                versions = parse(&url, &text)?;
            }
        }
        Ok(versions)
    }

    /// Adds the API reference of all libraries.
    fn add_apis(&mut self, base: &str) -> Result<(), String> {
        let url = list_address(base);
        let list = self.fetch(&url, MAX_LIST_BYTES)?.ok_or_else(|| absent(&url))?;
        let libraries = libraries(&list).map_err(|why| wrong(&url, &why))?;
        for (number, library) in libraries.iter().enumerate() {
            self.tell(number, libraries.len(), &format!("API reference of {library}"));
            let url = api_address(base, library);
            match self.fetch_object(&url, MAX_ITEM)? {
                Some(api) => self.draft.add(&Part::Api(library.clone()), &api)?,
                None if library == CORE => return Err(absent(&url)),
                // Not every library has an API.
                None => {}
            }
        }
        Ok(())
    }

    /// Adds the schemas of manifests that a branch lists.
    fn add_schemas(&mut self, source: &str, branch: &str) -> Result<(), String> {
        let url = format!("{source}/{branch}/mapping.json");
        let mapping = self.fetch_object(&url, MAX_LIST_BYTES)?.ok_or_else(|| absent(&url))?;
        let mapping: Map<String, Value> = parse(&url, &mapping)?;
        let named = mapping.values().filter_map(Value::as_str).filter(|name| is_version(name));
        let parsed = named.filter_map(|version| semver::Version::parse(version).ok());
        let versions: BTreeSet<semver::Version> =
            parsed.filter(|version| *version >= OLDEST_SCHEMA).collect();
        for (number, version) in versions.iter().enumerate() {
            self.tell(number, versions.len(), &format!("schema of manifests {version}"));
            let url = format!("{source}/v{version}/schema.json");
            let part = Part::Schema(version.to_string());
            // The second branch also lists versions of the first one.
            if self.draft.has(&part) {
                continue;
            }
            // The mapping names versions before they are released.
            if let Some(schema) = self.fetch_object(&url, MAX_ITEM)? {
                self.draft.add(&part, &schema)?;
            }
        }
        Ok(())
    }

    fn tell(&self, done: usize, total: usize, what: &str) {
        self.request.progress(done as f64, total as f64, what);
    }

    /// Fetches a JSON object. Fails for any other content, such as the web page of a captive portal.
    fn fetch_object(&self, url: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, String> {
        let text = self.fetch(url, max_bytes)?;
        if let Some(text) = &text {
            parse::<Object>(url, text)?;
        }
        Ok(text)
    }

    /// Fetches a URL, at most `max_bytes` bytes. `None`: the server does not have it.
    fn fetch(&self, url: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, String> {
        let sent = http::Request::get(url).timeout(TIMEOUT).max_bytes(max_bytes);
        let response = sent.send_while(|| !self.request.cancelled());
        let response = response.map_err(|error| error.to_string())?;
        match response.status {
            200..=299 => Ok(Some(response.body)),
            404 => Ok(None),
            status => Err(format!("Failed to fetch {url}: the server answers {status}")),
        }
    }
}

/// Any JSON object.
type Object = std::collections::HashMap<String, IgnoredAny>;

fn parse<'t, T: Deserialize<'t>>(url: &str, text: &'t [u8]) -> Result<T, String> {
    // Some servers put a byte order mark before JSON.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    serde_json::from_slice(text)
        .map_err(|error| wrong(url, &format!("it is not a JSON object: {error}")))
}

/// The number of the ordered version, with its patch.
fn resolve(order: &PackOrder, versions: &Map<String, Value>) -> Result<String, String> {
    let key = match &order.version {
        Version::Exact(version) => return Ok(version.clone()),
        Version::Latest => "latest",
        Version::Minor(minor) => minor,
    };
    let version = versions.get(key).and_then(|entry| entry.get("version")).and_then(Value::as_str);
    match version {
        Some(version) if is_version(version) => Ok(version.to_owned()),
        Some(_) | None => Err(format!(
            "The CDN lists no version {key} of {}: write a version with its patch, such as 1.136.5",
            order.framework
        )),
    }
}

fn absent(url: &str) -> String {
    format!("There is nothing at {url}: check the framework, the version and the mirror")
}

fn wrong(url: &str, why: &str) -> String {
    format!("{url} cannot be packed: {why}")
}
