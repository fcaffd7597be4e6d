//! Mount points: the folders of the packages in `/Game/` and in each Unreal plugin.

use crate::descriptor::Descriptor;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Maximum depth of the search for plugins.
pub const MAX_PLUGIN_DEPTH: usize = 6;
/// Maximum number of folders searched for plugins.
pub const MAX_PLUGIN_FOLDERS: usize = 5_000;
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

/// The mount points of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountPoints {
    /// The mount points, sorted by name.
    pub mounts: Vec<Mount>,
    /// The folders that were searched for plugins, relative to the project.
    pub searched: Vec<String>,
    /// Whether plugins may be missing, since there are more folders than the limit, or deeper folders.
    pub cut: bool,
}

/// The mount points of a project.
pub fn mounts(project: &Path, name: &str, descriptor: &Descriptor) -> MountPoints {
    let mut found = MountPoints::default();
    if project.join("Content").is_dir() {
        found.mounts.push(Mount { name: "/Game".to_owned(), folder: "Content".to_owned() });
    }
    // With a `.uplugin` as its descriptor, the folder is an Unreal plugin without a project.
    if project.join(format!("{name}.uplugin")).is_file() {
        found.mounts.clear();
        found.plugin(project, name, "");
    }
    found.look(project, "Plugins", 0, false);
    for dir in &descriptor.plugin_dirs {
        let dir = dir.replace('\\', "/");
        let dir = dir.trim_end_matches('/');
        // The sandbox may not reach folders outside the project.
        let inside = !dir.is_empty() && !dir.starts_with('/') && !dir.contains(':');
        if inside && dir.split('/').all(|part| part != "..") {
            found.look(project, dir.trim_start_matches("./"), 0, false);
        }
    }
    found.mounts.sort();
    found.mounts.dedup_by(|second, first| second.folder == first.folder);
    found
}

impl MountPoints {
    /// Searches a folder for plugins. `is_in_plugin` tells whether the folder is inside a plugin.
    fn look(&mut self, project: &Path, folder: &str, depth: usize, is_in_plugin: bool) {
        let Ok(entries) = fs::read_dir(project.join(folder)) else { return };
        if depth > MAX_PLUGIN_DEPTH || self.searched.len() >= MAX_PLUGIN_FOLDERS {
            // The engine searches no folders of a plugin for further plugins.
            self.cut |= !is_in_plugin;
            return;
        }
        self.searched.push(folder.to_owned());
        let mut inside: Vec<_> = entries.flatten().collect();
        inside.sort_by_key(fs::DirEntry::file_name);
        let is_descriptor =
            |entry: &fs::DirEntry| entry.path().extension().is_some_and(|end| end == "uplugin");
        let is_in_plugin = is_in_plugin || inside.iter().any(is_descriptor);
        for entry in inside {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !NOT_THERE.contains(&name) && !name.starts_with('.') {
                self.look(project, &format!("{folder}/{name}"), depth + 1, is_in_plugin);
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
