//! The versions of a framework and their maintenance: from the CDN, or else from the cache or the offline
//! directory, or else from a dated table in the plugin.

mod shape;
mod support;
mod table;

pub use support::Support;

use crate::{Cdn, Framework, fetched};
use portcullis_plugin::{cache, settings};
use semver::Version;
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use ui5_data::Document;

/// The setting with a directory of lists of versions for offline use.
pub const DIRECTORY_SETTING: &str = "versions-dir";

/// Time for which an answer of the CDN counts as current.
const MAX_AGE: Duration = Duration::from_secs(6 * 60 * 60);

/// Maximum size of a list, in bytes; far above real ones.
const MAX_LIST_BYTES: u64 = 4 * 1024 * 1024;

/// The versions of one framework, with at least a latest one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Versions {
    /// The entries of `version.json`: `latest`, `active`, and each minor version, such as `1.120`.
    pub entries: Map<String, Value>,
    /// The source of the list.
    pub source: Source,
}

/// The source of a list of versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The CDN, at most six hours ago.
    Cdn,
    /// The cache or the offline directory.
    Remembered {
        /// The day of the download, such as `2026-09-23`.
        date: String,
        /// Why the list cannot be fetched from the CDN now.
        why: String,
    },
    /// The table in the plugin.
    Table {
        /// The day on which the table was correct.
        date: String,
        /// Why the list cannot be fetched from the CDN.
        why: String,
    },
}

/// One release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release<'v> {
    /// The version, such as `1.120.30`.
    pub version: &'v str,
    /// The state of support, such as `Maintenance`.
    pub support: &'v str,
    /// Whether the version has long-term maintenance.
    pub is_lts: bool,
}

/// The versions of a framework. Never fails: without the CDN, [`Versions::source`] names the other
/// source.
pub fn of(framework: Framework, cdn: &Cdn) -> Versions {
    match fetch(framework, cdn, Document::Versions) {
        Ok(List { content, source }) => Versions { entries: content, source },
        Err(why) => Versions {
            entries: table::entries(framework),
            source: Source::Table { date: table::date(), why },
        },
    }
}

/// The ends of maintenance of a framework's minor versions, by minor version, and the source.
///
/// Each entry has an `endOfMaintenance` and an `endOfCloudProvisioning`, if known, with the wording of the CDN's
/// version overview: `Q3/2026` or `Long-term Maintenance, Q4/2030`.
pub fn dates(framework: Framework, cdn: &Cdn) -> (Map<String, Value>, Source) {
    match fetch(framework, cdn, Document::Overview) {
        Ok(List { content, source }) => (content, source),
        Err(why) => (table::dates(), Source::Table { date: table::facts_date(), why }),
    }
}

impl Versions {
    /// The newest release.
    pub fn latest(&self) -> Release<'_> {
        self.release("latest").expect("lists without one are refused")
    }

    /// The newest patch of a minor version, such as `1.120`, if listed.
    pub fn minor(&self, minor: &str) -> Option<Release<'_>> {
        parse_minor(minor)?;
        self.release(minor)
    }

    /// The newest version with long-term maintenance, without pre-releases.
    pub fn latest_lts(&self) -> Option<&str> {
        let lts = self.releases().filter(|(_, release)| release.is_lts);
        let plain = lts.filter_map(|(_, release)| {
            let version = Version::parse(release.version).ok()?;
            version.pre.is_empty().then_some((version, release.version))
        });
        plain.max().map(|(_, version)| version)
    }

    /// The state of support of a version: see [`Support`].
    pub fn support(&self, version: &str) -> Support {
        support::of(self, version)
    }

    /// A note if the list is not from the CDN.
    pub fn note(&self) -> Option<String> {
        self.source.note()
    }

    /// Every release by its key, in order; entries without a version are skipped.
    pub fn releases(&self) -> impl Iterator<Item = (&str, Release<'_>)> {
        self.entries.keys().filter_map(|key| Some((key.as_str(), self.release(key)?)))
    }

    fn release(&self, key: &str) -> Option<Release<'_>> {
        let entry = self.entries.get(key)?;
        Some(Release {
            version: entry.get("version")?.as_str()?,
            support: entry.get("support").and_then(Value::as_str).unwrap_or("Unknown"),
            is_lts: entry.get("lts").and_then(Value::as_bool).unwrap_or(false),
        })
    }
}

impl Source {
    /// A note if the source is not the CDN.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Cdn => None,
            Self::Remembered { date, why } => Some(format!(
                "Fetched from the UI5 CDN on {date}; it could not be fetched now. {why}"
            )),
            Self::Table { date, why } => Some(format!(
                "From a table of {date} that comes with this tool, since nothing could be fetched from the \
                 UI5 CDN: there may be newer versions and patches, and support may have ended. {why}"
            )),
        }
    }
}

/// Parses a minor version such as `1.120`.
pub(crate) fn parse_minor(minor: &str) -> Option<(u64, u64)> {
    let (major, minor) = minor.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The content of a document, and its source.
struct List {
    content: Map<String, Value>,
    source: Source,
}

/// Downloads a document, or takes it from the cache or the offline directory. If neither has it,
/// fails with the reason why the download failed. Documents in the cache have been checked.
fn fetch(framework: Framework, cdn: &Cdn, document: Document) -> Result<List, String> {
    let url = format!("{}/{}", cdn.base(framework, None), document.name());
    let current = format!("fresh {url}");
    if let Some(content) = cache::get(&current).and_then(|kept| serde_json::from_slice(&kept).ok())
    {
        return Ok(List { content, source: Source::Cdn });
    }
    let checked = format!("checked {url}");
    let missing = format!("missing {url}");
    let remembered = fetched::silence(&url)
        .or_else(|| Some(String::from_utf8_lossy(&cache::get(&missing)?).into_owned()));
    let why = match remembered {
        Some(why) => why,
        None => match download(&url, document) {
            Ok(content) => {
                let text = Value::Object(content.clone()).to_string();
                let record = json!({ "fetched": now(), "body": text });
                cache::set(&checked, record.to_string(), None);
                cache::set(&current, text, MAX_AGE);
                return Ok(List { content, source: Source::Cdn });
            }
            Err(fetched::Failure::Silent(why)) => {
                fetched::remember_silence(&url, &why);
                why
            }
            Err(fetched::Failure::Answer(why)) => {
                cache::set(&missing, &why, fetched::RESPITE);
                why
            }
            Err(fetched::Failure::Local(why)) => why,
        },
    };
    let records = [(cache::get(&checked), true), (from_directory(framework, document), false)];
    let read = |(record, is_checked): (Option<Vec<u8>>, bool)| {
        let record: Value = serde_json::from_slice(&record?).ok()?;
        let body = record.get("body")?.as_str()?.as_bytes();
        let content = match is_checked {
            true => serde_json::from_slice(body).ok()?,
            false => parse(body, &url, document).ok()?,
        };
        Some((record.get("fetched")?.as_u64()?, content))
    };
    let newest = records.into_iter().filter_map(read).max_by_key(|(fetched, _)| *fetched);
    let (fetched, content) = newest.ok_or_else(|| why.clone())?;
    Ok(List { content, source: Source::Remembered { date: day(fetched), why } })
}

/// The record of a document in the directory for offline use.
fn from_directory(framework: Framework, document: Document) -> Option<Vec<u8>> {
    let directory = settings::get(DIRECTORY_SETTING).filter(|path| !path.is_empty())?;
    let path = Path::new(&directory).join(ui5_data::versions_name(framework, document));
    let size = fs::metadata(&path).ok()?.len();
    (size <= 2 * MAX_LIST_BYTES).then(|| fs::read(&path).ok())?
}

/// Downloads a document. The wait is short, since other data can always be used instead.
fn download(url: &str, document: Document) -> Result<Map<String, Value>, fetched::Failure> {
    let body = fetched::get(url, fetched::SHORT_PATIENCE, MAX_LIST_BYTES)?;
    parse(&body, url, document).map_err(fetched::Failure::Answer)
}

/// The content of a document, without entries of an unexpected shape.
fn parse(body: &[u8], url: &str, document: Document) -> Result<Map<String, Value>, String> {
    let file = url.rsplit('/').next().unwrap_or(url);
    let wrong = |why: String| format!("Invalid {file} format. {why} URL: {url}");
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let value: Value =
        serde_json::from_slice(body).map_err(|error| wrong(format!("Not JSON: {error}.")))?;
    match value {
        Value::Object(content) => match document {
            Document::Versions => shape::versions(&content),
            Document::Overview => shape::dates(&content),
        }
        .map_err(wrong),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(wrong("Expected an object.".to_owned()))
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// The last second of the year 9999.
const LAST: u64 = 253_402_300_799;

/// The date of a time in seconds since 1970, such as `2026-09-23`.
fn day(seconds: u64) -> String {
    let moment = UNIX_EPOCH + Duration::from_secs(seconds.min(LAST));
    let mut day = humantime::format_rfc3339_seconds(moment).to_string();
    day.truncate("2026-09-23".len());
    day
}

#[cfg(test)]
mod tests;
