//! The tools `find_unused_assets` and `find_broken_references`.

use crate::{
    answer::{Page, SourceKind, shown},
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use unreal_package::DependencyKind;
use unreal_project::Relations;

/// Maximum number of referencers listed for one unused asset.
const MAX_REFERENCERS: usize = 20;

about_project! {
    #[paged]
    /// Find unused packages: no map, configuration or source code needs them, directly or through other packages. Check a package before you delete it: code may load it by a name that the code composes.
    pub struct UnusedAssets {
        /// Only in this folder of packages, such as /Game/Doors. Empty: everywhere.
        #[serde(default)]
        package_path: String,
    }
}

tool_result! {
    /// Unused packages.
    pub struct Unused {
        unused: Vec<UnusedPackage>,
        count: usize,
        total_count: usize,
        offset: usize,
        has_more: bool,
    }
}

#[data]
struct UnusedPackage {
    package: String,
    bytes: u64,
    /// Packages that need it, which are unused as well
    referencers: Vec<String>,
}

read_only_tool!(UnusedAssets, "find_unused_assets", "Find unused assets", Unused);

impl SourceQuery for UnusedAssets {
    type Answer = Unused;

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Unused, Failure> {
        let index = &offline.index;
        let found = Relations::of(index).unused(&offline.project, &self.package_path);
        let page = Page::new(self.offset, self.max_results);
        let (total, not_searched) = (found.packages.len(), found.warnings);
        let found = page.of(found.packages);
        let cut = found.iter().filter(|unused| unused.referencers.len() > MAX_REFERENCERS);
        let cut: Vec<String> = cut.map(|unused| shown(&unused.package)).collect();
        let unused: Vec<UnusedPackage> = found
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
        let cut = (!cut.is_empty()).then(|| {
            format!(
                "only {MAX_REFERENCERS} referencers of a package are listed: get_asset_references \
                 lists those of {}",
                cut.join(", ")
            )
        });
        let no_map = !index.entries().iter().any(|entry| entry.is_map);
        let is_known = |entry: &&unreal_project::Entry| {
            matches!(entry.state, unreal_project::State::Read | unreal_project::State::Partly)
        };
        let unknown = index.entries().iter().filter(|entry| !is_known(entry)).count();
        let unknown = (unknown > 0).then(|| {
            format!(
                "packages that were not read: {unknown}. They are not listed, and packages that only they \
                 need may be listed although they are used"
            )
        });
        let no_map = no_map.then(|| {
            "the project has no map: nearly every package counts as unused, since maps are where \
             the search for used packages begins"
                .to_owned()
        });
        Ok(Unused {
            count: unused.len(),
            unused,
            total_count: total,
            offset: page.offset,
            has_more: page.has_more(total),
            source: SourceKind::Offline,
            warnings: offline.warnings_and(
                offline
                    .missing([&self.package_path])
                    .chain(no_map)
                    .chain(not_searched)
                    .chain(unknown)
                    .chain(cut),
            ),
            as_of: offline.as_of.clone(),
        })
    }
}

about_project! {
    #[paged]
    /// Find references to packages that are not there.
    pub struct BrokenReferences {
        /// Only of packages in this folder, such as /Game/Doors. Empty: everywhere.
        #[serde(default)]
        package_path: String,
    }
}

tool_result! {
    /// References to packages that are not there.
    pub struct Broken {
        broken: Vec<BrokenReference>,
        count: usize,
        total_count: usize,
        offset: usize,
        has_more: bool,
        /// References to packages of the engine or of plugins outside of the project, which cannot be checked
        unchecked: usize,
    }
}

#[data]
struct BrokenReference {
    /// The package with the reference
    package: String,
    /// The package that is not there
    missing: String,
    /// `hard`: loaded together with `package`; `soft`: may be loaded later
    strength: String,
}

read_only_tool!(BrokenReferences, "find_broken_references", "Find broken references", Broken);

impl SourceQuery for BrokenReferences {
    type Answer = Broken;

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
                    DependencyKind::Hard | DependencyKind::Build => "hard",
                    DependencyKind::Soft => "soft",
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
            warnings: offline.warnings_and(offline.missing([&self.package_path])),
            as_of: offline.as_of.clone(),
        })
    }
}
