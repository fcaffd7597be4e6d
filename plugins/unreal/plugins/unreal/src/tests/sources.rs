//! Tests of the differences between an editor's answers and answers from the files.

use super::{
    editor::{Editor, Server},
    live::{DOOR, ask, host},
    *,
};
use serde_json::Map;
use std::collections::BTreeSet;

/// The paths of values that differ; `path` is the path of the values that are compared.
fn differences(path: &str, live: &Value, offline: &Value) -> Vec<String> {
    match (live, offline) {
        (Value::Object(live), Value::Object(offline)) => {
            let keys: BTreeSet<_> = live.keys().chain(offline.keys()).collect();
            let value =
                |of: &Map<String, Value>, key: &String| of.get(key).cloned().unwrap_or_default();
            let each = keys.into_iter().flat_map(|key| {
                differences(&format!("{path}/{key}"), &value(live, key), &value(offline, key))
            });
            each.collect()
        }
        (live, offline) if live == offline => Vec::new(),
        _ => vec![path.to_owned()],
    }
}

/// The differences between a tool's answers, besides source, time and warnings.
fn labelled<T: Tool>(editor: &Editor, server: Server, game: &Game, asked: Value) -> Vec<String> {
    let near = host(editor, server);
    near.enter();
    let live = ask::<T>(&near, game, asked.clone());
    let far = Rehearsal::new();
    far.enter();
    let offline = call::<T>(&far, game, asked);
    let mut found = differences("", &live, &offline);
    let is_live = found.iter().any(|path| path == "/source");
    assert_eq!(is_live, live["source"] == "live", "{}: {live}", T::NAME);
    found.retain(|path| !matches!(path.as_str(), "/source" | "/asOf" | "/warnings"));
    found
}

/// A tool that answers from files or from an editor: a call of the tool, and the paths of the values in which the
/// answers of UnrealMCPServer, of its newer version, and of Epic's server differ from the answer from files.
struct Row {
    /// The type of the tool, as `plugin!` names it.
    tool: &'static str,
    compare: fn(&Editor, Server, &Game) -> Vec<String>,
    differences: [&'static [&'static str]; 3],
}

macro_rules! row {
    ($tool:ident, $asked:tt, $plugin:expr, $newer:expr, $epic:expr) => {
        Row {
            tool: stringify!($tool),
            compare: |editor, server, game| labelled::<$tool>(editor, server, game, json!($asked)),
            differences: [$plugin, $newer, $epic],
        }
    };
    ($tool:ident, $asked:tt) => {
        row!($tool, $asked, &[], &[], &[])
    };
}

/// `engineVersionBasis` names the source of the version; only the editor knows the engine's folders.
const CONFIGURATION: &[&str] = &[
    "/engineVersion/changelist",
    "/engineVersion/full",
    "/engineVersion/patch",
    "/engineVersionBasis",
    "/paths/engineContentDir",
    "/paths/engineDir",
    "/paths/enginePluginsDir",
];
/// The text of the files says in its first line that it is reconstructed.
const TEXT: &[&str] = &["/content"];
/// Only the text from the files has statistics (`told`).
const COUNTED_TEXT: &[&str] = &["/content", "/told"];
/// Only the files tell the file of an asset.
const FILE: &[&str] = &["/file"];
/// Only the files tell whether only the editor needs a package (`editorOnly`).
const DETAILS: &[&str] = &["/details"];
/// Epic's server does not tell hard dependencies from soft ones: the strength is `unknown`, and soft ones are listed.
const STRENGTH: &[&str] = &["/count", "/dependencies", "/details"];

/// All calls that are compared. Where a server lacks the tool, the files answer, and nothing differs.
fn rows() -> Vec<Row> {
    vec![
        row!(SearchBlueprints, { "searchType": "name", "searchTerm": "BP_" }),
        row!(SearchBlueprints, { "searchType": "inherits", "searchTerm": "Pawn" }),
        row!(SearchAssets, { "packagePaths": ["/Game/Doors"], "bIncludeTags": true }),
        row!(SearchAssets, { "packageNames": [DOOR] }),
        row!(QueryAsset, { "assetPath": DOOR, "bIncludeTags": true }, FILE, FILE, FILE),
        row!(QueryAsset, { "assetPath": "/Game/None" }),
        row!(ProjectConfig, {}, CONFIGURATION, CONFIGURATION, &[]),
        row!(
            ExportAsset,
            { "objectPath": "/Game/Maps/Town" },
            COUNTED_TEXT,
            COUNTED_TEXT,
            &[]
        ),
        row!(ExportAsset, { "objectPath": DOOR }, COUNTED_TEXT, &[], &[]),
        row!(AssetDependencies, { "assetPath": DOOR }, &[], DETAILS, STRENGTH),
        row!(AssetReferences, { "assetPath": "/Game/Doors/BP_Base" }, &[], DETAILS, DETAILS),
        row!(DependencyTree, { "assetPath": DOOR }),
        // Epic's server writes graphs in a form of its own, which `format` names.
        row!(BlueprintGraph, { "assetPath": DOOR }, &[], &[], &["/format", "/text", "/totalCount"]),
        row!(AssetThumbnail, { "assetPath": DOOR }),
        row!(LevelActors, { "mapPath": "/Game/Maps/Town" }),
        row!(UnusedAssets, {}),
        row!(BrokenReferences, {}),
        row!(ExportClassDefault, { "classPath": "/Game/Doors/BP_Door.BP_Door_C" }, TEXT, TEXT, &[]),
        row!(LogFilePath, {}),
        // Epic's server sends the entries and does not say where the log is.
        row!(EditorLog, { "category": "LogScript" }, &[], &[], &["/logFilePath"]),
        row!(SearchContents, { "term": "Print" }),
        row!(ClassHierarchy, {}),
    ]
}

/// Tools with only one source: tools that describe editors or have an editor do something, and tools about files that
/// the call names.
const ONE_SOURCE: &[&str] = &[
    "UnrealStatus",
    "ImportAsset",
    "BatchExportAssets",
    "ConsoleCommand",
    "SaveAssets",
    "CompileCode",
    "StartPlaySession",
    "StopPlaySession",
    "CaptureViewport",
    "SearchEditorTools",
    "CallEditorTool",
    "DiffAssets",
    "InspectCooked",
];

#[test]
fn what_differs_between_the_sources_is_labelled() {
    let game = Game::new();
    deeds::put_log(&game);
    let mut wrong = Vec::new();
    for (at, server) in [Server::Plugin, Server::NewerPlugin, Server::Epic].into_iter().enumerate()
    {
        for row in rows() {
            let editor = game.editor(server);
            deeds::tell_log(&game, &editor);
            let found = (row.compare)(&editor, server, &game);
            if found != row.differences[at] {
                wrong.push(format!("{server:?} {}: {found:?}", row.tool));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_tool_is_compared_or_has_one_source() {
    let list =
        include_str!("../lib.rs").split("tools: [").nth(1).and_then(|it| it.split(']').next());
    let list = list.expect("the plugin lists its tools");
    let tools: BTreeSet<&str> =
        list.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    let rows = rows();
    let known = rows.iter().map(|row| row.tool).chain(ONE_SOURCE.iter().copied());
    assert_eq!(known.collect::<BTreeSet<_>>(), tools);
}
