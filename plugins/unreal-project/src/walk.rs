//! Lists the packages of a project: every file, its size and when it was changed.

use crate::mounts::Mount;
use std::{
    fs::{self, Metadata},
    path::Path,
    time::UNIX_EPOCH,
};

/// How many packages a project may have.
pub const MAX_FILES: usize = 200_000;
/// How many folders are listed.
const MAX_FOLDERS: usize = 50_000;
/// How deeply folders are listed.
const MAX_DEPTH: usize = 48;

/// A file that should be a package.
pub struct File {
    /// The name of the package.
    pub package: String,
    /// Relative to the project.
    pub file: String,
    pub size: u64,
    pub modified: u64,
}

/// What there is.
#[derive(Default)]
pub struct Walk {
    pub files: Vec<File>,
    /// Folders relative to the project, and when each was changed.
    pub folders: Vec<(String, u64)>,
    /// Folders that are links, and are not followed.
    pub links: usize,
    /// Whether there is more than is listed.
    pub cut: bool,
}

/// Lists what the mounts hold, in order.
pub fn walk(project: &Path, mounts: &[Mount], looked: &[String]) -> Walk {
    let mut walk = Walk::default();
    for folder in looked {
        let modified = fs::metadata(project.join(folder)).map_or(0, |found| modified(&found));
        walk.folders.push((folder.clone(), modified));
    }
    for mount in mounts {
        walk.folder(project, mount, "", 0);
    }
    walk.files.sort_by(|a, b| a.package.cmp(&b.package).then(a.file.cmp(&b.file)));
    walk
}

/// When something was changed, in nanoseconds since 1970; 0 where nobody knows.
pub fn modified(metadata: &Metadata) -> u64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

impl Walk {
    /// `inside` is the folder within the mount: empty, or `Doors/`.
    fn folder(&mut self, project: &Path, mount: &Mount, inside: &str, depth: usize) {
        let relative = format!("{}/{inside}", mount.folder);
        let relative = relative.trim_end_matches('/');
        let path = project.join(relative);
        // Before it is listed: what comes in between is found the next time.
        let changed = fs::metadata(&path).map_or(0, |found| modified(&found));
        let Ok(entries) = fs::read_dir(&path) else { return };
        if depth > MAX_DEPTH || self.folders.len() >= MAX_FOLDERS {
            self.cut = true;
            return;
        }
        self.folders.push((relative.to_owned(), changed));
        let mut folders = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
            if kind.is_dir() {
                folders.push(format!("{inside}{name}/"));
                continue;
            }
            let Some(stem) = stem(name) else {
                self.links += usize::from(kind.is_symlink() && entry.path().is_dir());
                continue;
            };
            // Of a link the file is meant.
            let found =
                if kind.is_symlink() { fs::metadata(entry.path()) } else { entry.metadata() };
            let Ok(found) = found else { continue };
            if !found.is_file() {
                continue;
            }
            if self.files.len() >= MAX_FILES {
                self.cut = true;
                return;
            }
            self.files.push(File {
                package: mount.package(&format!("{inside}{stem}")),
                file: format!("{relative}/{name}"),
                size: found.len(),
                modified: modified(&found),
            });
        }
        for folder in folders {
            self.folder(project, mount, &folder, depth + 1);
        }
    }
}

/// The name of a package's file without its end.
fn stem(name: &str) -> Option<&str> {
    let (stem, end) = name.rsplit_once('.')?;
    let fits = end.eq_ignore_ascii_case("uasset") || end.eq_ignore_ascii_case("umap");
    (fits && !stem.is_empty()).then_some(stem)
}
