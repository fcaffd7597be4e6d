//! The contract's `changes`, on the files of this machine. Digests are not compared. A test that is killed
//! leaves the files that it has written so far.

use crate::bindings::portcullis::plugin::changes::{Change, ChangeError, Expected};
use std::{fs, io, path::Path};

pub fn apply(changes: &[Change]) -> Result<(), ChangeError> {
    changes.iter().try_for_each(check)?;
    let mut undo = Undo::default();
    for change in changes {
        if let Err(error) = undo.write(change) {
            undo.all();
            return Err(ChangeError::Other(format!("cannot write `{}`: {error}", change.path)));
        }
    }
    Ok(())
}

fn check(change: &Change) -> Result<(), ChangeError> {
    let path = Path::new(&change.path);
    if !path.is_absolute() {
        return Err(ChangeError::Denied(change.path.clone()));
    }
    let unexpected =
        |why: &str| Err(ChangeError::Unexpected((change.path.clone(), why.to_owned())));
    let found = match fs::symlink_metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(ChangeError::Other(format!("cannot look at `{}`: {error}", change.path)));
        }
    };
    match (&change.expected, found) {
        (Expected::NewDirectory(directory), _) if Path::new(directory).exists() => {
            Err(ChangeError::Exists(directory.clone()))
        }
        (Expected::Nothing | Expected::NewDirectory(_), Some(_)) => {
            Err(ChangeError::Exists(change.path.clone()))
        }
        (Expected::File(_), None) => unexpected("is not there"),
        (Expected::File(_) | Expected::Anything, Some(found)) if !found.is_file() => {
            unexpected("is not a regular file")
        }
        _ => Ok(()),
    }
}

/// The previous state of each path. The states are restored in reverse order.
#[derive(Default)]
struct Undo(Vec<(String, Before)>);

enum Before {
    Nothing,
    NoDirectory,
    File(Vec<u8>),
}

impl Undo {
    fn write(&mut self, change: &Change) -> io::Result<()> {
        let path = Path::new(&change.path);
        let missing: Vec<_> =
            path.ancestors().skip(1).take_while(|directory| !directory.exists()).collect();
        for directory in missing.into_iter().rev() {
            fs::create_dir(directory)?;
            self.0.push((directory.display().to_string(), Before::NoDirectory));
        }
        let before = match fs::read(path) {
            Ok(bytes) => Before::File(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Before::Nothing,
            Err(error) => return Err(error),
        };
        self.0.push((change.path.clone(), before));
        fs::write(path, &change.contents)
    }

    fn all(self) {
        for (path, before) in self.0.into_iter().rev() {
            let undone = match before {
                Before::Nothing => fs::remove_file(&path),
                Before::NoDirectory => fs::remove_dir(&path),
                Before::File(bytes) => fs::write(&path, bytes),
            };
            if let Err(error) = undone {
                eprintln!("{path} could not be put back: {error}");
            }
        }
    }
}
