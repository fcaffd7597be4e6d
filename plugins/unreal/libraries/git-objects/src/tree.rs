//! Finds a file in the trees of a commit. If the exact name is missing, a name that differs only in case counts:
//! file systems of Windows and macOS ignore case, and git's trees do not.

use crate::{
    fault::Fault,
    id::Id,
    object::{Commit, Kind, TreeEntry, TreeMode, entries},
    repository::Repository,
};
use std::path::{Component, Path};

/// Maximum number of folders of one commit that are searched because their paths differ only in case.
const MAX_ALIKE: usize = 64;

/// A place in a commit.
#[derive(Debug)]
pub(crate) struct Place {
    /// The path from the root of the repository, as git has it.
    pub path: String,
    pub id: Id,
    mode: TreeMode,
}

impl Repository {
    /// The file at a path from the root of the repository. `None` if the commit does not have the file.
    pub(crate) fn place(&self, commit: &Commit, inside: &Path) -> Result<Option<Place>, Fault> {
        let mut names = Vec::new();
        for component in inside.components() {
            match component {
                Component::Normal(name) => names.push(name.to_string_lossy()),
                Component::Prefix(_)
                | Component::RootDir
                | Component::CurDir
                | Component::ParentDir => return Err(Fault::NoRepository(inside.to_owned())),
            }
        }
        if names.is_empty() {
            return Err(Fault::NotAFile(String::new(), TreeMode::Folder.word()));
        }
        let exact = self.places(commit, &names, |found, wanted| found == wanted)?;
        let mut found = match exact.is_empty() {
            true => self.places(commit, &names, is_alike)?,
            false => exact,
        };
        if found.len() > 1 {
            let paths = found.into_iter().map(|place| format!("`{}`", place.path));
            return Err(Fault::SeveralNames(names.join("/"), paths.collect::<Vec<_>>().join(", ")));
        }
        match found.pop() {
            Some(place) if place.mode == TreeMode::File => Ok(Some(place)),
            Some(place) => Err(Fault::NotAFile(place.path, place.mode.word())),
            None => Ok(None),
        }
    }

    /// All places with a path of these names. `fits` compares a found name with a wanted name.
    fn places(
        &self,
        commit: &Commit,
        names: &[impl AsRef<str>],
        fits: impl Fn(&str, &str) -> bool,
    ) -> Result<Vec<Place>, Fault> {
        let root = Place { path: String::new(), id: commit.tree.clone(), mode: TreeMode::Folder };
        let mut folders = vec![root];
        for (position, name) in names.iter().enumerate() {
            let mut found = Vec::new();
            for folder in &folders {
                let tree = self.read_kind(&folder.id, Kind::Tree)?;
                let entries = entries(&tree, self.length(), |found| fits(found, name.as_ref()))?;
                found.extend(entries.into_iter().map(|TreeEntry { name, id, mode }| {
                    let slash = if folder.path.is_empty() { "" } else { "/" };
                    Place { path: format!("{}{slash}{name}", folder.path), id, mode }
                }));
            }
            if position + 1 == names.len() {
                return Ok(found);
            }
            if let Some(other) = found.iter().find(|place| place.mode.ends_a_path()) {
                return Err(Fault::NotAFile(other.path.clone(), other.mode.word()));
            }
            folders = found.into_iter().filter(|place| place.mode == TreeMode::Folder).collect();
            folders.truncate(MAX_ALIKE);
        }
        Ok(Vec::new())
    }
}

/// Whether two names are equal apart from case, compared letter by letter, as file systems do.
fn is_alike(one: &str, other: &str) -> bool {
    one.chars().flat_map(char::to_uppercase).eq(other.chars().flat_map(char::to_uppercase))
}
