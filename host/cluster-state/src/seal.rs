//! Seals values with keys of the hosts, so that the server that stores them can neither read nor forge them.
//!
//! A sealed value is a version (1 byte), the id of the key (4 bytes), a salt (24 bytes), and the value encrypted with
//! AES-256-GCM. Each value has a key of its own, derived with HKDF-SHA-256 from the key of the hosts and the salt. So a
//! nonce is never used twice, however many values there are. A value is bound to its place: a value that the server
//! moves to another place does not open there.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk};

use crate::error::StateError;

/// A key of the hosts.
pub type Key = [u8; 32];

const VERSION: u8 = 1;
const ID_BYTES: usize = 4;
const SALT_BYTES: usize = 24;
const HEAD_BYTES: usize = 1 + ID_BYTES + SALT_BYTES;

/// The keys of the hosts. The first one seals, and each one opens.
pub(crate) struct Seal(Vec<SealingKey>);

struct SealingKey {
    id: [u8; ID_BYTES],
    prk: Prk,
}

/// Where a value is: each part of its name. A sealed value opens at its own place only.
pub(crate) type Place<'a> = &'a [&'a [u8]];

impl Seal {
    /// Seals with the first of these keys.
    ///
    /// # Panics
    ///
    /// There is no key.
    pub(crate) fn new(keys: &[Key]) -> Self {
        assert!(!keys.is_empty(), "there is at least one key");
        let key = |key: &Key| {
            let id =
                portcullis_checked_files::derive_key(key, "id of a key of the cluster's state");
            let id = [id[0], id[1], id[2], id[3]];
            SealingKey { id, prk: Prk::new_less_safe(HKDF_SHA256, key) }
        };
        Self(keys.iter().map(key).collect())
    }

    /// Seals a value for a place.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub(crate) fn seal(&self, place: Place<'_>, value: &[u8]) -> Result<Vec<u8>, StateError> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|error| StateError::Machine(error.to_string()))?;
        let key = &self.0[0];
        let mut sealed = Vec::with_capacity(HEAD_BYTES + value.len() + AES_256_GCM.tag_len());
        sealed.push(VERSION);
        sealed.extend(key.id);
        sealed.extend(salt);
        let mut body = value.to_vec();
        key.of_value(&salt)
            .seal_in_place_append_tag(nonce(), Aad::from(bytes_of(place)), &mut body)
            .map_err(|_| StateError::Machine("a value is too large to be sealed".to_owned()))?;
        sealed.extend(body);
        Ok(sealed)
    }

    /// Opens a value that was sealed for this place. `what`: the value, for the error.
    ///
    /// # Errors
    ///
    /// [`StateError::Foreign`]: none of the keys sealed this value for this place.
    pub(crate) fn open(
        &self,
        place: Place<'_>,
        sealed: &[u8],
        what: &'static str,
    ) -> Result<Vec<u8>, StateError> {
        self.opened(place, sealed).ok_or(StateError::Foreign { what })
    }

    fn opened(&self, place: Place<'_>, sealed: &[u8]) -> Option<Vec<u8>> {
        let (head, body) = sealed.split_at_checked(HEAD_BYTES)?;
        let (id, salt) = head[1..].split_at(ID_BYTES);
        if head[0] != VERSION {
            return None;
        }
        let key = self.0.iter().find(|key| key.id == id)?;
        let mut body = body.to_vec();
        let key = key.of_value(salt);
        let value = key.open_in_place(nonce(), Aad::from(bytes_of(place)), &mut body).ok()?;
        let length = value.len();
        body.truncate(length);
        Some(body)
    }

    /// Whether a sealed value was sealed with the first key.
    pub(crate) fn is_newest(&self, sealed: &[u8]) -> bool {
        sealed.get(1..=ID_BYTES).is_some_and(|id| id == self.0[0].id)
    }

    /// The number of keys.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}

impl SealingKey {
    /// The key of the value with this salt.
    fn of_value(&self, salt: &[u8]) -> LessSafeKey {
        let info = [b"portcullis cluster state".as_slice(), salt];
        let derived = self.prk.expand(&info, &AES_256_GCM).expect("the key has a valid length");
        LessSafeKey::new(UnboundKey::from(derived))
    }
}

/// The nonce, which is always the same: each key encrypts one value.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

/// The parts of a place with their lengths, so that no two places have the same bytes.
fn bytes_of(place: Place<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in place {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(*part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> Key {
        [number; 32]
    }

    #[test]
    fn a_value_opens_at_its_own_place_with_its_own_key_only() {
        let seal = Seal::new(&[key(1)]);
        let sealed = seal.seal(&[b"store", b"a"], b"secret text").unwrap();
        let open =
            |seal: &Seal, place: Place<'_>, sealed: &[u8]| seal.open(place, sealed, "x").ok();
        assert_eq!(open(&seal, &[b"store", b"a"], &sealed).as_deref(), Some(&b"secret text"[..]));
        assert!(!sealed.windows(6).any(|part| part == b"secret"), "the server cannot read it");
        for place in
            [&[b"store".as_slice(), b"b"][..], &[b"storea"], &[b"stor", b"ea"], &[b"store"]]
        {
            assert_eq!(open(&seal, place, &sealed), None, "{place:?}");
        }
        assert_eq!(open(&Seal::new(&[key(2)]), &[b"store", b"a"], &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(open(&seal, &[b"store", b"a"], &changed), None, "byte {at}");
        }
        for length in 0..sealed.len() {
            assert_eq!(open(&seal, &[b"store", b"a"], &sealed[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn one_value_is_sealed_differently_each_time() {
        let seal = Seal::new(&[key(1)]);
        let place: Place<'_> = &[b"a"];
        assert_ne!(seal.seal(place, b"x").unwrap(), seal.seal(place, b"x").unwrap());
    }

    #[test]
    fn each_key_opens_and_the_first_one_seals() {
        let (old, both, new) =
            (Seal::new(&[key(1)]), Seal::new(&[key(2), key(1)]), Seal::new(&[key(2)]));
        let place: Place<'_> = &[b"a"];
        let before = old.seal(place, b"x").unwrap();
        assert!(both.open(place, &before, "x").is_ok());
        assert!(!both.is_newest(&before));
        let after = both.seal(place, b"x").unwrap();
        assert!(both.is_newest(&after) && new.open(place, &after, "x").is_ok());
        assert!(new.open(place, &before, "x").is_err());
    }
}
