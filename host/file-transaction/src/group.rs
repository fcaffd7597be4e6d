//! A staged group: forward to the names that belong to its files, or back to what was there before. Both can
//! begin anew after any step, by what is found on the disk.

use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::disk::{Id, absent, exchange, rename_new, sync};
use crate::plan::Folder;

/// Everything that is to take effect together.
pub struct Group {
    /// The directories that get new names. `None`: the directory is no longer there.
    pub folders: Vec<Option<Folder>>,
    /// The hidden names that may be there, each with the number of its directory.
    pub hidden: Vec<(usize, String)>,
    /// What stands under them, once everything does.
    pub records: Vec<Record>,
}

/// One new name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The number of its directory.
    pub folder: usize,
    /// The name it is to have there.
    pub name: String,
    /// The name it has until then.
    pub hidden: String,
    /// What was written.
    pub staged: Id,
    /// The file that it replaces.
    pub old: Option<Id>,
    /// What is in it, if it is a directory; a directory before what is in it.
    pub made: Vec<Made>,
}

/// Something in a new directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// Its path there.
    pub path: String,
    /// `None`: a directory.
    pub file: Option<Id>,
}

impl Record {
    /// The name of the file that was replaced, where the file system cannot exchange names.
    fn kept(&self) -> String {
        kept(&self.hidden)
    }
}

fn kept(hidden: &str) -> String {
    format!("{hidden}-old")
}

impl Group {
    /// Gives everything its name, as far as it does not have it.
    ///
    /// # Errors
    ///
    /// Where a name cannot be given. Others may have been.
    pub fn forward(&self) -> Result<(), Error> {
        self.records.iter().try_for_each(|record| self.place(record))
    }

    fn place(&self, record: &Record) -> Result<(), Error> {
        let Some(folder) = &self.folders[record.folder] else {
            return Err(Error::Other(format!("the directory of `{}` is gone", record.name)));
        };
        let whole = folder.path.join(&record.name);
        let failed =
            |error: io::Error| Error::Other(format!("cannot write `{}`: {error}", whole.display()));
        let there = Id::at(&folder.dir, &record.name).map_err(failed)?;
        if there.is_some_and(|there| there.inode == record.staged.inode) {
            return Ok(());
        }
        let Some(old) = record.old else {
            return match rename_new(&folder.dir, &record.hidden, &record.name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(Error::Exists(whole))
                }
                done => done.map_err(failed),
            };
        };
        let changed = || {
            let why = "was changed by somebody else in the meantime".to_owned();
            Err(Error::Unexpected(whole.clone(), why))
        };
        if there != Some(old) {
            return changed();
        }
        exchange(&folder.dir, &record.hidden, &record.name, &record.kept()).map_err(failed)?;
        // Nobody else's file was taken away between the look and the exchange.
        let taken = self.replaced(record).map_err(failed)?.map(|(_, id)| id);
        if taken == Some(old) { Ok(()) } else { changed() }
    }

    /// The name and identity of the file that was replaced.
    fn replaced(&self, record: &Record) -> io::Result<Option<(String, Id)>> {
        let Some(folder) = &self.folders[record.folder] else { return Ok(None) };
        for name in [record.kept(), record.hidden.clone()] {
            if let Some(id) = Id::at(&folder.dir, &name)?
                && id.inode != record.staged.inode
            {
                return Ok(Some((name, id)));
            }
        }
        Ok(None)
    }

    /// Takes back every name that was given. What somebody else has changed since then stays. Answers what
    /// could not be taken back.
    pub fn back(&self) -> Vec<PathBuf> {
        let mut left = Vec::new();
        for record in self.records.iter().rev() {
            let Some(folder) = &self.folders[record.folder] else { continue };
            if self.take_back(&folder.dir, record).is_err() {
                left.push(folder.path.join(&record.name));
            }
        }
        left
    }

    fn take_back(&self, dir: &Dir, record: &Record) -> io::Result<()> {
        let Some(there) = Id::at(dir, &record.name)? else { return Ok(()) };
        if there.inode != record.staged.inode {
            return Ok(());
        }
        #[cfg(test)]
        crate::fault::step()?;
        if record.old.is_some() {
            let Some((name, _)) = self.replaced(record)? else { return Ok(()) };
            return match there == record.staged {
                // Both are whole files: from one name to the other in one step.
                true => dir.rename(name, dir, &record.name),
                false => Err(io::ErrorKind::ResourceBusy.into()),
            };
        }
        if record.made.is_empty() {
            return match there == record.staged {
                true => dir.remove_file(&record.name),
                false => Err(io::ErrorKind::ResourceBusy.into()),
            };
        }
        remove_made(dir, record)
    }

    /// Has the new names written to the disk itself.
    pub fn sync(&self) {
        for folder in self.folders.iter().flatten() {
            // They are there, and the system writes them in its own time.
            let _unsynced = sync(&folder.dir);
        }
    }

    /// Removes what stands under hidden names. Answers whether none is left.
    pub fn clean(&self) -> bool {
        let mut is_clean = true;
        for (folder, name) in &self.hidden {
            let Some(Folder { dir, .. }) = &self.folders[*folder] else { continue };
            for name in [name.clone(), kept(name)] {
                is_clean &= remove(dir, &name).is_ok();
            }
        }
        is_clean
    }
}

/// Removes from a new directory what was put into it, and then the directory, unless somebody else has put
/// something there.
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

/// Removes a file, or a directory with all that is in it. Absent is fine.
fn remove(dir: &Dir, name: &str) -> io::Result<()> {
    let Some(found) = absent(dir.symlink_metadata(name))? else { return Ok(()) };
    #[cfg(test)]
    crate::fault::step()?;
    let removed = if found.is_dir() { dir.remove_dir_all(name) } else { dir.remove_file(name) };
    absent(removed).map(drop)
}
