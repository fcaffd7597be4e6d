//! Fuzzes the removal of secrets from HTTP responses: no secret is left, lengths stay the same, and it does not
//! matter how the bytes are split.

use std::sync::Arc;

use portcullis_scrub::{Scrub, Stream, secret_parts};

/// Texts that have a meaning for this parser.
pub const WORDS: &[&str] = &[
    "s3cret-/+key",
    "%73",
    "\\u0073",
    "\\x73",
    "&#115;",
    "&#x73;",
    "czNjcmV0LS8ra2V5",
    "7333637265742d2f2b6b6579",
    "%",
    "&",
    "\\",
    "\\u{73}",
    "s3cret",
    "-/+key",
    "\r\n",
    "\0",
];

const SECRET: &str = "s3cret-/+key";

/// Removes a secret from these bytes, at once and in pieces whose sizes depend on the bytes. Panics if the secret
/// is left, a length changes, or the two results differ.
pub fn target(bytes: &[u8]) {
    let scrub = Arc::new(Scrub::new([SECRET]));
    let whole = scrub.bytes(bytes);
    assert_eq!(whole.len(), bytes.len(), "the length stays the same");
    let holds = |text: &[u8]| {
        text.windows(SECRET.len()).any(|part| part.eq_ignore_ascii_case(SECRET.as_bytes()))
    };
    assert!(!holds(&whole), "the secret came through");
    let mut stream = Stream::new(scrub.clone());
    let (mut given, mut rest) = (Vec::new(), bytes);
    while let Some(size) = rest.first() {
        let (piece, after) = rest.split_at(rest.len().min(1 + usize::from(*size % 64)));
        given.extend(stream.push(piece));
        rest = after;
    }
    given.extend(stream.finish());
    assert_eq!(given, whole, "the result does not depend on the pieces");
    assert_eq!(scrub.bytes(&whole).len(), whole.len());
    let changed = bytes.iter().zip(&whole).all(|(before, after)| before == after || *after == b'*');
    assert!(changed, "changed bytes are `*`");
    if let Ok(parts) = std::str::from_utf8(bytes).map(secret_parts) {
        assert!(
            parts
                .into_iter()
                .flatten()
                .all(|part| part.len() >= portcullis_scrub::MIN_SECRET_BYTES)
        );
    }
}
