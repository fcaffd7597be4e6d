//! Finds the secret parts of a header's value.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Shortest part of a header's value that counts as a secret, in bytes. Shorter parts occur in ordinary text.
pub const MIN_SECRET_BYTES: usize = 8;

/// Names of HTTP authentication schemes, in lower case, from IANA's registry and of widely used services.
/// A scheme at the beginning of a header's value is not secret.
const SCHEMES: &[&str] = &[
    "apikey",
    "basic",
    "bearer",
    "digest",
    "dpop",
    "gnap",
    "hoba",
    "mutual",
    "negotiate",
    "oauth",
    "privatetoken",
    "scram-sha-1",
    "scram-sha-256",
    "ssws",
    "token",
    "vapid",
];

/// A header's value has no part that is long enough to be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooShort;

impl fmt::Display for TooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "its secret part is shorter than {MIN_SECRET_BYTES} bytes, so the host could not find it in answers and keep it from \
             the plugin; use a longer secret"
        )
    }
}

impl std::error::Error for TooShort {}

/// The secret parts of a header's value:
///
/// - the text after the first word (`X` of `Bearer X`), and the whole value unless the first word is a known scheme,
/// - each value in a list (`X` and `Y` of `a=X; b="Y"`),
/// - for `Basic`: the decoded text `USER:PASSWORD`, and the password alone, or the user name alone if the password is
///   shorter than [`MIN_SECRET_BYTES`],
/// - for other schemes: the text after the first `:`.
///
/// Parts shorter than [`MIN_SECRET_BYTES`] are left out.
///
/// # Errors
///
/// [`TooShort`]: no part is left, or the user name and the password of `Basic` are both too short. The host could not
/// find such a value in responses.
pub fn secret_parts(value: &str) -> Result<Vec<String>, TooShort> {
    let value = value.trim();
    let (scheme, credentials) = match value.split_once(' ') {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest.trim()),
        None => (String::new(), value),
    };
    let mut parts = vec![credentials];
    if !SCHEMES.contains(&scheme.as_str()) {
        parts.push(value);
    }
    for part in credentials.split([' ', '\t', ',', ';', '"']) {
        let inner = part.split_once('=').map(|(_, inner)| inner);
        match inner.filter(|inner| !inner.trim_matches('=').is_empty()) {
            Some(inner) => parts.push(inner),
            None => parts.push(part),
        }
    }
    let decoded = match scheme.as_str() {
        "basic" => BASE64_STANDARD.decode(credentials).ok(),
        _ => None,
    };
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    if let Some((user, password)) = decoded.split_once(':') {
        if user.len().max(password.len()) < MIN_SECRET_BYTES {
            return Err(TooShort);
        }
        // Some services expect an API key as the user name, with a meaningless password.
        parts.extend([&*decoded, if password.len() < MIN_SECRET_BYTES { user } else { password }]);
    } else if let Some((_, key)) = credentials.split_once(':') {
        parts.push(key);
    }
    let mut parts: Vec<_> = parts
        .into_iter()
        .filter(|part| part.len() >= MIN_SECRET_BYTES)
        .map(str::to_owned)
        .collect();
    parts.sort_unstable();
    parts.dedup();
    if parts.is_empty() { Err(TooShort) } else { Ok(parts) }
}
