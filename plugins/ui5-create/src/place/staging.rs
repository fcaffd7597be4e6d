//! The staging directory: files are complete there before anybody sees them.

use super::Stop;
use crate::render::File;
use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How staging directories are named: this, when they were made (in seconds since 1970), a number.
pub const PREFIX: &str = ".portcullis-staging-";

/// No call takes as long: a staging directory that is older was left by a crash.
const STALE: Duration = Duration::from_secs(60 * 60);

/// A directory that is gone when this is dropped, unless it has become something else.
pub struct Staging(Option<PathBuf>);

impl Staging {
    /// Writes the files into a staging directory beneath the base. Fails with nothing left.
    pub fn fill(base: &Path, files: &[File], stop: Stop<'_>) -> Result<Self, String> {
        let staging = Self::make(base).map_err(|error| {
            format!(
                "Failed to create a directory in '{}': {error}. Please ensure the path is valid and \
                 as intended and you have write permissions.",
                base.display()
            )
        })?;
        let mut made = HashSet::from([staging.path().to_owned()]);
        for file in files {
            if stop() {
                return Err("The call was cancelled. Nothing was written.".to_owned());
            }
            let target = staging.path().join(&file.path);
            let parent = target.parent().expect("a file has a directory");
            // Asked for once, not for each file: every asking is recorded.
            let made =
                if made.insert(parent.to_owned()) { fs::create_dir_all(parent) } else { Ok(()) };
            made.and_then(|()| fs::write(&target, &file.text)).map_err(|error| {
                format!("Failed to write '{}': {error}. Nothing was left.", file.path)
            })?;
        }
        Ok(staging)
    }

    fn make(base: &Path) -> io::Result<Self> {
        let now = since_1970();
        let mut last = None;
        // Two calls at the same moment do not get the same directory.
        for attempt in 0..16 {
            let number = now.subsec_nanos().wrapping_add(attempt);
            let path = base.join(format!("{PREFIX}{}-{number:08x}", now.as_secs()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(Some(path))),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.expect("there was an attempt"))
    }

    /// Where the files are.
    pub fn path(&self) -> &Path {
        self.0.as_deref().expect("it has not become something else")
    }

    /// Becomes the target, which must not be there.
    pub fn become_directory(mut self, target: &Path) -> io::Result<()> {
        if super::is_there(target) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it has appeared just now"));
        }
        fs::rename(self.path(), target)?;
        self.0 = None;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Some(path) = self.0.take()
            && let Err(error) = fs::remove_dir_all(&path)
        {
            eprintln!("{} could not be removed: {error}", path.display());
        }
    }
}

/// Removes staging directories that were left by a crash.
pub fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        // Of a link, the kind is that of the link: what it leads to stays.
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory
            && name.to_str().is_some_and(is_stale)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            eprintln!("{} could not be removed: {error}", entry.path().display());
        }
    }
}

fn is_stale(name: &str) -> bool {
    let made = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    made.is_some_and(|(seconds, number)| {
        let is_ours = number.len() == 8 && number.chars().all(|c| c.is_ascii_hexdigit());
        let age =
            seconds.parse().map(|made| since_1970().saturating_sub(Duration::from_secs(made)));
        is_ours && age.is_ok_and(|age| age > STALE)
    })
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
