//! Reads the graphs of a Blueprint through Epic's server.

use super::*;
use crate::live::{Kind, names::AssetName, value::Reply};
use std::fmt::Write;

/// Maximum number of graphs read of one Blueprint.
const MAX_GRAPHS: usize = 60;
/// Maximum number of further graphs that are named.
const MAX_NAMED: usize = 50;

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
    let wanted: Vec<&String> = all.iter().filter(is_wanted).collect();
    for path in wanted.iter().take(MAX_GRAPHS) {
        let graph = json!({ "graph": { "refPath": path } });
        let told = editor.epic("BlueprintTools", "read_graph_dsl", &graph)?;
        let told = Reply::of("read_graph_dsl", &told).raw("")?;
        let told = unreal_package::visible(told, MAX_TEXT, true);
        let name = called(path);
        write!(markdown, "\n## {name}\n\n```text\n{}\n```\n", told.replace("```", "'''"))
            .map_err(Failure::from)?;
    }
    if wanted.is_empty() {
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
    let further: Vec<String> = wanted.iter().skip(MAX_GRAPHS).map(|path| called(path)).collect();
    let warnings = [caveat].into_iter().chain(left_out(asked, &further));
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
        warnings: editor.warnings(warnings),
    };
    pages::lines(asked, &mut answer, &markdown);
    Ok(answer)
}

/// The warning about the further graphs, which are not read; `None` if there are none.
fn left_out(asked: &BlueprintGraph, further: &[String]) -> Option<String> {
    let named: Vec<String> = further.iter().take(MAX_NAMED).map(|name| shown(name)).collect();
    let more = match further.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let total = MAX_GRAPHS + further.len();
    (!further.is_empty()).then(|| match asked.graph_name {
        Some(_) => format!("only {MAX_GRAPHS} of {total} graphs of that name are read"),
        None => format!(
            "only {MAX_GRAPHS} of {total} graphs are read. `graphName` reads one of the others: {}{more}",
            named.join(", ")
        ),
    })
}
