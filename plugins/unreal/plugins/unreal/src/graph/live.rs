//! Reads the graphs of a Blueprint through Epic's server.

use super::*;
use crate::live::{Kind, names::AssetName, value::Reply};
use std::fmt::Write;

/// Maximum number of graphs read of one Blueprint.
const MAX_GRAPHS: usize = 60;

/// The graphs in the engine's own notation, each as a Markdown block.
pub fn graphs(asked: &BlueprintGraph, editor: &Editor<'_>) -> Result<Graphs, Fault> {
    let is_whole = matches!(asked.format, Format::Json | Format::Outline);
    if editor.seen.kind == Kind::UnrealMcpServer || is_whole {
        return Err(Fault::Unsupported(
            "the editor does not report pins: this answer is from the files, without unsaved changes",
        ));
    }
    let asset = AssetName::read(&asked.asset_path)?;
    let package = asset.package();
    // The files contain more than the editor tells, so the editor's graphs are read only if they
    // have unsaved changes. `is_dirty` compares the sent path with the name of the package, so the
    // name of the package is sent.
    let dirty = editor.epic("AssetTools", "is_dirty", &json!({ "asset_path": package }))?;
    if !Reply::of("is_dirty", &dirty).flag("")? {
        return Err(Fault::Unsupported(
            "the Blueprint has no unsaved changes: this answer is from the files, which contain more",
        ));
    }
    let name = package.rsplit('/').next().unwrap_or_default();
    let blueprint = json!({ "blueprint": { "refPath": format!("{package}.{name}") } });
    let all = editor.epic("BlueprintTools", "list_graphs", &blueprint)?;
    let all = Reply::of("list_graphs", &all).objects("")?;
    let called = |path: &str| path.rsplit([':', '.']).next().unwrap_or_default().to_owned();
    let is_wanted = |path: &&String| {
        let wanted = asked.graph_name.as_ref();
        wanted.is_none_or(|wanted| called(path).eq_ignore_ascii_case(wanted))
    };
    let mut markdown = format!("# {}\n", shown(name));
    let mut count = 0;
    for path in all.iter().filter(is_wanted).take(MAX_GRAPHS) {
        let graph = json!({ "graph": { "refPath": path } });
        let told = editor.epic("BlueprintTools", "read_graph_dsl", &graph)?;
        let told = Reply::of("read_graph_dsl", &told).raw("")?;
        let told = unreal_package::visible(told, MAX_TEXT, true);
        let name = called(path);
        write!(markdown, "\n## {name}\n\n```text\n{}\n```\n", told.replace("```", "'''"))
            .map_err(Failure::from)?;
        count += 1;
    }
    if count == 0 {
        let names: Vec<String> = all.iter().map(|path| called(path)).collect();
        return Err(Fault::Failed(format!(
            "{} has no such graph; it has: {}",
            shown(package),
            names.join(", ")
        )));
    }
    let caveat = "the editor's notation leaves out the nodes after events of Enhanced Input; \
        with format json, the answer is from the files, and has all pins but no unsaved changes"
        .to_owned();
    let mut answer = Graphs {
        asset_path: shown(package),
        format: Format::Markdown,
        text: None,
        blueprints: Vec::new(),
        graphs: Vec::new(),
        total_count: 0,
        offset: asked.offset as usize,
        has_more: false,
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings([caveat]),
    };
    pages::lines(asked, &mut answer, &markdown);
    Ok(answer)
}
