//! Fuzzes the root URIs of clients: the path of a URI is absolute, has no `..`, and stays the same after conversion
//! to a URI and back.

use std::path::Component;

use portcullis_roots::{path_of_uri, uri_of_path};

/// Texts that have a meaning for this parser.
pub const WORDS: &[&str] = &[
    "file:///",
    "file://",
    "file:",
    "FILE:///",
    "http://",
    "localhost",
    "..",
    "%2e%2e",
    "%2F",
    "%00",
    "%5c",
    "C:",
    "?",
    "#",
    "@",
    "//",
    "\\",
    "%",
    "%e4",
    "\u{e4}",
];

/// Parses a URI. Panics if its path is not absolute, contains `..` or NUL, or is another path after conversion to a
/// URI and back.
pub fn target(bytes: &[u8]) {
    let Ok(uri) = std::str::from_utf8(bytes) else { return };
    let Some(path) = path_of_uri(uri).into_iter().next() else { return };
    assert!(uri.trim_start().to_ascii_lowercase().starts_with("file:"), "{uri:?} is a {path:?}");
    assert!(path.is_absolute(), "{path:?}");
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    assert!(path.components().all(is_plain), "{path:?}");
    assert!(!path.as_os_str().as_encoded_bytes().contains(&0), "{path:?}");
    let shown = uri_of_path(&path).expect("an absolute path has a URI");
    let again = path_of_uri(&shown).into_iter().next();
    assert_eq!(again.as_ref(), Some(&path), "{uri:?} is shown as {shown:?}");
}
