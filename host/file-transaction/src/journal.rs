//! The journal of a transaction. After a process was killed, a later process reads the journal, and completes or undoes
//! the transaction.
//!
//! A journal is one file with a line of JSON for each step. The process that works on the journal locks the file. The
//! last complete line says which step was reached. Journals are in a folder of the host, so that a file in a repository
//! cannot pass for a journal.

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

/// The extension of journals.
const EXTENSION: &str = "journal";

/// A journal that this process holds.
pub struct Journal {
    path: PathBuf,
    file: File,
}

/// One step of a transaction.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// Files with these hidden names may exist from here on.
    Begin {
        /// The directories of these files.
        folders: Vec<Directory>,
        /// The hidden names, each with the index of its directory.
        hidden: Vec<(usize, String)>,
    },
    /// All files are written. From here on they get their names.
    Commit(Vec<Record>),
    /// From here on the previous names are restored.
    Undo,
    /// All files have their names. Replaced files can be removed.
    Done,
}

/// A directory and its inode.
#[derive(Serialize, Deserialize)]
pub struct Directory {
    path: PathBuf,
    inode: u64,
}

impl Line {
    /// The step that records that all files are written.
    pub fn commit(group: &Group) -> Self {
        Self::Commit(group.records.clone())
    }
}

impl Journal {
    /// Begins the journal of a transaction. `number` must be random.
    pub fn begin(folder: &Path, number: u64, group: &Group) -> io::Result<Self> {
        create_private_folder(folder)?;
        let path = folder.join(format!("{number:016x}.{EXTENSION}"));
        let file = {
            // The folder is locked meanwhile, because until the new file is locked, another process could take the file
            // for the journal of a killed process.
            let _folder = lock(&folder.join(".lock"))?;
            let file = File::options().append(true).create_new(true).open(&path)?;
            file.lock()?;
            file
        };
        let mut journal = Self { path, file };
        let folders = group.folders.iter().flatten();
        let folders =
            folders.map(|folder| Directory { path: folder.path.clone(), inode: folder.inode });
        let line = Line::Begin { folders: folders.collect(), hidden: group.hidden.clone() };
        let begun = journal.add(&line).and_then(|()| sync_folder(folder));
        if let Err(error) = begun {
            journal.end();
            return Err(error);
        }
        Ok(journal)
    }

    /// Appends a step and flushes it to the disk.
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

    /// The path of the journal.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal, once nothing of its transaction is left to complete or undo.
    #[expect(clippy::disallowed_methods, reason = "journals are this crate's own files")]
    pub fn end(self) {
        // If the journal cannot be removed, the next recovery finds nothing to do.
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

/// Completes or undoes the transactions of killed processes, from the journals in this folder. Returns a message for
/// the operator for each such transaction, and for each journal that cannot be used. Journals of running processes
/// are skipped.
pub fn recover(folder: &Path) -> Vec<String> {
    match list_journals(folder) {
        Ok(journals) if journals.is_empty() => Vec::new(),
        Ok(journals) => {
            // Without the lock, another process could recover the same journals at once.
            let _folder = match lock(&folder.join(".lock")) {
                Ok(lock) => lock,
                Err(error) => {
                    return vec![format!(
                        "the journals in `{}` are left as they are: cannot lock the folder: {error}",
                        folder.display()
                    )];
                }
            };
            journals.into_iter().filter_map(|path| recover_one(&path)).collect()
        }
        Err(error) => vec![format!("cannot read the journals in `{}`: {error}", folder.display())],
    }
}

#[expect(clippy::disallowed_methods, reason = "journals are this crate's own files")]
fn list_journals(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|ending| ending == EXTENSION);
    Ok(paths.into_iter().filter(is_journal).collect())
}

fn recover_one(path: &Path) -> Option<String> {
    let unusable =
        |why: String| Some(format!("the journal `{}` cannot be used: {why}", path.display()));
    let mut file = match File::options().read(true).append(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return unusable(error.to_string()),
    };
    if file.try_lock().is_err() {
        return None;
    }
    let mut text = String::new();
    if let Err(error) = file.read_to_string(&mut text) {
        return unusable(error.to_string());
    }
    let mut journal = Journal { path: path.to_owned(), file };
    let complete_lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let mut lines = Vec::new();
    for line in complete_lines {
        match serde_json::from_str(line) {
            Ok(line) => lines.push(line),
            Err(error) => return unusable(format!("it was written by another version: {error}")),
        }
    }
    let mut lines = lines.into_iter();
    let Some(Line::Begin { folders, hidden }) = lines.next() else {
        journal.end();
        return None;
    };
    let folders: Vec<_> =
        folders.iter().map(|directory| (directory.path.clone(), open(directory))).collect();
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
    Some(format!("interrupted changes to files in {} {outcome}", names.join(", ")))
}

/// Completes or undoes the changes. Returns the outcome, as the end of a sentence for the operator.
fn finish(group: &Group, last: Line, journal: &mut Journal) -> String {
    let error = match last {
        Line::Commit(_) => match group.complete() {
            Ok(()) => {
                group.sync();
                let _unwritten = journal.add(&Line::Done);
                return "have been completed".to_owned();
            }
            Err(error) => Some(error),
        },
        Line::Undo => None,
        Line::Begin { .. } => return "left nothing behind".to_owned(),
        Line::Done if group.records.is_empty() => return "have been dropped".to_owned(),
        Line::Done => return "are complete".to_owned(),
    };
    let _unwritten = journal.add(&Line::Undo);
    let not_undone = group.undo();
    let why = error
        .map(|error| format!(" ({})", portcullis_sanitize::error_chain(&error)))
        .unwrap_or_default();
    if not_undone.is_empty() {
        return format!("have been undone{why}");
    }
    let not_undone: Vec<_> = not_undone.iter().map(|path| path.display().to_string()).collect();
    format!(
        "have been undone{why}, except in these files, which were changed since: {}",
        not_undone.join(", ")
    )
}

/// Opens a directory. `None`: the directory cannot be opened or has another inode.
fn open(directory: &Directory) -> Option<Folder> {
    let dir = Dir::open_ambient_dir(&directory.path, ambient_authority()).ok()?;
    let inode = Id::at(&dir, ".").ok()??.inode;
    (inode == directory.inode).then(|| Folder { path: directory.path.clone(), dir, inode })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_lock_no_journal_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("a.journal");
        std::fs::write(&journal, "").unwrap();
        std::fs::create_dir(folder.path().join(".lock")).unwrap();
        let remarks = recover(folder.path());
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].contains("are left as they are: cannot lock the folder"), "{remarks:?}");
        assert!(journal.exists());
    }
}
