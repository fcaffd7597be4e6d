//! Keeps the texts of programs that called tools in the files `programs/DIGEST.txt` beside the records, if the
//! operator grants this. The records have the digests.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

use crate::disk::{create_folder, owner_only};

/// Maximum number of programs. The oldest are removed.
const MAX_PROGRAMS: usize = 1000;

/// Keeps the text of a program. A text that is kept already stays as it is.
///
/// # Errors
///
/// The text cannot be written.
#[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
pub(crate) fn keep(folder: &Path, digest: &str, text: &str) -> io::Result<()> {
    let folder = folder.join("programs");
    create_folder(&folder)?;
    let path = folder.join(format!("{digest}.txt"));
    let mut file = match create_file(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    };
    if let Err(error) = file.write_all(text.as_bytes()) {
        // A text that is cut off would not match the digest in the name of its file.
        let _gone = fs::remove_file(&path);
        return Err(error);
    }
    remove_oldest(&folder)
}

#[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
fn remove_oldest(folder: &Path) -> io::Result<()> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let changed = entry.metadata().and_then(|found| found.modified());
        all.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), entry.path()));
    }
    let surplus = all.len().saturating_sub(MAX_PROGRAMS);
    all.sort_unstable();
    for (_, path) in all.into_iter().take(surplus) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Creates a file that only this user can read. The file must not exist.
fn create_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    owner_only(&mut options);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_kept_once_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        keep(folder.path(), "first", "return 1").unwrap();
        keep(folder.path(), "first", "something else").unwrap();
        let programs = folder.path().join("programs");
        assert_eq!(fs::read_to_string(programs.join("first.txt")).unwrap(), "return 1");
        let old = SystemTime::UNIX_EPOCH;
        File::options()
            .write(true)
            .open(programs.join("first.txt"))
            .unwrap()
            .set_modified(old)
            .unwrap();
        for number in 0..MAX_PROGRAMS {
            keep(folder.path(), &number.to_string(), "").unwrap();
        }
        assert!(!programs.join("first.txt").exists());
        assert_eq!(fs::read_dir(programs).unwrap().count(), MAX_PROGRAMS);
    }
}
