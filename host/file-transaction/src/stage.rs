//! Writes a group of changes under hidden names, and then gives the files their own names.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use cap_std::fs::Dir;

use crate::disk::{Id, sync, write_new};
use crate::group::{CreatedEntry, Group, Record};
use crate::journal::{Journal, Line};
use crate::plan::{Entry, Folder, NewContent, Plan, directories};
use crate::{HIDDEN, TransactionError};

/// A group of changes that was written under hidden names. Dropping this value removes the files with hidden names.
pub struct Staged {
    group: Group,
    journal: Option<Journal>,
}

impl Plan {
    /// Writes all changes under hidden names, with a journal in the folder `journals`, which is created if it is
    /// missing. `is_cancelled` is called before each new file, before each new directory with its contents, and at the
    /// end.
    ///
    /// # Errors
    ///
    /// A file or the journal cannot be written, or the changes were cancelled. Files that were written are removed.
    pub fn stage(
        self,
        journals: &Path,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Staged, TransactionError> {
        let Self { folders, entries, known: _ } = self;
        let random = getrandom::u64().map_err(TransactionError::Random)?;
        let hidden = |(index, entry): (usize, &Entry)| {
            (entry.folder, format!("{HIDDEN}{random:016x}-{index}"))
        };
        let hidden = entries.iter().enumerate().map(hidden).collect();
        let group =
            Group { folders: folders.into_iter().map(Some).collect(), hidden, records: Vec::new() };
        let journal = Journal::begin(journals, random, &group)
            .map_err(TransactionError::disk("write a journal of the changes in", journals))?;
        let mut staged = Staged { group, journal: Some(journal) };
        for (index, entry) in entries.into_iter().enumerate() {
            if is_cancelled() {
                return Err(TransactionError::Cancelled);
            }
            let hidden = staged.group.hidden[index].1.clone();
            let Some(folder) = &staged.group.folders[entry.folder] else {
                unreachable!("every folder was opened for the plan")
            };
            let path = folder.path.join(&entry.name);
            let record = write_staged(folder, entry, hidden)
                .map_err(TransactionError::disk("write", &path))?;
            staged.group.records.push(record);
        }
        if is_cancelled() {
            return Err(TransactionError::Cancelled);
        }
        Ok(staged)
    }
}

impl Staged {
    /// Notes in the journal that all files are written, and then gives each file its own name. If this process is
    /// killed after the note, [`recover`](crate::recover) completes or undoes the changes.
    ///
    /// # Errors
    ///
    /// The journal cannot be written, or a name cannot be given. The changes are undone, except those that
    /// [`TransactionError::NotUndone`] names.
    pub fn commit(mut self) -> Result<(), TransactionError> {
        let journal =
            self.journal.as_mut().expect("the journal is kept until this value is dropped");
        let failed = TransactionError::disk("write the journal", journal.path());
        journal.add(&Line::commit(&self.group)).map_err(failed)?;
        let Err(error) = self.group.complete() else {
            self.group.sync();
            // If this line is missing, the next recovery finds that all files have their names.
            let _unwritten = journal.add(&Line::Done);
            return Ok(());
        };
        // If this line is missing and the process is killed, the next recovery completes the changes and does not undo
        // them.
        let _unwritten = journal.add(&Line::Undo);
        let not_undone = self.group.undo();
        if not_undone.is_empty() {
            return Err(error);
        }
        Err(TransactionError::NotUndone { cause: Box::new(error), left: not_undone })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        #[cfg(test)]
        if crate::fault::is_dead() {
            return;
        }
        // The next recovery removes the files that cannot be removed now.
        if self.group.clean()
            && let Some(journal) = self.journal.take()
        {
            journal.end();
        }
    }
}

fn write_staged(folder: &Folder, entry: Entry, hidden: String) -> io::Result<Record> {
    let Entry { folder: index, name, what } = entry;
    let dir = &folder.dir;
    let (staged, old, made) = match what {
        NewContent::File(bytes) => {
            (write_new(dir, hidden.as_ref(), &bytes, None)?, None, Vec::new())
        }
        NewContent::Instead(bytes, file, old) => {
            (write_new(dir, hidden.as_ref(), &bytes, Some(&file))?, Some(old), Vec::new())
        }
        NewContent::Tree(files) => {
            let made = make_tree(dir, &hidden, &files)?;
            let staged = Id::at(dir, &hidden)?.ok_or(io::ErrorKind::NotFound)?;
            (staged, None, made)
        }
    };
    Ok(Record { folder: index, name, hidden, staged, old, made })
}

/// Makes a directory with these files in it.
fn make_tree(
    dir: &Dir,
    name: &str,
    files: &BTreeMap<String, Vec<u8>>,
) -> io::Result<Vec<CreatedEntry>> {
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
        let path = path
            .to_str()
            .expect("a directory's path is a part of a file's path, which is text")
            .to_owned();
        made.push(CreatedEntry { path, file: None });
    }
    for (path, bytes) in files {
        let id = write_new(&top, path.as_ref(), bytes, None)?;
        made.push(CreatedEntry { path: path.clone(), file: Some(id) });
    }
    for path in inner {
        sync(&top.open_dir(path)?)?;
    }
    sync(&top)?;
    Ok(made)
}
