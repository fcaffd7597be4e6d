//! The tool `diff_assets`: what has changed between two versions of a package.

use crate::answer::{Page, shown};
use portcullis_plugin::{prelude::*, serde::Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};
use unreal_package::{Change, Difference, Package, difference};

/// Largest file that is compared, in bytes.
const MAX_FILE: u64 = 64 << 20;

/// Compare two versions of a package (.uasset or .umap) without an editor, as a reviewer reads it: variables, components, graphs, nodes, links, values of pins, properties, rows of tables, dependencies. What cannot be decoded is said to differ. As a tool for git: see the guide on Unreal.
#[arguments]
pub struct DiffAssets {
    /// Absolute path of the older file.
    #[path(file, read)]
    file_before: String,
    /// Absolute path of the newer file.
    #[path(file, read)]
    file_after: String,
    /// How many changes at most; 0 for as many as one answer holds.
    #[serde(default = "forty")]
    max_results: u32,
    /// How many changes to leave out.
    #[serde(default)]
    offset: u32,
}

fn forty() -> u32 {
    40
}

/// What has changed.
#[data]
pub struct AssetDifference {
    is_same: bool,
    changes: Vec<ChangeInfo>,
    count: usize,
    total_count: usize,
    /// Changes of each part, such as `node`
    counts: BTreeMap<String, usize>,
    /// Nodes of which only the position has changed
    moved_nodes: usize,
    offset: usize,
    has_more: bool,
    warnings: Vec<String>,
}

/// A change: an addition without `before`, a removal without `after`.
#[data]
struct ChangeInfo {
    part: String,
    /// Graph, node, object or row
    #[serde(skip_serializing_if = "String::is_empty", default)]
    place: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

impl Tool for DiffAssets {
    const NAME: &'static str = "diff_assets";
    const TITLE: Option<&'static str> = Some("Compare two versions of an asset");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    type Output = Reply;

    fn call(self, _request: &Request) -> Result<Reply, Failure> {
        let (before, after) = (read(&self.file_before)?, read(&self.file_after)?);
        let package = |path: &str, bytes| {
            Package::read(bytes).or_fail(format!("cannot compare {}", shown(path)))
        };
        let before = package(&self.file_before, &before)?;
        let after = package(&self.file_after, &after)?;
        // Both versions are read under one name, so that a copy elsewhere is no change.
        let name = Path::new(&self.file_after).file_stem().unwrap_or_default().to_string_lossy();
        let found = difference(&before, &after, &format!("/Game/{name}"));
        let page = Page::new(self.offset, self.max_results);
        let answer = answer(&found, page);
        let text = text(&found, &answer, page);
        reply(text, &answer)
    }

    fn output_schema() -> Option<Value> {
        <Json<AssetDifference> as IntoReply>::schema()
    }
}

fn reply(text: String, answer: &impl Serialize) -> Result<Reply, Failure> {
    Ok(Reply::new().text(text).structured(serde_json::to_value(answer)?))
}

fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let size = fs::metadata(path).or_fail(format!("cannot look at {}", shown(path)))?.len();
    if size > MAX_FILE {
        return Err(Failure::new(format!(
            "{} has {size} bytes: at most {MAX_FILE} are compared",
            shown(path)
        )));
    }
    fs::read(path).or_fail(format!("cannot read {}", shown(path)))
}

fn answer(found: &Difference, page: Page) -> AssetDifference {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for change in &found.changes {
        *counts.entry(change.part.word().to_owned()).or_default() += 1;
    }
    let total = found.changes.len();
    let changes: Vec<ChangeInfo> = page.of(found.changes.iter().map(info).collect());
    let cut = found.cut.then(|| format!("there are more changes than these {total}"));
    let warnings = found.warnings.iter().take(20).map(|warning| shown(warning)).chain(cut);
    AssetDifference {
        is_same: total == 0 && found.moved == 0,
        count: changes.len(),
        changes,
        total_count: total,
        counts,
        moved_nodes: found.moved,
        offset: page.offset,
        has_more: page.has_more(total),
        warnings: warnings.collect(),
    }
}

fn info(change: &Change) -> ChangeInfo {
    ChangeInfo {
        part: change.part.word().to_owned(),
        place: shown(&change.place),
        name: shown(&change.name),
        before: change.before.clone(),
        after: change.after.clone(),
    }
}

/// The difference as Markdown.
fn text(found: &Difference, answer: &AssetDifference, page: Page) -> String {
    let mut text = found.markdown(page.offset, page.most());
    if answer.moved_nodes > 0 {
        text.push_str(&format!("\n{} nodes were only moved.\n", answer.moved_nodes));
    }
    if answer.is_same {
        text.push_str("The versions do not differ in what is compared.\n");
    }
    if answer.has_more {
        let next = answer.offset + answer.count;
        text.push_str(&format!(
            "\n{next} of {} changes; more from offset {next}.\n",
            answer.total_count
        ));
    }
    for warning in &answer.warnings {
        text.push_str(&format!("\nWarning: {warning}\n"));
    }
    text
}
