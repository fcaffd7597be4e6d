//! Lists the package files of a project with their sizes and times of modification.

use crate::{
    disk::{Disk, Kind},
    mounts::Mount,
};
use std::path::Path;

/// Maximum number of packages of a project.
pub const MAX_PACKAGES: usize = 200_000;
/// Maximum number of folders of a project that are listed.
pub const MAX_PACKAGE_FOLDERS: usize = 50_000;
/// Maximum depth of folders beneath the folder of a mount point.
pub const MAX_FOLDER_DEPTH: usize = 48;

/// A file with the extension of a package.
pub struct File {
    /// The name of the package.
    pub package: String,
    /// Path relative to the project.
    pub file: String,
    pub size: u64,
    pub modified: u64,
}

/// The result of the walk.
#[derive(Default)]
pub struct Walk {
    pub files: Vec<File>,
    /// Folders relative to the project, and their times of modification.
    pub folders: Vec<(String, u64)>,
    /// Number of symbolic links that were not followed: links to folders, to files that may not be
    /// read, or to missing files.
    pub links: usize,
    /// Whether a limit was reached.
    pub cut: bool,
}

/// Lists the files of the mount points, sorted by package. For the folders in `stat_only`, only the
/// times of modification are recorded.
pub fn walk(disk: &Disk, project: &Path, mounts: &[Mount], stat_only: &[String]) -> Walk {
    let mut walk = Walk::default();
    for folder in stat_only {
        let path = project.join(folder);
        let modified = disk.folder(&path).stat("").map_or(0, |found| found.modified);
        walk.folders.push((folder.clone(), modified));
    }
    for mount in mounts {
        walk.walk_folder(disk, project, mount, "", 0);
    }
    walk.files.sort_by(|a, b| a.package.cmp(&b.package).then(a.file.cmp(&b.file)));
    walk
}

impl Walk {
    /// Lists a folder and its subfolders. `inside` is the folder within the mount: empty, or
    /// `Doors/`.
    fn walk_folder(
        &mut self,
        disk: &Disk,
        project: &Path,
        mount: &Mount,
        inside: &str,
        depth: usize,
    ) {
        // Only one folder is open at a time, whatever the depth.
        for folder in self.list_folder(disk, project, mount, inside, depth).unwrap_or_default() {
            self.walk_folder(disk, project, mount, &folder, depth + 1);
        }
    }

    /// Lists the files of one folder, and returns its subfolders. `None` if the folder cannot be
    /// read, or a limit is reached.
    fn list_folder(
        &mut self,
        disk: &Disk,
        project: &Path,
        mount: &Mount,
        inside: &str,
        depth: usize,
    ) -> Option<Vec<String>> {
        let relative = format!("{}/{inside}", mount.folder);
        let relative = relative.trim_end_matches('/');
        let path = project.join(relative);
        // The time is read before the listing, so that later changes are found next time.
        let open = disk.folder(&path);
        let changed = open.stat("").map_or(0, |found| found.modified);
        let entries = open.list().ok()?;
        if depth > MAX_FOLDER_DEPTH || self.folders.len() >= MAX_PACKAGE_FOLDERS {
            self.cut = true;
            return None;
        }
        self.folders.push((relative.to_owned(), changed));
        let mut folders = Vec::new();
        for entry in entries {
            let name = entry.name;
            if entry.kind == Kind::Folder {
                folders.push(format!("{inside}{name}/"));
                continue;
            }
            let Some(stem) = stem(&name) else {
                let is_link = entry.kind == Kind::Link;
                let is_file = || open.stat(&name).is_some_and(|found| found.is_file);
                self.links += usize::from(is_link && !is_file());
                continue;
            };
            // Links to files are followed, as far as they may be read.
            let Some(found) = open.stat(&name).filter(|found| found.is_file) else {
                self.links += usize::from(entry.kind == Kind::Link);
                continue;
            };
            if self.files.len() >= MAX_PACKAGES {
                self.cut = true;
                return None;
            }
            self.files.push(File {
                package: mount.package(&format!("{inside}{stem}")),
                file: format!("{relative}/{name}"),
                size: found.size,
                modified: found.modified,
            });
        }
        Some(folders)
    }
}

/// The name of a package file without its extension; `None` for other files.
fn stem(name: &str) -> Option<&str> {
    let (stem, end) = name.rsplit_once('.')?;
    let is_package = end.eq_ignore_ascii_case("uasset") || end.eq_ignore_ascii_case("umap");
    (is_package && !stem.is_empty()).then_some(stem)
}
