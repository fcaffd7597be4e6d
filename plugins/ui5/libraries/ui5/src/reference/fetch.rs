//! Downloads the `api.json` files of one version from the CDN into the data directory.

use super::lock::Lock;
use crate::fetched;
use portcullis_plugin::{Request, http};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};
use ui5_data::{CORE, Data, THEIRS, api_address, list_address};

/// Time limit for each wait for the CDN.
const PATIENCE: Duration = Duration::from_secs(15);

/// Largest list of libraries in bytes, far above real ones.
const LARGEST_LIST: u64 = 8 * 1024 * 1024;

/// Largest `api.json` in bytes, far above real ones.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Largest total of a version in bytes.
const LARGEST_IN_ALL: u64 = 512 * 1024 * 1024;

/// The reason why a download failed.
#[derive(Debug)]
pub enum Failure {
    /// The CDN does not have the data, or did not respond.
    Cdn(String),
    /// The data could not be written.
    Disk(String),
}

/// Downloads a version's data from `base` into `target`, unless another process is first.
///
/// The data is collected in `staging` and then renamed, so that nobody sees an incomplete
/// directory.
pub fn fetch(
    base: &str,
    target: &Path,
    staging: &Path,
    lock: &Path,
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
    let fetched = into(base, staging, &mut lock, request).and_then(|()| {
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
fn into(
    base: &str,
    directory: &Path,
    lock: &mut Lock,
    request: &Request<'_>,
) -> Result<(), Failure> {
    let libraries = libraries(base)?;
    remove(directory)?;
    fs::create_dir_all(directory).map_err(|error| {
        Failure::Disk(format!("Failed to create {}: {error}", directory.display()))
    })?;
    let mut left = LARGEST_IN_ALL;
    for (number, library) in libraries.iter().enumerate() {
        if request.cancelled() {
            return Err(Failure::Cdn(format!(
                "Stopped after {number} of {} libraries had been fetched",
                libraries.len()
            )));
        }
        request.progress(number as f64, libraries.len() as f64, library);
        let path = directory.join(format!("{library}.api.json"));
        let size = download(base, library, &path, lock, request, LARGEST.min(left))?;
        left = left.saturating_sub(size);
    }
    request.progress(libraries.len() as f64, libraries.len() as f64, "indexing");
    lock.touch();
    Data::make(directory).map(|_| ()).map_err(Failure::Disk)
}

/// The libraries of a version that may have an API.
fn libraries(base: &str) -> Result<Vec<String>, Failure> {
    let url = list_address(base);
    let request = http::Request::get(&url).timeout(PATIENCE).max_bytes(LARGEST_LIST);
    let response = request.send().map_err(|error| failed(&error.reason.to_string(), &url))?;
    check(response.status, &url)?;
    ui5_data::libraries(&response.body).map_err(|why| failed(&why, &url))
}

/// Downloads the `api.json` of a library, if it has one. Returns its size.
fn download(
    base: &str,
    library: &str,
    path: &Path,
    lock: &mut Lock,
    request: &Request<'_>,
    most: u64,
) -> Result<u64, Failure> {
    let url = api_address(base, library);
    let unwritten = |error: std::io::Error| {
        Failure::Disk(format!("Failed to write {}: {error}", path.display()))
    };
    let mut file = std::io::BufWriter::new(fs::File::create(path).map_err(unwritten)?);
    let mut size = 0;
    let sent = http::Request::get(&url).timeout(PATIENCE).max_bytes(most).send_to(|piece| {
        if request.cancelled() {
            return Err(std::io::Error::other("the call was cancelled"));
        }
        lock.touch();
        size += piece.len() as u64;
        file.write_all(piece)
    });
    file.flush().map_err(unwritten)?;
    drop(file);
    let response = sent.map_err(|error| failed(&error.reason.to_string(), &url))?;
    match response.status {
        404 if library != CORE => {
            fs::remove_file(path).map_err(unwritten)?;
            Ok(0)
        }
        status => check(status, &url).map(|()| size),
    }
}

fn check(status: u16, url: &str) -> Result<(), Failure> {
    fetched::check(status, url).map_err(Failure::Cdn)
}

fn failed(why: &str, url: &str) -> Failure {
    Failure::Cdn(fetched::failed(why, url))
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
