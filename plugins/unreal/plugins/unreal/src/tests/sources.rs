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

#[test]
fn what_differs_between_the_sources_is_labelled() {
    let game = Game::new();
    let class = json!({ "classPath": "/Game/Doors/BP_Door.BP_Door_C" });
    let none = [""; 0];
    for server in [Server::Plugin, Server::NewerPlugin, Server::Epic] {
        let editor = game.editor(server);
        let is_epic = server == Server::Epic;
        // `engineVersionBasis` names the source of the version; only the editor knows the engine's
        // folders.
        let config = [
            "/engineVersion/changelist",
            "/engineVersion/full",
            "/engineVersion/patch",
            "/engineVersionBasis",
            "/paths/engineContentDir",
            "/paths/engineDir",
            "/paths/enginePluginsDir",
        ];
        let found = labelled::<ProjectConfig>(&editor, server, &game, json!({}));
        assert_eq!(found, if is_epic { &none[..] } else { &config }, "{server:?}");
        // The files' text begins with the word "Reconstructed".
        let found = labelled::<ExportClassDefault>(&editor, server, &game, class.clone());
        assert_eq!(found, if is_epic { &none[..] } else { &["/content"] }, "{server:?}");
        // The fake editor names its log after the folder. The answer from files names it after the
        // project.
        let found = labelled::<LogFilePath>(&editor, server, &game, json!({}));
        assert_eq!(found, if is_epic { &none[..] } else { &["/logFilePath"] }, "{server:?}");
        let graph = json!({ "assetPath": DOOR });
        // Epic's server writes graphs in a form of its own, which `format` names.
        let found = labelled::<BlueprintGraph>(&editor, server, &game, graph);
        let epic_s = ["/format", "/text", "/totalCount"];
        assert_eq!(found, if is_epic { &epic_s[..] } else { &none }, "{server:?}");
        let (town, door) = (json!({ "mapPath": "/Game/Maps/Town" }), json!({ "assetPath": DOOR }));
        assert_eq!(labelled::<LevelActors>(&editor, server, &game, town), none, "{server:?}");
        assert_eq!(labelled::<AssetThumbnail>(&editor, server, &game, door), none, "{server:?}");
    }
}
