//! Reads a manifest file and the version it declares.

use crate::pack::Pack;
use semver::Version;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, ErrorKind, Read},
    path::Path,
};

/// Maximum size of a manifest, in bytes; far above real ones.
const MAX_MANIFEST_BYTES: u64 = 8 * 1024 * 1024;

/// The oldest version whose schema can be fetched and used.
const OLDEST_FETCHABLE: Version = Version::new(1, 48, 1);

/// Reads the file. Fails with the reason.
pub fn read(path: &str) -> Result<Value, String> {
    if !Path::new(path).is_absolute() {
        return Err(format!("The manifest path must be absolute: '{path}'"));
    }
    let bytes =
        read_bytes(path).map_err(|why| format!("Failed to read manifest file at {path}: {why}"))?;
    // Invalid UTF-8 is replaced and a byte order mark is skipped, as in browsers, which load the manifest at run time.
    ajv_report::parse(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}'))
        .map_err(|why| format!("Failed to parse manifest file at {path} as JSON: {why}"))
}

fn read_bytes(path: &str) -> Result<Vec<u8>, String> {
    let as_node_error = |error: io::Error| in_words_of_node(&error, path);
    let mut bytes = Vec::new();
    File::open(path)
        .map_err(as_node_error)?
        .take(MAX_MANIFEST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(as_node_error)?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_MANIFEST_BYTES >> 20));
    }
    Ok(bytes)
}

/// Message for an I/O error: for the most frequent kinds that of Node.js, which clients may know.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enum belongs to std, and all others are shown alike"
)]
pub fn in_words_of_node(error: &io::Error, path: &str) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("ENOENT: no such file or directory, open '{path}'"),
        ErrorKind::PermissionDenied => format!("EACCES: permission denied, open '{path}'"),
        ErrorKind::IsADirectory => "EISDIR: illegal operation on a directory, read".to_owned(),
        _ => error.to_string(),
    }
}

/// The version that the manifest declares. Fails with the reason.
pub fn version(manifest: &Value) -> Result<&str, &'static str> {
    match manifest.get("_version") {
        None => Err("Manifest does not contain a '_version' property."),
        Some(Value::String(text)) if parse(text).is_some() => Ok(text),
        Some(Value::String(_)) => {
            Err("Manifest '_version' property is not a valid semantic version.")
        }
        Some(_) => Err("Manifest '_version' property is not a string."),
    }
}

/// Parses a version as node-semver does.
fn parse(text: &str) -> Option<Version> {
    let trimmed = text.trim();
    let version = Version::parse(trimmed.strip_prefix('v').unwrap_or(trimmed)).ok()?;
    const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
    let numbers = [version.major, version.minor, version.patch];
    (text.len() <= 256 && numbers.iter().all(|number| *number <= MAX_SAFE_INTEGER))
        .then_some(version)
}

/// Whether the version is too old for its schema to be fetched. Some of the older schemas are in the pack.
pub fn is_too_old(version: &str) -> bool {
    parse(version).is_some_and(|version| version < OLDEST_FETCHABLE)
}

/// Whether a schema of that version may exist: there are none for pre-releases and builds.
pub fn is_plain(version: &str) -> bool {
    Version::parse(version).is_ok_and(|parsed| parsed.pre.is_empty() && parsed.build.is_empty())
}

/// Appends the manifest versions that the mapping files list and whose schemas can be fetched, the newest first.
pub fn with_hint(message: &str, pack: &Pack<'_>) -> String {
    let mut versions = BTreeSet::new();
    for name in ["mapping-2", "mapping"] {
        let mapping = pack.document(name).unwrap_or_default();
        let entries = mapping.as_object().into_iter().flatten();
        versions.extend(entries.filter_map(|(_, version)| parse(version.as_str()?)));
    }
    let versions: Vec<_> = versions
        .iter()
        .rev()
        .filter(|version| **version >= OLDEST_FETCHABLE)
        .map(ToString::to_string)
        .collect();
    format!(
        "{message}\nNote: The mapping files list these versions: {}. However, schema versions from \
         {OLDEST_FETCHABLE} onwards are supported (v1.48.1-v1.67.1 use Draft-07, v1.67.2+ and v2 use JSON \
         Schema 2020-12).",
        versions.join(", ")
    )
}
