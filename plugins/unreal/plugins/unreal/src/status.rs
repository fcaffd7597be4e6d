//! The tool `unreal_status`: the project that answers, its state, and its unreadable packages.

use crate::{
    answer::{Page, SourceKind, shown},
    config::{MountInfo, mounts},
    live::{self, Fault, Kind},
    offline::{self, Offline},
    source::{Mode, SourceQuery, answer},
};
use portcullis_plugin::prelude::*;
use std::collections::BTreeMap;
use unreal_project::{Checked, NoProject, Project, State};

about_project! {
    #[paged]
    /// Say which Unreal project answers and in what state it is: how many packages, of which engines, and which files cannot be read and why; and which editors listen. Call it first when it is not clear which project is meant.
    pub struct UnrealStatus {
    }
}

tool_result! {
    /// The state.
    pub struct Status {
        /// `ready`, `indexing` while packages are left to read, or `no_project`
        state: String,
        /// The project that answers
        #[serde(skip_serializing_if = "Option::is_none")]
        project: Option<StatusProject>,
        /// Projects to choose from, by naming one in `projectDir`
        choices: Vec<String>,
        /// `auto`, `live` or `offline`: who may answer, as the operator set it
        mode: String,
        /// The editors whose addresses are set
        editors: Vec<EditorState>,
        /// Packages that cannot be read, or only in part
        unreadable: Vec<Unreadable>,
        total_count: usize,
        offset: usize,
        has_more: bool,
    }
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
    /// How thoroughly the files were checked for changes: `trusted`, `folders` or `files`
    checked: String,
    /// Packages that are not read yet
    left: usize,
}

/// An address at which an editor may listen.
#[data]
struct EditorState {
    url: String,
    kind: Kind,
    /// `ready` with this project open, `not_running`, `not_granted`, `busy`, `starting`, `other_project` or `wrong_server`
    state: String,
    /// The fact, and the remedy if there is one
    detail: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    version: String,
    /// How many tools it offers
    tools: usize,
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
            return Ok(Json(no_project(&lost, editors(request, None)?)));
        }
        answer(&self, request).map(Json)
    }
}

impl SourceQuery for UnrealStatus {
    type Answer = Status;

    fn ask_files(&self, request: &Request<'_>, offline: &Offline) -> Result<Status, Failure> {
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
        Ok(Status {
            state: if offline.left > 0 { "indexing" } else { "ready" }.to_owned(),
            project: Some(project(offline)),
            choices: Vec::new(),
            mode: Mode::set()?.name().to_owned(),
            editors: editors(request, Some(&offline.project))?,
            unreadable: page.of(unreadable),
            total_count: total,
            offset: page.offset,
            has_more: page.has_more(total),
            source: SourceKind::Offline,
            warnings: offline.all_warnings(),
            as_of: offline.as_of.clone(),
        })
    }
}

/// The state of each configured editor. In the mode `offline`, no editor is asked.
fn editors(request: &Request<'_>, project: Option<&Project>) -> Result<Vec<EditorState>, Failure> {
    if Mode::set()? == Mode::Offline {
        return Ok(Vec::new());
    }
    let all = live::looked_at(request, project).into_iter();
    Ok(all
        .map(|(kind, url, found)| match found {
            Ok(editor) => EditorState {
                url,
                kind,
                state: "ready".to_owned(),
                detail: match (&editor.seen.project, project) {
                    (_, None) => {
                        "this session has no project to compare with the one of the editor"
                            .to_owned()
                    }
                    (Some(theirs), Some(_)) => format!("it has this project open: {theirs}"),
                    (None, Some(_)) => {
                        "it does not report the absolute folder of its project: it answers \
                             questions, and is not asked for changes"
                            .to_owned()
                    }
                },
                version: editor.seen.version,
                tools: editor.seen.tools.len(),
            },
            Err(fault) => EditorState {
                url,
                kind,
                state: state(&fault).to_owned(),
                detail: shown(&fault.to_string()),
                version: String::new(),
                tools: 0,
            },
        })
        .collect())
}

fn state(fault: &Fault) -> &'static str {
    match fault {
        Fault::NotSet | Fault::NotRunning(_) => "not_running",
        Fault::NotGranted(_) => "not_granted",
        Fault::Busy(..) | Fault::AtWork(_) | Fault::NoTime | Fault::Cancelled => "busy",
        Fault::Starting(_) => "starting",
        Fault::OtherProject { .. } => "other_project",
        Fault::WrongServer(..)
        | Fault::InvalidResponse(..)
        | Fault::Misshapen(..)
        | Fault::Unidentified(_)
        | Fault::Refuses(_)
        | Fault::NoSession
        | Fault::Refused(..)
        | Fault::Failed(_)
        | Fault::Unsupported(_)
        | Fault::Unknown(_)
        | Fault::Answer(_) => "wrong_server",
    }
}

fn no_project(lost: &NoProject, editors: Vec<EditorState>) -> Status {
    let choices = match lost {
        NoProject::Several { found } => {
            found.iter().map(|p| shown(&p.display().to_string())).collect()
        }
        NoProject::Nowhere { .. } => Vec::new(),
    };
    Status {
        state: "no_project".to_owned(),
        project: None,
        choices,
        mode: Mode::set().map_or("auto", Mode::name).to_owned(),
        editors,
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
