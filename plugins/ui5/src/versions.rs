//! Which versions there are of a framework, and which are maintained: asked of the CDN, or else as
//! far as is remembered, or else as a dated table says.

mod support;
mod table;

pub use support::Support;

use crate::{Cdn, Framework, fetched};
use portcullis_plugin::{cache, http, settings};
use semver::Version;
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use ui5_data::Document;

/// The setting that names the directory with lists of versions that somebody has put there.
pub const DIRECTORY_SETTING: &str = "versions-dir";

/// For how long an answer of the CDN is taken for today's.
const FRESH: Duration = Duration::from_secs(6 * 60 * 60);

/// For how long a CDN that did not answer is not asked again.
const RESPITE: Duration = Duration::from_secs(60);

/// How long to wait for the CDN. Better an older list than none.
const PATIENCE: Duration = Duration::from_secs(8);

/// No such list is nearly as large.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The versions of one framework. There is at least a latest one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Versions {
    /// As `version.json` has them: `latest`, `active`, and each minor version, `1.120` for example.
    pub entries: Map<String, Value>,
    /// Where they are from.
    pub source: Source,
}

/// Where a list of versions is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The CDN, a few hours ago at most.
    Cdn,
    /// The CDN, before it was out of reach, or where it was in reach.
    Remembered {
        /// The day it was asked, such as `2026-09-23`.
        date: String,
        /// Why it cannot be asked now.
        why: String,
    },
    /// The table that comes with the program.
    Table {
        /// The day it says how things were.
        date: String,
        /// Why the CDN cannot be asked.
        why: String,
    },
}

/// One release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release<'v> {
    /// Such as `1.120.30`.
    pub version: &'v str,
    /// Such as `Maintenance`.
    pub support: &'v str,
    /// Whether it is maintained for longer than others.
    pub is_lts: bool,
}

/// The versions of a framework. Never fails: where the CDN cannot be asked, [`Versions::source`]
/// says what the answer is instead.
pub fn of(framework: Framework, cdn: &Cdn) -> Versions {
    match fetch(framework, cdn, Document::Versions) {
        Ok(List { content, source }) => Versions { entries: content, source },
        Err(why) => Versions {
            entries: table::entries(framework),
            source: Source::Table { date: table::date(), why },
        },
    }
}

/// Until when the minor versions of a framework are maintained and served, by minor version; and
/// where that is from.
///
/// Each has an `endOfMaintenance` and an `endOfCloudProvisioning` as far as they are known, in the
/// words of the CDN's version overview: `Q3/2026` or `Long-term Maintenance, Q4/2030`.
pub fn dates(framework: Framework, cdn: &Cdn) -> (Map<String, Value>, Source) {
    match fetch(framework, cdn, Document::Overview) {
        Ok(List { content, source }) => (overview_dates(&content), source),
        Err(why) => (table::dates(), Source::Table { date: table::facts_date(), why }),
    }
}

impl Versions {
    /// The newest release.
    pub fn latest(&self) -> Release<'_> {
        self.release("latest").expect("lists without one are refused")
    }

    /// The newest patch of a minor version, such as `1.120`, if that is listed.
    pub fn minor(&self, minor: &str) -> Option<Release<'_>> {
        parse_minor(minor)?;
        self.release(minor)
    }

    /// The newest of the versions with long-term maintenance.
    pub fn latest_lts(&self) -> Option<&str> {
        let lts = self.releases().filter(|(_, release)| release.is_lts);
        let plain = lts.filter_map(|(_, release)| {
            let version = Version::parse(release.version).ok()?;
            version.pre.is_empty().then_some((version, release.version))
        });
        plain.max().map(|(_, version)| version)
    }

    /// How a version stands: see [`Support`].
    pub fn support(&self, version: &str) -> Support {
        support::of(self, version)
    }

    /// What to know about the list when it is not from the CDN just now.
    pub fn note(&self) -> Option<String> {
        self.source.note()
    }

    /// Every entry by its key, in order; those without a version are no releases.
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
    /// What to know when it is not the CDN just now.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Cdn => None,
            Self::Remembered { date, why } => {
                Some(format!("As the UI5 CDN had it on {date}; now it could not be asked. {why}"))
            }
            Self::Table { date, why } => Some(format!(
                "From a table of {date} that comes with this tool, since the UI5 CDN could not be \
                 asked: there may be newer versions and patches, and support may have ended. {why}"
            )),
        }
    }
}

/// `1.120` as numbers.
pub(crate) fn parse_minor(minor: &str) -> Option<(u64, u64)> {
    let (major, minor) = minor.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A JSON object from the CDN, and how old it is.
struct List {
    content: Map<String, Value>,
    source: Source,
}

/// Fetches a JSON object, or remembers it. Fails with why the CDN cannot be asked when there is
/// nothing to remember.
fn fetch(framework: Framework, cdn: &Cdn, document: Document) -> Result<List, String> {
    let url = format!("{}/{}", cdn.base(framework, None), document.name());
    let check = check(document);
    let kept = format!("kept {url}");
    let silent = format!("silent {url}");
    let fetched = match cache::get(&silent) {
        Some(why) => Err(String::from_utf8_lossy(&why).into_owned()),
        None => cache::get_or_make(&url, FRESH, || {
            let body = download(&url, check)?;
            let record = json!({ "fetched": now(), "body": String::from_utf8_lossy(&body) });
            cache::set(&kept, record.to_string(), None);
            Ok(body)
        }),
    };
    let why = match fetched.and_then(|body| parse(&body, &url, check)) {
        Ok(content) => return Ok(List { content, source: Source::Cdn }),
        Err(why) => why,
    };
    cache::set(&silent, &why, RESPITE);
    let records = [cache::get(&kept), put_there(framework, document)];
    let read = |record: Vec<u8>| {
        let record: Value = serde_json::from_slice(&record).ok()?;
        let content = parse(record.get("body")?.as_str()?.as_bytes(), &url, check).ok()?;
        Some((record.get("fetched")?.as_u64()?, content))
    };
    let newest = records.into_iter().flatten().filter_map(read).max_by_key(|(fetched, _)| *fetched);
    let (fetched, content) = newest.ok_or_else(|| why.clone())?;
    Ok(List { content, source: Source::Remembered { date: day(fetched), why } })
}

/// What was brought from where the CDN can be reached.
fn put_there(framework: Framework, document: Document) -> Option<Vec<u8>> {
    let directory = settings::get(DIRECTORY_SETTING).filter(|path| !path.is_empty())?;
    let path = Path::new(&directory).join(ui5_data::versions_name(framework, document));
    let size = fs::metadata(&path).ok()?.len();
    (size <= 2 * LARGEST).then(|| fs::read(&path).ok())?
}

fn download(
    url: &str,
    check: fn(&Map<String, Value>) -> Result<(), String>,
) -> Result<Vec<u8>, String> {
    let request = http::Request::get(url).timeout(PATIENCE).max_bytes(LARGEST);
    let response =
        request.send().map_err(|error| fetched::failed(&error.reason.to_string(), url))?;
    fetched::check(response.status, url)?;
    parse(&response.body, url, check).map(|_| response.body)
}

fn parse(
    body: &[u8],
    url: &str,
    check: fn(&Map<String, Value>) -> Result<(), String>,
) -> Result<Map<String, Value>, String> {
    let file = url.rsplit('/').next().unwrap_or(url);
    let wrong = |why: String| format!("Invalid {file} format. {why} URL: {url}");
    let value: Value =
        serde_json::from_slice(body).map_err(|error| wrong(format!("Not JSON: {error}.")))?;
    match value {
        Value::Object(content) => check(&content).map_err(wrong).map(|()| content),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(wrong("Expected an object.".to_owned()))
        }
    }
}

/// What makes a list one.
fn check(document: Document) -> fn(&Map<String, Value>) -> Result<(), String> {
    match document {
        Document::Versions => is_version_list,
        Document::Overview => is_overview,
    }
}

/// Without a latest version there is nothing to go by.
fn is_version_list(content: &Map<String, Value>) -> Result<(), String> {
    match content.get("latest").and_then(|latest| latest.get("version")) {
        Some(Value::String(_)) => Ok(()),
        _ => Err("It names no latest version.".to_owned()),
    }
}

fn is_overview(content: &Map<String, Value>) -> Result<(), String> {
    match content.get("versions") {
        Some(Value::Array(_)) => Ok(()),
        _ => Err("It lists no versions.".to_owned()),
    }
}

fn overview_dates(overview: &Map<String, Value>) -> Map<String, Value> {
    let rows = overview.get("versions").and_then(Value::as_array).into_iter().flatten();
    let mut dates = Map::new();
    for row in rows {
        let text = |key| row.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let Some(minor) = text("version").and_then(|version| version.strip_suffix(".*")) else {
            continue;
        };
        let named = [("endOfMaintenance", text("eom")), ("endOfCloudProvisioning", text("eocp"))];
        let entry: Map<String, Value> = named
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.into())))
            .collect();
        if !entry.is_empty() {
            dates.insert(minor.to_owned(), Value::Object(entry));
        }
    }
    dates
}

/// In seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// The last second of which the year has four digits.
const LAST: u64 = 253_402_300_799;

/// The day that many seconds after 1970 began, such as `2026-09-23`.
fn day(seconds: u64) -> String {
    let moment = UNIX_EPOCH + Duration::from_secs(seconds.min(LAST));
    let mut day = humantime::format_rfc3339_seconds(moment).to_string();
    day.truncate("2026-09-23".len());
    day
}

#[cfg(test)]
mod tests;
