//! The tool `unreal_status`: which project answers, how much of it is known, and what cannot be read.

use crate::{
    answer::{Page, SourceKind, hundred, shown},
    config::{MountInfo, mounts},
    offline::{self, Offline},
    source::{Source, source},
};
use portcullis_plugin::prelude::*;
use std::collections::BTreeMap;
use unreal_project::{Checked, Lost, State};

/// Say which Unreal project answers and in what state it is: how many packages, of which engines, and which files cannot be read and why. Call it first when it is not clear which project is meant.
#[arguments]
pub struct UnrealStatus {
    /// How many unreadable packages at most; 0 for as many as one answer holds.
    #[serde(default = "hundred")]
    max_results: u32,
    /// How many of them to leave out.
    #[serde(default)]
    offset: u32,
    /// Absolute path of the project's folder, or in it. May be left out when one project is open.
    #[path(directory, read, nearest = ["Content", "Config", "Source", "Plugins"])]
    project_dir: Option<String>,
}

/// In what state things are.
#[data]
pub struct Status {
    /// `ready`, `indexing` while packages are left to read, or `no_project`
    state: String,
    /// The project that answers
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<StatusProject>,
    /// Projects to choose from, by naming one in `projectDir`
    choices: Vec<String>,
    /// Packages that cannot be read
    unreadable: Vec<Unreadable>,
    total_count: usize,
    offset: usize,
    has_more: bool,
    source: SourceKind,
    as_of: String,
    warnings: Vec<String>,
}

#[data]
struct StatusProject {
    name: String,
    dir: String,
    mounts: Vec<MountInfo>,
    packages: usize,
    maps: usize,
    assets: usize,
    /// Packages by the engine that saved them
    engines: BTreeMap<String, usize>,
    /// How far was looked for this answer: `trusted`, `folders` or `files`
    checked: String,
    /// Packages that are not read yet
    left: usize,
}

#[data]
struct Unreadable {
    file: String,
    why: String,
}

impl Tool for UnrealStatus {
    const NAME: &'static str = "unreal_status";
    const TITLE: Option<&'static str> = Some("Unreal status");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    type Output = Json<Status>;

    fn call(self, request: &Request) -> Result<Json<Status>, Failure> {
        if let Err(lost) = offline::project(self.project_dir.as_deref()) {
            return Ok(Json(no_project(&lost)));
        }
        let Source::Offline(offline) = source(request, self.project_dir.as_deref())?;
        let index = &offline.index;
        let unreadable: Vec<Unreadable> = index
            .entries()
            .iter()
            .filter(|entry| !matches!(entry.state, State::Read | State::Unread))
            .map(|entry| Unreadable {
                file: shown(index.text(entry.file)),
                why: entry.state.words().to_owned(),
            })
            .collect();
        let page = Page::new(self.offset, self.max_results);
        let total = unreadable.len();
        Ok(Json(Status {
            state: if offline.left > 0 { "indexing" } else { "ready" }.to_owned(),
            project: Some(project(&offline)),
            choices: Vec::new(),
            unreadable: page.of(unreadable),
            total_count: total,
            offset: page.offset,
            has_more: page.has_more(total),
            source: SourceKind::Offline,
            warnings: offline.warnings_and(None),
            as_of: offline.as_of,
        }))
    }
}

fn no_project(lost: &Lost) -> Status {
    let choices = match lost {
        Lost::Several { found } => found.iter().map(|p| shown(&p.display().to_string())).collect(),
        Lost::Nowhere { .. } => Vec::new(),
    };
    Status {
        state: "no_project".to_owned(),
        project: None,
        choices,
        unreadable: Vec::new(),
        total_count: 0,
        offset: 0,
        has_more: false,
        source: SourceKind::Offline,
        as_of: String::new(),
        warnings: vec![shown(&lost.to_string())],
    }
}

fn project(offline: &Offline) -> StatusProject {
    let entries = offline.index.entries();
    let mut engines = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.engine[0] > 0) {
        let [major, minor, ..] = entry.engine;
        *engines.entry(format!("{major}.{minor}")).or_default() += 1;
    }
    StatusProject {
        name: shown(&offline.project.name),
        dir: shown(&offline.project.dir.display().to_string()),
        mounts: mounts(offline),
        packages: entries.len(),
        maps: entries.iter().filter(|entry| entry.is_map).count(),
        assets: entries.iter().map(|entry| offline.index.assets_of(entry).len()).sum(),
        engines,
        checked: match offline.checked {
            Checked::Trusted => "trusted",
            Checked::Folders => "folders",
            Checked::Files => "files",
        }
        .to_owned(),
        left: offline.left,
    }
}
