//! Decides whether the editor or the files answer a call.

use crate::{
    live::{self, Editor, Fault},
    offline::{self, Offline},
};
use portcullis_plugin::prelude::*;

/// The allowed sources, by the operator's setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The editor if it runs and has the project open, otherwise the files.
    Auto,
    /// The editor. The files answer only a call for which the editor has no tool, or which its tool refuses.
    Live,
    /// The files only.
    Offline,
}

impl Mode {
    /// Reads the setting `mode`.
    pub fn set() -> Result<Self, Failure> {
        match settings::get("mode").as_deref().map(str::trim) {
            None | Some("" | "auto") => Ok(Self::Auto),
            Some("live") => Ok(Self::Live),
            Some("offline") => Ok(Self::Offline),
            Some(other) => Err(Failure::new(format!(
                "the setting `mode` of this plugin is `{other}`: it can be auto, live or offline"
            ))),
        }
    }

    /// The name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Live => "live",
            Self::Offline => "offline",
        }
    }
}

/// A call about a project.
pub trait AboutProject {
    /// The project's folder in the arguments.
    fn project_dir(&self) -> Option<&str>;
}

/// A call that the editor or the files can answer.
pub trait SourceQuery: AboutProject {
    /// The result, of one type for both sources.
    type Answer;

    /// Answers from the files.
    fn ask_files(&self, request: &Request<'_>, offline: &Offline) -> Result<Self::Answer, Failure>;

    /// Answers from the editor.
    fn ask_editor(&self, _editor: &Editor<'_>) -> Result<Self::Answer, Fault> {
        Err(Fault::Unsupported("the editor has no tool for this: this answer is from the files"))
    }
}

/// Answers a call from the editor or from the files, as the setting `mode` allows.
pub fn answer<A: SourceQuery>(asked: &A, request: &Request<'_>) -> Result<A::Answer, Failure> {
    let mode = Mode::set()?;
    let note = match live(asked, request, mode) {
        Ok(answer) => return Ok(answer),
        Err(Fault::Answer(failure)) => return Err(*failure),
        Err(Fault::Failed(why)) => return Err(Failure::new(why)),
        Err(fault @ Fault::Unsupported(_)) => (mode == Mode::Live).then(|| fault.to_string()),
        Err(fault @ Fault::Refuses(_)) => Some(fault.to_string()),
        Err(Fault::Cancelled) => return Err(Failure::from(Fault::Cancelled)),
        Err(fault) if mode == Mode::Live => return Err(Failure::from(fault)),
        Err(fault) => {
            (!fault.is_usual()).then(|| format!("{fault}: this answer is from the files"))
        }
    };
    let mut offline = Offline::open(request, asked.project_dir())?;
    offline.notes.extend(note);
    asked.ask_files(request, &offline)
}

fn live<A: SourceQuery>(asked: &A, request: &Request<'_>, mode: Mode) -> Result<A::Answer, Fault> {
    let is_set = live::address(live::Kind::UnrealMcpServer).is_some()
        || live::address(live::Kind::Epic).is_some();
    if mode == Mode::Offline || (mode == Mode::Auto && !is_set) {
        return Err(Fault::NotSet);
    }
    let project = match offline::project(asked.project_dir()) {
        Ok(project) => Some(project),
        // Without a folder, the editor's project cannot be compared: only the mode `live` accepts
        // the answer.
        Err(_) if mode == Mode::Live => None,
        Err(_) => return Err(Fault::NotSet),
    };
    let editor = live::editor(request, project.as_ref())?;
    asked.ask_editor(&editor)
}

/// The editor that has the project open, for a change. Fails unless it is certain that the editor
/// has this project open.
pub fn to_change<'r>(
    request: &'r Request<'r>,
    project_dir: Option<&str>,
) -> Result<Editor<'r>, Failure> {
    if Mode::set()? == Mode::Offline {
        return Err(Failure::new(
            "this needs the editor, and the setting `mode` of this plugin is `offline`",
        ));
    }
    let project = offline::project(project_dir)?;
    let editor = live::editor(request, Some(&project))?;
    editor.check_for_change()?;
    Ok(editor)
}

impl Editor<'_> {
    /// The warnings that belong to every answer of the editor, and `more`.
    pub fn warnings(&self, more: impl IntoIterator<Item = String>) -> Vec<String> {
        let unchecked = match &self.project {
            None => Some(
                "no project is open in this session: it was not checked which project the editor has open"
                    .to_owned(),
            ),
            Some(_) if self.is_identified() => None,
            Some(project) => Some(format!(
                "the editor at {} does not report the absolute folder of its project: it may not \
                 be {}",
                self.url,
                project.dir.display()
            )),
        };
        unchecked.into_iter().chain(more).collect()
    }

    /// The time of the answer, as ISO 8601.
    pub fn as_of(&self) -> String {
        crate::answer::time(unreal_project::now())
    }
}
