//! Removes secrets from responses of servers and from messages.
//!
//! A server that receives a secret may send the secret back, for example in an error, in a header, or in a page that
//! shows the request. A [`Scrub`] knows the secrets and replaces each byte of an occurrence by `*`. A [`Scrub`] finds a
//! secret
//!
//! - as it is, in upper or lower case,
//! - in hexadecimal,
//! - in base64 and base64url, with and without padding, at each of the three alignments within longer text,
//! - in each of these forms, with some or all characters percent-encoded, written as escapes of JSON or JavaScript, or
//!   written as character references of HTML,
//! - in each of the first three forms, broken into lines or in UTF-16.
//!
//! A [`Scrub`] does not find a secret that was encoded in another way or twice, compressed, encrypted, reversed, or
//! interrupted by other text. It does not search for a hexadecimal or base64 form that has fewer than eight bytes.
//!
//! The work is linear in the length of the text: for each way to decode the text (module `decode`), an automaton (Aho
//! and Corasick, 1975) reads the decoded bytes once.

mod automaton;
mod decode;
mod parts;
mod stream;

use std::sync::Arc;

use automaton::Automaton;
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
pub use parts::{MIN_SECRET_BYTES, TooShort, secret_parts};
pub use stream::Stream;

/// Length in bytes of the longest usual escape of one byte: `\u0041`.
const ESCAPE_BYTES: usize = 6;

/// Shortest encoded form of a secret that is searched for, in bytes. Shorter forms occur in ordinary text.
const MIN_ENCODED_BYTES: usize = 8;

/// The secrets to remove.
#[derive(Default)]
pub struct Scrub {
    automaton: Automaton,
    longest: usize,
}

impl Scrub {
    /// Makes a `Scrub` that removes these secrets. An empty secret is ignored. A short secret is also removed from the
    /// middle of words. [`secret_parts`] finds the secrets in the value of a header.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut needles = Vec::new();
        let mut longest = 0;
        for value in values {
            longest = longest.max(value.len());
            needles.extend(forms(value.as_bytes()));
        }
        Self { automaton: Automaton::new(needles), longest }
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.longest == 0
    }

    /// The bytes, with `*` in place of each byte of a secret. Line ends, zero bytes and the length do not change.
    pub fn bytes(self: &Arc<Self>, bytes: &[u8]) -> Vec<u8> {
        let mut stream = Stream::new(self.clone());
        let mut scrubbed = stream.push(bytes);
        scrubbed.extend(stream.finish());
        scrubbed
    }

    /// The text, with one `…` in place of each secret: for messages.
    pub fn text(self: &Arc<Self>, text: &str) -> String {
        let scrubbed = self.bytes(text.as_bytes());
        let mut shown = Vec::with_capacity(text.len());
        let mut was_hidden = false;
        for (before, after) in text.bytes().zip(scrubbed) {
            let is_hidden = before != after;
            match (is_hidden, was_hidden) {
                (true, false) => shown.extend_from_slice("…".as_bytes()),
                (true, true) => {}
                (false, _) => shown.push(after),
            }
            was_hidden = is_hidden || (was_hidden && before == b'*');
        }
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// A [`Stream`] holds back at least this many bytes, whether they look like a secret or not. The number depends
    /// only on the length of the longest secret. So the delay with which bytes are passed on usually does not show how
    /// many of them match the beginning of a secret.
    fn kept_back(&self) -> usize {
        (self.longest * ESCAPE_BYTES).saturating_sub(1)
    }
}

/// The forms of a secret, before any escapes.
fn forms(secret: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let hex = secret.iter().flat_map(|byte| {
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
        [digit(byte >> 4), digit(byte & 15)]
    });
    let encoded = [hex.collect(), aligned(secret, 0), aligned(secret, 1), aligned(secret, 2)];
    let encoded = encoded.into_iter().filter(|form| form.len() >= MIN_ENCODED_BYTES);
    std::iter::once(secret.to_vec()).filter(|form| !form.is_empty()).chain(encoded)
}

/// The base64 characters of a secret that do not depend on the bytes around the secret. `before` is the number of bytes
/// before the secret, modulo three. At each end, the characters left out hold at most four bits of the secret.
fn aligned(secret: &[u8], before: usize) -> Vec<u8> {
    let padded = [&[0; 2][..before], secret].concat();
    let whole = padded.len() * 8 / 6;
    let mut encoded = BASE64_STANDARD_NO_PAD.encode(&padded).into_bytes();
    encoded.truncate(whole);
    encoded.split_off((before * 8).div_ceil(6).min(whole))
}

#[cfg(test)]
mod tests;
