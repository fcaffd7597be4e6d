//! Tells whether files have changed, by their times and sizes, and waits for a change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Paths of files with their times and sizes. Equal stamps mean that no file has changed, as far as its time and size
/// tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStamps(Vec<(PathBuf, Option<(SystemTime, u64)>)>);

impl FileStamps {
    /// The stamps of these files, and of all files directly in these folders. A file that is missing or cannot be read
    /// has no time. Blocks until the file system has answered.
    #[expect(
        clippy::disallowed_methods,
        reason = "the files are those that the operator names, and those in the plugin folders"
    )]
    pub fn of<'a>(
        files: impl IntoIterator<Item = &'a Path>,
        folders: impl IntoIterator<Item = &'a Path>,
    ) -> Self {
        let mut paths: Vec<PathBuf> = files.into_iter().map(Path::to_owned).collect();
        let entries = folders.into_iter().filter_map(|folder| std::fs::read_dir(folder).ok());
        paths.extend(entries.flatten().flatten().map(|entry| entry.path()));
        paths.sort();
        let stamp = |path: PathBuf| {
            let metadata = std::fs::metadata(&path).ok();
            let stamp = metadata.and_then(|found| Some((found.modified().ok()?, found.len())));
            (path, stamp)
        };
        Self(paths.into_iter().map(stamp).collect())
    }
}

impl FileStamps {
    /// Like [`Self::of`], for these files and all files beneath a folder. Leaves out folders for whose names `skips`
    /// returns true. Takes at most `limit` files of the folder.
    #[expect(
        clippy::disallowed_methods,
        reason = "the folder is a project that the operator names"
    )]
    pub fn beneath<'a>(
        folder: &Path,
        skips: impl Fn(&str) -> bool,
        limit: usize,
        files: impl IntoIterator<Item = &'a Path>,
    ) -> Self {
        let also = files.into_iter().map(Path::to_owned).collect::<Vec<_>>();
        let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                // A symbolic link to a folder is not entered: it may lead out of the project, or in a circle.
                let Ok(kind) = entry.file_type() else { continue };
                match kind.is_dir() {
                    true if skips(&entry.file_name().to_string_lossy()) => {}
                    true => folders.push(entry.path()),
                    false if files.len() < limit => files.push(entry.path()),
                    false => {}
                }
            }
        }
        files.extend(also);
        Self::of(files.iter().map(PathBuf::as_path), [])
    }

    /// These stamps without those of some files.
    #[must_use]
    pub fn without(mut self, files: &BTreeSet<PathBuf>) -> Self {
        self.0.retain(|(path, _)| !files.contains(path));
        self
    }

    /// The files whose stamps differ, or that only one of the two sets of stamps contains.
    pub fn differing(&self, other: &Self) -> BTreeSet<PathBuf> {
        let (one, other): (BTreeSet<_>, BTreeSet<_>) =
            (self.0.iter().collect(), other.0.iter().collect());
        one.symmetric_difference(&other).map(|(path, _)| path.clone()).collect()
    }
}

/// Waits until two looks in a row find the same stamps, and these stamps differ from `before`. One look is not enough,
/// because a file may be incomplete while it is being copied. `interval`: the time before each look.
pub async fn wait_for_change(
    before: &FileStamps,
    interval: Duration,
    look: impl AsyncFn() -> FileStamps,
) {
    let mut last = before.clone();
    loop {
        tokio::time::sleep(interval).await;
        let now = look().await;
        if now != *before && now == last {
            return;
        }
        last = now;
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use super::*;

    #[test]
    fn new_changed_and_removed_files_change_the_stamps() {
        let folder = tempfile::tempdir().unwrap();
        let (named, listed) = (folder.path().join("named"), folder.path().join("folder"));
        std::fs::create_dir(&listed).unwrap();
        let stamps = || FileStamps::of([named.as_path()], [listed.as_path(), Path::new("/gone")]);
        let mut seen = vec![stamps()];
        assert_eq!(seen[0], stamps());
        let inner = listed.join("a.wasm");
        let steps: [&dyn Fn(); 4] = [
            &|| std::fs::write(&named, "one").unwrap(),
            &|| std::fs::write(&inner, "two").unwrap(),
            &|| std::fs::write(&inner, "three").unwrap(),
            &|| std::fs::remove_file(&named).unwrap(),
        ];
        for step in steps {
            step();
            assert!(!seen.contains(&stamps()));
            seen.push(stamps());
        }
    }

    #[tokio::test]
    async fn a_change_counts_once_two_looks_in_turn_find_the_same() {
        let stamps =
            |length| FileStamps(vec![("a".into(), Some((SystemTime::UNIX_EPOCH, length)))]);
        let looks = std::cell::RefCell::new(vec![9, 9, 5, 3, 1, 1]);
        // The file grows from look to look, and then stays as it is.
        let look = async || stamps(looks.borrow_mut().pop().expect("no look follows"));
        wait_for_change(&stamps(1), Duration::ZERO, look).await;
        assert!(looks.borrow().is_empty());
    }
}
