//! The contract's `changes`, on the files of this machine. If a test is killed while it applies changes, the files
//! that it has written stay, unlike in the host.

use crate::bindings::portcullis::plugin::changes::{Change, ChangeError, Expected};
use sha2::{Digest, Sha256};
use std::{fs, io, path::Path};

pub fn apply(changes: &[Change]) -> Result<(), ChangeError> {
    changes.iter().try_for_each(check)?;
    let mut undo = Undo::default();
    for change in changes {
        if let Err(error) = undo.write(change) {
            undo.put_back();
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
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(ChangeError::Other(format!("cannot look at `{}`: {error}", change.path)));
        }
    };
    match (&change.expected, metadata) {
        (Expected::NewDirectory(directory), _) if Path::new(directory).exists() => {
            Err(ChangeError::Exists(directory.clone()))
        }
        (Expected::Nothing | Expected::NewDirectory(_), Some(_)) => {
            Err(ChangeError::Exists(change.path.clone()))
        }
        (Expected::File(_), None) => unexpected("is not there"),
        (Expected::File(_) | Expected::Anything, Some(metadata)) if !metadata.is_file() => {
            unexpected("is not a regular file")
        }
        (Expected::File(Some(sha256)), Some(_)) => match fs::read(path) {
            Ok(bytes) if hexadecimal(&Sha256::digest(&bytes)) == *sha256 => Ok(()),
            Ok(_) => unexpected("was changed by another program in the meantime"),
            Err(error) => {
                Err(ChangeError::Other(format!("cannot read `{}`: {error}", change.path)))
            }
        },
        _ => Ok(()),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The former contents of all paths that were written, completely or in part, to undo the changes.
#[derive(Default)]
struct Undo {
    /// The paths in the order of writing.
    written: Vec<(String, Before)>,
}

/// What was at a path before.
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
            self.written.push((directory.display().to_string(), Before::NoDirectory));
        }
        let before = match fs::read(path) {
            Ok(bytes) => Before::File(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Before::Nothing,
            Err(error) => return Err(error),
        };
        self.written.push((change.path.clone(), before));
        fs::write(path, &change.contents)
    }

    fn put_back(self) {
        for (path, before) in self.written.into_iter().rev() {
            let undone = match before {
                // The file does not exist if it could not be created.
                Before::Nothing => match fs::remove_file(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    removed => removed,
                },
                Before::NoDirectory => fs::remove_dir(&path),
                Before::File(bytes) => fs::write(&path, bytes),
            };
            if let Err(error) = undone {
                eprintln!("{path} could not be put back: {error}");
            }
        }
    }
}
