//! The tools `search_blueprints` and `search_assets`.

mod live;

use crate::{
    answer::{Names, Page, SourceKind, shown, tags, tags_told, yes},
    live::{Editor, Fault},
    offline::Offline,
    source::{SourceQuery, answer},
};
use portcullis_plugin::prelude::*;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use unreal_project::{AssetQuery, BlueprintQuery, Hit, Matched};

about_project! {
    #[paged]
    /// Search for Blueprint assets by name, by parent class, or by any class they derive from.
    pub struct SearchBlueprints {
        /// `name`: the term is part of the asset's name. `parent_class`: it is part of the direct parent's path. `all`: either. `inherits`: the Blueprint derives, directly or through other classes, from the class that the term names, such as Actor, BP_Door, /Game/BP_Door or /Script/Engine.Pawn.
        search_type: SearchType,
        /// What to look for. Case does not matter.
        #[schemars(length(min = 1, max = 1024))]
        search_term: String,
        /// Only in this folder of packages, such as /Game/Doors. Empty: everywhere.
        #[serde(default)]
        package_path: String,
        /// Whether folders below the package path are searched, too.
        #[serde(default = "yes", rename = "bRecursive")]
        recursive: bool,
    }
}

#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum SearchType {
    Name,
    ParentClass,
    All,
    Inherits,
}

tool_result! {
    /// The Blueprints that were found.
    pub struct FoundBlueprints {
        results: Vec<FoundBlueprint>,
        /// How many results this answer has
        total_results: usize,
        search_criteria: Criteria,
        /// How many results there are
        total_count: usize,
        offset: usize,
        has_more: bool,
    }
}

#[data]
struct FoundBlueprint {
    asset_path: String,
    asset_name: String,
    package_path: String,
    /// The direct parent, as the asset's tag has it
    parent_class: String,
    matches: Vec<Match>,
}

#[data]
struct Match {
    r#type: String,
    location: String,
    context: String,
}

#[data]
struct Criteria {
    search_type: SearchType,
    search_term: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    package_path: Option<String>,
    recursive: bool,
}

read_only_tool!(SearchBlueprints, "search_blueprints", "Search Blueprints", FoundBlueprints);

impl SourceQuery for SearchBlueprints {
    type Answer = FoundBlueprints;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<FoundBlueprints, Fault> {
        live::blueprints(self, editor)
    }

    fn ask_files(
        &self,
        request: &Request<'_>,
        offline: &Offline,
    ) -> Result<FoundBlueprints, Failure> {
        let term = self.search_term.clone();
        let query = match self.search_type {
            SearchType::Name => BlueprintQuery::Name(term),
            SearchType::ParentClass => BlueprintQuery::Parent(term),
            SearchType::All => BlueprintQuery::All(term),
            SearchType::Inherits => BlueprintQuery::Inherits(term),
        };
        let (cpp, cut) = match self.search_type {
            SearchType::Inherits => offline.cpp_classes(request),
            SearchType::Name | SearchType::ParentClass | SearchType::All => Default::default(),
        };
        let (hits, unknown) =
            offline.index.search_blueprints(&query, &cpp, &self.package_path, self.recursive);
        let page = Page::new(self.offset, self.max_results);
        let total = hits.len();
        let results: Vec<FoundBlueprint> = page
            .of(hits)
            .into_iter()
            .map(|(hit, matched)| self.found(offline, hit, &matched))
            .collect();
        let unknown_note = (unknown > 0).then(|| {
            format!(
                "{unknown} more Blueprints may match: not all of their ancestors are known, for example because \
                 they derive from C++ classes of an Unreal plugin outside of the project"
            )
        });
        let Self { search_type, package_path, .. } = self;
        let search_type = *search_type;
        Ok(FoundBlueprints {
            total_results: results.len(),
            results,
            search_criteria: Criteria {
                search_type,
                search_term: shown(&self.search_term),
                package_path: (!package_path.is_empty()).then(|| shown(package_path)),
                recursive: self.recursive,
            },
            total_count: total,
            offset: page.offset,
            has_more: page.has_more(total),
            source: SourceKind::Offline,
            warnings: offline
                .warnings_and(offline.missing([package_path]).chain(unknown_note).chain(cut)),
            as_of: offline.as_of.clone(),
        })
    }
}

impl SearchBlueprints {
    fn found(&self, offline: &Offline, hit: Hit<'_>, matched: &[Matched]) -> FoundBlueprint {
        let index = &offline.index;
        let names = Names::of(index, hit.entry, hit.asset);
        let parent = shown(index.text(hit.asset.parent));
        let term = shown(&self.search_term);
        let matches = matched.iter().map(|matched| {
            let (kind, context) = match matched {
                Matched::Name => {
                    ("asset_name", format!("Blueprint name '{}' contains '{term}'", names.name))
                }
                Matched::Parent => {
                    ("parent_class", format!("Parent class '{parent}' contains '{term}'"))
                }
                Matched::Ancestor => {
                    ("ancestor_class", format!("'{}' derives from '{term}'", names.name))
                }
            };
            Match { r#type: kind.to_owned(), location: "Blueprint Asset".to_owned(), context }
        });
        FoundBlueprint {
            matches: matches.collect(),
            asset_path: names.object_path,
            asset_name: names.name,
            package_path: names.folder,
            parent_class: parent,
        }
    }
}

about_project! {
    #[paged]
    /// Search for assets by folder or by package name, and by class.
    pub struct SearchAssets {
        /// Folders of packages, such as /Game/Doors.
        #[serde(default)]
        package_paths: Vec<String>,
        /// Names of packages, such as /Game/Doors/BP_Door. `*` stands for anything.
        #[serde(default)]
        package_names: Vec<String>,
        /// Only assets of these classes: paths such as /Script/Engine.Blueprint, or names.
        #[serde(default)]
        class_paths: Vec<String>,
        /// Whether to search the folders below them, too.
        #[serde(default = "yes", rename = "bRecursive")]
        recursive: bool,
        /// Whether to return the tags of each asset.
        #[serde(default, rename = "bIncludeTags")]
        include_tags: bool,
    }
}

tool_result! {
    /// The assets that were found.
    pub struct FoundAssets {
        assets: Vec<FoundAsset>,
        /// How many assets this answer has
        count: usize,
        /// How many there are
        total_count: usize,
        offset: usize,
        has_more: bool,
    }
}

#[data]
struct FoundAsset {
    exists: bool,
    asset_path: String,
    asset_name: String,
    package_path: String,
    class_path: String,
    object_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    tags: Option<Map<String, Value>>,
}

impl Tool for SearchAssets {
    const NAME: &'static str = "search_assets";
    const TITLE: Option<&'static str> = Some("Search assets");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    type Output = Json<FoundAssets>;

    fn call(self, request: &Request) -> Result<Json<FoundAssets>, Failure> {
        if self.package_paths.is_empty() && self.package_names.is_empty() {
            return Err(Failure::new(
                "Missing required parameter: Either packagePaths or packageNames must be provided \
                 (at least one must be a non-empty array)",
            ));
        }
        answer(&self, request).map(Json)
    }
}

impl SourceQuery for SearchAssets {
    type Answer = FoundAssets;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<FoundAssets, Fault> {
        live::assets(self, editor)
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<FoundAssets, Failure> {
        let hits = offline.index.search_assets(&AssetQuery {
            paths: self.package_paths.clone(),
            recursive: self.recursive,
            names: self.package_names.clone(),
            classes: self.class_paths.clone(),
        });
        let page = Page::new(self.offset, self.max_results);
        let total = hits.len();
        let mut files = TagReader::default();
        let assets: Vec<FoundAsset> = page
            .of(hits)
            .into_iter()
            .map(|hit| {
                let names = Names::of(&offline.index, hit.entry, hit.asset);
                FoundAsset {
                    exists: true,
                    asset_path: names.object_path.clone(),
                    asset_name: names.name,
                    package_path: names.folder,
                    class_path: names.class,
                    object_path: names.object_path,
                    tags: self.include_tags.then(|| files.tags(offline, hit)),
                }
            })
            .collect();
        Ok(FoundAssets {
            count: assets.len(),
            assets,
            total_count: total,
            offset: page.offset,
            has_more: page.has_more(total),
            source: SourceKind::Offline,
            warnings: offline.warnings_and(offline.missing(&self.package_paths)),
            as_of: offline.as_of.clone(),
        })
    }
}

/// Reads the tags of assets. The assets of one package have to follow each other, so that the
/// package is read once.
#[derive(Default)]
pub struct TagReader {
    /// The package that was read last.
    package: String,
    tags: HashMap<String, Map<String, Value>>,
}

impl TagReader {
    /// The tags of an asset; empty if its package cannot be read any more.
    pub fn tags(&mut self, offline: &Offline, hit: Hit<'_>) -> Map<String, Value> {
        let index = &offline.index;
        let package = index.text(hit.entry.package);
        if self.package != package {
            package.clone_into(&mut self.package);
            self.tags.clear();
            if let Some(bytes) = crate::query::header(offline, hit.entry)
                && let Ok(header) = unreal_package::Header::read(&bytes, hit.entry.size)
            {
                let assets = header.assets.iter();
                self.tags = assets.map(|asset| (asset.path.to_string(), tags(asset))).collect();
            }
        }
        self.tags.get(index.text(hit.asset.path)).cloned().unwrap_or_default()
    }
}
