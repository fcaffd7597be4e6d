//! Where files go: into a directory of their own, or among what is there. Whole, or not at all.

mod staging;
#[cfg(test)]
mod tests;

use crate::{escape::is_hidden, render::File};
use staging::{Staging, sweep};
use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

/// Whether to stop, asked between files.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// The directory that a call may write in.
#[derive(Clone, Debug)]
pub struct Base(PathBuf);

impl Base {
    /// Takes an absolute path of a directory that is there. Fails in the words clients know.
    pub fn open(path: &str) -> Result<Self, String> {
        let plain = Path::new(path);
        if !plain.is_absolute() {
            return Err(format!("Path must be absolute: {path}"));
        }
        if plain.components().any(|part| part == Component::ParentDir) {
            return Err(format!("The base path must not contain '..': {path}"));
        }
        let base: PathBuf = plain.components().collect();
        match fs::metadata(&base) {
            Ok(found) if found.is_dir() => Ok(Self(base)),
            Ok(_) => Err(format!("The base path is not a directory: {path}")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("ENOENT: no such file or directory, realpath '{path}'"))
            }
            Err(error) => Err(format!("The base path {path} cannot be opened: {error}")),
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A name beneath it, which may have several parts. Fails when it would lead elsewhere.
    pub fn beneath(&self, name: &str) -> Result<PathBuf, Outside> {
        let mut parts = Vec::new();
        let mut is_outside = name.contains('\\') || name.chars().any(is_hidden);
        for part in Path::new(name).components() {
            match part {
                Component::Normal(part) => parts.push(part),
                Component::CurDir => {}
                Component::ParentDir => is_outside |= parts.pop().is_none(),
                Component::RootDir | Component::Prefix(_) => is_outside = true,
            }
        }
        if is_outside || parts.is_empty() {
            return Err(Outside(self.0.join(name)));
        }
        Ok(self.0.join(parts.into_iter().collect::<PathBuf>()))
    }

    /// Creates a directory with these files. It appears with all of them, or not at all.
    pub fn create(&self, target: &Path, files: &[File], stop: Stop<'_>) -> Result<(), String> {
        sweep(&self.0);
        let parents = self.missing_parents(target)?;
        let staging = Staging::fill(&self.0, files, stop)?;
        let mut undo = Undo::default();
        let placed = parents
            .iter()
            .try_for_each(|parent| undo.make_directory(parent))
            .and_then(|()| staging.become_directory(target));
        placed.map_err(|error| {
            let failed = format!("Failed to create directory '{}': {error}", target.display());
            undo.all(failed + ". Nothing was written; check that you may write there.")
        })
    }

    /// Adds these files to what is in the directory. Replaces nothing, and leaves nothing behind
    /// when a file cannot be added.
    pub fn add(&self, files: &[File], stop: Stop<'_>) -> Result<(), String> {
        sweep(&self.0);
        self.check_free(files)?;
        let staging = Staging::fill(&self.0, files, stop)?;
        let mut undo = Undo::default();
        for file in files {
            let target = self.0.join(&file.path);
            let added = self
                .missing_parents(&target)
                .map_err(io::Error::other)
                .and_then(|parents| parents.iter().try_for_each(|p| undo.make_directory(p)))
                .and_then(|()| undo.move_file(&staging.path().join(&file.path), &target));
            if let Err(error) = added {
                return Err(undo.all(format!(
                    "Failed to write '{}': {error}. What had been written before was removed again.",
                    target.display()
                )));
            }
        }
        Ok(())
    }

    /// Fails with the names of all files that are there already.
    pub fn check_free(&self, files: &[File]) -> Result<(), String> {
        let taken: Vec<&str> = files
            .iter()
            .map(|file| file.path.as_str())
            .filter(|path| is_there(&self.0.join(path)))
            .collect();
        if !taken.is_empty() {
            return Err(format!(
                "Nothing was written, since these files in '{}' exist already and would be \
                 overwritten: {}. Please remove them, or set createAppDirectory to true to get a \
                 directory of its own.",
                self.0.display(),
                taken.join(", ")
            ));
        }
        files.iter().try_for_each(|file| self.missing_parents(&self.0.join(&file.path)).map(drop))
    }

    /// The directories between the base and the target that have to be made, outermost first.
    /// Those that are there must be plain directories: a link could lead anywhere.
    fn missing_parents(&self, target: &Path) -> Result<Vec<PathBuf>, String> {
        let inside = target.strip_prefix(&self.0).expect("targets are beneath the base");
        let mut parent = self.0.clone();
        let mut missing = Vec::new();
        for part in inside.parent().into_iter().flat_map(Path::components) {
            parent.push(part);
            match fs::symlink_metadata(&parent) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => {
                    let what =
                        "is no directory of its own, but a file or a link. Nothing was written.";
                    return Err(format!("'{}' {what}", parent.display()));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    missing.push(parent.clone());
                }
                Err(error) => {
                    return Err(format!("'{}' cannot be looked at: {error}", parent.display()));
                }
            }
        }
        Ok(missing)
    }
}

/// A name leads out of the base, or to the base itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside(pub PathBuf);

/// Whether anything is at that path, be it a link to nowhere.
pub fn is_there(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// What was made, to be removed again in the opposite order.
#[derive(Default)]
struct Undo(Vec<Made>);

enum Made {
    Directory(PathBuf),
    File(PathBuf),
}

impl Undo {
    fn make_directory(&mut self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)?;
        self.0.push(Made::Directory(path.to_owned()));
        Ok(())
    }

    fn move_file(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        if is_there(to) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it has appeared just now"));
        }
        fs::rename(from, to)?;
        self.0.push(Made::File(to.to_owned()));
        Ok(())
    }

    /// Removes what was made, and completes the message with what could not be removed.
    fn all(self, message: String) -> String {
        let left: Vec<String> = self
            .0
            .into_iter()
            .rev()
            .filter_map(|made| {
                let (path, removed) = match made {
                    Made::Directory(path) => (path.clone(), fs::remove_dir(path)),
                    Made::File(path) => (path.clone(), fs::remove_file(path)),
                };
                removed.err().map(|error| format!("{} ({error})", path.display()))
            })
            .collect();
        if left.is_empty() {
            return message;
        }
        format!("{message} These could not be removed again: {}", left.join(", "))
    }
}
