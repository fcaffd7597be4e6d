//! The key that seals records. The key is random bytes in a file outside the folder of the records. On Unix, only the
//! user of this process can read the file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{Head, create_private_folder, hexadecimal};

/// Size of a key in bytes.
const KEY_BYTES: usize = 32;

/// A key in a file. The key is read or made when it is first needed. Clones share the key.
#[derive(Clone)]
pub struct SealKey {
    path: PathBuf,
    key: Arc<OnceLock<Option<[u8; KEY_BYTES]>>>,
}

impl SealKey {
    /// The key in this file. A damaged file is replaced by one with a new key. On
    /// Unix, so is a file to which other users have any access.
    pub fn at(path: PathBuf) -> Self {
        Self { path, key: Arc::default() }
    }

    fn get(&self) -> io::Result<&[u8; KEY_BYTES]> {
        let key = self.key.get_or_init(|| read_or_make(&self.path).ok());
        key.as_ref().ok_or_else(|| {
            let path = self.path.display();
            io::Error::other(format!("the key {path} can be neither read nor created"))
        })
    }

    /// A key for another purpose, derived from this key. The derived key does not reveal this key.
    ///
    /// # Errors
    ///
    /// The key cannot be read or made.
    pub fn derive(&self, purpose: &str) -> io::Result<[u8; KEY_BYTES]> {
        Ok(derive_key(self.get()?, purpose))
    }

    fn mac(&self, head: &Head, value: &[u8]) -> io::Result<Hmac<Sha256>> {
        let Head { key: record_key, version, expires_ms, sha256: _, hmac: _ } = head;
        let mut mac = Hmac::new_from_slice(self.get()?).expect("a key of any length will do");
        // Each of these parts follows its own length, so that different records never give the same sequence of bytes.
        mac.update(b"portcullis record 1\n");
        for part in
            [record_key.as_bytes(), &version.to_be_bytes(), &expires_ms.unwrap_or(0).to_be_bytes()]
        {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.update(&[u8::from(expires_ms.is_some())]);
        mac.update(value);
        Ok(mac)
    }

    /// The seal of a record: HMAC-SHA-256 in hexadecimal.
    pub(super) fn seal(&self, head: &Head, value: &[u8]) -> io::Result<String> {
        Ok(hexadecimal(&self.mac(head, value)?.finalize().into_bytes()))
    }

    /// Whether a record is sealed with this key. The comparison takes the same time for every wrong seal.
    pub(super) fn verifies(&self, head: &Head, value: &[u8]) -> bool {
        let (Ok(mac), Some(seal)) = (self.mac(head, value), seal_bytes(&head.hmac)) else {
            return false;
        };
        mac.verify_slice(&seal).is_ok()
    }
}

/// A key for one purpose, derived from a secret that nobody can guess. The key does not reveal the secret.
pub fn derive_key(secret: &[u8], purpose: &str) -> [u8; KEY_BYTES] {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(secret).expect("a key of any length will do");
    mac.update(b"portcullis derived key 1\n");
    mac.update(purpose.as_bytes());
    mac.finalize().into_bytes().into()
}

/// The bytes of a seal in hexadecimal. `None`: the text is not a seal.
fn seal_bytes(text: &str) -> Option<Vec<u8>> {
    let is_seal = text.len() == 2 * KEY_BYTES;
    is_seal.then(|| data_encoding::HEXLOWER.decode(text.as_bytes()).ok())?
}

/// What `make` does with a key file that exists.
#[derive(Clone, Copy)]
enum Existing {
    Keep,
    Replace,
}

fn read_or_make(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    match read(path) {
        Ok(Some(key)) => Ok(key),
        Ok(None) => make(path, Existing::Replace),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(path, Existing::Keep),
        Err(error) => Err(error),
    }
}

/// The key in a file. `None`: the file holds no key, or, on Unix, other users have access to the file.
fn read(path: &Path) -> io::Result<Option<[u8; KEY_BYTES]>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || !is_private(&metadata) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes.try_into().ok())
}

/// Creates the key file, whole or not at all. Returns the key that the file then holds. If several processes create a
/// missing file at once, all get the key of the first of them.
fn make(path: &Path, existing: Existing) -> io::Result<[u8; KEY_BYTES]> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    create_private_folder(folder)?;
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    // The crate `tempfile` creates files that only their owner can read.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&key)?;
    file.as_file().sync_all()?;
    let kept = match existing {
        Existing::Replace => file.persist(path),
        Existing::Keep => file.persist_noclobber(path),
    };
    match kept {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error),
    }
    // Another process may have made the file first. Then the key of that process is used.
    read(path)?
        .ok_or_else(|| io::Error::other("the file has no usable key directly after it was written"))
}

#[cfg(unix)]
fn is_private(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o077 == 0
}

#[cfg(not(unix))]
fn is_private(_: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::*;
    use super::*;

    #[test]
    fn a_derived_key_depends_on_its_purpose_and_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| SealKey::at(folder.path().join(name));
        let one = at("key").derive("a").unwrap();
        assert_eq!(one, at("key").derive("a").unwrap(), "another process has the same");
        assert_ne!(one, at("key").derive("b").unwrap());
        assert_ne!(one, at("other").derive("a").unwrap());
        assert_ne!(one.as_slice(), fs::read(folder.path().join("key")).unwrap());
    }

    fn any(_: u64) -> bool {
        true
    }

    #[test]
    fn what_was_not_sealed_with_the_key_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("records");
        let key = SealKey::at(folder.path().join("key"));
        let sealed = Records::sealed(at.clone(), key.clone());
        sealed.write("a", b"code", None, None, any).unwrap();
        assert_eq!(sealed.read("a").unwrap().unwrap().value, b"code");

        // A patched record with a digest, as an unsealed record has it.
        Records::new(at.clone()).write("a", b"evil", None, None, any).unwrap();
        assert_eq!(sealed.read("a").unwrap(), None);
        // A record that is sealed with another key.
        let other = SealKey::at(folder.path().join("other"));
        Records::sealed(at.clone(), other).write("a", b"evil", None, None, any).unwrap();
        assert_eq!(sealed.read("a").unwrap(), None);
        // The record of the key `b` in the place of the record of `a`.
        sealed.write("a", b"code", None, None, any).unwrap();
        sealed.write("b", b"other code", None, None, any).unwrap();
        let file = |key: &str| at.join(digest(key.as_bytes()));
        let text = fs::read(file("b")).unwrap();
        let text = String::from_utf8(text).unwrap().replace("\"b\"", "\"a\"");
        fs::write(file("a"), text).unwrap();
        assert_eq!(sealed.read("a").unwrap(), None);
        // A change of any byte is found.
        sealed.write("a", b"code", None, None, any).unwrap();
        let whole = fs::read(file("a")).unwrap();
        for at in 0..whole.len() {
            let mut patched = whole.clone();
            patched[at] ^= 1;
            fs::write(file("a"), patched).unwrap();
            let read = sealed.read("a").unwrap();
            assert!(read.is_none(), "byte {at}: {read:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_a_key_and_a_lost_key_is_made_anew() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/key");
        let first = read_or_make(&path).unwrap();
        assert_eq!(read_or_make(&path).unwrap(), first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let second = read_or_make(&path).unwrap();
        assert_ne!(second, first, "others could read it");
        fs::write(&path, b"short").unwrap();
        let third = read_or_make(&path).unwrap();
        assert_ne!(third, second);
        fs::remove_file(&path).unwrap();
        assert_ne!(read_or_make(&path).unwrap(), third);
    }

    #[test]
    fn threads_that_make_a_key_at_once_get_the_same_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/key");
        let start = std::sync::Barrier::new(16);
        let keys: Vec<_> = std::thread::scope(|scope| {
            let make = || {
                start.wait();
                read_or_make(&path).unwrap()
            };
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(fs::read_dir(folder.path().join("state")).unwrap().count(), 1);
    }

    #[test]
    fn without_a_key_nothing_is_read_or_written_and_nothing_breaks() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let key = SealKey::at(folder.path().join("file/key"));
        let records = Records::sealed(folder.path().join("records"), key);
        assert!(matches!(records.write("a", b"b", None, None, any), Err(WriteError::Io(_))));
        assert_eq!(records.read("a").unwrap(), None);
    }
}
