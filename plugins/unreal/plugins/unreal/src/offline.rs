//! Answers calls from a project's files.

use crate::{
    answer::{limited, time},
    session, stored_data,
};
use portcullis_plugin::prelude::*;
use std::{
    path::Path,
    time::{Duration, Instant},
};
use unreal_project::{
    Checked, CppClasses, Index, MAX_FOLDER_DEPTH, MAX_PACKAGE_FOLDERS, MAX_PACKAGES,
    MAX_PLUGIN_DEPTH, MAX_PLUGIN_FOLDERS, NoProject, Opened, Project, State, TrustPolicy, find,
    find_among, now, refresh,
};

/// Time limit for reading many files in one call: by default, the host ends computation after 20 s.
const READING: Duration = Duration::from_secs(12);
/// Time that has to be left to store the index and to answer.
const RESERVE: Duration = Duration::from_secs(6);
/// Maximum length of a single warning about the project that is repeated in each answer, in bytes.
const MAX_LINE: usize = 120;
/// Maximum number of warnings of an answer.
const MAX_WARNINGS: usize = 50;

/// A project on disk with its index.
pub struct Offline {
    /// The project.
    pub project: Project,
    /// Its packages.
    pub index: Index,
    /// Time of the last check of the files, as ISO 8601.
    pub as_of: String,
    /// Warnings about this call, such as those about editors that did not answer.
    pub notes: Vec<String>,
    /// Warnings about the project, which `unreal_status` lists.
    warnings: Vec<String>,
    /// The extent of the last check of the files.
    pub checked: Checked,
    /// Number of packages not read yet.
    pub left: usize,
    /// The time at which this call began to read.
    started: Instant,
}

/// The project of a call: the project that the call names, or the only project of the session.
pub fn project(project_dir: Option<&str>) -> Result<Project, NoProject> {
    match project_dir.filter(|dir| !dir.trim().is_empty()) {
        Some(dir) => find(Path::new(dir)),
        None => find_among(&session::folders()),
    }
}

impl Offline {
    /// Finds the project, and updates its index. Fails if there is no project, or more than one.
    pub fn open(request: &Request<'_>, project_dir: Option<&str>) -> Result<Self, Failure> {
        let project = project(project_dir)?;
        let (old, checked) = match stored_data::load_index(&project.dir) {
            Some((index, checked)) => (Some(index), checked),
            None => (None, 0),
        };
        let started = Instant::now();
        let now = now();
        let go_on = go_on(request, started, "reading packages");
        let fresh = refresh(&project, old, checked, TrustPolicy::default(), go_on);
        let checked = match fresh.checked {
            Checked::Trusted => checked,
            Checked::Folders | Checked::Files => {
                stored_data::save_index(&project.dir, &fresh.index, fresh.changed, now);
                now
            }
        };
        let warnings = warnings(&project, &fresh.index);
        Ok(Self {
            project,
            as_of: time(checked),
            notes: Vec::new(),
            warnings,
            checked: fresh.checked,
            left: fresh.left,
            index: fresh.index,
            started,
        })
    }

    /// Makes a callback for reading many files. The callback reports progress, and returns `false`
    /// if the time is up or the call is cancelled.
    pub fn go_on<'r>(
        &self,
        request: &'r Request<'_>,
        what: &'static str,
    ) -> impl FnMut(usize, usize) -> bool + use<'r> {
        go_on(request, self.started, what)
    }

    /// The classes that the project declares in C++, and a warning if some may be missing.
    pub fn cpp_classes(&self, request: &Request<'_>) -> (CppClasses, Option<String>) {
        let dir = &self.project.dir;
        let go_on = self.go_on(request, "reading headers");
        let (cpp, changed) = CppClasses::update(stored_data::load_cpp(dir), &self.project, go_on);
        if changed {
            stored_data::save_cpp(dir, &cpp);
        }
        let cut = cpp.cut.then(|| {
            "C++ classes may be missing: not all headers were read, since there are too many, some are too \
             large or unreadable, or the time was up. In the last case, call again to go on"
                .to_owned()
        });
        (cpp, cut)
    }

    /// Reads the package of an object.
    pub fn read(&self, path: &str) -> Result<Opened, Failure> {
        Ok(self.index.open(&self.project, path)?)
    }

    /// Warnings about named folders that contain no packages.
    pub fn missing<'f>(
        &'f self,
        folders: impl IntoIterator<Item = &'f String> + 'f,
    ) -> impl Iterator<Item = String> + 'f {
        let missing = folders.into_iter().filter(move |folder| !self.index.has_folder(folder));
        missing.map(move |folder| {
            let mounts = self.project.mounts().mounts.into_iter().map(|mount| mount.name);
            let mounts = mounts.collect::<Vec<_>>().join(", ");
            format!(
                "there is no package in the folder {folder}: folders of this project begin with {mounts}"
            )
        })
    }

    /// Warnings of an answer: those about its own completeness, at most one line about the project, and `more`. Only
    /// `unreal_status` lists all warnings about the project, since they are the same in each answer.
    pub fn warnings_and(&self, more: impl IntoIterator<Item = String>) -> Vec<String> {
        let project = match self.warnings.as_slice() {
            [] => None,
            [one] if one.len() <= MAX_LINE => Some(one.clone()),
            all => {
                let (number, ending) = (all.len(), if all.len() == 1 { "" } else { "s" });
                Some(format!(
                    "{number} warning{ending} about the project, such as unreadable packages: see unreal_status"
                ))
            }
        };
        let own = self.notes.iter().cloned().chain(self.incomplete());
        let all = own.chain(project).chain(more);
        limited(all, MAX_WARNINGS)
    }

    /// Warnings for `unreal_status`, with all those about the project, up to `MAX_WARNINGS`.
    pub fn all_warnings(&self) -> Vec<String> {
        let own = self.notes.iter().cloned().chain(self.incomplete());
        let all = own.chain(self.warnings.iter().cloned());
        limited(all, MAX_WARNINGS)
    }

    /// A warning that packages in the index are not read yet; `None` if there are no such packages.
    fn incomplete(&self) -> Option<String> {
        let all = self.index.entries().len();
        (self.left > 0).then(|| {
            format!(
                "{} of {all} packages are not read yet, as there was no time: call again to go on",
                self.left
            )
        })
    }
}

fn go_on<'r>(
    request: &'r Request<'_>,
    started: Instant,
    what: &'static str,
) -> impl FnMut(usize, usize) -> bool + use<'r> {
    move |read, of| {
        if read > 0 && read % 512 == 0 {
            request.progress(read as f64, of as f64, what);
        }
        let time = request.remaining().is_none_or(|left| left > RESERVE);
        time && started.elapsed() < READING && !request.cancelled()
    }
}

/// The warnings about a project.
fn warnings(project: &Project, index: &Index) -> Vec<String> {
    let mut warnings = project.warnings.clone();
    if index.cut {
        warnings.push(format!(
            "packages are missing in the index, which has at most {MAX_PACKAGES} packages of \
             {MAX_PACKAGE_FOLDERS} folders, nested at most {MAX_FOLDER_DEPTH} deep"
        ));
    }
    if index.plugins_left_out {
        warnings.push(format!(
            "packages of Unreal plugins may be missing in the index: at most {MAX_PLUGIN_FOLDERS} folders \
             are searched for plugins, nested at most {MAX_PLUGIN_DEPTH} deep"
        ));
    }
    if index.links_left_out > 0 {
        let number = index.links_left_out;
        warnings.push(format!(
            "{number} links are left out: they lead to folders, out of the roots, or to nothing"
        ));
    }
    let mut counts: Vec<(State, usize)> = Vec::new();
    for entry in index.entries() {
        if matches!(entry.state, State::Read | State::Unread) {
            continue;
        }
        match counts.iter_mut().find(|(state, _)| *state == entry.state) {
            Some((_, count)) => *count += 1,
            None => counts.push((entry.state, 1)),
        }
    }
    counts.sort_unstable();
    for (state, number) in counts {
        let words = state.words();
        let packages = if number == 1 { "package" } else { "packages" };
        warnings.push(format!(
            "{number} {packages} could not be read completely ({words}): see unreal_status"
        ));
    }
    warnings
}
