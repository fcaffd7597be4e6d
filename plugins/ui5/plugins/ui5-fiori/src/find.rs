//! Finds the manifests beneath a folder, within bounds.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Maximum depth of folders that are searched.
const MAX_DEPTH: usize = 10;

/// Maximum number of directory entries, far more than projects have outside of `node_modules`.
const MAX_ENTRIES: usize = 50_000;

/// Folders that are skipped: they hold dependencies or generated files.
const SKIPPED: [&str; 5] = ["node_modules", "dist", "target", "gen", "mta_archives"];

/// The manifests of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The paths of files named `manifest.json`, sorted.
    pub manifests: Vec<PathBuf>,
    /// Whether [`MAX_ENTRIES`] or [`MAX_DEPTH`] ended the search before it was complete.
    pub is_partial: bool,
}

/// Searches a folder. Links are not followed, and folders that cannot be read count as empty.
pub fn manifests(folder: &Path) -> Found {
    let mut found = Found::default();
    let mut to_search = vec![(folder.to_owned(), 0)];
    let mut entry_count = 0;
    while let Some((folder, depth)) = to_search.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            entry_count += 1;
            if entry_count > MAX_ENTRIES {
                found.is_partial = true;
                found.manifests.sort();
                return found;
            }
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            match entry.file_type() {
                Ok(kind) if kind.is_file() && name == "manifest.json" => found.manifests.push(path),
                Ok(kind) if kind.is_dir() && !is_skipped(&name) => {
                    if depth < MAX_DEPTH {
                        to_search.push((path, depth + 1));
                    } else {
                        found.is_partial = true;
                    }
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    found.manifests.sort();
    found
}

fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || SKIPPED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Folder;

    #[test]
    fn folders_of_dependencies_are_not_searched() {
        let folder = Folder::new();
        for path in ["a/webapp", "node_modules/b", "dist", ".git", "app/c/webapp"] {
            let path = folder.path().join(path);
            fs::create_dir_all(&path).expect("it can be made");
            fs::write(path.join("manifest.json"), "{}").expect("it can be written");
        }
        let found = manifests(folder.path());
        let expected = ["a/webapp/manifest.json", "app/c/webapp/manifest.json"];
        assert_eq!(found.manifests, expected.map(|path| folder.path().join(path)));
        assert!(!found.is_partial);
    }

    #[test]
    fn folders_that_are_too_deep_make_the_search_partial() {
        let folder = Folder::new();
        let deep = folder.path().join("d/".repeat(MAX_DEPTH + 2));
        fs::create_dir_all(&deep).expect("it can be made");
        fs::write(deep.join("manifest.json"), "{}").expect("it can be written");
        assert_eq!(manifests(folder.path()), Found { manifests: Vec::new(), is_partial: true });
    }
}
