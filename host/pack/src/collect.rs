//! Everything the UI5 plugins would fetch for one release, fetched.

use crate::{Contents, Packed, Part, contents::MOST_ITEM, write::Draft};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeSet,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};
use ui5_data::{CORE, Document, Framework, api_address, is_version, libraries, list_address};

/// Where the schemas of manifests are released.
pub const SCHEMAS: &str = "https://raw.githubusercontent.com/UI5/manifest";

/// Older manifests are validated by no plugin.
const OLDEST_SCHEMA: semver::Version = semver::Version::new(1, 48, 1);

/// No list is as large, in bytes.
const MOST_LIST: u64 = 8 * 1024 * 1024;

/// Fetches what is at an address, of at most so many bytes. `None`: the server answers that it does not
/// have it. Fails with why it cannot be had.
pub type Fetch<'f> = dyn FnMut(&str, u64) -> Result<Option<Vec<u8>>, String> + 'f;

/// What to pack, and from where.
#[derive(Clone, Debug)]
pub struct Order {
    /// Whose API.
    pub framework: Framework,
    /// In which version.
    pub version: Version,
    /// The mirror that serves what the framework's own CDN does otherwise.
    pub cdn: Option<String>,
    /// Where to get the schemas of manifests, such as [`SCHEMAS`]; or none of them.
    pub schemas: Option<String>,
}

/// Which version, as people say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// `latest`.
    Latest,
    /// The newest patch of a minor version, such as `1.136`.
    Minor(String),
    /// This one, such as `1.136.5`.
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
            _ => Err(format!("'{text}' is no version: say 1.136, 1.136.5, or latest")),
        }
    }
}

/// Collects what was ordered and writes it to a file, which is there whole or not at all. `say` is told
/// what is being done.
///
/// # Errors
///
/// Why something could not be fetched or written, in words for whoever ordered it.
pub fn pack(
    order: &Order,
    out: &Path,
    fetch: &mut Fetch<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Packed, String> {
    let made = now();
    let mut draft = Draft::beside(out)?;
    let cdn = order.cdn.as_deref().unwrap_or_else(|| order.framework.public_cdn());
    let cdn = cdn.trim_end_matches('/');
    let lists = lists(order.framework, cdn, made, &mut draft, fetch)?;
    let version = resolve(order, &lists)?;
    let base = format!("{cdn}/{}", version.to_lowercase());
    apis(&base, &mut draft, fetch, say)?;
    if let Some(source) = &order.schemas {
        schemas(source.trim_end_matches('/'), &mut draft, fetch, say)?;
    }
    say(&format!("writing {} items to {}", draft.len(), out.display()));
    draft.finish(out, |items| Contents::new(made, order.framework, version, items))
}

/// The lists of versions. Returns which versions there are.
fn lists(
    framework: Framework,
    cdn: &str,
    made: u64,
    draft: &mut Draft,
    fetch: &mut Fetch<'_>,
) -> Result<Map<String, Value>, String> {
    let mut versions = Map::new();
    for document in Document::ALL {
        let url = format!("{cdn}/{}", document.name());
        let Object { content, text } = match (object(&url, MOST_LIST, fetch)?, document) {
            (Some(found), _) => found,
            (None, Document::Versions) => return Err(absent(&url)),
            // Mirrors may do without: it only says until when versions are maintained.
            (None, Document::Overview) => continue,
        };
        let record = json!({ "fetched": made, "body": String::from_utf8_lossy(&text) });
        draft.add(&Part::Versions(framework, document), record.to_string().as_bytes())?;
        if document == Document::Versions {
            versions = content;
        }
    }
    Ok(versions)
}

fn resolve(order: &Order, versions: &Map<String, Value>) -> Result<String, String> {
    let key = match &order.version {
        Version::Exact(version) => return Ok(version.clone()),
        Version::Latest => "latest",
        Version::Minor(minor) => minor,
    };
    let version = versions.get(key).and_then(|entry| entry.get("version")).and_then(Value::as_str);
    match version {
        Some(version) if is_version(version) => Ok(version.to_owned()),
        Some(_) | None => Err(format!(
            "The CDN lists no version {key} of {}: name one with its patch, such as 1.136.5",
            order.framework
        )),
    }
}

fn apis(
    base: &str,
    draft: &mut Draft,
    fetch: &mut Fetch<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let url = list_address(base);
    let list = fetch(&url, MOST_LIST)?.ok_or_else(|| absent(&url))?;
    let libraries = libraries(&list).map_err(|why| wrong(&url, &why))?;
    for (number, library) in libraries.iter().enumerate() {
        say(&format!("API of {library}, {} of {}", number + 1, libraries.len()));
        let url = api_address(base, library);
        match object(&url, MOST_ITEM, fetch)? {
            Some(api) => draft.add(&Part::Api(library.clone()), &api.text)?,
            None if library == CORE => return Err(absent(&url)),
            // Not every library has an API.
            None => {}
        }
    }
    Ok(())
}

fn schemas(
    source: &str,
    draft: &mut Draft,
    fetch: &mut Fetch<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let url = format!("{source}/main/mapping.json");
    let mapping = object(&url, MOST_LIST, fetch)?.ok_or_else(|| absent(&url))?;
    let named =
        mapping.content.values().filter_map(Value::as_str).filter(|version| is_version(version));
    let parsed = named.filter_map(|version| semver::Version::parse(version).ok());
    let versions: BTreeSet<semver::Version> =
        parsed.filter(|version| *version >= OLDEST_SCHEMA).collect();
    for (number, version) in versions.iter().enumerate() {
        say(&format!("schema of manifests {version}, {} of {}", number + 1, versions.len()));
        let url = format!("{source}/v{version}/schema.json");
        // What has not been released yet stands in the mapping already.
        if let Some(schema) = object(&url, MOST_ITEM, fetch)? {
            draft.add(&Part::Schema(version.to_string()), &schema.text)?;
        }
    }
    Ok(())
}

/// A JSON object as it came.
struct Object {
    content: Map<String, Value>,
    text: Vec<u8>,
}

/// Fetches a JSON object: also what a network says instead of the server must not be packed.
fn object(url: &str, most: u64, fetch: &mut Fetch<'_>) -> Result<Option<Object>, String> {
    let Some(text) = fetch(url, most)? else { return Ok(None) };
    if text.len() as u64 > most {
        return Err(wrong(url, &format!("it is larger than {} MiB", most >> 20)));
    }
    let content = serde_json::from_slice(&text)
        .map_err(|error| wrong(url, &format!("it is no JSON object: {error}")))?;
    Ok(Some(Object { content, text }))
}

fn absent(url: &str) -> String {
    format!("There is nothing at {url}: is it the right framework, version and mirror?")
}

fn wrong(url: &str, why: &str) -> String {
    format!("What is at {url} cannot be packed: {why}")
}

/// In seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
