//! What one path argument opens: a directory, one file in it, or the place of something to be made.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use super::guard::Guard;
use super::open::{OpenHow, Opened};
use super::{Refusal, Root};

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file, and nothing beside it.
    File,
    /// A directory with all that is in it.
    Directory,
    /// A regular file, and all that is in its directory.
    FileInDirectory,
}

/// What is to be done there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// To read what is there.
    Read,
    /// To change it as well.
    Write,
    /// To make it where it is missing, and to fill it.
    Create,
}

/// What one path argument opened.
#[derive(Debug)]
pub struct Designated {
    /// The absolute path of the directory in which it is found.
    pub directory: PathBuf,
    /// Its handle.
    pub handle: File,
    /// What is closed beneath it.
    pub guard: Guard,
    /// How much of it.
    pub reach: Reach,
    /// Whether for writing.
    pub write: bool,
}

/// How much of a designated directory can be reached.
#[derive(Debug)]
pub enum Reach {
    /// All of it.
    Everything,
    /// One file, already open unless it is missing.
    File {
        /// Its name in the directory.
        name: String,
        /// `None`: there is no such file.
        handle: Option<File>,
    },
    /// One name that may be made and then filled.
    Create {
        /// The name in the directory.
        name: String,
    },
}

/// How many levels above a path the nearest directory is that has an entry of one of these names.
/// `None`: it is to be taken as it is.
pub(super) fn find_nearest(
    root: &Root,
    rest: &Path,
    names: &[String],
) -> Result<Option<usize>, Refusal> {
    if names.is_empty() {
        return Ok(None);
    }
    let is_file = match open_dir(root, rest) {
        Ok(_) => 0,
        Err(Refusal::NotADirectory) => 1,
        Err(refusal) => return Err(refusal),
    };
    for (above, directory) in rest.ancestors().enumerate().skip(is_file) {
        let (dir, _) = open_dir(root, directory)?;
        if names.iter().any(|name| dir.symlink_metadata(name).is_ok()) {
            return Ok(Some(above));
        }
    }
    Ok(Some(is_file))
}

pub(super) fn designate(
    root: &Root,
    path: &Path,
    rest: &Path,
    kind: Kind,
    intent: Intent,
) -> Result<Designated, Refusal> {
    let write = !matches!(intent, Intent::Read);
    let everything = |(dir, guard): (Dir, Guard), directory: &Path| Designated {
        directory: directory.to_owned(),
        handle: dir.into_std_file(),
        guard,
        reach: Reach::Everything,
        write,
    };
    if matches!((kind, intent), (Kind::Directory, Intent::Read | Intent::Write)) {
        return Ok(everything(open_dir(root, rest)?, path));
    }
    // All else has a name in a directory that must be there.
    let (Some(parent), Some(name)) = (rest.parent(), rest.file_name()) else {
        return Err(match kind {
            Kind::Directory => Refusal::Malformed("it is a root itself, which exists"),
            Kind::File | Kind::FileInDirectory => Refusal::NotAFile,
        });
    };
    let name = name.to_str().expect("an argument is UTF-8").to_owned();
    let directory = path.parent().expect("it has a name, so it has a parent");
    let (dir, guard) = open_dir(root, parent)?;
    if matches!(intent, Intent::Create) {
        // What is made through a link would lie elsewhere than the path says.
        if dir.symlink_metadata(&name).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(Refusal::Malformed("a link stands there"));
        }
        guard.may_make(&dir, &name).map_err(|error| Refusal::of(&error))?;
        let reach = Reach::Create { name };
        return Ok(Designated { reach, ..everything((dir, guard), directory) });
    }
    let handle = match root.open_beneath(rest, OpenHow { write, ..OpenHow::default() }) {
        Ok((Opened::File(file), _)) => Some(file),
        Ok((Opened::Directory(_) | Opened::Special, _)) => return Err(Refusal::NotAFile),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Refusal::of(&error)),
    };
    Ok(match kind {
        Kind::FileInDirectory => everything((dir, guard), directory),
        Kind::File | Kind::Directory => {
            let reach = Reach::File { name, handle };
            Designated { reach, ..everything((dir, guard), directory) }
        }
    })
}

fn open_dir(root: &Root, rest: &Path) -> Result<(Dir, Guard), Refusal> {
    root.open_dir(rest).map_err(|error| Refusal::of(&error))
}

/// A path as it may be named: absolute, and without a way up.
pub(super) fn parse(argument: &str) -> Result<PathBuf, Refusal> {
    if argument.contains('\0') {
        return Err(Refusal::Malformed("it holds a NUL character"));
    }
    let path = Path::new(argument);
    if !path.is_absolute() {
        return Err(Refusal::NotAbsolute);
    }
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(Refusal::Malformed("it holds `..`: write the path without it"));
    }
    Ok(path.components().collect())
}
