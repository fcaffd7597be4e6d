//! Asks the editor for dependencies and references.

use super::*;
use crate::live::{Kind, value};
use serde_json::Value;

/// The dependencies of an asset, from the editor.
pub fn dependencies(asked: &AssetDependencies, editor: &Editor<'_>) -> Result<Dependencies, Fault> {
    let question = Question {
        path: &asked.asset_path,
        tool: "get_asset_dependencies",
        list: "dependencies",
        which: "Dependencies",
        epic: "get_dependencies",
        hard: asked.hard,
        soft: asked.soft,
    };
    let mut details = question.ask(editor)?;
    details.retain(|detail| asked.script || !detail.package.starts_with("/Script/"));
    let dependencies = names(&details);
    Ok(Dependencies {
        success: true,
        asset_path: shown(&asked.asset_path),
        count: dependencies.len(),
        dependencies,
        error: String::new(),
        details,
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings(None),
    })
}

/// The referencers of an asset, from the editor.
pub fn references(asked: &AssetReferences, editor: &Editor<'_>) -> Result<References, Fault> {
    let question = Question {
        path: &asked.asset_path,
        tool: "get_asset_references",
        list: "references",
        which: "References",
        epic: "get_referencers",
        hard: asked.hard,
        soft: asked.soft,
    };
    let details = question.ask(editor)?;
    let references = names(&details);
    Ok(References {
        success: true,
        asset_path: shown(&asked.asset_path),
        count: references.len(),
        references,
        error: String::new(),
        details,
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings(None),
    })
}

/// The transitive dependencies of an asset, from the editor.
pub fn tree(asked: &DependencyTree, editor: &Editor<'_>) -> Result<Tree, Fault> {
    let tool = "get_asset_dependency_tree";
    if editor.seen.kind == Kind::Epic || !editor.offers(tool, None) {
        return Err(Fault::Unsupported(
            "the editor tells no tree of dependencies: the files answer",
        ));
    }
    let result = editor.read(
        tool,
        &json!({
            "assetPath": asked.asset_path,
            "maxDepth": asked.max_depth,
            "bIncludeHardDependencies": asked.hard,
            "bIncludeSoftDependencies": asked.soft,
        }),
    )?;
    let most = match asked.max_results as usize {
        0 => MAX_PAGE,
        most => most.min(MAX_PAGE),
    };
    let wanted = |path: &String| asked.script || !path.starts_with("/Script/");
    let all = result["tree"].as_array().into_iter().flatten();
    let nodes = all.map(|node| TreeNode {
        asset_path: value::text(node, "assetPath"),
        depth: value::number(node, "depth"),
        dependencies: value::texts(&node["dependencies"]).into_iter().filter(wanted).collect(),
    });
    let mut tree: Vec<TreeNode> = nodes.filter(|node| wanted(&node.asset_path)).collect();
    let cut = tree.len() > most || tree.iter().any(|node| node.depth >= asked.max_depth as usize);
    tree.truncate(most);
    Ok(Tree {
        success: true,
        asset_path: shown(&asked.asset_path),
        total_nodes: tree.len(),
        max_depth_reached: tree.iter().map(|node| node.depth).max().unwrap_or_default(),
        tree,
        cut,
        error: String::new(),
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings(None),
    })
}

/// A call of one of the two similar tools.
struct Question<'q> {
    path: &'q str,
    tool: &'q str,
    list: &'q str,
    /// The suffix of the arguments' names.
    which: &'q str,
    epic: &'q str,
    hard: bool,
    soft: bool,
}

impl Question<'_> {
    fn ask(&self, editor: &Editor<'_>) -> Result<Vec<Detail>, Fault> {
        let mut details = match editor.seen.kind {
            Kind::Epic => self.ask_epic(editor)?,
            Kind::UnrealMcpServer if !editor.offers(self.tool, None) => {
                return Err(Fault::Unsupported(
                    "this version of the editor's plugin tells no dependencies: the files answer",
                ));
            }
            Kind::UnrealMcpServer => {
                let mut details = Vec::new();
                // One call for each kind: the result does not tell the kind.
                for (is_asked, strength) in [(self.hard, "hard"), (self.soft, "soft")] {
                    if is_asked {
                        details.extend(self.ask_plugin(editor, strength)?);
                    }
                }
                details
            }
        };
        details.sort_by(|a, b| a.package.cmp(&b.package));
        details.truncate(MAX_PAGE);
        Ok(details)
    }

    fn ask_plugin(&self, editor: &Editor<'_>, strength: &str) -> Result<Vec<Detail>, Fault> {
        let mut arguments = json!({ "assetPath": self.path });
        for (kind, is_it) in [("Hard", strength == "hard"), ("Soft", strength == "soft")] {
            arguments[format!("bInclude{kind}{}", self.which)] = json!(is_it);
        }
        match editor.read(self.tool, &arguments) {
            Ok(result) => Ok(of_list(&result[self.list], strength)),
            Err(Fault::Failed(said)) => Err(Fault::Failed(value::why(&said))),
            Err(fault) => Err(fault),
        }
    }

    fn ask_epic(&self, editor: &Editor<'_>) -> Result<Vec<Detail>, Fault> {
        let (package, _) = object_path(self.path)
            .ok_or(Fault::Unsupported("this is no path of an asset: the files answer"))?;
        match editor.epic("AssetTools", self.epic, &json!({ "asset_path": package })) {
            Ok(returned) => Ok(of_list(&returned, "unknown")),
            // This message means that there are none.
            Err(Fault::Failed(said)) if said.contains("'NoneType' object is not iterable") => {
                Ok(Vec::new())
            }
            Err(fault) => Err(fault),
        }
    }
}

fn of_list(list: &Value, strength: &str) -> Vec<Detail> {
    let packages = value::texts(list).into_iter();
    packages
        .map(|package| Detail {
            package,
            strength: strength.to_owned(),
            editor_only: None,
            via: None,
        })
        .collect()
}

fn names(details: &[Detail]) -> Vec<String> {
    let mut names: Vec<String> = details.iter().map(|detail| detail.package.clone()).collect();
    names.dedup();
    names
}
