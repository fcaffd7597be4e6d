//! The state of support of a version, such as maintained or outdated.

use super::{Versions, parse_minor};
use semver::Version;

/// The state of support of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// Description: `Maintenance`, `Outdated patch version. Upgrade to '1.120.30'.`, ...
    pub status: String,
    /// Whether the minor version has long-term maintenance, if listed.
    pub is_lts: Option<bool>,
    /// The newest version.
    pub latest: String,
    /// The newest version with long-term maintenance.
    pub latest_lts: Option<String>,
}

/// The state of support of a version, by a list.
pub fn of(versions: &Versions, version: &str) -> Support {
    let (status, is_lts) = status(versions, version);
    Support {
        status,
        is_lts,
        latest: versions.latest().version.to_owned(),
        latest_lts: versions.latest_lts().map(str::to_owned),
    }
}

fn status(versions: &Versions, version: &str) -> (String, Option<bool>) {
    if let Some((_, listed)) = versions.releases().find(|(_, listed)| listed.version == version) {
        return (listed.support.to_owned(), Some(listed.is_lts));
    }
    let Ok(parsed) = Version::parse(version) else {
        return ("Unknown: not a version such as 1.120.30".to_owned(), None);
    };
    if let Some(listed) = versions.minor(&format!("{}.{}", parsed.major, parsed.minor)) {
        // A patch newer than the list is not outdated.
        let is_newer = Version::parse(listed.version).is_ok_and(|listed| parsed > listed);
        let status = if is_newer {
            listed.support.to_owned()
        } else {
            format!("Outdated patch version. Upgrade to '{}'.", listed.version)
        };
        return (status, Some(listed.is_lts));
    }
    // The list may be older than the version.
    let newest_minor = versions.entries.keys().filter_map(|key| parse_minor(key)).max();
    let newest = Version::parse(versions.latest().version).ok();
    let is_newer = newest.is_none_or(|newest| parsed > newest)
        && newest_minor.is_none_or(|newest| (parsed.major, parsed.minor) > newest);
    if is_newer {
        let latest = versions.latest().version;
        (format!("Unknown: newer than '{latest}', the latest version in the list."), None)
    } else {
        ("Out of Maintenance".to_owned(), None)
    }
}
