//! Finds the families that have a project beneath a session's roots, by a bounded search of file names.
//!
//! The result decides only which tools are listed. No symbolic link is followed, and only files that can mark a project
//! are read.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use portcullis_roots::{Root, Roots};

use crate::families::{Family, Mark};
use crate::pattern;

/// Maximum depth of the search: files in a root have depth 1.
const MAX_DEPTH: usize = 6;

/// Maximum number of files and folders in one search, of all roots together.
const MAX_ENTRIES: usize = 20_000;

/// Maximum duration of one search.
const MAX_TIME: Duration = Duration::from_millis(250);

/// The number of bytes, from the beginning of a file, that are searched for the texts of a mark.
const MAX_READ_BYTES: u64 = 256 * 1024;

/// Folders of packages and builds, which are not searched for projects.
const SKIPPED: &[&str] = &["node_modules", "target", "vendor", "__pycache__"];

/// The families whose projects lie beneath some roots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projects {
    /// The file that marks a project, by the name of the family.
    found: BTreeMap<&'static str, PathBuf>,
    /// Whether there may be further projects: the search ended at its maximum number of entries or its maximum
    /// duration, or there was no search.
    is_cut_off: bool,
}

impl Projects {
    /// Searches the roots for a project of each family. Blocks the thread for up to about 250 ms.
    pub fn look(roots: &Roots) -> Self {
        Self::look_within(roots, MAX_ENTRIES, MAX_TIME)
    }

    fn look_within(roots: &Roots, entries: usize, time: Duration) -> Self {
        let families: Vec<_> = Family::with_projects().collect();
        let mut search = ProjectSearch {
            families,
            entries,
            until: Instant::now() + time,
            projects: Self::default(),
        };
        for root in roots.iter() {
            search.search_root(root);
        }
        search.projects
    }

    /// The file that marks a project of a family.
    pub fn of(&self, family: &Family) -> Option<&Path> {
        self.found.get(family.name).map(PathBuf::as_path)
    }

    /// Whether there is a project of each family.
    pub fn has_all(&self) -> bool {
        Family::with_projects().all(|family| self.of(family).is_some())
    }

    /// The result for roots that are not known: no search was made.
    pub fn unknown() -> Self {
        Self { is_cut_off: true, ..Self::default() }
    }

    /// Whether the search was complete: it ended neither at its maximum number of entries nor at its maximum duration.
    /// A family that a complete search did not find counts as a family without a project, although folders below the
    /// maximum depth were not searched.
    pub fn is_complete(&self) -> bool {
        !self.is_cut_off
    }
}

/// A search in progress.
struct ProjectSearch {
    /// The families without a project so far.
    families: Vec<&'static Family>,
    /// The number of files and folders that may still be examined.
    entries: usize,
    until: Instant,
    projects: Projects,
}

impl ProjectSearch {
    /// Searches a root folder by folder, beginning with the folders nearest to the root.
    fn search_root(&mut self, root: &Root) {
        let mut folders = VecDeque::from([(PathBuf::from("."), 1)]);
        while let Some((folder, depth)) = folders.pop_front() {
            if self.families.is_empty() {
                return;
            }
            let names = self.list_names(root, &folder);
            for (name, is_folder) in names {
                let path = folder.join(&name);
                if !is_folder {
                    self.check_file(root, &name, &path);
                } else if depth == MAX_DEPTH {
                    // Deeper folders are not searched, and the search still counts as complete.
                } else if !self.is_skipped(&name) {
                    folders.push_back((path, depth + 1));
                }
            }
            if self.projects.is_cut_off {
                return;
            }
        }
    }

    /// The sorted names of the files and folders in `folder`, each with `true` for a folder. A folder that cannot be
    /// read counts as empty.
    fn list_names(&mut self, root: &Root, folder: &Path) -> Vec<(String, bool)> {
        let mut names = Vec::new();
        let Ok(entries) = root.dir().and_then(|dir| dir.read_dir(folder)) else { return names };
        for entry in entries.flatten() {
            if self.entries == 0 || Instant::now() >= self.until {
                self.projects.is_cut_off = true;
                break;
            }
            self.entries -= 1;
            // Symbolic links are left out, so that none is followed.
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
                continue;
            };
            if kind.is_dir() || kind.is_file() {
                names.push((name, kind.is_dir()));
            }
        }
        names.sort_unstable();
        names
    }

    fn is_skipped(&self, name: &str) -> bool {
        let by_family = || self.families.iter().any(|family| family.skipped.contains(&name));
        name.starts_with('.') || SKIPPED.contains(&name) || by_family()
    }

    /// Adds the projects that a file marks.
    fn check_file(&mut self, root: &Root, name: &str, path: &Path) {
        let is_mark = |mark: &Mark| pattern::matches(mark.file, name) && contains(root, path, mark);
        let found = self.families.iter().position(|family| family.marks.iter().any(is_mark));
        if let Some(index) = found {
            let family = self.families.remove(index);
            let path = path.strip_prefix(".").unwrap_or(path);
            self.projects.found.insert(family.name, root.path().join(path));
            // The same file may mark a project of another family.
            self.check_file(root, name, path);
        }
    }
}

/// Whether a file contains one of the texts of a mark. A mark without texts fits every file.
fn contains(root: &Root, path: &Path, mark: &Mark) -> bool {
    if mark.contains.is_empty() {
        return true;
    }
    let mut text = Vec::new();
    let read = root.dir().and_then(|dir| dir.open(path));
    let read = read.and_then(|file| file.take(MAX_READ_BYTES).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    read.is_ok() && mark.contains.iter().any(|one| text.contains(one))
}

#[cfg(test)]
mod tests {
    use portcullis_roots::HostFiles;

    use super::*;

    fn roots(folder: &Path) -> Roots {
        let files = HostFiles::default();
        Roots::new(vec![Root::open(folder, &files).expect("it is a folder")], files)
    }

    /// A family with projects, and a file that marks one.
    fn marked(folder: &Path) -> &'static Family {
        let family = Family::with_projects().next().expect("there is a family");
        let mark = &family.marks[0];
        std::fs::create_dir_all(folder).expect("it is writable");
        let name = mark.file.replace('*', "");
        std::fs::write(folder.join(name), mark.contains.join("\n")).expect("it is writable");
        family
    }

    #[test]
    fn an_empty_folder_has_no_project() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Projects::look(&roots(folder.path())), Projects::default());
        assert_eq!(Projects::look(&Roots::default()), Projects::default());
    }

    #[test]
    fn a_project_is_found_in_a_folder_of_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let family = marked(&folder.path().join("a/b"));
        let projects = Projects::look(&roots(folder.path()));
        let at = projects.of(family).expect("the project is found");
        assert!(at.starts_with(folder.path().join("a/b")), "{}", at.display());
        assert!(projects.is_complete());
        let others = Family::with_projects().filter(|one| one.name != family.name);
        assert!(others.into_iter().all(|other| projects.of(other).is_none()));
    }

    #[test]
    fn each_family_is_found_by_each_of_its_marks() {
        for family in Family::with_projects() {
            for mark in family.marks {
                let texts = if mark.contains.is_empty() { &[""][..] } else { mark.contains };
                for text in texts {
                    let folder = tempfile::tempdir().unwrap();
                    let file = folder.path().join(mark.file.replace('*', ""));
                    std::fs::write(&file, text).unwrap();
                    let projects = Projects::look(&roots(folder.path()));
                    assert_eq!(projects.of(family), Some(&*file), "{mark:?}");
                    if !mark.contains.is_empty() {
                        std::fs::write(&file, "{}").unwrap();
                        assert_eq!(Projects::look(&roots(folder.path())).of(family), None);
                    }
                }
            }
        }
    }

    #[test]
    fn folders_of_packages_and_hidden_folders_are_not_searched() {
        let folder = tempfile::tempdir().unwrap();
        for skipped in ["node_modules", ".cache"] {
            marked(&folder.path().join(skipped));
        }
        assert_eq!(Projects::look(&roots(folder.path())), Projects::default());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        marked(other.path());
        std::os::unix::fs::symlink(other.path(), folder.path().join("link")).unwrap();
        assert_eq!(Projects::look(&roots(folder.path())), Projects::default());
    }

    #[test]
    fn a_search_that_ends_at_a_bound_is_not_complete() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20 {
            std::fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        let roots = roots(folder.path());
        assert!(Projects::look_within(&roots, 10, MAX_TIME).is_cut_off);
        assert!(Projects::look_within(&roots, 100, Duration::ZERO).is_cut_off);
        assert!(!Projects::look_within(&roots, 20, MAX_TIME).is_cut_off);
    }
}
