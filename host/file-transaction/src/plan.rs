//! Plans a transaction before anything is written: which files are new, which replace another file, and which
//! directories are missing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;
use portcullis_roots::{Guard, OpenHow, Opened};

use crate::disk::{Id, absent};
use crate::{Change, Expected, Obstacle, TransactionError};

/// A group of changes that were checked against the files on the disk.
pub struct Plan {
    pub(crate) folders: Vec<Folder>,
    pub(crate) entries: Vec<Entry>,
    /// The indexes of the existing directories, by their paths.
    pub(crate) known: HashMap<PathBuf, usize>,
}

/// An existing directory in which names change.
pub(crate) struct Folder {
    pub path: PathBuf,
    pub dir: Dir,
    pub inode: u64,
}

/// The change of one name in an existing directory.
pub(crate) struct Entry {
    /// The index of the directory in the plan.
    pub folder: usize,
    pub name: String,
    pub what: NewContent,
}

/// The new contents of a name.
pub(crate) enum NewContent {
    /// A new file.
    File(Vec<u8>),
    /// A file that replaces another file: the new contents, the open old file, and the identity of the old file.
    Instead(Vec<u8>, File, Id),
    /// A new directory with these files, by their paths in the directory, with `/` between names.
    Tree(BTreeMap<String, Vec<u8>>),
}

impl Plan {
    /// Checks the changes against the files on the disk. Nothing is written yet.
    ///
    /// # Errors
    ///
    /// A path is not plain, names its base, or belongs to the host. Two paths are equal, or one is beneath the other. A
    /// file is not as expected. The disk fails.
    pub fn new(mut changes: Vec<Change>) -> Result<Self, TransactionError> {
        changes.sort_by_cached_key(Change::full_path);
        for pair in changes.windows(2) {
            let (first, second) = (pair[0].full_path(), pair[1].full_path());
            if second.starts_with(&first) {
                return Err(TransactionError::Overlap { first, second });
            }
        }
        let mut plan = Self { folders: Vec::new(), entries: Vec::new(), known: HashMap::new() };
        changes.into_iter().try_for_each(|change| plan.add(change))?;
        Ok(plan)
    }

    /// The number of directories that will be made.
    pub fn new_directories(&self) -> usize {
        let count = |entry: &Entry| match &entry.what {
            NewContent::File(_) | NewContent::Instead(..) => 0,
            NewContent::Tree(files) => 1 + directories(files).len(),
        };
        self.entries.iter().map(count).sum()
    }

    fn add(&mut self, change: Change) -> Result<(), TransactionError> {
        let full_path = change.full_path();
        let mut names = Vec::new();
        for part in change.path.components() {
            match (part, part.as_os_str().to_str()) {
                (Component::Normal(_), Some(name)) => names.push(name.to_owned()),
                _ => return Err(TransactionError::NotPlain(full_path)),
            }
        }
        let Some((last, parents)) = names.split_last() else {
            return Err(TransactionError::IsBase(full_path));
        };
        let failed = TransactionError::disk("open the directory of", &full_path);
        let mut dir = change.base.try_clone().map_err(&failed)?;
        let mut guard = change.guard.clone();
        let mut path = change.base_path;
        for (index, name) in parents.iter().enumerate() {
            // Each directory is opened from the base and not from its parent, because a symbolic link may lead to any
            // place beneath the base.
            let inner = parents[..=index].iter().collect::<PathBuf>();
            match absent(open_dir(&change.base, &change.guard, &inner)).map_err(&failed)? {
                Some(_) if change.expected.is_new(&path.join(name)) => {
                    return Err(TransactionError::Exists(path.join(name)));
                }
                Some(inner) => (dir, guard) = inner,
                None if matches!(change.expected, Expected::File(_)) => {
                    return Err(TransactionError::Unexpected(full_path, Obstacle::Missing));
                }
                None if Id::at(&dir, name).map_err(&failed)?.is_some() => {
                    return Err(TransactionError::Unexpected(
                        path.join(name),
                        Obstacle::DanglingLink,
                    ));
                }
                None => {
                    may_change(&dir, &guard, name).map_err(&failed)?;
                    let rest = [&parents[index + 1..], std::slice::from_ref(last)].concat();
                    let folder = self.add_folder(path, dir).map_err(&failed)?;
                    self.tree_files(folder, name).insert(rest.join("/"), change.contents);
                    return Ok(());
                }
            }
            path.push(name);
        }
        may_change(&dir, &guard, last).map_err(&failed)?;
        let what = plan_file(&dir, &guard, last, &full_path, change.expected, change.contents)?;
        let folder = self.add_folder(path, dir).map_err(&failed)?;
        self.entries.push(Entry { folder, name: last.clone(), what });
        Ok(())
    }

    fn add_folder(&mut self, path: PathBuf, dir: Dir) -> io::Result<usize> {
        if let Some(known) = self.known.get(&path) {
            return Ok(*known);
        }
        self.known.insert(path.clone(), self.folders.len());
        let inode = Id::at(&dir, ".")?.map_or(0, |id| id.inode);
        self.folders.push(Folder { path, dir, inode });
        Ok(self.folders.len() - 1)
    }

    /// The files of a directory that will be made. Adds the directory to the plan if the plan does not contain it.
    fn tree_files(&mut self, folder: usize, name: &str) -> &mut BTreeMap<String, Vec<u8>> {
        // The changes are sorted by path: if the directory has an entry, that entry is the last one.
        let is_directory = |entry: &Entry| entry.folder == folder && entry.name == name;
        if !self.entries.last().is_some_and(is_directory) {
            let what = NewContent::Tree(BTreeMap::new());
            self.entries.push(Entry { folder, name: name.to_owned(), what });
        }
        match self.entries.last_mut().map(|entry| &mut entry.what) {
            Some(NewContent::Tree(files)) => files,
            _ => unreachable!("no path lies beneath another"),
        }
    }
}

impl Expected {
    /// Whether this directory must not exist yet.
    fn is_new(&self, directory: &Path) -> bool {
        matches!(self, Self::NewDirectory(new) if new == directory)
    }
}

impl Change {
    fn full_path(&self) -> PathBuf {
        self.base_path.join(&self.path)
    }
}

/// The directories that these files are in, outermost first.
pub(crate) fn directories(files: &BTreeMap<String, Vec<u8>>) -> BTreeSet<&Path> {
    let above = |path| Path::new(path).ancestors().skip(1);
    files.keys().flat_map(above).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// Opens a directory beneath another one. Returns it with its guard.
fn open_dir(base: &Dir, guard: &Guard, path: &Path) -> io::Result<(Dir, Guard)> {
    let base = base.try_clone()?.into_std_file();
    match guard.open(&base, path, OpenHow::default())? {
        (Opened::Directory(dir), guard) => Ok((Dir::from_std_file(dir), guard)),
        (Opened::File(_) | Opened::Special, _) => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Refuses to make or replace a name that belongs to the host.
fn may_change(dir: &Dir, guard: &Guard, name: &str) -> io::Result<()> {
    let dir = dir.try_clone()?.into_std_file();
    let place = guard.place(&dir, Path::new(name), false)?;
    place.map_or(Ok(()), |place| place.check_change())
}

/// Plans the change of a file whose directory exists.
fn plan_file(
    dir: &Dir,
    guard: &Guard,
    name: &str,
    full_path: &Path,
    expected: Expected,
    contents: Vec<u8>,
) -> Result<NewContent, TransactionError> {
    let failed = TransactionError::disk("look at", full_path);
    let unexpected = |obstacle| Err(TransactionError::Unexpected(full_path.to_owned(), obstacle));
    let Some(found) = absent(dir.symlink_metadata(name)).map_err(&failed)? else {
        return match expected {
            Expected::File(_) => unexpected(Obstacle::Missing),
            Expected::Nothing | Expected::NewDirectory(_) | Expected::Anything => {
                Ok(NewContent::File(contents))
            }
        };
    };
    let digest = match expected {
        Expected::Nothing | Expected::NewDirectory(_) => {
            return Err(TransactionError::Exists(full_path.to_owned()));
        }
        Expected::File(digest) => digest,
        Expected::Anything => None,
    };
    if found.is_symlink() {
        return unexpected(Obstacle::Link);
    }
    let how = OpenHow { write: true, nofollow: true, ..OpenHow::default() };
    let directory = dir.try_clone().map_err(&failed)?.into_std_file();
    let file = match guard.open(&directory, Path::new(name), how) {
        Ok((Opened::File(file), _)) => file,
        Ok((Opened::Directory(_) | Opened::Special, _)) => {
            return unexpected(Obstacle::NotRegular);
        }
        Err(error) => return Err(TransactionError::disk("write", full_path)(error)),
    };
    if let Some(obstacle) = forbids_replacing(&file).map_err(&failed)? {
        return unexpected(obstacle);
    }
    // The identity is taken before the contents are checked: a later write changes the identity, and `Group::complete`
    // notices it.
    let id = Id::of(&file).map_err(&failed)?;
    if let Some(digest) = digest
        && portcullis_checked_files::digest_of(&file).map_err(&failed)? != digest
    {
        return unexpected(Obstacle::Changed);
    }
    Ok(NewContent::Instead(contents, file, id))
}

/// Why an open file must not be replaced. `None`: it may be replaced.
#[cfg(unix)]
fn forbids_replacing(file: &File) -> io::Result<Option<Obstacle>> {
    use std::os::unix::fs::MetadataExt;
    let found = file.metadata()?;
    Ok(match (found.nlink(), found.mode() & 0o222) {
        // The mode is checked, because the superuser can open a file for writing although its mode forbids writing.
        (_, 0) => Some(Obstacle::ReadOnly),
        (0 | 1, _) => None,
        _ => Some(Obstacle::HardLinks),
    })
}

#[cfg(not(unix))]
fn forbids_replacing(file: &File) -> io::Result<Option<Obstacle>> {
    Ok(file.metadata()?.permissions().readonly().then_some(Obstacle::ReadOnly))
}
