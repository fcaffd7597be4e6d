//! Stores records, one file for each key. A file is written whole or not at all, and its digest or its seal is
//! checked when it is read.
//!
//! The plugins' stores, caches on disk, compiled code and information about components are stored this way. A file
//! is a line of JSON (key, version, expiry, digest or seal) and then the value. Records that this host trusts, such
//! as compiled code, are sealed with a key in another folder ([`SealKey`]).

mod edited;
mod replace;
mod seal;

use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use edited::{EditedFileError, remove_edited, write_edited};
pub use replace::{LostMetadata, create_durably, replace, replace_durably, replace_like};
pub use seal::{SealKey, derive_key};

/// A folder of records. Several processes may use the same folder at once.
pub struct Records {
    folder: PathBuf,
    key: Option<SealKey>,
}

/// A record that is ready to be written. Dropping this value writes nothing.
pub struct PreparedWrite<'a> {
    records: PhantomData<&'a Records>,
    /// The lock of the folder, held until the record is written.
    lock: File,
    path: PathBuf,
    bytes: Vec<u8>,
    bytes_in_all: u64,
    version: u64,
}

impl PreparedWrite<'_> {
    /// Size of all records of the folder in bytes, once this record is written.
    pub fn bytes_in_all(&self) -> u64 {
        self.bytes_in_all
    }

    /// Writes the record and returns its new version.
    ///
    /// # Errors
    ///
    /// See [`WriteError`]. The record is then unchanged.
    pub fn commit(self) -> Result<u64, WriteError> {
        replace(&self.path, &self.bytes)?;
        drop(self.lock);
        Ok(self.version)
    }
}

/// The record of a key.
#[derive(Debug, PartialEq)]
pub struct Record {
    /// The value.
    pub value: Vec<u8>,
    /// The version, which is 1 for a new record and grows with each write of the key.
    pub version: u64,
    /// When the record expires. `None`: never.
    pub expires: Option<SystemTime>,
}

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The record has another version than the expected one.
    #[error("another version of the record was written meanwhile")]
    Conflict,
    /// The records would have more bytes than allowed.
    #[error("the records would be larger than allowed")]
    Full,
    /// The file could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[derive(Serialize, Deserialize)]
struct Head {
    key: String,
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_ms: Option<u64>,
    /// Digest of the value, if the record is not sealed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    sha256: String,
    /// HMAC-SHA-256 of the key, the version, the expiry and the value, if the record is sealed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    hmac: String,
}

impl Head {
    fn expires(&self) -> Option<SystemTime> {
        self.expires_ms.map(|ms| UNIX_EPOCH + Duration::from_millis(ms))
    }
}

/// SHA-256 of some bytes, in lower-case hexadecimal. The digest is a valid file name on every system.
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// SHA-256 of everything that a reader yields, in hexadecimal.
///
/// # Errors
///
/// The reader cannot be read to its end.
pub fn digest_of(mut reader: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut bytes = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut bytes) {
            Ok(0) => return Ok(hexadecimal(&hasher.finalize())),
            Ok(read) => hasher.update(&bytes[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hexadecimal(digest: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(digest)
}

impl Records {
    /// The records in `folder`, which the first write creates: see [`create_private_folder`].
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, key: None }
    }

    /// Like [`Records::new`], but each record is sealed: whoever can write to the folder without knowing the key cannot
    /// make a record that this host accepts. If the key cannot be read or made, no record is found, and writing fails.
    pub fn sealed(folder: PathBuf, key: SealKey) -> Self {
        Self { folder, key: Some(key) }
    }

    /// Whether a record belongs to `key`, is unchanged since it was written, and is not expired.
    fn is_valid(&self, key: &str, head: &Head, value: &[u8]) -> bool {
        let is_whole = match &self.key {
            Some(seal) => seal.verifies(head, value),
            None => head.sha256 == digest(value),
        };
        head.key == key
            && is_whole
            && head.expires().is_none_or(|expires| expires >= SystemTime::now())
    }

    /// The record of a key. `None`: there is no record, or the record is damaged or expired.
    ///
    /// # Errors
    ///
    /// The file exists and cannot be read.
    pub fn read(&self, key: &str) -> io::Result<Option<Record>> {
        let Some((head, value)) = read_file(&self.path(key))? else { return Ok(None) };
        let is_valid = self.is_valid(key, &head, &value);
        Ok(is_valid.then(|| Record { value, version: head.version, expires: head.expires() }))
    }

    /// Writes a record, and returns its new version. `expect` is as for [`Records::prepare`]. `is_allowed` gets the
    /// size in bytes that all records will have. If it returns false, nothing is written.
    ///
    /// # Errors
    ///
    /// See [`WriteError`]. The record is then unchanged.
    pub fn write(
        &self,
        key: &str,
        value: &[u8],
        expect: Option<u64>,
        expires: Option<SystemTime>,
        is_allowed: impl FnOnce(u64) -> bool,
    ) -> Result<u64, WriteError> {
        let prepared = self.prepare(key, value, expect, expires)?;
        if !is_allowed(prepared.bytes_in_all()) {
            return Err(WriteError::Full);
        }
        prepared.commit()
    }

    /// Prepares to write a record. `expect` is the version that the record must have now; `None`: any version. A record
    /// for which [`Records::read`] returns `None` has the version 0. Other writers wait until the result is committed
    /// or dropped.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    pub fn prepare(
        &self,
        key: &str,
        value: &[u8],
        expect: Option<u64>,
        expires: Option<SystemTime>,
    ) -> Result<PreparedWrite<'_>, WriteError> {
        create_private_folder(&self.folder)?;
        let lock = self.lock()?;
        self.sweep()?;
        let path = self.path(key);
        let before = read_file(&path)?;
        let valid = before.as_ref().filter(|(head, value)| self.is_valid(key, head, value));
        if expect.is_some_and(|expected| expected != valid.map_or(0, |(head, _)| head.version)) {
            return Err(WriteError::Conflict);
        }
        let mut head = Head {
            key: key.to_owned(),
            // The version also grows if the present record is expired or its value is damaged.
            version: before.map_or(0, |(head, _)| head.version).saturating_add(1),
            expires_ms: expires
                .and_then(|expires| expires.duration_since(UNIX_EPOCH).ok())
                .map(|since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            sha256: String::new(),
            hmac: String::new(),
        };
        match &self.key {
            Some(key) => head.hmac = key.seal(&head, value)?,
            None => head.sha256 = digest(value),
        }
        let mut bytes = serde_json::to_vec(&head).map_err(io::Error::other)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(value);
        let others: u64 = self
            .sizes()?
            .iter()
            .filter(|(other, ..)| *other != path)
            .map(|(_, size, _)| size)
            .sum();
        let bytes_in_all = others + bytes.len() as u64;
        let (records, version) = (PhantomData, head.version);
        Ok(PreparedWrite { records, lock, path, bytes, bytes_in_all, version })
    }

    /// Removes a record, if there is one.
    ///
    /// # Errors
    ///
    /// The file exists and cannot be removed.
    pub fn remove(&self, key: &str) -> io::Result<()> {
        match std::fs::remove_file(self.path(key)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the least recently written records until at most `bytes` bytes are left.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn shrink(&self, bytes: u64) -> io::Result<()> {
        let mut sizes = self.sizes()?;
        sizes.sort_unstable_by_key(|(_, _, modified)| *modified);
        let mut sum: u64 = sizes.iter().map(|(_, size, _)| size).sum();
        for (path, size, _) in sizes {
            if sum <= bytes {
                break;
            }
            if std::fs::remove_file(path).is_ok() {
                sum -= size;
            }
        }
        Ok(())
    }

    /// All keys, in no particular order. Keys of expired records, and of records with a damaged value, are included.
    ///
    /// # Errors
    ///
    /// The folder or a file in it cannot be read.
    pub fn keys(&self) -> io::Result<Vec<String>> {
        let mut keys = Vec::new();
        for (path, ..) in self.sizes()? {
            keys.extend(read_file(&path)?.map(|(head, _)| head.key));
        }
        Ok(keys)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(digest(key.as_bytes()))
    }

    fn lock(&self) -> io::Result<File> {
        lock(&self.folder.join(".lock"))
    }

    /// Removes incomplete files of processes that were killed. The caller holds the lock, so no other process is
    /// writing.
    fn sweep(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".tmp") {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// The files of the records, each with its size and the time of its last change.
    fn sizes(&self) -> io::Result<Vec<(PathBuf, u64, SystemTime)>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut sizes = Vec::new();
        for entry in entries {
            let entry = entry?;
            // Names of records have 64 bytes. Names of locks and incomplete files are shorter.
            if entry.file_name().len() != 64 {
                continue;
            }
            match entry.metadata() {
                Ok(metadata) => sizes.push((entry.path(), metadata.len(), metadata.modified()?)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sizes)
    }
}

fn read_file(path: &Path) -> io::Result<Option<(Head, Vec<u8>)>> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let Ok(head) = serde_json::from_slice(&bytes[..end]) else { return Ok(None) };
    bytes.drain(..=end);
    Ok(Some((head, bytes)))
}

/// Waits until no other thread or process holds this lock. The lock is held until the returned file is dropped. The
/// folder of `path` must exist.
///
/// # Errors
///
/// The file cannot be made or locked.
pub fn lock(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Makes a folder, and the missing folders above it. On Unix, only their owner can enter them. An existing folder keeps
/// its permissions.
///
/// # Errors
///
/// A folder cannot be made.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> (tempfile::TempDir, Records) {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::new(folder.path().join("records"));
        (folder, records)
    }

    fn any(_: u64) -> bool {
        true
    }

    #[test]
    fn what_was_written_is_read_and_versions_grow() {
        let (_folder, records) = records();
        assert_eq!(records.read("a").unwrap(), None);
        assert_eq!(records.write("a", b"one", None, None, any).unwrap(), 1);
        assert_eq!(records.write("a", b"two", Some(1), None, any).unwrap(), 2);
        let record = records.read("a").unwrap().unwrap();
        assert_eq!((record.value.as_slice(), record.version), (b"two".as_slice(), 2));
        assert_eq!(records.keys().unwrap(), ["a"]);
        records.remove("a").unwrap();
        records.remove("a").unwrap();
        assert_eq!(records.read("a").unwrap(), None);
    }

    #[test]
    fn an_unexpected_version_or_too_many_bytes_leave_what_was_there() {
        let (_folder, records) = records();
        records.write("a", b"one", Some(0), None, any).unwrap();
        assert!(matches!(records.write("a", b"x", Some(0), None, any), Err(WriteError::Conflict)));
        assert!(matches!(records.write("a", b"x", None, None, |_| false), Err(WriteError::Full)));
        assert_eq!(records.read("a").unwrap().unwrap().value, b"one");
    }

    #[test]
    fn damaged_and_expired_records_are_absent() {
        let (folder, records) = records();
        records.write("a", b"one", None, Some(UNIX_EPOCH), any).unwrap();
        assert_eq!(records.read("a").unwrap(), None);
        records.write("b", b"value", None, None, any).unwrap();
        let path = folder.path().join("records").join(digest(b"b"));
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(records.read("b").unwrap(), None);
    }

    #[test]
    fn what_reads_as_absent_can_be_written_as_absent() {
        let (folder, records) = records();
        records.write("expired", b"one", None, Some(UNIX_EPOCH), any).unwrap();
        for key in ["changed", "garbage"] {
            records.write(key, b"value", None, None, any).unwrap();
            let path = folder.path().join("records").join(digest(key.as_bytes()));
            let mut bytes = std::fs::read(&path).unwrap();
            if key == "garbage" {
                bytes.truncate(5);
            }
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
        for key in ["expired", "changed", "garbage"] {
            assert_eq!(records.read(key).unwrap(), None);
            let old = records.write(key, b"x", Some(1), None, any);
            assert!(matches!(old, Err(WriteError::Conflict)), "{key}: {old:?}");
            let version = records.write(key, b"new", Some(0), None, any).unwrap();
            assert_eq!(version, if key == "garbage" { 1 } else { 2 }, "versions grow: {key}");
            assert_eq!(records.read(key).unwrap().unwrap().value, b"new");
        }
    }

    #[test]
    fn shrinking_keeps_the_size_within_the_limit() {
        let (_folder, records) = records();
        for n in 0..10 {
            records.write(&n.to_string(), &[0; 1000], None, None, any).unwrap();
        }
        records.shrink(5000).unwrap();
        let left: u64 = records.sizes().unwrap().iter().map(|(_, size, _)| size).sum();
        assert!(left <= 5000 && left > 3000, "{left}");
    }
}
