//! A lock file, compatible with the UI5 MCP server: the process that creates the file holds the lock.

use portcullis_plugin::Request;
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

/// Age after which an untouched lock counts as abandoned.
const STALE: Duration = Duration::from_secs(60);

/// Time between two attempts.
const POLL: Duration = Duration::from_millis(100);

/// Maximum wait for the lock.
const PATIENCE: Duration = Duration::from_secs(100);

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    touched: Instant,
}

impl Lock {
    /// Waits for the lock and takes it. Returns `None` as soon as `is_done` says that the lock is
    /// not needed. Fails with the reason if the file cannot be created, after 100 seconds, or if the call
    /// is cancelled.
    pub fn take(
        path: &Path,
        request: &Request<'_>,
        is_done: impl Fn() -> bool,
    ) -> Result<Option<Self>, String> {
        Self::take_within(path, PATIENCE, request, is_done)
    }

    fn take_within(
        path: &Path,
        patience: Duration,
        request: &Request<'_>,
        is_done: impl Fn() -> bool,
    ) -> Result<Option<Self>, String> {
        let begun = Instant::now();
        loop {
            match create(path) {
                Ok(()) => {
                    return Ok(Some(Self { path: path.to_owned(), touched: Instant::now() }));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("cannot lock {}: {error}", path.display())),
            }
            if is_done() {
                return Ok(None);
            }
            remove_stale(path);
            if request.cancelled() {
                let why = "the call was cancelled while another process held the lock";
                return Err(why.to_owned());
            }
            if begun.elapsed() >= patience {
                return Err(format!(
                    "waited {} seconds for a lock that another process holds; try again, or delete {} if no process uses it",
                    begun.elapsed().as_secs(),
                    path.display()
                ));
            }
            thread::sleep(POLL);
        }
    }

    /// Renews the lock. Cheap: to be called often.
    pub fn touch(&mut self) {
        if self.touched.elapsed() > STALE / 6 {
            // Other processes read the time of modification.
            let _ = fs::write(&self.path, b"held");
            self.touched = Instant::now();
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn create(path: &Path) -> io::Result<()> {
    fs::File::create_new(path).map(|_| ())
}

/// Removes an abandoned lock. Takes a second lock, the guard, and checks again while it holds the guard.
fn remove_stale(path: &Path) {
    if !is_stale(path) {
        return;
    }
    let mut guard = path.as_os_str().to_owned();
    guard.push(".STALE");
    let guard = PathBuf::from(guard);
    if create(&guard).is_ok() {
        if is_stale(path) {
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_file(&guard);
    } else if is_stale(&guard) {
        let _ = fs::remove_file(&guard);
    }
}

fn is_stale(path: &Path) -> bool {
    let changed = fs::metadata(path).and_then(|metadata| metadata.modified());
    changed
        .is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age > STALE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;

    #[test]
    fn one_holder_at_a_time() {
        let (folder, rehearsal) = (tempfile::tempdir().expect("a folder"), Rehearsal::new());
        let path = folder.path().join("lock");
        let request = rehearsal.request();
        let held = Lock::take(&path, &request, || false).expect("it is free");
        let wait = Duration::from_millis(1);
        let failure = Lock::take_within(&path, wait, &request, || false).expect_err("it is held");
        assert!(
            failure.starts_with("waited 0 seconds for a lock that another process holds"),
            "{failure}"
        );
        assert!(Lock::take(&path, &request, || true).expect("it is done").is_none());
        drop(held);
        assert!(!path.exists());
        drop(Lock::take(&path, &request, || false).expect("it is free again"));
    }

    #[test]
    fn a_cancelled_call_does_not_wait() {
        let (folder, rehearsal) = (tempfile::tempdir().expect("a folder"), Rehearsal::new());
        let path = folder.path().join("lock");
        let _held = Lock::take(&path, &rehearsal.request(), || false).expect("it is free");
        let rehearsal = rehearsal.cancelled();
        let failure = Lock::take(&path, &rehearsal.request(), || false).expect_err("it is held");
        assert_eq!(failure, "the call was cancelled while another process held the lock");
        // A lock that is free or no longer needed is no reason to fail.
        assert!(Lock::take(&path, &rehearsal.request(), || true).expect("it is done").is_none());
    }

    #[test]
    fn an_abandoned_lock_is_taken() {
        let (folder, rehearsal) = (tempfile::tempdir().expect("a folder"), Rehearsal::new());
        let path = folder.path().join("lock");
        let file = fs::File::create_new(&path).expect("it is not there");
        file.set_modified(SystemTime::now() - STALE - Duration::from_secs(5)).expect("it is ours");
        let lock = Lock::take(&path, &rehearsal.request(), || false).expect("it is nobody's");
        assert!(lock.is_some());
    }
}
