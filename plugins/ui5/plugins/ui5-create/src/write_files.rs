//! Writes files into a new directory or into an existing one: all of them, or none.

#[cfg(test)]
mod tests;

use crate::{escape::is_hidden, render::File};
use portcullis_plugin::changes::{self, Changes};
use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

/// The base directory of a call.
#[derive(Clone, Debug)]
pub struct Base(PathBuf);

impl Base {
    /// Opens an absolute path of a directory that exists. The messages about relative and missing paths are those of
    /// the UI5 MCP server.
    pub fn open(path: &str) -> Result<Self, String> {
        let given = Path::new(path);
        if !given.is_absolute() {
            return Err(format!("Path must be absolute: {path}"));
        }
        if given.components().any(|part| part == Component::ParentDir) {
            return Err(format!("The base path must not contain '..': {path}"));
        }
        let base: PathBuf = given.components().collect();
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

    /// A path beneath the base directory. Fails if the path leads to the base or out of it, or has a
    /// backslash or a hidden character.
    pub fn beneath(&self, name: &str) -> Result<PathBuf, OutsideBase> {
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
            return Err(OutsideBase(self.0.join(name)));
        }
        Ok(self.0.join(parts.into_iter().collect::<PathBuf>()))
    }

    /// Creates a directory with these files, all at once.
    pub fn create(&self, target: &Path, files: &[File]) -> Result<(), String> {
        self.check_parents(target)?;
        let add =
            |all: Changes, file: &File| all.create_in_new(target, &file.path, file.text.as_str());
        files.iter().fold(changes::new(), add).apply().map_err(|error| {
            let target = target.display();
            format!("Failed to create directory '{target}': {error}. Nothing was written.")
        })
    }

    /// Adds these files to the directory: all, or none. Existing files are never replaced.
    pub fn add(&self, files: &[File]) -> Result<(), String> {
        self.check_free(files)?;
        let add =
            |all: Changes, file: &File| all.create(self.0.join(&file.path), file.text.as_str());
        files.iter().fold(changes::new(), add).apply().map_err(|error| {
            let base = self.0.display();
            format!("Failed to write the files to '{base}': {error}. Nothing was written.")
        })
    }

    /// Fails if some of the files exist, or if one of their folders is not a directory. The error names the files that
    /// exist.
    pub fn check_free(&self, files: &[File]) -> Result<(), String> {
        let mut taken = Vec::new();
        for file in files {
            if is_there(&self.0.join(&file.path))? {
                taken.push(file.path.as_str());
            }
        }
        if !taken.is_empty() {
            return Err(format!(
                "Nothing was written, since these files in '{}' exist already and would be \
                 overwritten: {}. Please remove them, or set createAppDirectory to true to get a \
                 directory of its own.",
                self.0.display(),
                taken.join(", ")
            ));
        }
        files.iter().try_for_each(|file| self.check_parents(&self.0.join(&file.path)))
    }

    /// Fails if a path between the base and the target exists and is not a directory. A link is refused, too,
    /// since it could lead anywhere.
    fn check_parents(&self, target: &Path) -> Result<(), String> {
        let inside = target.strip_prefix(&self.0).expect("targets are beneath the base");
        let mut parent = self.0.clone();
        for part in inside.parent().into_iter().flat_map(Path::components) {
            parent.push(part);
            match fs::symlink_metadata(&parent) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => {
                    let what =
                        "is not a directory of its own, but a file or a link. Nothing was written.";
                    return Err(format!("'{}' {what}", parent.display()));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => {
                    return Err(format!("'{}' cannot be examined: {error}", parent.display()));
                }
            }
        }
        Ok(())
    }
}

/// The error for a path that [`Base::beneath`] refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideBase(pub PathBuf);

/// Maximum length of a file's name in bytes, on the file systems in use.
const MAX_NAME_BYTES: usize = 255;

/// Whether the path exists, including links without a target. Fails with the reason if a name in it is too long, or
/// if the file system gives no answer.
pub fn is_there(path: &Path) -> Result<bool, String> {
    let too_long =
        path.components().map(Component::as_os_str).find(|name| name.len() > MAX_NAME_BYTES);
    if let Some(name) = too_long {
        let start: String = name.to_string_lossy().chars().take(20).collect();
        return Err(format!(
            "The file name '{start}...' is too long: it has {} bytes, and {MAX_NAME_BYTES} is the limit.",
            name.len()
        ));
    }
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(format!("'{}' cannot be examined: {error}", path.display())),
    }
}
