//! Finds the Unreal project for a path: in the folder, above it, or below it.

use crate::{
    descriptor::Descriptor,
    mounts::{MountPoints, mounts},
};
use std::{
    error::Error,
    fmt, fs,
    path::{Path, PathBuf},
};

/// Maximum depth of the search below a folder.
const MAX_DEPTH: usize = 3;
/// Maximum number of folders searched.
const MAX_FOLDERS: usize = 2_000;
/// Maximum number of projects or folders that a message names.
const MAX_NAMED: usize = 20;
/// Folders that contain no projects.
const SKIPPED_FOLDERS: &[&str] = &[
    "Content",
    "Binaries",
    "Intermediate",
    "Saved",
    "DerivedDataCache",
    "Source",
    "Config",
    "node_modules",
    "target",
];

/// A project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// Its root folder.
    pub dir: PathBuf,
    /// The name of its descriptor file without the extension, or else of its folder.
    pub name: String,
    /// The descriptor file; `None` for a folder with only `Content`.
    pub file: Option<PathBuf>,
    /// The content of the descriptor.
    pub descriptor: Descriptor,
    /// Problems with the project.
    pub warnings: Vec<String>,
}

/// The reason why there is not exactly one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoProject {
    /// No project was found.
    Nowhere {
        /// The folders searched.
        looked: Vec<PathBuf>,
        /// Whether there are more folders below these than are searched.
        cut: bool,
    },
    /// Several projects were found.
    Several {
        /// Their descriptor files; for a project without a descriptor, its folder.
        found: Vec<PathBuf>,
    },
}

impl fmt::Display for NoProject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |paths: &[PathBuf]| {
            let named: Vec<_> =
                paths.iter().take(MAX_NAMED).map(|p| p.display().to_string()).collect();
            let named = named.join(", ");
            match paths.len().saturating_sub(MAX_NAMED) {
                0 => named,
                more => format!("{named} and {more} more"),
            }
        };
        match self {
            Self::Nowhere { looked, .. } if looked.is_empty() => f.write_str(
                "no folder is open in this session: give the folder of the Unreal project as a \
                 root (on the command line with --root)",
            ),
            Self::Nowhere { looked, cut } => {
                let cut = match cut {
                    true => format!(" (not all folders: at most {MAX_FOLDERS} are searched)"),
                    false => String::new(),
                };
                write!(
                    f,
                    "no Unreal project (.uproject) was found in {} or up to {MAX_DEPTH} levels \
                     below{cut}: name its folder in `projectDir`",
                    list(looked)
                )
            }
            Self::Several { found } => write!(
                f,
                "there are several Unreal projects: {}. Name the folder of one of them \
                 in `projectDir`",
                list(found)
            ),
        }
    }
}

impl Error for NoProject {}

impl Project {
    /// The project of a `.uproject` or `.uplugin`.
    fn of(file: PathBuf) -> Self {
        let dir = file.parent().map(Path::to_owned).unwrap_or_default();
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let mut project = Self { dir, name: name.unwrap_or_default(), ..Self::default() };
        match Descriptor::read(&file) {
            Ok(descriptor) => project.descriptor = descriptor,
            Err(error) => {
                project.warnings.push(format!("{} cannot be read: {error}", file.display()));
            }
        }
        project.file = Some(file);
        project
    }

    /// A folder with `Content` and no descriptor.
    fn bare(dir: &Path) -> Self {
        let name = dir.file_name().map(|name| name.to_string_lossy().into_owned());
        Self {
            dir: dir.to_owned(),
            name: name.unwrap_or_default(),
            warnings: vec![format!("{} has no .uproject", dir.display())],
            ..Self::default()
        }
    }

    /// The mount points of the project.
    pub fn mounts(&self) -> MountPoints {
        mounts(&self.dir, &self.name, &self.descriptor)
    }
}

/// Finds the project at, above or below a path.
///
/// # Errors
///
/// When there is no project, or more than one.
pub fn find(path: &Path) -> Result<Project, NoProject> {
    let is_descriptor = has_extension(path, "uproject") || has_extension(path, "uplugin");
    if is_descriptor && path.is_file() {
        return Ok(Project::of(path.to_owned()));
    }
    for dir in path.ancestors() {
        if let Some(found) = files_with_extension(dir, "uproject") {
            return only_project(found);
        }
    }
    let mut below = Below::default();
    below.look(path, 0);
    if !below.found.is_empty() {
        let mut project = only_project(below.found)?;
        if below.cut {
            project.warnings.push(format!(
                "there may be more projects in {}: at most {MAX_FOLDERS} of its folders are searched",
                path.display()
            ));
        }
        return Ok(project);
    }
    for dir in path.ancestors() {
        if let Some(found) = files_with_extension(dir, "uplugin") {
            return only_project(found);
        }
    }
    if path.join("Content").is_dir() {
        return Ok(Project::bare(path));
    }
    Err(NoProject::Nowhere { looked: vec![path.to_owned()], cut: below.cut })
}

/// Finds the only project in the session's roots.
///
/// # Errors
///
/// When there is no project, or more than one.
pub fn find_among(roots: &[PathBuf]) -> Result<Project, NoProject> {
    let mut projects: Vec<Project> = Vec::new();
    let (mut several, mut is_cut) = (Vec::new(), false);
    for root in roots {
        match find(root) {
            Ok(project) if projects.iter().any(|known| known.dir == project.dir) => {}
            Ok(project) => projects.push(project),
            Err(NoProject::Several { found }) => several.extend(found),
            Err(NoProject::Nowhere { cut, .. }) => is_cut |= cut,
        }
    }
    if several.is_empty() && projects.len() < 2 {
        let nowhere = || NoProject::Nowhere { looked: roots.to_vec(), cut: is_cut };
        return projects.pop().ok_or_else(nowhere);
    }
    several.extend(projects.into_iter().map(|project| project.file.unwrap_or(project.dir)));
    several.sort();
    several.dedup();
    Err(NoProject::Several { found: several })
}

fn only_project(mut found: Vec<PathBuf>) -> Result<Project, NoProject> {
    found.sort();
    found.dedup();
    match found.len() {
        1 => Ok(Project::of(found.remove(0))),
        _ => Err(NoProject::Several { found }),
    }
}

/// The files of a folder with the extension `end`; `None` if there are none.
fn files_with_extension(dir: &Path, end: &str) -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).ok()?;
    let files = entries.flatten().map(|entry| entry.path());
    let found: Vec<PathBuf> = files.filter(|path| has_extension(path, end)).collect();
    (!found.is_empty()).then_some(found)
}

/// Whether a path has this extension, in any case.
fn has_extension(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(end))
}

/// The search for projects below a folder.
#[derive(Default)]
struct Below {
    /// The descriptor files that were found.
    found: Vec<PathBuf>,
    /// Number of folders searched.
    searched: usize,
    /// Whether folders are left out because of `MAX_FOLDERS`.
    cut: bool,
}

impl Below {
    fn look(&mut self, dir: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        self.searched += 1;
        let mut folders = Vec::new();
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if kind.is_dir() {
                if !SKIPPED_FOLDERS.contains(&name.as_ref()) && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if has_extension(&path, "uproject") {
                self.found.push(path);
            }
        }
        folders.sort();
        for folder in folders.into_iter().filter(|_| depth < MAX_DEPTH) {
            if self.searched >= MAX_FOLDERS {
                self.cut = true;
                return;
            }
            self.look(&folder, depth + 1);
        }
    }
}
