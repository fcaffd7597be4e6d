//! Shared parts of all answers: source, time, pages, and sanitised text.

use portcullis_plugin::{prelude::*, serde::Serialize};
use serde_json::{Map, Value};
use std::time::{Duration, UNIX_EPOCH};
use unreal_project::{Asset, Entry, Index};

/// The source of an answer.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The files of the project, without an editor.
    Offline,
    /// A running editor that has the project open.
    Live,
}

/// Maximum number of results of one call.
pub const MAX_PAGE: usize = 5_000;
/// Maximum length of a tag's value that is shown, in characters.
const MAX_TAG_CHARS: usize = 2_000;

/// The default length of a page.
pub fn hundred() -> u32 {
    100
}

/// The default length of a page whose items are long.
pub fn forty() -> u32 {
    40
}

/// The default `true`, for serde.
pub fn yes() -> bool {
    true
}

/// A range of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub offset: usize,
    most: usize,
}

impl Page {
    /// The page from `offset` on, with at most `most` results. If `most` is 0, the page is the largest possible.
    pub fn new(offset: u32, most: u32) -> Self {
        Self::with_max(offset, most, MAX_PAGE)
    }

    /// The page from `offset` on, with at most `most` results, or at most `max` results if `most` is 0 or larger than
    /// `max`.
    pub fn with_max(offset: u32, most: u32, max: usize) -> Self {
        let most = if most == 0 { max } else { (most as usize).min(max) };
        Self { offset: offset as usize, most }
    }

    /// The length of the page.
    pub fn most(self) -> usize {
        self.most
    }

    /// The part of the list on this page.
    pub fn of<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.offset).take(self.most).collect()
    }

    /// Whether there are results after this page.
    pub fn has_more(self, total: usize) -> bool {
        self.offset.saturating_add(self.most) < total
    }
}

/// At most `most` warnings, sanitised. If there are more, a further line has the number of those that are left out.
pub fn limited(warnings: impl IntoIterator<Item = String>, most: usize) -> Vec<String> {
    let mut warnings = warnings.into_iter();
    let mut listed: Vec<String> =
        warnings.by_ref().take(most).map(|warning| shown(&warning)).collect();
    let more = warnings.count();
    listed.extend((more > 0).then(|| format!("{more} more warnings are left out")));
    listed
}

/// Sanitises a short text for display on one line.
pub fn shown(text: &str) -> String {
    unreal_package::visible(text, 1_024, false).into_owned()
}

/// A failure whose text is the failed answer as JSON: UnrealMCPServer sends failures in this form.
pub fn failed(answer: &impl Serialize) -> Failure {
    match serde_json::to_string(answer) {
        Ok(text) => Failure::new(text),
        Err(error) => Failure::from(error),
    }
}

/// The names of an asset in the asset registry.
pub struct Names {
    /// `/Game/Doors/BP_Door.BP_Door`
    pub object_path: String,
    /// `BP_Door`
    pub name: String,
    /// `/Game/Doors`
    pub folder: String,
    /// `/Script/Engine.Blueprint`
    pub class: String,
}

impl Names {
    /// The names of an asset in the index.
    pub fn of(index: &Index, entry: &Entry, asset: &Asset) -> Self {
        let package = index.text(entry.package);
        let path = index.text(asset.path);
        let name = path.rsplit(['.', ':', '/']).next().unwrap_or(path);
        Self {
            object_path: shown(&index.object_path(entry, asset)),
            name: shown(name),
            folder: shown(package.rsplit_once('/').map_or("", |(folder, _)| folder)),
            class: shown(index.text(asset.class)),
        }
    }
}

/// The human-readable tags of an asset.
pub fn tags(asset: &unreal_package::Asset<'_>) -> Map<String, Value> {
    let tags = asset.tags.iter().filter(|(key, _)| is_plain(key));
    tags.map(|(key, value)| {
        let value = unreal_package::visible(value, MAX_TAG_CHARS, true).into_owned();
        (shown(key), value.into())
    })
    .collect()
}

/// The human-readable tags of an asset, from the editor's answer.
pub fn tags_told(sent: &Value) -> Map<String, Value> {
    let tags = sent.as_object().into_iter().flatten().filter(|(key, _)| is_plain(key));
    tags.map(|(key, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (shown(key), unreal_package::visible(&text, MAX_TAG_CHARS, true).into_owned().into())
    })
    .collect()
}

/// Whether the tag is human-readable. Some tags contain encoded tables of the engine.
fn is_plain(key: &str) -> bool {
    !matches!(key, "FiB" | "FiBData" | "ActorMetaData" | "ActorsMetaData")
}

/// A time in nanoseconds since 1970, as ISO 8601 in UTC.
pub fn time(nanoseconds: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_nanos(nanoseconds)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_330_800, "2026-11-22T07:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(time(seconds * 1_000_000_000), expected);
        }
    }

    #[test]
    fn warnings_that_are_left_out_are_counted() {
        let warnings = || ["a", "b", "c"].map(str::to_owned);
        assert_eq!(limited(warnings(), 3), ["a", "b", "c"]);
        assert_eq!(limited(warnings(), 1), ["a", "2 more warnings are left out"]);
    }

    #[test]
    fn pages() {
        let all: Vec<u32> = (0..10).collect();
        assert_eq!(Page::new(8, 5).of(all.clone()), [8, 9]);
        assert_eq!(Page::new(3, 2).of(all.clone()), [3, 4]);
        assert!(Page::new(3, 2).has_more(10) && !Page::new(8, 2).has_more(10));
        assert_eq!(Page::new(u32::MAX, 0).of(all), [0; 0]);
        assert_eq!(Page::new(0, 0).most(), MAX_PAGE);
    }
}
