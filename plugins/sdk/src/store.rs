//! Small durable state: what one call leaves for later ones.
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

/// How many keys are asked for at a time.
const PAGE: u32 = 256;

/// The entries that all callers of this plugin share.
pub fn plugin() -> Result<Keyspace, Error> {
    open(Scope::Plugin)
}

/// The entries of the caller of this request, and of nobody else.
pub fn caller() -> Result<Keyspace, Error> {
    open(Scope::Caller)
}

fn open(scope: Scope) -> Result<Keyspace, Error> {
    Ok(Keyspace(host::Keyspace::open(scope)?))
}

/// Values by key.
#[derive(Debug)]
pub struct Keyspace(host::Keyspace);

impl Keyspace {
    /// The value under that key, with its version.
    pub fn get(&self, key: &str) -> Result<Option<Entry>, Error> {
        Ok(self.0.get(key)?)
    }

    /// Keeps a value, whatever was there. Returns its version.
    pub fn set(&self, key: &str, value: impl AsRef<[u8]>) -> Result<u64, Error> {
        Ok(self.0.set(key, value.as_ref(), None)?)
    }

    /// Keeps a value if the version there is still that one (0: none is there); otherwise fails
    /// with [`Error::Conflict`]. Returns the new version.
    pub fn compare_and_set(
        &self,
        key: &str,
        value: impl AsRef<[u8]>,
        version: u64,
    ) -> Result<u64, Error> {
        Ok(self.0.set(key, value.as_ref(), Some(version))?)
    }

    /// Makes a new value from the old one, again whenever somebody else was faster. Returns what
    /// is kept now.
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

    /// Forgets the value under that key, if there is one.
    pub fn delete(&self, key: &str) -> Result<(), Error> {
        Ok(self.0.delete(key)?)
    }

    /// All keys that begin like this, in byte order.
    pub fn keys(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let mut all: Vec<String> = Vec::new();
        loop {
            let page = self.keys_after(prefix, all.last().map(String::as_str), PAGE)?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// At most that many of the keys that begin like this, from the first behind `after`.
    pub fn keys_after(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, Error> {
        Ok(self.0.keys(prefix, after, limit)?)
    }
}

/// Why something is not kept, or not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not granted.
    Denied,
    /// No room: this many bytes are granted in all.
    Quota(u64),
    /// Another version is there than the one expected.
    Conflict,
    /// Anything else.
    Other(String),
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied => f.write_str("the store is not granted"),
            Self::Quota(bytes) => write!(f, "the store is full: {bytes} bytes are granted"),
            Self::Conflict => f.write_str("somebody else has changed it in the meantime"),
            Self::Other(why) => write!(f, "the store: {why}"),
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
    fn versions_hold() {
        let _rehearsal = Rehearsal::new();
        let notes = plugin().expect("it opens");
        let first = notes.compare_and_set("a", "1", 0).expect("nothing is there");
        assert_eq!(notes.compare_and_set("a", "2", 0), Err(Error::Conflict));
        let second = notes.compare_and_set("a", "2", first).expect("it is the one");
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
