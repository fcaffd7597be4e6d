//! The journal of a group: what a process that was killed had begun, and how it is ended.
//!
//! One file a group, locked by the process that works on it, a line of JSON for each step. The last line
//! that is whole counts. It lies in a folder of the host: what a repository brings cannot pass for one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use portcullis_checked_files::{create_private_folder, lock};
use serde::{Deserialize, Serialize};

use crate::disk::Id;
use crate::group::{Group, Record};
use crate::plan::Folder;

/// How the names of journals end.
const ENDING: &str = "journal";

/// A journal that this process holds.
pub struct Journal {
    path: PathBuf,
    file: File,
}

/// One step of a group.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// From here on there may be files under these hidden names.
    Begin {
        /// The directories that they are in.
        folders: Vec<Place>,
        /// The number of the directory, and the name.
        hidden: Vec<(usize, String)>,
    },
    /// Everything is written; the names are being given.
    Commit(Vec<Record>),
    /// They are being taken back.
    Undo,
    /// They are given. What was replaced can go.
    Done,
}

/// A directory, and the number it had.
#[derive(Serialize, Deserialize)]
pub struct Place {
    path: PathBuf,
    inode: u64,
}

impl Line {
    /// The step at which everything is written.
    pub fn commit(group: &Group) -> Self {
        Self::Commit(group.records.clone())
    }
}

impl Journal {
    /// Begins the journal of a group. Its number must be random.
    pub fn begin(folder: &Path, number: u64, group: &Group) -> io::Result<Self> {
        create_private_folder(folder)?;
        let path = folder.join(format!("{number:016x}.{ENDING}"));
        let file = {
            // Nobody takes it for that of a dead process between its making and its locking.
            let _folder = lock(&folder.join(".lock"))?;
            let file = File::options().append(true).create_new(true).open(&path)?;
            file.lock()?;
            file
        };
        let mut journal = Self { path, file };
        let folders = group.folders.iter().flatten();
        let folders =
            folders.map(|folder| Place { path: folder.path.clone(), inode: folder.inode });
        let line = Line::Begin { folders: folders.collect(), hidden: group.hidden.clone() };
        let begun = journal.add(&line).and_then(|()| sync_folder(folder));
        if let Err(error) = begun {
            journal.end();
            return Err(error);
        }
        Ok(journal)
    }

    /// Writes a step to the disk itself.
    pub fn add(&mut self, line: &Line) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        #[cfg(test)]
        crate::fault::step()?;
        self.file.write_all(&bytes)?;
        #[cfg(test)]
        crate::fault::step()?;
        self.file.sync_data()
    }

    /// Forgets it: there is nothing to be finished or undone.
    #[expect(clippy::disallowed_methods, reason = "journals are this crate's own files")]
    pub fn end(self) {
        // If it stays, the next start finds nothing to do.
        let _left = std::fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Finishes or undoes what processes that are gone had begun, by the journals in this folder. Answers what
/// the operator may want to know, a line each. Journals that a process works on are left to it.
pub fn recover(folder: &Path) -> Vec<String> {
    match journals(folder) {
        Ok(journals) if journals.is_empty() => Vec::new(),
        Ok(journals) => {
            let _folder = lock(&folder.join(".lock"));
            journals.into_iter().filter_map(|path| recover_one(&path)).collect()
        }
        Err(error) => vec![format!("cannot read the journals in `{}`: {error}", folder.display())],
    }
}

#[expect(clippy::disallowed_methods, reason = "journals are this crate's own files")]
fn journals(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|ending| ending == ENDING);
    Ok(paths.into_iter().filter(is_journal).collect())
}

fn recover_one(path: &Path) -> Option<String> {
    let unread = |why: String| Some(format!("the journal `{}` is left: {why}", path.display()));
    let mut file = match File::options().read(true).append(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return unread(error.to_string()),
    };
    if file.try_lock().is_err() {
        return None;
    }
    let mut text = String::new();
    if let Err(error) = file.read_to_string(&mut text) {
        return unread(error.to_string());
    }
    let mut journal = Journal { path: path.to_owned(), file };
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let mut lines = Vec::new();
    for line in whole {
        match serde_json::from_str(line) {
            Ok(line) => lines.push(line),
            Err(error) => return unread(format!("it is of another version: {error}")),
        }
    }
    let mut lines = lines.into_iter();
    let Some(Line::Begin { folders, hidden }) = lines.next() else {
        journal.end();
        return None;
    };
    let folders: Vec<_> = folders.iter().map(|place| (place.path.clone(), open(place))).collect();
    let names: Vec<_> = folders.iter().map(|(path, _)| path.display().to_string()).collect();
    let folders = folders.into_iter().map(|(_, folder)| folder).collect();
    let mut group = Group { folders, hidden, records: Vec::new() };
    let mut last = Line::Done;
    for line in lines {
        match line {
            Line::Commit(records) => {
                group.records = records;
                last = Line::Commit(Vec::new());
            }
            line @ (Line::Begin { .. } | Line::Undo | Line::Done) => last = line,
        }
    }
    let outcome = finish(&group, last, &mut journal);
    if group.clean() {
        journal.end();
    }
    Some(format!("changes to files in {} that were interrupted {outcome}", names.join(", ")))
}

/// Ends what was begun. Answers what came of it.
fn finish(group: &Group, last: Line, journal: &mut Journal) -> String {
    let error = match last {
        Line::Commit(_) => match group.forward() {
            Ok(()) => {
                group.sync();
                let _unwritten = journal.add(&Line::Done);
                return "have been finished".to_owned();
            }
            Err(error) => Some(error),
        },
        Line::Undo => None,
        Line::Begin { .. } => return "left nothing".to_owned(),
        Line::Done if group.records.is_empty() => return "have been dropped".to_owned(),
        Line::Done => return "are complete".to_owned(),
    };
    let _unwritten = journal.add(&Line::Undo);
    let left = group.back();
    let why = error.map(|error| format!(", as {error}")).unwrap_or_default();
    if left.is_empty() {
        return format!("have been undone{why}");
    }
    let left: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
    format!("have been undone{why}, except these, which were changed since: {}", left.join(", "))
}

/// A directory that is still the same one.
fn open(place: &Place) -> Option<Folder> {
    let dir = Dir::open_ambient_dir(&place.path, ambient_authority()).ok()?;
    let inode = Id::at(&dir, ".").ok()??.inode;
    (inode == place.inode).then(|| Folder { path: place.path.clone(), dir, inode })
}
