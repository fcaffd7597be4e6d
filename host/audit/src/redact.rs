//! Removes secrets from the subjects of records, and bounds their length.

use std::borrow::Cow;

/// Maximum length of a subject, in bytes: `PATH_MAX` of Linux.
const MAX_SUBJECT_BYTES: usize = 4096;

/// Words in the name of a secret value.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "credential",
    "private_key",
    "private-key",
    "privatekey",
    "cookie",
];

/// The replacement of a secret.
const HIDDEN: &str = "***";

/// The text, shortened if it is too long for a record.
pub(crate) fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_SUBJECT_BYTES {
        return Cow::Borrowed(text);
    }
    let cut = text.floor_char_boundary(MAX_SUBJECT_BYTES - 40);
    Cow::Owned(format!("{}… ({} bytes)", &text[..cut], text.len()))
}

/// Whether the value with this name is a secret, such as an argument `apiKey`.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// The text of a command or an address without secrets: without the values after `password=`, `--token`, `Bearer`
/// and the like, and without the user of an address. A secret is recognised by the word before it, so not every
/// secret is found.
pub fn without_secrets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut hide_next = false;
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let lower = word.to_ascii_lowercase();
        let bare = lower.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let separator = word
            .find(['=', ':'])
            .filter(|at| is_secret_name(&word[..*at]) && !word[*at..].starts_with("://"));
        if matches!(bare, "bearer" | "basic") {
            (hide_next, _) = (true, out.push_str(word));
        } else if let Some(at) = separator {
            out.push_str(&word[..=at]);
            // As in `Authorization: Bearer abc`, the value may follow a space.
            hide_next = at + 1 == word.len();
            if !hide_next {
                out.push_str(HIDDEN);
            }
        } else if std::mem::take(&mut hide_next) && !word.is_empty() {
            out.push_str(HIDDEN);
        } else {
            hide_next = word.starts_with('-') && is_secret_name(word);
            out.push_str(&without_user(word));
        }
    }
    out
}

/// An address without the user and the password before its host.
fn without_user(word: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = word.split_once("://") else { return Cow::Borrowed(word) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => Cow::Owned(format!("{scheme}://{HIDDEN}{}", &rest[at..])),
        None => Cow::Borrowed(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_and_the_rest_stays() {
        for (text, expected) in [
            ("stat fps", "stat fps"),
            ("open 127.0.0.1?Password=abc", "open 127.0.0.1?Password=***"),
            ("login --token abc --fast", "login --token *** --fast"),
            ("curl -H Authorization: Bearer abc", "curl -H Authorization: Bearer ***"),
            ("curl -H \"Authorization: Bearer abc\"", "curl -H \"Authorization: Bearer ***"),
            ("fetch https://a:b@host/x@y", "fetch https://***@host/x@y"),
            ("API_KEY=abc run", "API_KEY=*** run"),
            ("a  b", "a  b"),
        ] {
            assert_eq!(without_secrets(text), expected);
        }
    }

    #[test]
    fn a_long_subject_is_cut_between_characters() {
        let cut = bounded(&"ä".repeat(5000)).into_owned();
        assert!(cut.len() <= MAX_SUBJECT_BYTES && cut.ends_with("ä… (10000 bytes)"), "{cut}");
    }
}
