//! The host's own files and folders, such as the configuration, plugins, the audit and stores. No guest can read,
//! change, create, move or remove them. Confined programs can read those that are not secret.
//!
//! These files are recognised by device and inode number, and in their parent directory also by name. Because of the
//! name, a guest can neither create a file that the host does not have yet, nor replace a file of the host.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::folded_name::fold;
use super::guest_path::beneath;

/// Maximum number of links that are followed on the path of a host's file, as on Linux.
const MAX_LINKS: u32 = 40;

/// The identity of a file or directory: its device and its inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Id {
    pub dev: u64,
    pub ino: u64,
}

impl Id {
    /// The identity of an open file or directory.
    pub(super) fn of(metadata: &cap_std::fs::Metadata) -> Self {
        use cap_fs_ext::MetadataExt as _;
        Self { dev: metadata.dev(), ino: metadata.ino() }
    }

    /// The identity of the file at a path. Links are followed.
    #[expect(clippy::disallowed_methods, reason = "the host's own files are found by their paths")]
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let metadata = std::fs::metadata(path)?;
            Ok(Self { dev: metadata.dev(), ino: metadata.ino() })
        }
        #[cfg(not(unix))]
        {
            use cap_std::fs::{Dir, Metadata};
            match Dir::open_ambient_dir(path, cap_std::ambient_authority()) {
                Ok(dir) => Ok(Self::of(&dir.dir_metadata()?)),
                Err(_) => Ok(Self::of(&Metadata::from_file(&std::fs::File::open(path)?)?)),
            }
        }
    }
}

/// A file or folder of the host.
#[derive(Debug, Clone)]
pub struct HostFile {
    path: PathBuf,
    end: Restriction,
    secret: bool,
}

impl HostFile {
    /// A folder with its contents. Confined programs cannot read or write it.
    pub fn folder(path: PathBuf) -> Self {
        Self { path, end: Restriction::NoAccess, secret: true }
    }

    /// One file. Confined programs can only read it.
    pub fn file(path: PathBuf) -> Self {
        Self { path, end: Restriction::NoAccess, secret: false }
    }

    /// All files in the directory of this file whose names begin with the name of this file, and all temporary files
    /// (`.tmp…`) there. Confined programs can only read these files.
    pub fn series(path: PathBuf) -> Self {
        Self { path, end: Restriction::NoAccessToPrefix, secret: false }
    }

    /// The same file with an absolute path.
    ///
    /// # Errors
    ///
    /// The path is empty, or is relative and there is no working directory.
    pub fn absolute(self) -> io::Result<Self> {
        let path = std::path::absolute(&self.path).map_err(|error| {
            let path = self.path.display();
            io::Error::new(error.kind(), format!("the path `{path}` has no absolute form: {error}"))
        })?;
        Ok(Self { path, ..self })
    }

    /// The same file, which confined programs cannot read.
    #[must_use]
    pub fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    /// The same folder, which confined programs can only read.
    #[must_use]
    pub fn public(self) -> Self {
        Self { secret: false, ..self }
    }
}

/// The restriction on a name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Restriction {
    /// A file of the host is beneath the name: the directory of this name cannot be created, moved, replaced or
    /// removed.
    Ancestor,
    /// A file of the host has the name: it cannot be accessed.
    NoAccess,
    /// Like `NoAccess`, but for all names that begin with this name or with `.tmp`.
    NoAccessToPrefix,
}

/// The host's files beneath a directory.
#[derive(Debug, Default)]
struct FilesBeneath {
    /// The names in the directory, in folded case.
    names: Vec<(String, Restriction)>,
    /// Whether one of the files is secret.
    secret: bool,
}

/// The paths and identities of all files of the host.
#[derive(Debug, Default)]
struct AllHostFiles {
    /// The host's folders.
    folders: HashSet<Id>,
    /// Directories with files of the host beneath them.
    above: HashMap<Id, FilesBeneath>,
    /// The paths of all files and folders of the host. Links are resolved as far as the paths exist.
    paths: Vec<PathBuf>,
    /// The paths of single files, of series and of missing folders. A file at such a path is recognised by its
    /// identity, under any name.
    files: Vec<PathBuf>,
}

/// The host's files and folders. Clones share the data.
#[derive(Debug, Clone, Default)]
pub struct HostFiles(Arc<AllHostFiles>);

impl HostFiles {
    /// Finds the identities of these files. A file that does not exist yet is recognised by its name.
    pub fn new(all: impl IntoIterator<Item = HostFile>) -> Self {
        let (mut inner, mut seen) = (AllHostFiles::default(), HashMap::new());
        for own in all {
            inner.trace(&own, &mut seen);
        }
        Self(Arc::new(inner))
    }

    /// Whether both share the same data, and are not only equal.
    pub(crate) fn is_clone_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether a directory is one of the host's folders.
    pub(super) fn is_folder(&self, id: Id) -> bool {
        self.0.folders.contains(&id)
    }

    /// Whether files of the host are beneath a directory.
    pub(super) fn holds_file_beneath(&self, id: Id) -> bool {
        self.0.above.contains_key(&id)
    }

    /// Whether secret files of the host are beneath a directory.
    pub(super) fn holds_secret_beneath(&self, id: Id) -> bool {
        self.0.above.get(&id).is_some_and(|above| above.secret)
    }

    /// The restriction on a name in a directory.
    pub(super) fn restriction(&self, directory: Id, name: &OsStr) -> Option<Restriction> {
        let above = self.0.above.get(&directory)?;
        let name = fold(name);
        let mut found = None;
        for (own, restriction) in &above.names {
            let is_match = match restriction {
                Restriction::Ancestor | Restriction::NoAccess => name == *own,
                Restriction::NoAccessToPrefix => {
                    name.starts_with(own.as_str()) || name.starts_with(".tmp")
                }
            };
            match (is_match, restriction) {
                (true, Restriction::Ancestor) => found = Some(Restriction::Ancestor),
                (true, Restriction::NoAccess | Restriction::NoAccessToPrefix) => {
                    return Some(Restriction::NoAccess);
                }
                (false, _) => {}
            }
        }
        found
    }

    /// Whether an open file is one of the host's single files, under any name.
    pub(super) fn is_file(&self, id: Id) -> bool {
        self.0.files.iter().any(|path| Id::at(path).is_ok_and(|own| own == id))
    }

    /// Whether a path without links is a file of the host or in one of its folders.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let is_inside = |own: &PathBuf| beneath(own, path).is_some();
        let is_host_folder = |path: &Path| Id::at(path).is_ok_and(|id| self.is_folder(id));
        self.0.paths.iter().any(is_inside) || path.ancestors().any(is_host_folder)
    }
}

impl AllHostFiles {
    /// Walks the path of a host's file through all links, and records each name on the way. `seen` caches the type of
    /// the file at each path, because many of these paths have a common beginning.
    fn trace(&mut self, own: &HostFile, seen: &mut HashMap<PathBuf, Option<EntryType>>) {
        let mut look =
            |path: &Path| *seen.entry(path.to_owned()).or_insert_with(|| EntryType::at(path));
        let (mut at, mut todo) = (PathBuf::new(), VecDeque::new());
        push(&own.path, &mut at, &mut todo);
        let mut links = 0;
        while let Some(name) = todo.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let Some(EntryType::Directory(directory)) = look(&at) else { break };
            let here = at.join(&name);
            let found = look(&here);
            // A missing directory on the path cannot be accessed, because only the host may create it.
            let restriction = match (todo.is_empty(), found.is_some()) {
                (true, _) => own.end,
                (false, true) => Restriction::Ancestor,
                (false, false) => Restriction::NoAccess,
            };
            let above = self.above.entry(directory).or_default();
            above.secret |= own.secret;
            above.names.push((fold(&name), restriction));
            match found {
                Some(EntryType::Link) => {
                    links += 1;
                    let Ok(target) = std::fs::read_link(&here) else { break };
                    if links > MAX_LINKS {
                        break;
                    }
                    let rest = std::mem::take(&mut todo);
                    push(&target, &mut at, &mut todo);
                    todo.extend(rest);
                }
                Some(EntryType::Directory(_) | EntryType::File) => at = here,
                None => {
                    at = here;
                    break;
                }
            }
        }
        at.extend(todo);
        match look(&at) {
            Some(EntryType::Directory(id)) if own.end == Restriction::NoAccess => {
                self.folders.insert(id);
            }
            Some(_) | None => self.files.push(own.path.clone()),
        }
        self.paths.push(at);
    }
}

/// The type of the file at a path, without following a link.
#[derive(Debug, Clone, Copy)]
enum EntryType {
    Directory(Id),
    Link,
    File,
}

impl EntryType {
    fn at(path: &Path) -> Option<Self> {
        let found = std::fs::symlink_metadata(path).ok()?;
        if found.is_symlink() {
            return Some(Self::Link);
        }
        if !found.is_dir() {
            return Some(Self::File);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            Some(Self::Directory(Id { dev: found.dev(), ino: found.ino() }))
        }
        #[cfg(not(unix))]
        Id::at(path).ok().map(Self::Directory)
    }
}

/// Appends the names of a path to `todo`. If the path is absolute, `at` becomes its root.
fn push(path: &Path, at: &mut PathBuf, todo: &mut VecDeque<OsString>) {
    for part in path.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => at.push(part),
            Component::CurDir => {}
            Component::ParentDir => todo.push_back("..".into()),
            Component::Normal(name) => todo.push_back(name.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_above_a_host_file_are_restricted_also_before_it_exists() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        fs::create_dir(at.join(".config")).unwrap();
        let own = HostFiles::new([
            HostFile::folder(at.join(".config/portcullis")),
            HostFile::folder(at.join(".local/share/portcullis")),
            HostFile::series(at.join("audit.jsonl")),
        ]);
        let bar = |folder: &str, name: &str| {
            own.restriction(Id::at(&at.join(folder)).unwrap(), OsStr::new(name))
        };
        assert_eq!(bar("", ".config"), Some(Restriction::Ancestor));
        assert_eq!(bar(".config", "portcullis"), Some(Restriction::NoAccess));
        assert_eq!(bar(".config", "PortCulli\u{17f}"), Some(Restriction::NoAccess));
        assert_eq!(bar(".config", "portcullis2"), None);
        assert_eq!(
            bar("", ".LOCAL"),
            Some(Restriction::NoAccess),
            "the directory does not exist yet"
        );
        assert_eq!(bar("", "audit.jsonl.1"), Some(Restriction::NoAccess));
        assert_eq!(bar("", ".tmpAbCd"), Some(Restriction::NoAccess));
        assert_eq!(bar("", "other"), None);
        assert!(own.holds(&at.join(".config/portcullis/x")) && !own.holds(&at.join(".config")));
    }

    #[test]
    fn a_path_without_an_absolute_form_is_an_error_with_its_cause() {
        let error = HostFile::file(PathBuf::new()).absolute().unwrap_err();
        let cause = std::path::absolute("").unwrap_err();
        assert_eq!(error.kind(), cause.kind());
        assert!(error.to_string().ends_with(&cause.to_string()), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_above_a_host_file_is_restricted_and_so_is_its_target() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        fs::create_dir_all(at.join("dotfiles/config/portcullis")).unwrap();
        std::os::unix::fs::symlink("dotfiles/config", at.join(".config")).unwrap();
        let own = HostFiles::new([HostFile::folder(at.join(".config/portcullis"))]);
        let id = |path: &str| Id::at(&at.join(path)).unwrap();
        for name in [".config", "dotfiles"] {
            assert_eq!(
                own.restriction(id(""), OsStr::new(name)),
                Some(Restriction::Ancestor),
                "{name}"
            );
        }
        let bar = own.restriction(id("dotfiles/config"), OsStr::new("portcullis"));
        assert_eq!(bar, Some(Restriction::NoAccess));
        assert!(own.is_folder(id("dotfiles/config/portcullis")));
        assert!(own.holds_file_beneath(id("dotfiles")) && own.holds_secret_beneath(id("dotfiles")));
    }
}
