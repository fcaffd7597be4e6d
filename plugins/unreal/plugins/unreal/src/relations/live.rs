//! Asks the editor for dependencies and references, one package at a time.

use super::*;
use crate::live::{
    Kind,
    names::{AssetName, package_of},
    value::{self, Reply},
};
use std::collections::HashSet;

/// Maximum number of packages of a tree for which the editor is asked. Each package takes a message
/// and a pause.
const MAX_ASKED: usize = 60;

/// Maximum number of redirectors in the warnings of an answer.
const MAX_REDIRECTORS: usize = 10;

/// A question about dependencies or references, for which each server has a tool.
#[derive(Clone, Copy)]
struct Question {
    tool: &'static str,
    /// The member with the list in the answer of `tool`.
    list: &'static str,
    /// The end of the names of the arguments of `tool` that ask for hard and for soft ones.
    argument_suffix: &'static str,
    epic_tool: &'static str,
}

const DEPENDENCIES: Question = Question {
    tool: "get_asset_dependencies",
    list: "dependencies",
    argument_suffix: "Dependencies",
    epic_tool: "get_dependencies",
};

const REFERENCES: Question = Question {
    tool: "get_asset_references",
    list: "references",
    argument_suffix: "References",
    epic_tool: "get_referencers",
};

/// The dependencies of an asset, from the editor.
pub fn dependencies(asked: &AssetDependencies, editor: &Editor<'_>) -> Result<Dependencies, Fault> {
    let name = AssetName::read(&asked.asset_path)?;
    let mut details = DEPENDENCIES.ask(editor, &name, asked.hard, asked.soft)?;
    details.retain(|detail| asked.script || !detail.package.starts_with("/Script/"));
    let cut = limit(&mut details);
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
        warnings: editor
            .warnings(cut.into_iter().chain(unknown_strengths(editor, asked.hard, asked.soft))),
    })
}

/// The referencers of an asset, from the editor.
pub fn references(asked: &AssetReferences, editor: &Editor<'_>) -> Result<References, Fault> {
    let name = AssetName::read(&asked.asset_path)?;
    let mut details = REFERENCES.ask(editor, &name, asked.hard, asked.soft)?;
    let cut = limit(&mut details);
    let references_found = names(&details);
    Ok(References {
        success: true,
        asset_path: shown(&asked.asset_path),
        count: references_found.len(),
        references: references_found.clone(),
        error: String::new(),
        details,
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings(
            cut.into_iter()
                .chain(unknown_strengths(editor, asked.hard, asked.soft))
                .chain(redirectors(editor, &references_found)),
        ),
    })
}

/// The warnings about redirectors among the references: the editor lists redirectors, while answers
/// from files follow them.
fn redirectors(editor: &Editor<'_>, references: &[String]) -> Vec<String> {
    let Some(files) = editor.files() else { return Vec::new() };
    let index = &files.index;
    let is_redirector = |package: &&String| {
        index.find(package).is_some_and(|entry| index.redirected(entry).is_some())
    };
    let mut found = references.iter().filter(is_redirector);
    let mut warnings: Vec<String> = found
        .by_ref()
        .take(MAX_REDIRECTORS)
        .map(|package| {
            format!(
                "{package} is a redirector: ask for its references, too, which lead to the asset"
            )
        })
        .collect();
    let more = found.count();
    warnings.extend((more > 0).then(|| format!("{more} more of the references are redirectors")));
    warnings
}

/// The transitive dependencies of an asset. The editor's own tool for trees visits a package once
/// for each path to it, so that its work grows exponentially. Instead, the editor is asked for each
/// package once.
pub fn tree(asked: &DependencyTree, editor: &Editor<'_>) -> Result<Tree, Fault> {
    if editor.seen.kind == Kind::Epic {
        return Err(Fault::Unsupported(
            "Epic's server does not say which dependencies are hard: this answer is from the files",
        ));
    }
    let name = AssetName::read(&asked.asset_path)?;
    let max_nodes = match asked.max_results as usize {
        0 => MAX_PAGE,
        limit => limit.min(MAX_PAGE),
    };
    let root = TreeNode { asset_path: shown(name.package()), depth: 0, dependencies: Vec::new() };
    let (mut nodes, mut seen) = (vec![root], HashSet::from([name.package().to_ascii_lowercase()]));
    let (mut at, mut messages, mut cut) = (0, 0, false);
    while at < nodes.len() {
        let (package, depth) = (nodes[at].asset_path.clone(), nodes[at].depth);
        // Modules of C++ have no dependencies.
        if !package.starts_with("/Script/") {
            messages += 1;
            if messages > MAX_ASKED {
                return Err(Fault::Refuses(
                    "the tree has more than 60 packages, and the editor is asked for one at a time: \
                     this answer is from the files, without unsaved changes",
                ));
            }
            let mut dependencies = dependencies_in_tree(asked, editor, &package, at == 0)?;
            cut |= dependencies.len() > MAX_PAGE;
            dependencies.truncate(MAX_PAGE);
            nodes[at].dependencies = dependencies;
        }
        for name in nodes[at].dependencies.clone() {
            if depth >= asked.max_depth as usize {
                cut = true;
            } else if seen.insert(name.to_ascii_lowercase()) {
                if nodes.len() >= max_nodes {
                    cut = true;
                    continue;
                }
                nodes.push(TreeNode { asset_path: name, depth: depth + 1, dependencies: vec![] });
            }
        }
        at += 1;
    }
    Ok(Tree {
        success: true,
        asset_path: shown(&asked.asset_path),
        total_nodes: nodes.len(),
        max_depth_reached: nodes.iter().map(|node| node.depth).max().unwrap_or_default(),
        tree: nodes,
        cut,
        error: String::new(),
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings(None),
    })
}

/// The dependencies of one package of a tree. A package that the editor does not know counts as a
/// package without dependencies, unless it is the root of the tree.
fn dependencies_in_tree(
    asked: &DependencyTree,
    editor: &Editor<'_>,
    package: &str,
    is_first: bool,
) -> Result<Vec<String>, Fault> {
    let name = AssetName::read(package)?;
    match DEPENDENCIES.ask(editor, &name, asked.hard, asked.soft) {
        Ok(mut details) => {
            details.retain(|detail| asked.script || !detail.package.starts_with("/Script/"));
            Ok(names(&details))
        }
        Err(Fault::Failed(_)) if !is_first => Ok(Vec::new()),
        Err(fault) => Err(fault),
    }
}

impl Question {
    fn ask(
        &self,
        editor: &Editor<'_>,
        name: &AssetName,
        hard: bool,
        soft: bool,
    ) -> Result<Vec<Detail>, Fault> {
        let mut details = match editor.seen.kind {
            Kind::Epic => self.ask_epic(editor, name)?,
            Kind::UnrealMcpServer if !editor.offers(self.tool, None) => {
                return Err(Fault::Unsupported(
                    "this version of UnrealMCPServer has no tool for this: this answer is from the files",
                ));
            }
            Kind::UnrealMcpServer => {
                let mut details = Vec::new();
                // One message for each strength. With both strengths in one message, the editor looks for
                // dependencies that are hard and soft at once.
                for (is_asked, strength) in [(hard, "hard"), (soft, "soft")] {
                    if is_asked {
                        details.extend(self.ask_plugin(editor, name, strength)?);
                    }
                }
                details
            }
        };
        details.retain(|detail| detail.package != name.package());
        details.sort_by(|a, b| (&a.package, &a.strength).cmp(&(&b.package, &b.strength)));
        details.dedup_by(|a, b| a.package == b.package && a.strength == b.strength);
        Ok(details)
    }

    fn ask_plugin(
        &self,
        editor: &Editor<'_>,
        name: &AssetName,
        strength: &str,
    ) -> Result<Vec<Detail>, Fault> {
        let mut arguments = json!({ "assetPath": name.path() });
        for (kind, is_included) in [("Hard", strength == "hard"), ("Soft", strength == "soft")] {
            arguments[format!("bInclude{kind}{}", self.argument_suffix)] = json!(is_included);
        }
        match editor.read(self.tool, &arguments) {
            Ok(result) => Ok(details_of(Reply::of(self.tool, &result).texts(self.list)?, strength)),
            Err(Fault::Failed(message)) => Err(Fault::Failed(value::why(&message))),
            Err(fault) => Err(fault),
        }
    }

    fn ask_epic(&self, editor: &Editor<'_>, name: &AssetName) -> Result<Vec<Detail>, Fault> {
        match editor.epic("AssetTools", self.epic_tool, &json!({ "asset_path": name.package() })) {
            Ok(returned) => {
                Ok(details_of(Reply::of(self.epic_tool, &returned).texts("")?, "unknown"))
            }
            // This message means that the list is empty.
            Err(Fault::Failed(message))
                if message.contains("'NoneType' object is not iterable") =>
            {
                Ok(Vec::new())
            }
            Err(fault) => Err(fault),
        }
    }
}

/// Keeps the first `MAX_PAGE` details, and returns a warning if there were more.
fn limit(details: &mut Vec<Detail>) -> Option<String> {
    let total = details.len();
    details.truncate(MAX_PAGE);
    (total > MAX_PAGE).then(|| format!("only {MAX_PAGE} of {total} are listed"))
}

/// The warning that both kinds of dependencies are listed. Epic's server does not tell kinds, so
/// the warning belongs to each call that asks for only one kind.
fn unknown_strengths(editor: &Editor<'_>, hard: bool, soft: bool) -> Option<String> {
    (editor.seen.kind == Kind::Epic && hard != soft).then(|| {
        "Epic's server does not distinguish hard and soft ones: both kinds are listed".to_owned()
    })
}

/// Makes details from the editor's list. The list has paths of objects if the editor's registry
/// knows them, and otherwise names of packages.
fn details_of(paths: Vec<String>, strength: &str) -> Vec<Detail> {
    let detail = |path: String| Detail {
        package: package_of(&path).to_owned(),
        strength: strength.to_owned(),
        editor_only: None,
        via: None,
    };
    paths.into_iter().map(detail).collect()
}

fn names(details: &[Detail]) -> Vec<String> {
    let mut names: Vec<String> = details.iter().map(|detail| detail.package.clone()).collect();
    names.dedup();
    names
}
