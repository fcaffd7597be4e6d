//! Mount points: the folders of the packages in `/Game/` and in each Unreal plugin.

use crate::descriptor::Descriptor;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Maximum depth of the search for plugins.
const MAX_DEPTH: usize = 6;
/// Maximum number of folders searched for plugins.
const MAX_FOLDERS: usize = 5_000;
/// Folders that contain no plugins.
const NOT_THERE: &[&str] =
    &["Content", "Source", "Binaries", "Intermediate", "Resources", "Config", "Saved", "Shaders"];

/// A folder of packages, and the prefix of their names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mount {
    /// `/Game` or `/PluginName`.
    pub name: String,
    /// The folder, relative to the project.
    pub folder: String,
}

impl Mount {
    /// The name of a package, by the path of its file relative to the folder, without extension.
    pub fn package(&self, relative: &str) -> String {
        format!("{}/{relative}", self.name)
    }

    /// The rest of a package's name below this mount; `None` for another mount. Ignores case.
    pub fn below<'p>(&self, package: &'p str) -> Option<&'p str> {
        let start = package.get(..self.name.len())?;
        let rest = package.get(self.name.len()..)?.strip_prefix('/')?;
        start.eq_ignore_ascii_case(&self.name).then_some(rest)
    }
}

/// The mount points of a project, and the folders that were searched for plugins.
pub fn mounts(project: &Path, name: &str, descriptor: &Descriptor) -> (Vec<Mount>, Vec<String>) {
    let mut found = Found::default();
    if project.join("Content").is_dir() {
        found.mounts.push(Mount { name: "/Game".to_owned(), folder: "Content".to_owned() });
    }
    // With a `.uplugin` as its descriptor, the folder is an Unreal plugin without a project.
    if project.join(format!("{name}.uplugin")).is_file() {
        found.mounts.clear();
        found.plugin(project, name, "");
    }
    found.look(project, "Plugins", 0);
    for dir in &descriptor.plugin_dirs {
        let dir = dir.replace('\\', "/");
        let dir = dir.trim_end_matches('/');
        // The sandbox may not reach folders outside the project.
        let inside = !dir.is_empty() && !dir.starts_with('/') && !dir.contains(':');
        if inside && dir.split('/').all(|part| part != "..") {
            found.look(project, dir.trim_start_matches("./"), 0);
        }
    }
    found.mounts.sort();
    found.mounts.dedup_by(|second, first| second.folder == first.folder);
    (found.mounts, found.looked)
}

#[derive(Default)]
struct Found {
    mounts: Vec<Mount>,
    looked: Vec<String>,
}

impl Found {
    fn look(&mut self, project: &Path, folder: &str, depth: usize) {
        let Ok(entries) = fs::read_dir(project.join(folder)) else { return };
        if depth > MAX_DEPTH || self.looked.len() >= MAX_FOLDERS {
            return;
        }
        self.looked.push(folder.to_owned());
        let mut inside: Vec<_> = entries.flatten().collect();
        inside.sort_by_key(fs::DirEntry::file_name);
        for entry in inside {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !NOT_THERE.contains(&name) && !name.starts_with('.') {
                self.look(project, &format!("{folder}/{name}"), depth + 1);
            } else if let Some(plugin) = name.strip_suffix(".uplugin")
                && !kind.is_dir()
            {
                self.plugin(project, plugin, folder);
            }
        }
    }

    fn plugin(&mut self, project: &Path, name: &str, folder: &str) {
        let content: PathBuf = Path::new(folder).join("Content");
        if project.join(&content).is_dir() {
            let folder = content.to_string_lossy().replace('\\', "/");
            self.mounts.push(Mount { name: format!("/{name}"), folder });
        }
    }
}
