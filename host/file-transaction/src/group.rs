//! Completes a staged group of changes by giving each file its name, or undoes the group by restoring the previous
//! files. After an interruption at any step, completing or undoing can start again, because the files on the disk show
//! what was done.

use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use crate::disk::{Id, absent, exchange, rename_new, sync};
use crate::plan::Folder;
use crate::{Obstacle, TransactionError};

/// All changes of a transaction.
pub struct Group {
    /// The directories in which names change. `None`: the directory no longer exists.
    pub folders: Vec<Option<Folder>>,
    /// The hidden names that may exist, each with the index of its directory.
    pub hidden: Vec<(usize, String)>,
    /// The files and directories under hidden names, once all are written.
    pub records: Vec<Record>,
}

/// One file or directory of the group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The index of the directory in `Group::folders`.
    pub folder: usize,
    /// The name that the file or directory gets.
    pub name: String,
    /// The hidden name that the file or directory has until it gets `name`.
    pub hidden: String,
    /// The identity of the file or directory under the hidden name.
    pub staged: Id,
    /// The identity of the file that is replaced. `None`: no file may have the name yet.
    pub old: Option<Id>,
    /// The contents of a new directory, with each inner directory before its own contents. Empty for a file.
    pub made: Vec<CreatedEntry>,
}

/// A file or directory inside a new directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatedEntry {
    /// The path in the new directory.
    pub path: String,
    /// The identity of a file. `None`: a directory.
    pub file: Option<Id>,
}

impl Record {
    /// The name that the replaced file gets if the file system cannot exchange names.
    fn backup(&self) -> String {
        backup_of(&self.hidden)
    }
}

fn backup_of(hidden: &str) -> String {
    format!("{hidden}-old")
}

impl Group {
    /// Gives each file and directory its name, unless it has this name already.
    ///
    /// # Errors
    ///
    /// A name cannot be given. Other names may have been given.
    pub fn complete(&self) -> Result<(), TransactionError> {
        self.records.iter().try_for_each(|record| self.give_name(record))
    }

    fn give_name(&self, record: &Record) -> Result<(), TransactionError> {
        let Some(folder) = &self.folders[record.folder] else {
            return Err(TransactionError::DirectoryGone(record.name.clone().into()));
        };
        let full_path = folder.path.join(&record.name);
        let failed = TransactionError::disk("write", &full_path);
        let current = Id::at(&folder.dir, &record.name).map_err(&failed)?;
        if current.is_some_and(|current| current.inode == record.staged.inode) {
            return Ok(());
        }
        let Some(old) = record.old else {
            return match rename_new(&folder.dir, &record.hidden, &record.name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(TransactionError::Exists(full_path))
                }
                done => done.map_err(failed),
            };
        };
        let changed = || Err(TransactionError::Unexpected(full_path.clone(), Obstacle::Changed));
        if current != Some(old) {
            return changed();
        }
        exchange(&folder.dir, &record.hidden, &record.name, &record.backup()).map_err(&failed)?;
        // Another program may have replaced the file after `current` was read, so check which file was replaced.
        let replaced = self.replaced(record).map_err(&failed)?.map(|(_, id)| id);
        if replaced == Some(old) { Ok(()) } else { changed() }
    }

    /// The file that was replaced: the name that it has now, and its identity. `None`: no such file is left.
    fn replaced(&self, record: &Record) -> io::Result<Option<(String, Id)>> {
        let Some(folder) = &self.folders[record.folder] else { return Ok(None) };
        for name in [record.backup(), record.hidden.clone()] {
            if let Some(id) = Id::at(&folder.dir, &name)?
                && id.inode != record.staged.inode
            {
                return Ok(Some((name, id)));
            }
        }
        Ok(None)
    }

    /// Restores every name. Files that another program has changed in the meantime stay. Returns the paths that could
    /// not be restored, without those in directories that no longer exist.
    pub fn undo(&self) -> Vec<PathBuf> {
        let mut not_restored = Vec::new();
        for record in self.records.iter().rev() {
            let Some(folder) = &self.folders[record.folder] else { continue };
            if self.undo_one(&folder.dir, record).is_err() {
                not_restored.push(folder.path.join(&record.name));
            }
        }
        not_restored
    }

    fn undo_one(&self, dir: &Dir, record: &Record) -> io::Result<()> {
        let Some(current) = Id::at(dir, &record.name)? else { return Ok(()) };
        if current.inode != record.staged.inode {
            return Ok(());
        }
        #[cfg(test)]
        crate::fault::step()?;
        if record.old.is_some() {
            let Some((name, _)) = self.replaced(record)? else { return Ok(()) };
            return match current == record.staged {
                // The old file is complete, so one rename restores it in the place of the new file.
                true => dir.rename(name, dir, &record.name),
                false => Err(io::ErrorKind::ResourceBusy.into()),
            };
        }
        if record.made.is_empty() {
            return match current == record.staged {
                true => dir.remove_file(&record.name),
                false => Err(io::ErrorKind::ResourceBusy.into()),
            };
        }
        remove_made(dir, record)
    }

    /// Flushes the directories to the disk.
    pub fn sync(&self) {
        for folder in self.folders.iter().flatten() {
            // If flushing fails, the new names are in place nevertheless, and the system writes them to the disk later.
            let _unsynced = sync(&folder.dir);
        }
    }

    /// Removes everything with a hidden name. Returns whether nothing is left in the directories that still exist.
    pub fn clean(&self) -> bool {
        let mut is_clean = true;
        for (folder, name) in &self.hidden {
            let Some(Folder { dir, .. }) = &self.folders[*folder] else { continue };
            for name in [name.clone(), backup_of(name)] {
                is_clean &= remove(dir, &name).is_ok();
            }
        }
        is_clean
    }
}

/// Removes the contents of a new directory, unless another program changed them, and then the directory. Fails if
/// anything is left in the directory.
fn remove_made(dir: &Dir, record: &Record) -> io::Result<()> {
    let top = dir.open_dir(&record.name)?;
    for made in record.made.iter().rev() {
        #[cfg(test)]
        crate::fault::step()?;
        match made.file {
            Some(file) if Id::at(&top, &made.path)? == Some(file) => top.remove_file(&made.path)?,
            Some(_) => {}
            None => match top.remove_dir(&made.path) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                done => absent(done).map(drop)?,
            },
        }
    }
    dir.remove_dir(&record.name)
}

/// Removes a file, or a directory with its contents, if it exists.
fn remove(dir: &Dir, name: &str) -> io::Result<()> {
    let Some(found) = absent(dir.symlink_metadata(name))? else { return Ok(()) };
    #[cfg(test)]
    crate::fault::step()?;
    let removed = if found.is_dir() { dir.remove_dir_all(name) } else { dir.remove_file(name) };
    absent(removed).map(drop)
}
