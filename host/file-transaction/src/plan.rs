//! What is there before anything is written: which files are new, which replace another, and which
//! directories are missing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;
use portcullis_roots::{Guard, OpenHow, Opened};

use crate::disk::{Id, absent};
use crate::{Change, Error, Expected};

/// A group of changes that could be made, as far as can be seen.
pub struct Plan {
    pub(crate) folders: Vec<Folder>,
    pub(crate) entries: Vec<Entry>,
    /// The directories that are there, by their paths.
    pub(crate) known: HashMap<PathBuf, usize>,
}

/// A directory that is there and gets new names.
pub(crate) struct Folder {
    pub path: PathBuf,
    pub dir: Dir,
    pub inode: u64,
}

/// One new name in a directory that is there.
pub(crate) struct Entry {
    /// Which of the plan's.
    pub folder: usize,
    pub name: String,
    pub what: What,
}

pub(crate) enum What {
    /// A file where none is.
    File(Vec<u8>),
    /// A file in the place of another one, which is open.
    Instead(Vec<u8>, File, Id),
    /// A directory with these files, by their paths in it, with `/`.
    Tree(BTreeMap<String, Vec<u8>>),
}

impl Plan {
    /// Looks at what is there. Nothing is written yet.
    ///
    /// # Errors
    ///
    /// Where something else is there than expected, where one path lies beneath another, or where it
    /// cannot be looked at.
    pub fn new(mut changes: Vec<Change>) -> Result<Self, Error> {
        changes.sort_by_cached_key(Change::whole);
        for pair in changes.windows(2) {
            let (first, second) = (pair[0].whole(), pair[1].whole());
            if second.starts_with(&first) {
                let (first, second) = (first.display(), second.display());
                return Err(Error::Other(format!(
                    "`{second}` cannot be written beside `{first}`: both lead to the same file, or one \
                     would have to be a directory"
                )));
            }
        }
        let mut plan = Self { folders: Vec::new(), entries: Vec::new(), known: HashMap::new() };
        changes.into_iter().try_for_each(|change| plan.add(change))?;
        Ok(plan)
    }

    /// How many directories will be made.
    pub fn new_directories(&self) -> usize {
        let count = |entry: &Entry| match &entry.what {
            What::File(_) | What::Instead(..) => 0,
            What::Tree(files) => 1 + directories(files).len(),
        };
        self.entries.iter().map(count).sum()
    }

    fn add(&mut self, change: Change) -> Result<(), Error> {
        let whole = change.whole();
        let mut names = Vec::new();
        for part in change.path.components() {
            match (part, part.as_os_str().to_str()) {
                (Component::Normal(_), Some(name)) => names.push(name.to_owned()),
                _ => {
                    let path = whole.display();
                    return Err(Error::Other(format!("`{path}` is not a plain path")));
                }
            }
        }
        let Some((last, parents)) = names.split_last() else {
            return Err(Error::Other(format!("`{}` is the directory itself", whole.display())));
        };
        let failed = |error: io::Error| {
            Error::Other(format!("cannot open the directory of `{}`: {error}", whole.display()))
        };
        let mut dir = change.base.try_clone().map_err(failed)?;
        let mut guard = change.guard.clone();
        let mut path = change.base_path;
        for (index, name) in parents.iter().enumerate() {
            // From the base each time: a link may lead to anywhere beneath that.
            let inner = parents[..=index].iter().collect::<PathBuf>();
            match absent(open_dir(&change.base, &change.guard, &inner)).map_err(failed)? {
                Some(_) if change.expected.is_new(&path.join(name)) => {
                    return Err(Error::Exists(path.join(name)));
                }
                Some(inner) => (dir, guard) = inner,
                None if matches!(change.expected, Expected::File(_)) => {
                    return Err(Error::Unexpected(whole, "is not there".to_owned()));
                }
                None if Id::at(&dir, name).map_err(failed)?.is_some() => {
                    return Err(Error::Unexpected(path.join(name), "is a link to nothing".into()));
                }
                None => {
                    may_change(&dir, &guard, name).map_err(failed)?;
                    let rest = [&parents[index + 1..], std::slice::from_ref(last)].concat();
                    let folder = self.folder(path, dir).map_err(failed)?;
                    self.tree(folder, name).insert(rest.join("/"), change.contents);
                    return Ok(());
                }
            }
            path.push(name);
        }
        may_change(&dir, &guard, last).map_err(failed)?;
        let what = look(&dir, &guard, last, &whole, change.expected, change.contents)?;
        let folder = self.folder(path, dir).map_err(failed)?;
        self.entries.push(Entry { folder, name: last.clone(), what });
        Ok(())
    }

    fn folder(&mut self, path: PathBuf, dir: Dir) -> io::Result<usize> {
        if let Some(known) = self.known.get(&path) {
            return Ok(*known);
        }
        self.known.insert(path.clone(), self.folders.len());
        let inode = Id::at(&dir, ".")?.map_or(0, |id| id.inode);
        self.folders.push(Folder { path, dir, inode });
        Ok(self.folders.len() - 1)
    }

    /// The files of a directory that will be made.
    fn tree(&mut self, folder: usize, name: &str) -> &mut BTreeMap<String, Vec<u8>> {
        // The paths are sorted: if there is one, it is the last.
        let is_it = |entry: &Entry| entry.folder == folder && entry.name == name;
        if !self.entries.last().is_some_and(is_it) {
            let what = What::Tree(BTreeMap::new());
            self.entries.push(Entry { folder, name: name.to_owned(), what });
        }
        match self.entries.last_mut().map(|entry| &mut entry.what) {
            Some(What::Tree(files)) => files,
            _ => unreachable!("no path lies beneath another"),
        }
    }
}

impl Expected {
    /// Whether this directory must not be there.
    fn is_new(&self, directory: &Path) -> bool {
        matches!(self, Self::NewDirectory(new) if new == directory)
    }
}

impl Change {
    fn whole(&self) -> PathBuf {
        self.base_path.join(&self.path)
    }
}

/// The directories that these files are in, outermost first.
pub(crate) fn directories(files: &BTreeMap<String, Vec<u8>>) -> BTreeSet<&Path> {
    let above = |path| Path::new(path).ancestors().skip(1);
    files.keys().flat_map(above).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// Opens a directory beneath another one, with the guard that counts beneath the opened directory.
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
    place.map_or(Ok(()), |place| place.may_change())
}

/// What is to be done for a file whose directory is there.
fn look(
    dir: &Dir,
    guard: &Guard,
    name: &str,
    whole: &Path,
    expected: Expected,
    contents: Vec<u8>,
) -> Result<What, Error> {
    let failed =
        |error: io::Error| Error::Other(format!("cannot look at `{}`: {error}", whole.display()));
    let unexpected = |why: &str| Err(Error::Unexpected(whole.to_owned(), why.to_owned()));
    let Some(found) = absent(dir.symlink_metadata(name)).map_err(failed)? else {
        return match expected {
            Expected::File(_) => unexpected("is not there"),
            Expected::Nothing | Expected::NewDirectory(_) | Expected::Anything => {
                Ok(What::File(contents))
            }
        };
    };
    let digest = match expected {
        Expected::Nothing | Expected::NewDirectory(_) => {
            return Err(Error::Exists(whole.to_owned()));
        }
        Expected::File(digest) => digest,
        Expected::Anything => None,
    };
    if found.is_symlink() {
        return unexpected("is a link, which is not replaced by a file");
    }
    let how = OpenHow { write: true, nofollow: true, ..OpenHow::default() };
    let directory = dir.try_clone().map_err(failed)?.into_std_file();
    let file = match guard.open(&directory, Path::new(name), how) {
        Ok((Opened::File(file), _)) => file,
        Ok((Opened::Directory(_) | Opened::Special, _)) => {
            return unexpected("is not a regular file");
        }
        Err(error) => {
            return Err(Error::Other(format!("cannot write `{}`: {error}", whole.display())));
        }
    };
    if let Some(why) = forbids_replacing(&file).map_err(failed)? {
        return unexpected(why);
    }
    // What is written to it from here on shows in the time of its last change.
    let id = Id::of(&file).map_err(failed)?;
    if let Some(digest) = digest
        && portcullis_checked_files::digest_of(&file).map_err(failed)? != digest
    {
        return unexpected("was changed by somebody else in the meantime");
    }
    Ok(What::Instead(contents, file, id))
}

/// Why an open file is not to be replaced, if there is a reason.
#[cfg(unix)]
fn forbids_replacing(file: &File) -> io::Result<Option<&'static str>> {
    use std::os::unix::fs::MetadataExt;
    let found = file.metadata()?;
    Ok(match (found.nlink(), found.mode() & 0o222) {
        // The administrator could open it all the same.
        (_, 0) => Some("is read-only"),
        (0 | 1, _) => None,
        _ => Some("has several names (hard links), which would no longer be one file"),
    })
}

#[cfg(not(unix))]
fn forbids_replacing(file: &File) -> io::Result<Option<&'static str>> {
    Ok(file.metadata()?.permissions().readonly().then_some("is read-only"))
}
