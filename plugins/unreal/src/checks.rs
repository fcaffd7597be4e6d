//! The tools `find_unused_assets` and `find_broken_references`.

use crate::{
    answer::{Page, SourceKind, hundred, shown},
    offline::Offline,
    source::{Asked, answer},
};
use portcullis_plugin::prelude::*;
use unreal_package::Strength;
use unreal_project::Relations;

/// The most referencers that are named of one unused asset.
const MAX_REFERENCERS: usize = 20;

/// Find packages that nothing needs: no map, not the configuration, not the source code, nor anything that these need. Candidates for a look, not for deletion: what code loads by a name it puts together cannot be seen.
#[arguments]
pub struct UnusedAssets {
    /// Only in this folder of packages, such as /Game/Doors. Empty: everywhere.
    #[serde(default)]
    package_path: String,
    /// How many results at most; 0 for as many as one answer holds.
    #[serde(default = "hundred")]
    max_results: u32,
    /// How many results to leave out.
    #[serde(default)]
    offset: u32,
    /// Absolute path of the project's folder, or in it. May be left out when one project is open.
    #[path(directory, read, nearest = ["Content", "Config", "Source", "Plugins"])]
    project_dir: Option<String>,
}

/// Packages that nothing needs.
#[data]
pub struct Unused {
    unused: Vec<UnusedPackage>,
    count: usize,
    total_count: usize,
    offset: usize,
    has_more: bool,
    source: SourceKind,
    as_of: String,
    warnings: Vec<String>,
}

#[data]
struct UnusedPackage {
    package: String,
    bytes: u64,
    /// Packages that need it, which are unused as well
    referencers: Vec<String>,
}

impl Tool for UnusedAssets {
    const NAME: &'static str = "find_unused_assets";
    const TITLE: Option<&'static str> = Some("Find unused assets");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    type Output = Json<Unused>;

    fn call(self, request: &Request) -> Result<Json<Unused>, Failure> {
        answer(&self, request).map(Json)
    }
}

impl Asked for UnusedAssets {
    type Answer = Unused;

    fn project_dir(&self) -> Option<&str> {
        self.project_dir.as_deref()
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Unused, Failure> {
        let index = &offline.index;
        let found = Relations::of(index).unused(&offline.project, &self.package_path);
        let page = Page::new(self.offset, self.max_results);
        let total = found.len();
        let unused: Vec<UnusedPackage> = page
            .of(found)
            .into_iter()
            .map(|unused| UnusedPackage {
                bytes: index.find(&unused.package).map_or(0, |entry| entry.size),
                package: shown(&unused.package),
                referencers: unused
                    .referencers
                    .iter()
                    .take(MAX_REFERENCERS)
                    .map(|referencer| shown(referencer))
                    .collect(),
            })
            .collect();
        let no_map = !index.entries().iter().any(|entry| entry.is_map);
        let no_map = no_map.then(|| {
            "the project has no map: as long as nothing begins anywhere, nearly everything is \
             unused"
                .to_owned()
        });
        Ok(Unused {
            count: unused.len(),
            unused,
            total_count: total,
            offset: page.offset,
            has_more: page.has_more(total),
            source: SourceKind::Offline,
            warnings: offline.warnings_and(no_map),
            as_of: offline.as_of.clone(),
        })
    }
}

/// Find references to packages that are not there.
#[arguments]
pub struct BrokenReferences {
    /// Only of packages in this folder, such as /Game/Doors. Empty: everywhere.
    #[serde(default)]
    package_path: String,
    /// How many results at most; 0 for as many as one answer holds.
    #[serde(default = "hundred")]
    max_results: u32,
    /// How many results to leave out.
    #[serde(default)]
    offset: u32,
    /// Absolute path of the project's folder, or in it. May be left out when one project is open.
    #[path(directory, read, nearest = ["Content", "Config", "Source", "Plugins"])]
    project_dir: Option<String>,
}

/// References to packages that are not there.
#[data]
pub struct Broken {
    broken: Vec<BrokenReference>,
    count: usize,
    total_count: usize,
    offset: usize,
    has_more: bool,
    /// References to packages of the engine or of plugins outside of the project, which cannot be checked
    unchecked: usize,
    source: SourceKind,
    as_of: String,
    warnings: Vec<String>,
}

#[data]
struct BrokenReference {
    /// Who refers
    package: String,
    /// To what
    missing: String,
    /// Whether it is loaded with the package (`hard`) or may be later (`soft`)
    strength: String,
}

impl Tool for BrokenReferences {
    const NAME: &'static str = "find_broken_references";
    const TITLE: Option<&'static str> = Some("Find broken references");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    type Output = Json<Broken>;

    fn call(self, request: &Request) -> Result<Json<Broken>, Failure> {
        answer(&self, request).map(Json)
    }
}

impl Asked for BrokenReferences {
    type Answer = Broken;

    fn project_dir(&self) -> Option<&str> {
        self.project_dir.as_deref()
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Broken, Failure> {
        let (found, unchecked) = Relations::of(&offline.index).broken(&self.package_path);
        let page = Page::new(self.offset, self.max_results);
        let total = found.len();
        let broken: Vec<BrokenReference> = page
            .of(found)
            .into_iter()
            .map(|broken| BrokenReference {
                package: shown(&broken.package),
                missing: shown(&broken.missing),
                strength: match broken.strength {
                    Strength::Hard | Strength::Build => "hard",
                    Strength::Soft => "soft",
                }
                .to_owned(),
            })
            .collect();
        Ok(Broken {
            count: broken.len(),
            broken,
            total_count: total,
            offset: page.offset,
            has_more: page.has_more(total),
            unchecked,
            source: SourceKind::Offline,
            warnings: offline.warnings_and(None),
            as_of: offline.as_of.clone(),
        })
    }
}
