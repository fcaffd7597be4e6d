//! Chooses versions of npm packages for the guide: the newest version of a package, or the version of a table if the
//! newest is unknown or does not fit the other packages.

use semver::Version;
use serde::Deserialize;
use std::collections::BTreeMap;

const TABLE: &str = include_str!("../../../resources/guides/versions.json");

/// The table in the plugin.
#[derive(Deserialize)]
pub struct Table {
    /// The date of the table.
    pub date: String,
    /// The packages of the guide.
    pub packages: BTreeMap<String, Known>,
}

/// The table's entry for a package.
#[derive(Deserialize)]
pub struct Known {
    /// The newest version on the date of the table that fits the other packages.
    pub version: Version,
    /// The first version that no longer fits, if any.
    pub below: Option<Version>,
    /// The reason why the version `below` does not fit.
    pub because: Option<String>,
}

impl Table {
    /// Parses the table.
    pub fn read() -> Self {
        serde_json::from_str(TABLE).expect("the table is valid, as a test checks")
    }
}

/// The chosen versions.
pub struct Choice {
    /// The version of each package.
    pub versions: BTreeMap<String, String>,
    /// A note about where the versions are from, and about packages that have to be below a version.
    pub note: String,
}

/// Chooses a version of each package. `latest` returns the newest version, from `source`.
pub fn choose(latest: impl Fn(&str) -> Option<String>, source: &str) -> Choice {
    let table = Table::read();
    let (mut versions, mut from_table, mut restrictions) =
        (BTreeMap::new(), Vec::new(), Vec::new());
    for (package, known) in table.packages {
        let newest = latest(&package).and_then(|version| Version::parse(&version).ok());
        let fits = |version: &Version| known.below.as_ref().is_none_or(|below| version < below);
        if let (Some(below), Some(because)) = (&known.below, &known.because) {
            let from = match &newest {
                Some(newest) if !fits(newest) => {
                    format!(" Its version is from a table of {}.", table.date)
                }
                _ => String::new(),
            };
            restrictions
                .push(format!("`{package}` has to be below {below}, since {because}.{from}"));
        }
        let chosen = match newest {
            Some(newest) if fits(&newest) => newest,
            Some(_) => known.version,
            None => {
                from_table.push(format!("`{package}`"));
                known.version
            }
        };
        versions.insert(package, chosen.to_string());
    }
    let mut note = if from_table.len() == versions.len() {
        format!(
            "The versions are from a table of {} that comes with this tool, because {source} could not be \
             asked. `npm view PACKAGE version` shows the newest version of a package.",
            table.date
        )
    } else {
        format!("The versions are the newest that {source} has, unless stated otherwise.")
    };
    if !from_table.is_empty() && from_table.len() < versions.len() {
        let from_table = from_table.join(", ");
        note.push_str(&format!(
            " {source} gave no usable version of {from_table}: their versions are from a table of {}.",
            table.date
        ));
    }
    for sentence in restrictions {
        note.push(' ');
        note.push_str(&sentence);
    }
    Choice { versions, note }
}
