//! The list of contents of a pack: the first entry of the archive, and the names of the others.

use serde::{Deserialize, Serialize};
use ui5_data::{Document, Framework, is_file_name, is_version, versions_name};

/// The name of the first entry.
pub(crate) const CONTENTS: &str = "contents.json";

/// The format of packs. The number changes with the format.
const FORMAT: &str = "portcullis ui5 pack 1";

/// Maximum size of the list of contents, in bytes.
pub(crate) const MAX_CONTENTS: u64 = 4 * 1024 * 1024;

/// Maximum size of an item, in bytes.
pub(crate) const MAX_ITEM: u64 = 64 * 1024 * 1024;

/// Maximum size of all items together, in bytes.
pub(crate) const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// Maximum number of items.
const MAX_ITEMS: usize = 4000;

/// The end of the file names of API references.
const API: &str = ".api.json";

/// The list of contents of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contents {
    format: String,
    /// When the pack was made, in seconds since 1970.
    pub made: u64,
    /// The framework of the API reference.
    pub framework: Framework,
    /// The version of the API reference, such as `1.136.5`.
    pub version: String,
    /// All other entries, in order.
    pub items: Vec<Item>,
}

/// An entry of the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// The name of the entry: see [`Part::name`].
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 in hexadecimal.
    pub sha256: String,
}

/// What an item is. To pack another kind of data, add a variant here, fetch the data in `collect` and
/// place them in `unpack`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The API reference of a library, by its name: `api/sap.m.api.json`.
    Api(String),
    /// The schema of a version of manifests: `schemas/1.89.0.json`.
    Schema(String),
    /// A list of versions: `versions/openui5-version.json`.
    Versions(Framework, Document),
}

impl Part {
    /// The name of the entry.
    pub fn name(&self) -> String {
        match self {
            Self::Api(library) => format!("api/{library}{API}"),
            Self::Schema(version) => format!("schemas/{version}.json"),
            Self::Versions(framework, document) => {
                format!("versions/{}", versions_name(*framework, *document))
            }
        }
    }

    /// What an entry with that name is. `None`: the entry does not belong in a pack.
    pub fn parse(name: &str) -> Option<Self> {
        let (folder, file) = name.split_once('/')?;
        match folder {
            "api" => {
                let library = file.strip_suffix(API).filter(|library| !library.is_empty())?;
                is_file_name(file).then(|| Self::Api(library.to_owned()))
            }
            "schemas" => {
                let version = file.strip_suffix(".json").filter(|version| is_version(version))?;
                Some(Self::Schema(version.to_owned()))
            }
            "versions" => {
                let parts = Framework::ALL.into_iter().flat_map(|framework| {
                    Document::ALL.map(|document| Self::Versions(framework, document))
                });
                parts.into_iter().find(|part| part.name() == name)
            }
            _ => None,
        }
    }
}

impl Contents {
    /// The list of contents of a new pack.
    pub fn new(made: u64, framework: Framework, version: String, items: Vec<Item>) -> Self {
        Self { format: FORMAT.to_owned(), made, framework, version, items }
    }

    /// Reads the first entry, and checks that all listed entries belong in a pack and are within the limits.
    /// Fails with the reason.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let contents: Self = serde_json::from_slice(text)
            .map_err(|error| format!("its list of contents cannot be read: {error}"))?;
        let Self { format, version, items, .. } = &contents;
        if format != FORMAT {
            return Err(format!(
                "it has the format '{}', and this program reads '{FORMAT}'",
                format.escape_debug()
            ));
        }
        if !is_version(version) {
            return Err(format!("its version is '{}'", version.escape_debug()));
        }
        if items.len() > MAX_ITEMS {
            return Err(format!("it has more than {MAX_ITEMS} items"));
        }
        let mut bytes_left = MAX_BYTES;
        let mut names: Vec<String> = Vec::new();
        for Item { name, bytes, .. } in items {
            // File systems may ignore case.
            names.push(name.to_lowercase());
            if Part::parse(name).is_none() {
                return Err(format!("'{}' does not belong in a pack", name.escape_debug()));
            }
            if *bytes > MAX_ITEM {
                return Err(format!("{name} is larger than {} MiB", MAX_ITEM >> 20));
            }
            bytes_left = bytes_left
                .checked_sub(*bytes)
                .ok_or_else(|| format!("it is larger than {} MiB", MAX_BYTES >> 20))?;
        }
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("{} is in it twice", pair[0]));
        }
        Ok(contents)
    }

    /// The numbers of API references, of schemas, and of lists of versions.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count =
            |folder: &str| self.items.iter().filter(|item| item.name.starts_with(folder)).count();
        (count("api/"), count("schemas/"), count("versions/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind_of_items() {
        for part in [
            Part::Api("sap.ui.core".into()),
            Part::Schema("1.89.0".into()),
            Part::Versions(Framework::OpenUi5, Document::Versions),
            Part::Versions(Framework::SapUi5, Document::Overview),
        ] {
            assert_eq!(Part::parse(&part.name()), Some(part));
        }
        for name in [
            "",
            "api",
            "api/",
            "api/.api.json",
            "api/../x.api.json",
            "api/a/b.api.json",
            "api/x.json",
            "/api/x.api.json",
            "schemas/../1.json",
            "schemas/.json",
            "versions/other.json",
            "versions/openui5-version.json/x",
            "../x",
            "contents.json",
        ] {
            assert_eq!(Part::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_list_with_entries_that_do_not_belong_is_refused() {
        let item =
            |name: &str, bytes: u64| Item { name: name.to_owned(), bytes, sha256: String::new() };
        let schemas = |count: usize, bytes: u64| {
            (0..count).map(|number| item(&format!("schemas/{number}.json"), bytes)).collect()
        };
        for (version, items, expected) in [
            ("1.2.3", vec![item("etc/passwd", 1)], "does not belong"),
            ("1.2.3", vec![item("api/a.api.json", MAX_ITEM + 1)], "larger than 64 MiB"),
            ("1.2.3", vec![item("api/a.api.json", 1), item("api/A.api.json", 1)], "twice"),
            ("1.2.3", schemas(17, MAX_ITEM), "larger than 1024 MiB"),
            ("1.2.3", schemas(MAX_ITEMS + 1, 1), "more than 4000"),
            ("../../x", vec![], "its version is '../../x'"),
        ] {
            let contents = Contents::new(0, Framework::OpenUi5, version.to_owned(), items);
            let text = serde_json::to_vec(&contents).expect("it is JSON");
            let failure = Contents::read(&text).expect_err(expected);
            assert!(failure.contains(expected), "{failure}");
        }
        let other = br#"{"format":"x","made":0,"framework":"OpenUI5","version":"1","items":[]}"#;
        assert!(Contents::read(other).expect_err("another form").contains("this program reads"));
        assert!(Contents::read(b"{}").is_err());
    }
}
