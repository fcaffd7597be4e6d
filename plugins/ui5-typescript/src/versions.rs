//! Which versions of npm packages the guide recommends: the newest ones that fit each other.

use semver::Version;
use serde::Deserialize;
use std::collections::BTreeMap;

const TABLE: &str = include_str!("../../../resources/ui5-guides/versions.json");

/// The table that comes with the plugin.
#[derive(Deserialize)]
pub struct Table {
    /// The day it was made.
    pub date: String,
    /// What it knows of each package of the guide.
    pub packages: BTreeMap<String, Known>,
}

/// What the table knows of a package.
#[derive(Deserialize)]
pub struct Known {
    /// The newest version on that day that fits the others.
    pub version: Version,
    /// From which version on it does not fit the others, if there is such a version.
    pub below: Option<Version>,
    /// Why not.
    pub because: Option<String>,
}

impl Table {
    /// Reads it.
    pub fn read() -> Self {
        serde_json::from_str(TABLE).expect("a test reads it")
    }
}

/// What the guide says of versions.
pub struct Choice {
    /// The version of each package.
    pub versions: BTreeMap<String, String>,
    /// How old they are and what is particular about them.
    pub note: String,
}

/// Chooses a version of each package of the table. `latest` is asked at `source` for the newest.
pub fn choose(latest: impl Fn(&str) -> Option<String>, source: &str) -> Choice {
    let table = Table::read();
    let (mut versions, mut tabled, mut held) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (package, known) in table.packages {
        let newest = latest(&package).and_then(|version| Version::parse(&version).ok());
        let fits = |version: &Version| known.below.as_ref().is_none_or(|below| version < below);
        if let (Some(below), Some(because)) = (&known.below, &known.because) {
            held.push(format!("`{package}` has to be below {below}, since {because}."));
        }
        let chosen = match newest {
            Some(newest) if fits(&newest) => newest,
            Some(_) => known.version,
            None => {
                tabled.push(format!("`{package}`"));
                known.version
            }
        };
        versions.insert(package, chosen.to_string());
    }
    let mut note = if tabled.len() == versions.len() {
        format!(
            "The versions are the newest of {}, from a table that comes with this tool, as {source} could \
             not be asked; `npm view PACKAGE version` tells whether there are newer ones.",
            table.date
        )
    } else {
        format!("The versions are the newest that {source} has.")
    };
    if !tabled.is_empty() && tabled.len() < versions.len() {
        let tabled = tabled.join(", ");
        note.push_str(&format!(
            " It does not tell those of {tabled}: these are of {}.",
            table.date
        ));
    }
    for sentence in held {
        note.push(' ');
        note.push_str(&sentence);
    }
    Choice { versions, note }
}
