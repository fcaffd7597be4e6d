//! Stores views. Each tool has a record with its refinements and its view. One read of the index of all views is enough
//! to list the tools. With storage turned off, all data is only in the cache, which may be lost when the host ends.

use crate::{
    canonical, page,
    settings::{self, Cache},
};
use portcullis_plugin::{
    Failure, cache,
    catalog::Entry,
    serde_json::{self, Value, json},
    store,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// Version of the stored format. Data of another version counts as absent.
pub const VERSION: u32 = 1;
const INDEX: &str = "index";
/// Key of the tools seen by the last `refresh`.
const SEEN: &str = "seen";

/// The stored data of one tool.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// The requested changes, oldest first.
    pub refinements: Vec<Refinement>,
    /// The current view.
    pub view: Option<View>,
    /// The last failure to make a view, if any.
    pub failure: Option<GenerationFailure>,
}

/// A requested change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refinement {
    /// When the change was requested, in milliseconds since 1970.
    pub at: u64,
    /// The user's words.
    pub feedback: String,
}

/// A failure to make a view.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GenerationFailure {
    /// When the failure occurred, in milliseconds since 1970.
    pub at: u64,
    /// The code of a provider's error, `INVALID` or `STORE`.
    pub code: String,
    /// Message for people.
    pub why: String,
}

/// A view that a model wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The content of the view.
    pub body: Body,
    /// The maker of the view.
    pub by: ViewMaker,
    /// The digest of the tool when the view was made: see [`ViewMaker::depends_on`].
    pub made_for: String,
    /// The cache key.
    pub key: Option<String>,
    /// The id of the request that led to the view, as in logs and the audit.
    #[serde(default)]
    pub request: Option<String>,
    /// When the view was made or taken from the cache, in milliseconds since 1970.
    pub at: u64,
    /// Duration of the generation in milliseconds.
    pub duration_ms: u64,
    /// The model, if known.
    pub model: Option<String>,
    /// Tokens read and written.
    pub tokens: Option<(u64, u64)>,
}

/// The content that a model wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Body {
    /// A view specification.
    Specification(Value),
    /// An HTML document.
    Document(String),
}

/// The maker of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ViewMaker {
    /// The client's model, by the action `apply`.
    Client,
    /// A provider.
    Provider,
}

/// The entry of a view in the index, enough to assign the view to its tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// Digest of the body.
    pub digest: String,
    /// As [`View::made_for`].
    pub made_for: String,
    /// As [`View::by`].
    pub by: ViewMaker,
    /// Whether the view is a document.
    pub is_document: bool,
    /// Length of the body in bytes.
    pub bytes: usize,
    /// As [`View::at`].
    pub at: u64,
}

/// All stored views, by tool.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Index {
    version: u32,
    views: BTreeMap<String, IndexEntry>,
}

impl Body {
    /// Digest of the content.
    pub fn digest(&self) -> String {
        canonical::digest(&json!(self))
    }

    /// The kind in one word, for logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Specification(_) => "specification",
            Self::Document(_) => "document",
        }
    }

    fn bytes(&self) -> usize {
        json!(self).to_string().len()
    }
}

impl ViewMaker {
    /// The digest of the parts of a tool on which a view depends. A client's view depends on the schemas, a
    /// provider's view on the whole definition.
    pub fn depends_on(self, tool: &Entry) -> String {
        match self {
            Self::Client => canonical::digest(&json!([tool.input_schema, tool.output_schema])),
            Self::Provider => canonical::digest(&page::definition(tool)),
        }
    }
}

impl Index {
    /// The view of the tool, if it was made for the current version of the tool and is not too old.
    pub fn current(&self, tool: &Entry, cache: &Cache, now: u64) -> Option<&IndexEntry> {
        let view = self.views.get(&tool.name)?;
        let is_young = cache.ttl.is_none_or(|ttl| now.saturating_sub(view.at) < milliseconds(ttl));
        (is_young && view.made_for == view.by.depends_on(tool)).then_some(view)
    }
}

/// Converts a duration to milliseconds.
pub fn milliseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The index. Empty if there is none that can be read.
pub fn index() -> Index {
    read::<Index>(INDEX).filter(|index| index.version == VERSION).unwrap_or_default()
}

/// The record of a tool.
pub fn record(tool: &str) -> Record {
    let record = read::<Record>(&key(tool)).filter(|record| record.version == VERSION);
    record.unwrap_or_default()
}

/// Changes the record of a tool.
pub fn change(tool: &str, change: impl Fn(&mut Record)) -> Result<Record, Failure> {
    let kept = update(&key(tool), |record: Option<Record>| {
        let mut record = record.filter(|record| record.version == VERSION).unwrap_or_default();
        record.version = VERSION;
        change(&mut record);
        record
    })?;
    Ok(kept)
}

/// Stores a view, and removes the oldest views if the limits require it.
pub fn keep(tool: &str, view: View, cache: &Cache) -> Result<(), Failure> {
    let bytes = view.body.bytes();
    if bytes > cache.entry_bytes {
        let limit = cache.entry_bytes;
        return Err(Failure::new(format!("the view has {bytes} bytes; the maximum is {limit}")));
    }
    let entry = IndexEntry {
        digest: view.body.digest(),
        made_for: view.made_for.clone(),
        by: view.by,
        is_document: matches!(view.body, Body::Document(_)),
        bytes,
        at: view.at,
    };
    let gone = std::cell::RefCell::new(Vec::new());
    change(tool, |record| {
        record.view = Some(view.clone());
        record.failure = None;
    })?;
    change_index(|views| {
        views.insert(tool.to_owned(), entry.clone());
        *gone.borrow_mut() = make_room(views, tool, cache);
    })?;
    for other in gone.into_inner() {
        change(&other, |record| record.view = None)?;
    }
    Ok(())
}

/// Removes the oldest views until the rest fits, but never the view of the tool `keep`.
fn make_room(views: &mut BTreeMap<String, IndexEntry>, keep: &str, cache: &Cache) -> Vec<String> {
    let mut gone = Vec::new();
    while views.len() > cache.entries
        || views.values().map(|view| view.bytes).sum::<usize>() > cache.bytes
    {
        let others = views.iter().filter(|(name, _)| *name != keep);
        let Some(oldest) = others.min_by_key(|(_, view)| view.at).map(|(name, _)| name.clone())
        else {
            break;
        };
        views.remove(&oldest);
        gone.push(oldest);
    }
    gone
}

/// Removes the view of a tool.
pub fn forget_view(tool: &str) -> Result<(), Failure> {
    change(tool, |record| {
        record.view = None;
        record.failure = None;
    })?;
    change_index(|views| {
        views.remove(tool);
    })
}

/// Removes all data of a tool that no longer exists.
pub fn forget(tool: &str) -> Result<(), Failure> {
    remove(&key(tool))?;
    change_index(|views| {
        views.remove(tool);
    })
}

/// Replaces the list of known tools, each with its digest; returns the previous list.
pub fn replace_seen(tools: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Failure> {
    let before = read(SEEN).unwrap_or_default();
    write(SEEN, serde_json::to_vec(tools)?)?;
    Ok(before)
}

fn change_index(change: impl Fn(&mut BTreeMap<String, IndexEntry>)) -> Result<(), Failure> {
    update(INDEX, |index: Option<Index>| {
        let mut index = index.filter(|index| index.version == VERSION).unwrap_or_default();
        index.version = VERSION;
        change(&mut index.views);
        index
    })?;
    Ok(())
}

fn key(tool: &str) -> String {
    format!("tool/{tool}")
}

/// Reads data. `None`: the data is missing or cannot be read.
fn read<T: DeserializeOwned>(key: &str) -> Option<T> {
    let bytes = if settings::keeps() {
        store::plugin().ok()?.get(key).ok()??.value
    } else {
        cache::get(&fleeting(key))?
    };
    serde_json::from_slice(&bytes).ok()
}

fn write(key: &str, value: Vec<u8>) -> Result<(), Failure> {
    if settings::keeps() {
        store::plugin()?.set(key, value)?;
    } else {
        cache::set(&fleeting(key), value, None);
    }
    Ok(())
}

fn remove(key: &str) -> Result<(), Failure> {
    if settings::keeps() {
        store::plugin()?.delete(key)?;
    } else {
        // The cache cannot delete entries. An empty value is invalid JSON, which counts as absent.
        cache::set(&fleeting(key), [], None);
    }
    Ok(())
}

/// The cache key for data that is not in the store.
fn fleeting(key: &str) -> String {
    format!("fleeting/{key}")
}

fn update<T: Serialize + DeserializeOwned>(
    key: &str,
    change: impl Fn(Option<T>) -> T,
) -> Result<T, Failure> {
    if !settings::keeps() {
        // Only one call at a time may change the cached data.
        let _turn = cache::claim("turn");
        let changed = change(read(key));
        write(key, serde_json::to_vec(&changed)?)?;
        return Ok(changed);
    }
    let kept = store::plugin()?.update(key, |old| {
        let old = old.and_then(|bytes| serde_json::from_slice(bytes).ok());
        serde_json::to_vec(&change(old)).expect("the data are written as JSON")
    })?;
    Ok(serde_json::from_slice(&kept)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;
    use std::time::Duration;

    #[test]
    fn a_view_that_is_too_old_is_not_current() {
        let _rehearsal = Rehearsal::new();
        let tool = Entry::new("t", "s", json!({}));
        let view = View {
            body: Body::Document("<p>".to_owned()),
            by: ViewMaker::Client,
            made_for: ViewMaker::Client.depends_on(&tool),
            key: None,
            request: None,
            at: 1_000,
            duration_ms: 0,
            model: None,
            tokens: None,
        };
        let for_ever = Cache { on: true, entries: 1, entry_bytes: 100, bytes: 100, ttl: None };
        let for_a_second = Cache { ttl: Some(Duration::from_secs(1)), ..for_ever };
        keep("t", view, &for_ever).expect("there is room");
        let is_current = |cache: &Cache, now| index().current(&tool, cache, now).is_some();
        assert!(is_current(&for_ever, u64::MAX));
        assert!(is_current(&for_a_second, 1_999) && !is_current(&for_a_second, 2_000));
    }
}
