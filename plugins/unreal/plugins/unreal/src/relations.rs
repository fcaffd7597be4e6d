//! The tools `get_asset_dependencies`, `get_asset_references` and `get_asset_dependency_tree`.

mod live;

use crate::{
    answer::{MAX_PAGE, SourceKind, shown, yes},
    live::{Editor, Fault},
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use unreal_package::DependencyKind;
use unreal_project::{OpenFault, Relation, Relations, object_path};

about_project! {
    /// What an asset depends on: the packages that are loaded with it, and, if asked, those that may be loaded later.
    pub struct AssetDependencies {
        /// Path of the asset, such as /Game/Doors/BP_Door.
        #[schemars(length(min = 1, max = 2048))]
        asset_path: String,
        /// Packages that are loaded with it.
        #[serde(default = "yes", rename = "bIncludeHardDependencies")]
        hard: bool,
        /// Packages that may be loaded later.
        #[serde(default, rename = "bIncludeSoftDependencies")]
        soft: bool,
        /// Also the modules of C++, /Script/….
        #[serde(default, rename = "bIncludeScript")]
        script: bool,
    }
}

about_project! {
    /// What depends on an asset. Use it before an asset is changed, moved or deleted.
    pub struct AssetReferences {
        /// Path of the asset, such as /Game/Doors/BP_Door; or of a module of C++, such as /Script/MyGame.
        #[schemars(length(min = 1, max = 2048))]
        asset_path: String,
        /// Packages that load it with them.
        #[serde(default = "yes", rename = "bIncludeHardReferences")]
        hard: bool,
        /// Packages that may load it later.
        #[serde(default, rename = "bIncludeSoftReferences")]
        soft: bool,
    }
}

about_project! {
    /// The dependencies of an asset, their dependencies, and so on.
    pub struct DependencyTree {
        /// Path of the asset, such as /Game/Maps/Town.
        #[schemars(length(min = 1, max = 2048))]
        asset_path: String,
        /// How many steps at most.
        #[serde(default = "ten")]
        #[schemars(range(min = 1, max = 100))]
        max_depth: u32,
        /// Packages that are loaded with it.
        #[serde(default = "yes", rename = "bIncludeHardDependencies")]
        hard: bool,
        /// Packages that may be loaded later.
        #[serde(default, rename = "bIncludeSoftDependencies")]
        soft: bool,
        /// Also the modules of C++, /Script/….
        #[serde(default, rename = "bIncludeScript")]
        script: bool,
        /// How many packages at most; 0: as many as fit.
        #[serde(default = "five_hundred")]
        max_results: u32,
    }
}

fn ten() -> u32 {
    10
}

fn five_hundred() -> u32 {
    500
}

/// One dependency or reference, and its kind.
#[data]
struct Detail {
    package: String,
    /// `hard`, `soft` or `build`; `unknown` where the editor does not say
    strength: String,
    /// Whether only the editor needs it, where that is known
    #[serde(skip_serializing_if = "Option::is_none")]
    editor_only: Option<bool>,
    /// The redirector between the two packages
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
}

tool_result! {
    /// What an asset depends on.
    pub struct Dependencies {
        #[serde(rename = "bSuccess")]
        success: bool,
        asset_path: String,
        /// Packages
        dependencies: Vec<String>,
        count: usize,
        error: String,
        details: Vec<Detail>,
    }
}

tool_result! {
    /// What depends on an asset.
    pub struct References {
        #[serde(rename = "bSuccess")]
        success: bool,
        asset_path: String,
        /// Packages
        references: Vec<String>,
        count: usize,
        error: String,
        details: Vec<Detail>,
    }
}

tool_result! {
    /// A tree of dependencies, as a list.
    pub struct Tree {
        #[serde(rename = "bSuccess")]
        success: bool,
        asset_path: String,
        /// Each package once, at its smallest depth
        tree: Vec<TreeNode>,
        total_nodes: usize,
        max_depth_reached: usize,
        /// Whether packages are left out because of `maxDepth` or `maxResults`
        cut: bool,
        error: String,
    }
}

#[data]
struct TreeNode {
    asset_path: String,
    depth: usize,
    dependencies: Vec<String>,
}

/// The package of an asset in this project; for a redirector, its target.
fn package(offline: &Offline, path: &str) -> Result<String, Failure> {
    let (package, _) = object_path(path).ok_or_else(|| OpenFault::NoPath(path.to_owned()))?;
    let index = &offline.index;
    let Some(mut entry) = index.find(package) else {
        return Err(Failure::from(if index.has_mount_of(package) {
            OpenFault::Missing(package.to_owned())
        } else {
            OpenFault::Elsewhere(package.to_owned())
        }));
    };
    for _ in 0..16 {
        match index.redirected(entry).and_then(|target| index.find(target)) {
            Some(target) => entry = target,
            None => break,
        }
    }
    Ok(index.text(entry.package).to_owned())
}

fn strengths(hard: bool, soft: bool) -> Vec<DependencyKind> {
    // Build dependencies count as hard dependencies.
    let hard = [DependencyKind::Hard, DependencyKind::Build].into_iter().filter(|_| hard);
    hard.chain([DependencyKind::Soft].into_iter().filter(|_| soft)).collect()
}

fn details(relations: Vec<Relation>, warnings: &mut Vec<String>) -> (Vec<String>, Vec<Detail>) {
    if relations.len() > MAX_PAGE {
        warnings.push(format!("only {MAX_PAGE} of {} are listed", relations.len()));
    }
    let details: Vec<Detail> = relations
        .into_iter()
        .take(MAX_PAGE)
        .map(|Relation { package, strength, editor_only, via }| Detail {
            package: shown(&package),
            strength: match strength {
                DependencyKind::Hard => "hard",
                DependencyKind::Soft => "soft",
                DependencyKind::Build => "build",
            }
            .to_owned(),
            editor_only,
            via: via.map(|via| shown(&via)),
        })
        .collect();
    let mut names: Vec<String> = details.iter().map(|detail| detail.package.clone()).collect();
    names.dedup();
    (names, details)
}

read_only_tool!(AssetDependencies, "get_asset_dependencies", "Asset dependencies", Dependencies);

impl SourceQuery for AssetDependencies {
    type Answer = Dependencies;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<Dependencies, Fault> {
        live::dependencies(self, editor)
    }

    fn ask_files(
        &self,
        _request: &Request<'_>,
        offline: &Offline,
    ) -> Result<Dependencies, Failure> {
        let name = package(offline, &self.asset_path)?;
        let relations = Relations::of(&offline.index);
        let entry = offline.index.find(&name).or_fail(&name)?;
        let mut warnings: Vec<String> =
            offline.index.problem(entry).map(|why| format!("{name}: {why}")).into_iter().collect();
        let wanted = strengths(self.hard, self.soft);
        let found = relations.dependencies(entry, &wanted, self.script);
        let (dependencies, details) = details(found, &mut warnings);
        Ok(Dependencies {
            success: true,
            asset_path: shown(&self.asset_path),
            count: dependencies.len(),
            dependencies,
            error: String::new(),
            details,
            source: SourceKind::Offline,
            warnings: offline.warnings_and(warnings),
            as_of: offline.as_of.clone(),
        })
    }
}

read_only_tool!(AssetReferences, "get_asset_references", "Asset references", References);

impl SourceQuery for AssetReferences {
    type Answer = References;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<References, Fault> {
        live::references(self, editor)
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<References, Failure> {
        let (asked, _) = object_path(&self.asset_path)
            .ok_or_else(|| OpenFault::NoPath(self.asset_path.clone()))?;
        // Packages outside the project, such as the engine's, may have referencers too.
        let name = match package(offline, &self.asset_path) {
            Ok(name) => name,
            Err(missing) if offline.index.has_mount_of(asked) => return Err(missing),
            Err(_) => asked.to_owned(),
        };
        let wanted = strengths(self.hard, self.soft);
        let mut warnings = Vec::new();
        let found = Relations::of(&offline.index).referencers(&name, &wanted);
        let (references, details) = details(found, &mut warnings);
        Ok(References {
            success: true,
            asset_path: shown(&self.asset_path),
            count: references.len(),
            references,
            error: String::new(),
            details,
            source: SourceKind::Offline,
            warnings: offline.warnings_and(warnings),
            as_of: offline.as_of.clone(),
        })
    }
}

read_only_tool!(DependencyTree, "get_asset_dependency_tree", "Asset dependency tree", Tree);

impl SourceQuery for DependencyTree {
    type Answer = Tree;

    fn ask_editor(&self, editor: &Editor<'_>) -> Result<Tree, Fault> {
        live::tree(self, editor)
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Tree, Failure> {
        let name = package(offline, &self.asset_path)?;
        let max_nodes = match self.max_results as usize {
            0 => MAX_PAGE,
            limit => limit.min(MAX_PAGE),
        };
        let (nodes, is_whole) = Relations::of(&offline.index).tree(
            &name,
            &strengths(self.hard, self.soft),
            self.script,
            self.max_depth as usize,
            max_nodes,
        );
        let tree: Vec<TreeNode> = nodes
            .into_iter()
            .map(|node| TreeNode {
                asset_path: shown(&node.package),
                depth: node.depth,
                dependencies: node.dependencies.iter().map(|name| shown(name)).collect(),
            })
            .collect();
        Ok(Tree {
            success: true,
            asset_path: shown(&self.asset_path),
            total_nodes: tree.len(),
            max_depth_reached: tree.iter().map(|node| node.depth).max().unwrap_or_default(),
            tree,
            cut: !is_whole,
            error: String::new(),
            source: SourceKind::Offline,
            warnings: offline.warnings_and(None),
            as_of: offline.as_of.clone(),
        })
    }
}
