//! Small durable key-value storage, kept from one call to the next.
//!
//! ```no_run
//! # use portcullis_plugin::prelude::*;
//! # fn count() -> Result<(), Failure> {
//! let notes = store::plugin()?;
//! notes.set("greeting", "hello")?;
//! let visits = notes.update("visits", |old| {
//!     let old = old.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
//!     (old + 1).to_le_bytes().to_vec()
//! })?;
//! # Ok(())
//! # }
//! ```

#[cfg(target_family = "wasm")]
use crate::bindings::portcullis::plugin::store as host;
use crate::bindings::portcullis::plugin::store::{Scope, StoreError};
#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::store as host;
use std::fmt;

pub use crate::bindings::portcullis::plugin::store::Entry;

/// Number of keys fetched at once.
const KEYS_PER_PAGE: u32 = 256;

/// The entries shared by all callers of this plugin.
pub fn plugin() -> Result<Keyspace, Error> {
    open(Scope::Plugin)
}

/// The entries of the current caller alone.
pub fn caller() -> Result<Keyspace, Error> {
    open(Scope::Caller)
}

fn open(scope: Scope) -> Result<Keyspace, Error> {
    Ok(Keyspace(host::Keyspace::open(scope)?))
}

/// The entries of one scope: values by key.
#[derive(Debug)]
pub struct Keyspace(host::Keyspace);

impl Keyspace {
    /// The value of the key, with its version.
    pub fn get(&self, key: &str) -> Result<Option<Entry>, Error> {
        Ok(self.0.get(key)?)
    }

    /// Stores a value unconditionally. Returns its version.
    pub fn set(&self, key: &str, value: impl AsRef<[u8]>) -> Result<u64, Error> {
        Ok(self.0.set(key, value.as_ref(), None)?)
    }

    /// Stores a value if the stored version is still `version` (0: no value is stored); otherwise
    /// fails with [`Error::Conflict`]. Returns the new version.
    pub fn compare_and_set(
        &self,
        key: &str,
        value: impl AsRef<[u8]>,
        version: u64,
    ) -> Result<u64, Error> {
        Ok(self.0.set(key, value.as_ref(), Some(version))?)
    }

    /// Makes a new value from the old one, and repeats this after each conflict. Returns the stored
    /// value.
    pub fn update(
        &self,
        key: &str,
        mut change: impl FnMut(Option<&[u8]>) -> Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        loop {
            let old = self.get(key)?;
            let new = change(old.as_ref().map(|entry| entry.value.as_slice()));
            match self.compare_and_set(key, &new, old.map_or(0, |entry| entry.version)) {
                Ok(_) => return Ok(new),
                Err(Error::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Deletes the value of the key, if there is one.
    pub fn delete(&self, key: &str) -> Result<(), Error> {
        Ok(self.0.delete(key)?)
    }

    /// All keys with that prefix, in byte order.
    pub fn keys(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let mut keys: Vec<String> = Vec::new();
        loop {
            let page = self.keys_after(prefix, keys.last().map(String::as_str), KEYS_PER_PAGE)?;
            if page.is_empty() {
                return Ok(keys);
            }
            keys.extend(page);
        }
    }

    /// At most `limit` keys with that prefix, in byte order, starting after the key `after`.
    pub fn keys_after(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, Error> {
        Ok(self.0.keys(prefix, after, limit)?)
    }
}

/// The reason why the store failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No grant.
    Denied,
    /// The value would exceed the quota, which is this many bytes in all.
    Quota(u64),
    /// The stored version is not the expected one.
    Conflict,
    /// Any other failure.
    Other(String),
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied => f.write_str("the store is not granted"),
            Self::Quota(bytes) => write!(f, "the store is full: {bytes} bytes are granted"),
            Self::Conflict => f.write_str("the value was changed by another call in the meantime"),
            Self::Other(why) => write!(f, "store error: {why}"),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Denied => Self::Denied,
            StoreError::Quota(bytes) => Self::Quota(bytes),
            StoreError::Conflict => Self::Conflict,
            StoreError::Other(why) => Self::Other(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::Rehearsal;

    #[test]
    fn a_value_is_set_only_if_its_version_is_current() {
        let _rehearsal = Rehearsal::new();
        let notes = plugin().expect("it opens");
        let first = notes.compare_and_set("a", "1", 0).expect("nothing is there");
        assert_eq!(notes.compare_and_set("a", "2", 0), Err(Error::Conflict));
        let second = notes.compare_and_set("a", "2", first).expect("the version is current");
        assert_ne!(first, second);
        let kept = notes.update("a", |old| [old.unwrap_or_default(), b"3"].concat());
        assert_eq!(kept, Ok(b"23".to_vec()));
        notes.delete("a").expect("it goes");
        assert_eq!(notes.get("a"), Ok(None));
    }

    #[test]
    fn all_keys_over_all_pages() {
        let _rehearsal = Rehearsal::new();
        let notes = caller().expect("it opens");
        for number in 0..600 {
            notes.set(&format!("n/{number:03}"), []).expect("there is room");
        }
        notes.set("other", []).expect("there is room");
        let keys = notes.keys("n/").expect("they are listed");
        assert_eq!(keys.len(), 600);
        assert!(keys.is_sorted());
        assert!(plugin().expect("it opens").keys("").expect("they are listed").is_empty());
    }
}
