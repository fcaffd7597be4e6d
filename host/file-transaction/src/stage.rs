//! Writing a group of changes under hidden names, and giving the files their own names.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use cap_std::fs::Dir;

use crate::disk::{Id, sync, write_new};
use crate::group::{Group, Made, Record};
use crate::journal::{Journal, Line};
use crate::plan::{Entry, Folder, Plan, What, directories};
use crate::{Error, HIDDEN};

/// A group of changes that is written to the disk under hidden names. Dropped, it leaves nothing.
pub struct Staged {
    group: Group,
    journal: Option<Journal>,
}

impl Plan {
    /// Writes everything under hidden names, with a journal in `journals`, which is made where it is
    /// missing. `is_cancelled` is asked before each file.
    ///
    /// # Errors
    ///
    /// Where something cannot be written, or the caller gave up: nothing is left.
    pub fn stage(self, journals: &Path, is_cancelled: &dyn Fn() -> bool) -> Result<Staged, Error> {
        let Self { folders, entries, known: _ } = self;
        let random = getrandom::u64()
            .map_err(|error| Error::Other(format!("the system has no randomness: {error}")))?;
        let hidden = |(index, entry): (usize, &Entry)| {
            (entry.folder, format!("{HIDDEN}{random:016x}-{index}"))
        };
        let hidden = entries.iter().enumerate().map(hidden).collect();
        let group =
            Group { folders: folders.into_iter().map(Some).collect(), hidden, records: Vec::new() };
        let journal = Journal::begin(journals, random, &group).map_err(|error| {
            let journals = journals.display();
            Error::Other(format!("cannot keep a journal of the changes in `{journals}`: {error}"))
        })?;
        let mut staged = Staged { group, journal: Some(journal) };
        for (index, entry) in entries.into_iter().enumerate() {
            if is_cancelled() {
                return Err(Error::Cancelled);
            }
            let hidden = staged.group.hidden[index].1.clone();
            let Some(folder) = &staged.group.folders[entry.folder] else {
                unreachable!("it was opened for the plan")
            };
            let whole = folder.path.join(&entry.name);
            let record = make(folder, entry, hidden).map_err(|error| {
                Error::Other(format!("cannot write `{}`: {error}", whole.display()))
            })?;
            staged.group.records.push(record);
        }
        if is_cancelled() {
            return Err(Error::Cancelled);
        }
        Ok(staged)
    }
}

impl Staged {
    /// Gives everything its name: from here on it is there, whatever happens to this process.
    ///
    /// # Errors
    ///
    /// Where a name cannot be given: what had been done is undone, and nothing is left.
    pub fn commit(mut self) -> Result<(), Error> {
        let journal = self.journal.as_mut().expect("it is there until this is dropped");
        journal.add(&Line::commit(&self.group)).map_err(|error| {
            Error::Other(format!("cannot keep a journal of the changes: {error}"))
        })?;
        let Err(error) = self.group.forward() else {
            self.group.sync();
            // Without this line the next start finds by itself that everything is done.
            let _unwritten = journal.add(&Line::Done);
            return Ok(());
        };
        // Without this line a process that is killed now would have its work finished rather than undone.
        let _unwritten = journal.add(&Line::Undo);
        let left = self.group.back();
        if left.is_empty() {
            return Err(error);
        }
        let left: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
        Err(Error::Other(format!("{error}; these could not be undone: {}", left.join(", "))))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        #[cfg(test)]
        if crate::fault::is_dead() {
            return;
        }
        // What cannot be removed now, the next start removes.
        if self.group.clean()
            && let Some(journal) = self.journal.take()
        {
            journal.end();
        }
    }
}

fn make(folder: &Folder, entry: Entry, hidden: String) -> io::Result<Record> {
    let Entry { folder: index, name, what } = entry;
    let dir = &folder.dir;
    let (staged, old, made) = match what {
        What::File(bytes) => (write_new(dir, hidden.as_ref(), &bytes, None)?, None, Vec::new()),
        What::Instead(bytes, file, old) => {
            (write_new(dir, hidden.as_ref(), &bytes, Some(&file))?, Some(old), Vec::new())
        }
        What::Tree(files) => {
            let made = make_tree(dir, &hidden, &files)?;
            let staged = Id::at(dir, &hidden)?.ok_or(io::ErrorKind::NotFound)?;
            (staged, None, made)
        }
    };
    Ok(Record { folder: index, name, hidden, staged, old, made })
}

/// Makes a directory with these files in it.
fn make_tree(dir: &Dir, name: &str, files: &BTreeMap<String, Vec<u8>>) -> io::Result<Vec<Made>> {
    let mut made = Vec::new();
    #[cfg(test)]
    crate::fault::step()?;
    dir.create_dir(name)?;
    let top = dir.open_dir(name)?;
    let inner = directories(files);
    for path in &inner {
        #[cfg(test)]
        crate::fault::step()?;
        top.create_dir(path)?;
        let path = path.to_str().expect("it is a part of a text").to_owned();
        made.push(Made { path, file: None });
    }
    for (path, bytes) in files {
        let id = write_new(&top, path.as_ref(), bytes, None)?;
        made.push(Made { path: path.clone(), file: Some(id) });
    }
    for path in inner {
        sync(&top.open_dir(path)?)?;
    }
    sync(&top)?;
    Ok(made)
}
