//! Opens a path argument: a directory, one file, or a name that may be created.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use super::guard::Guard;
use super::open::{OpenHow, Opened};
use super::{Refusal, Root, windows_path};

/// The kind of a path argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file only.
    File,
    /// A directory with its contents.
    Directory,
    /// A regular file with the contents of its directory.
    FileInDirectory,
}

/// The purpose of opening a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Reading.
    Read,
    /// Reading and changing.
    Write,
    /// Creating the file or directory if it does not exist, and changing it.
    Create,
}

/// An opened path argument.
#[derive(Debug)]
pub struct Designated {
    /// The absolute path of the directory: the path that was opened, or its parent directory.
    pub directory: PathBuf,
    /// The handle of the directory.
    pub handle: File,
    /// The guard of the files beneath the directory.
    pub guard: Guard,
    /// The part of the directory that can be accessed.
    pub reach: DesignatedPart,
    /// Whether the call can write to this part.
    pub write: bool,
}

/// The part of a designated directory that can be accessed.
#[derive(Debug)]
pub enum DesignatedPart {
    /// The whole directory.
    Everything,
    /// One file, which is already open if it exists.
    File {
        /// The file's name in the directory.
        name: String,
        /// `None`: the file does not exist.
        handle: Option<File>,
    },
    /// One name that may be created.
    Create {
        /// The name in the directory.
        name: String,
    },
}

/// The number of levels from a path up to the nearest directory that has an entry of one of these names. If no
/// directory has such an entry: 0 if the path is a directory, 1 if the path is a file. `None`: `names` is empty, so the
/// path itself is used.
pub(super) fn find_nearest(
    root: &Root,
    rest: &Path,
    names: &[String],
) -> Result<Option<usize>, Refusal> {
    if names.is_empty() {
        return Ok(None);
    }
    let first_level = match open_dir(root, rest) {
        Ok(_) => 0,
        Err(Refusal::NotADirectory) => 1,
        Err(refusal) => return Err(refusal),
    };
    for (above, directory) in rest.ancestors().enumerate().skip(first_level) {
        let (dir, _) = open_dir(root, directory)?;
        if names.iter().any(|name| dir.symlink_metadata(name).is_ok()) {
            return Ok(Some(above));
        }
    }
    Ok(Some(first_level))
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
        reach: DesignatedPart::Everything,
        write,
    };
    if matches!((kind, intent), (Kind::Directory, Intent::Read | Intent::Write)) {
        return Ok(everything(open_dir(root, rest)?, path));
    }
    // In all other cases, a name in a directory is opened, and this directory must exist.
    let (Some(parent), Some(name)) = (rest.parent(), rest.file_name()) else {
        return Err(match kind {
            Kind::Directory => Refusal::Malformed("it is a root itself, which already exists"),
            Kind::File | Kind::FileInDirectory => Refusal::NotAFile,
        });
    };
    let name = name.to_str().expect("an argument is UTF-8").to_owned();
    let directory = path.parent().expect("a path with a name has a parent");
    let (dir, guard) = open_dir(root, parent)?;
    if matches!(intent, Intent::Create) {
        // A file that is created through a link would not be at the path of the argument.
        if dir.symlink_metadata(&name).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(Refusal::Malformed("it names a link"));
        }
        guard.check_create(&dir, &name).map_err(Refusal::of)?;
        let reach = DesignatedPart::Create { name };
        return Ok(Designated { reach, ..everything((dir, guard), directory) });
    }
    let handle = match root.open_beneath(rest, OpenHow { write, ..OpenHow::default() }) {
        Ok((Opened::File(file), _)) => Some(file),
        Ok((Opened::Directory(_) | Opened::Special, _)) => return Err(Refusal::NotAFile),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Refusal::of(error)),
    };
    Ok(match kind {
        Kind::FileInDirectory => everything((dir, guard), directory),
        Kind::File | Kind::Directory => {
            let reach = DesignatedPart::File { name, handle };
            Designated { reach, ..everything((dir, guard), directory) }
        }
    })
}

fn open_dir(root: &Root, rest: &Path) -> Result<(Dir, Guard), Refusal> {
    root.open_dir(rest).map_err(Refusal::of)
}

/// Parses a path argument, which has to be absolute and without `..`.
pub(super) fn parse(argument: &str) -> Result<PathBuf, Refusal> {
    if argument.contains('\0') {
        return Err(Refusal::Malformed("it contains a NUL character"));
    }
    if cfg!(windows) {
        return windows_path::normal(argument).map(PathBuf::from);
    }
    let path = Path::new(argument);
    if !path.is_absolute() && windows_path::is_meant(argument) {
        return Err(Refusal::WindowsPath);
    }
    if !path.is_absolute() {
        return Err(Refusal::NotAbsolute);
    }
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(Refusal::Malformed("it contains `..`: write the path without it"));
    }
    Ok(path.components().collect())
}
