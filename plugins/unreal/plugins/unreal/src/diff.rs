//! The tool `diff_assets`: lists the changes between two versions of a package.

use crate::answer::{Page, limited, shown};
use git_objects::Repository;
use portcullis_plugin::{prelude::*, serde::Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, UNIX_EPOCH},
};
use unreal_package::{Change, Difference, Package, difference, listing};

/// Maximum size of a file that is compared, in bytes.
const MAX_FILE: u64 = 64 << 20;
/// Maximum number of changes in one answer.
const MAX_CHANGES: usize = 20_000;
/// Maximum number of warnings about parts that could not be read.
const MAX_WARNINGS: usize = 20;
/// Latest time of a commit that is shown, in seconds since 1970: the end of the year 9999.
const MAX_SECONDS: u64 = 253_402_300_799;

/// Compare two versions of a package (.uasset or .umap) without an editor: variables, components, graphs, nodes, links, values of pins, properties, rows of tables, dependencies. A version is a file, or a file in a git revision, also of Git LFS. Of data that cannot be decoded, only the difference is reported.
#[arguments]
pub struct DiffAssets {
    /// Absolute path of the newer file; by default the same as `fileBefore`. With `revisionBefore` alone, the file on disk is compared with that revision.
    #[path(file, read)]
    file_after: Option<String>,
    /// Absolute path of the older file; by default the same as `fileAfter`.
    #[path(file, read)]
    file_before: Option<String>,
    /// Git revision of the older file, such as HEAD, HEAD~3, a branch, a tag or a commit; by default the file on disk.
    revision_before: Option<String>,
    /// Git revision of the newer file; by default the file on disk.
    revision_after: Option<String>,
    /// List everything in one version instead of comparing: `added` for a new file, `removed` for a removed one, `contents` to read what is in a file.
    listing: Option<Listing>,
    /// Path to show for both versions, such as the file's path in a repository.
    shown_as: Option<String>,
    /// How many changes at most; 0: as many as fit.
    #[serde(default = "crate::answer::forty")]
    max_results: u32,
    /// Number of results to skip.
    #[serde(default)]
    offset: u32,
}

/// A list of everything in one version of a package.
#[data]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    Added,
    Removed,
    Contents,
}

/// What has changed.
#[data]
pub struct AssetDifference {
    /// Absent if `listing` is `added` or `contents`
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<VersionInfo>,
    /// Absent if `listing` is `removed`
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<VersionInfo>,
    is_same: bool,
    changes: Vec<ChangeInfo>,
    count: usize,
    total_count: usize,
    /// Number of changes of each part, such as `node`
    counts: BTreeMap<String, usize>,
    /// Nodes that were only moved
    moved_nodes: usize,
    offset: usize,
    has_more: bool,
    warnings: Vec<String>,
}

/// One of the two versions.
#[data]
struct VersionInfo {
    file: String,
    /// Absent for a file on disk
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<CommitInfo>,
}

/// A commit in git.
#[data]
struct CommitInfo {
    id: String,
    time: String,
    /// First line of its message
    subject: String,
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
        let (found, before, after) = self.compare()?;
        let page = Page::with_max(self.offset, self.max_results, MAX_CHANGES);
        let answer = answer(&found, before, after, page);
        let is_list = self.listing == Some(Listing::Contents);
        let text = text(&found, &answer, page, is_list);
        reply(text, &answer)
    }

    fn output_schema() -> Option<Value> {
        <Json<AssetDifference> as IntoReply>::schema()
    }
}

impl DiffAssets {
    /// The difference, the older version and the newer one. For a listing, one of the versions is `None`.
    fn compare(&self) -> Result<(Difference, Option<VersionInfo>, Option<VersionInfo>), Failure> {
        let before = self.file_before.as_deref().or(self.file_after.as_deref());
        let after = self.file_after.as_deref().or(self.file_before.as_deref());
        let (Some(before), Some(after)) = (before, after) else {
            let why = match &self.shown_as {
                // For an unmerged file, git gives only the path to the command of a diff driver.
                Some(path) => format!(
                    "{} is unmerged in git, or the call names no version of it",
                    shown(path)
                ),
                None => "no file is named".to_owned(),
            };
            return Err(Failure::new(format!(
                "{why}\n  hint: give `fileAfter`, `fileBefore` or both"
            )));
        };
        // Both versions are read under one name, so that a different path alone is not a change.
        let name = Path::new(self.shown_as.as_deref().unwrap_or(after));
        let name = format!("/Game/{}", name.file_stem().unwrap_or_default().to_string_lossy());
        let read_before = || self.version(before, self.revision_before.as_deref());
        let read_after = || self.version(after, self.revision_after.as_deref());
        if let Some(kind) = self.listing {
            let only = if kind == Listing::Removed { read_before()? } else { read_after()? };
            let mut found = listing(&only.package()?, &name);
            found.warnings.splice(0..0, only.warning);
            return Ok(match kind {
                Listing::Removed => (found.reversed(), Some(only.info), None),
                Listing::Added | Listing::Contents => (found, None, Some(only.info)),
            });
        }
        let is_one_file = self.file_before.is_none() || self.file_after.is_none();
        if is_one_file && self.revision_before == self.revision_after {
            return Err(Failure::new(
                "the two versions are the same: give `revisionBefore`, such as HEAD, another \
                 file as `fileBefore`, or `listing` for everything in one version",
            ));
        }
        let (before, after) = (read_before()?, read_after()?);
        let mut found = difference(&before.package()?, &after.package()?, &name);
        let warnings = [before.warning, after.warning];
        found.warnings.splice(0..0, warnings.into_iter().flatten());
        Ok((found, Some(before.info), Some(after.info)))
    }

    /// Reads a version of a file. The version is shown under the path in `shown_as`, or else under the file's own.
    fn version(&self, file: &str, revision: Option<&str>) -> Result<Version, Failure> {
        Version::read(file, revision, self.shown_as.as_deref().unwrap_or(file))
    }
}

fn reply(text: String, answer: &impl Serialize) -> Result<Reply, Failure> {
    Ok(Reply::new().text(text).structured(serde_json::to_value(answer)?))
}

/// One of the two versions, in memory.
struct Version {
    info: VersionInfo,
    bytes: Vec<u8>,
    warning: Option<String>,
}

impl Version {
    fn read(file: &str, revision: Option<&str>, shown_as: &str) -> Result<Self, Failure> {
        let Some(revision) = revision else {
            let info = VersionInfo { file: shown(shown_as), commit: None };
            return Ok(Self { info, bytes: read(file)?, warning: None });
        };
        let failing = || format!("cannot read {} of `{}`", shown(file), shown(revision));
        let repository = Repository::around(Path::new(file)).or_fail(failing())?;
        let commit = repository.commit(revision).or_fail(failing())?;
        let blob = repository.file(&commit, Path::new(file), MAX_FILE).or_fail(failing())?;
        let seconds = u64::try_from(commit.seconds).unwrap_or(0).min(MAX_SECONDS);
        let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH);
        let info = CommitInfo {
            id: commit.id.to_string(),
            time: humantime::format_rfc3339_seconds(time).to_string(),
            subject: shown(&commit.subject),
        };
        let info = VersionInfo { file: shown(shown_as), commit: Some(info) };
        let blob = blob.ok_or_else(|| {
            Failure::new(format!(
                "{} does not exist: the file was added later, was removed before, or had another \
                 name, which `fileBefore` or `fileAfter` can give",
                info.text()
            ))
        })?;
        let warning = blob.other_name.map(|name| {
            let name = shown(&name);
            format!("in that revision, the name of {} differs in case: {name}", info.text())
        });
        Ok(Self { info, bytes: blob.bytes, warning })
    }

    fn package(&self) -> Result<Package<'_>, Failure> {
        Package::read(&self.bytes).or_fail(format!("cannot compare {}", self.info.text()))
    }
}

impl VersionInfo {
    /// The version in one line.
    fn text(&self) -> String {
        match &self.commit {
            None => format!("{} (on disk)", self.file),
            Some(CommitInfo { id, time, subject }) => {
                let (short, day) = (id.get(..9).unwrap_or(id), time.get(..10).unwrap_or(time));
                format!("{} ({short} of {day}: {subject})", self.file)
            }
        }
    }
}

fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let size = fs::metadata(path)
        .map_err(|error| match name_of_other_case(path) {
            Some(name) => Failure::new(format!(
                "cannot read {}: there is no such file\n  hint: its folder has {}, whose name differs in case",
                shown(path),
                shown(&name)
            )),
            None => Failure::new(format!("cannot look at {}: {error}", shown(path))),
        })?
        .len();
    if size > MAX_FILE {
        return Err(Failure::new(format!(
            "{} has {size} bytes: at most {MAX_FILE} are compared",
            shown(path)
        )));
    }
    fs::read(path).or_fail(format!("cannot read {}", shown(path)))
}

/// The name of the file in the same folder whose name differs in case only, if there is one.
fn name_of_other_case(path: &str) -> Option<String> {
    let path = Path::new(path);
    let wanted = path.file_name()?.to_str()?.to_lowercase();
    let entries = fs::read_dir(path.parent()?).ok()?.flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.find(|name| name.to_lowercase() == wanted)
}

fn answer(
    found: &Difference,
    before: Option<VersionInfo>,
    after: Option<VersionInfo>,
    page: Page,
) -> AssetDifference {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for change in &found.changes {
        *counts.entry(change.part.word().to_owned()).or_default() += 1;
    }
    let total = found.changes.len();
    let changes: Vec<ChangeInfo> = page.of(found.changes.iter().map(info).collect());
    let cut =
        found.cut.then(|| format!("the comparison ended after {total} changes: there are more"));
    let warnings = limited(found.warnings.iter().cloned(), MAX_WARNINGS).into_iter().chain(cut);
    AssetDifference {
        before,
        after,
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
fn text(found: &Difference, answer: &AssetDifference, page: Page, is_list: bool) -> String {
    let mut text = match (&answer.before, &answer.after) {
        // A listing has no line with the path: git compares the listings of two versions line by line.
        _ if is_list => String::new(),
        (None, Some(after)) => format!("New file {}\n\n", after.text()),
        (Some(before), None) => format!("Removed file {}\n\n", before.text()),
        (Some(before), Some(after)) if before.text() != after.text() => {
            format!("From {}\nto {}\n\n", before.text(), after.text())
        }
        (_, Some(VersionInfo { file, .. })) => format!("Changed file {file}\n\n"),
        (None, None) => String::new(),
    };
    text.push_str(&match is_list {
        true => found.contents_markdown(page.offset, page.most()),
        false => found.markdown(page.offset, page.most()),
    });
    if answer.moved_nodes > 0 {
        text.push_str(&format!("\n{} nodes were only moved.\n", answer.moved_nodes));
    }
    if answer.is_same {
        text.push_str("No differences were found in the compared parts.\n");
    }
    if answer.has_more {
        let next = answer.offset + answer.count;
        text.push_str(&format!(
            "\nEntries {} to {next} of {} are shown; continue with offset {next}.\n",
            answer.offset + 1,
            answer.total_count
        ));
    }
    for warning in &answer.warnings {
        text.push_str(&format!("\nWarning: {warning}\n"));
    }
    text
}
