//! Downloads the `api.json` files of one version from the CDN into the data directory.

use super::lock::Lock;
use crate::fetched;
use portcullis_plugin::{Request, http};
use std::{
    cell::Cell,
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use ui5_data::{CORE, Data, THEIRS, api_address, list_address};

/// Minimum speed of a download that has taken longer than [`GRACE_PERIOD`], in bytes per second.
const MIN_BYTES_PER_SECOND: u64 = 2_000;

/// Time during which no download counts as too slow.
const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// Maximum size of a list of libraries, in bytes; far above real ones.
const MAX_LIST_BYTES: u64 = 8 * 1024 * 1024;

/// Maximum size of an `api.json`, in bytes; far above real ones.
const MAX_API_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum size of all files of a version together, in bytes.
const MAX_TOTAL_BYTES: u64 = 512 * 1024 * 1024;

/// The reason why a download failed.
#[derive(Debug)]
pub enum Failure {
    /// A download failed. [`fetched::Failure::Local`] also covers data that could not be written, and a call that was
    /// cancelled during the download.
    Cdn(fetched::Failure),
    /// Between downloads, the lock could not be taken, a file or directory could not be changed, or the call was
    /// cancelled.
    Disk(String),
}

/// Downloads a version's data from `base` into `target`, unless another process has done so in the meantime.
///
/// The data is collected in `staging` and then renamed, so that no process sees an incomplete directory. A CDN
/// that sends nothing for the time `patience` counts as silent.
pub fn fetch(
    base: &str,
    target: &Path,
    (staging, lock): (&Path, &Path),
    patience: Duration,
    request: &Request<'_>,
) -> Result<(), Failure> {
    let is_done = || target.join(THEIRS).is_file();
    for directory in [lock.parent(), staging.parent()].into_iter().flatten() {
        fs::create_dir_all(directory).map_err(|error| {
            Failure::Disk(format!("Failed to create {}: {error}", directory.display()))
        })?;
    }
    let taken = Lock::take(lock, request, is_done)
        .map_err(|why| Failure::Disk(format!("Failed to fetch API JSON files: {why}")))?;
    let Some(mut lock) = taken else { return Ok(()) };
    if is_done() {
        return Ok(());
    }
    let fetched = download_all(base, staging, &mut lock, patience, request).and_then(|()| {
        // A directory without an index is the remains of an interrupted download.
        remove(target)?;
        fs::rename(staging, target).map_err(|error| {
            Failure::Disk(format!("Failed to move {}: {error}", staging.display()))
        })
    });
    let _ = remove(staging);
    fetched
}

/// Downloads everything into a new directory.
fn download_all(
    base: &str,
    directory: &Path,
    lock: &mut Lock,
    patience: Duration,
    request: &Request<'_>,
) -> Result<(), Failure> {
    let libraries = libraries(base, patience)?;
    remove(directory)?;
    fs::create_dir_all(directory).map_err(|error| {
        Failure::Disk(format!("Failed to create {}: {error}", directory.display()))
    })?;
    let mut bytes_left = MAX_TOTAL_BYTES;
    for (number, library) in libraries.iter().enumerate() {
        if request.cancelled() {
            return Err(Failure::Disk(stopped(number, libraries.len())));
        }
        request.progress(number as f64, libraries.len() as f64, library);
        let path = directory.join(format!("{library}.api.json"));
        let download = Download { path: &path, max_bytes: MAX_API_BYTES.min(bytes_left), patience };
        let size = download.run(&api_address(base, library), library == CORE, lock, request)?;
        bytes_left = bytes_left.saturating_sub(size);
    }
    request.progress(libraries.len() as f64, libraries.len() as f64, "indexing");
    lock.touch();
    Data::make(directory).map(|_| ()).map_err(Failure::Disk)
}

fn stopped(number: usize, all: usize) -> String {
    format!("Stopped after {number} of {all} libraries had been fetched")
}

/// The libraries of a version that may have an API.
fn libraries(base: &str, patience: Duration) -> Result<Vec<String>, Failure> {
    let url = list_address(base);
    let body = fetched::get(&url, patience, MAX_LIST_BYTES).map_err(Failure::Cdn)?;
    ui5_data::libraries(&body)
        .map_err(|why| Failure::Cdn(fetched::Failure::Answer(fetched::failed(&why, &url))))
}

/// The download of an `api.json` into a file.
struct Download<'p> {
    path: &'p Path,
    /// Maximum size of the file, in bytes.
    max_bytes: u64,
    /// Maximum time without a byte from the server.
    patience: Duration,
}

impl Download<'_> {
    /// Returns the size of the file in bytes, or 0 if the server does not have it. Unless
    /// `is_required`, a missing file is not an error.
    fn run(
        &self,
        url: &str,
        is_required: bool,
        lock: &mut Lock,
        request: &Request<'_>,
    ) -> Result<u64, Failure> {
        let mut size = 0;
        let response = fetched::follow(url, |address| {
            // A redirect has a body, too. So each request starts with an empty file.
            let mut file = fs::File::create(self.path)
                .map(std::io::BufWriter::new)
                .map_err(|error| fetched::Failure::Local(self.write_failure(&error)))?;
            size = 0;
            let response = self.send(address, &mut file, &mut size, lock, request)?;
            file.flush().map_err(|error| fetched::Failure::Local(self.write_failure(&error)))?;
            Ok(response)
        });
        let response = response.map_err(Failure::Cdn)?;
        if response.status == 404 && !is_required {
            fs::remove_file(self.path)
                .map_err(|error| Failure::Disk(self.write_failure(&error)))?;
            return Ok(0);
        }
        fetched::check(response.status, url)
            .map(|()| size)
            .map_err(|why| Failure::Cdn(fetched::Failure::Answer(why)))
    }

    /// Sends a request, and writes the body of the answer.
    fn send(
        &self,
        address: &str,
        file: &mut impl Write,
        size: &mut u64,
        lock: &mut Lock,
        request: &Request<'_>,
    ) -> Result<http::Response, fetched::Failure> {
        let (received, last) = (Cell::new(0_u64), Cell::new(Duration::ZERO));
        let begun = Instant::now();
        let take = |piece: &[u8]| {
            if request.cancelled() {
                return Err(std::io::Error::other("the call was cancelled"));
            }
            lock.touch();
            received.set(received.get() + piece.len() as u64);
            last.set(begun.elapsed());
            file.write_all(piece)
        };
        let goes_on = |waited: Duration| {
            let is_slow =
                waited > GRACE_PERIOD && received.get() < MIN_BYTES_PER_SECOND * waited.as_secs();
            !is_slow && waited.saturating_sub(last.get()) < self.patience
        };
        let sent = http::Request::get(address)
            .timeout(self.patience)
            .max_bytes(self.max_bytes)
            .send_watched(take, goes_on);
        *size = received.get();
        sent.map_err(|error| fetched::unanswered(&error, address, self.patience))
    }

    fn write_failure(&self, error: &std::io::Error) -> String {
        format!("Failed to write {}: {error}", self.path.display())
    }
}

fn remove(directory: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::Disk(format!("Failed to remove {}: {error}", directory.display())))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The directories with data of a framework, and their versions.
pub fn cached(root: &Path, framework: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(root).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(framework)?.strip_prefix('-')?.to_owned();
            let has_index = entry.path().join(THEIRS).is_file();
            has_index.then(|| (version, entry.path()))
        })
        .collect()
}
