//! Tests of what only Windows has: drives, spellings of paths, job objects. `tests/platforms/windows.sh` runs these
//! tests with the Windows binary in Wine.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;
use crate::support::{PATIENCE, stand_in, windows, workspace};

/// A manifest that lacks `sap.ui`.
const MANIFEST: &str = r#"{"_version": "1.60.0", "sap.app": {"id": "a.b", "type": "application",
    "applicationVersion": {"version": "x"}}, "sap.ui5": {"dependencies": {"minUI5Version": "1.120.0", "libs": {}},
    "contentDensities": {"compact": true, "cozy": true}}}"#;

/// A home with the bundled plugins and a manifest. There is no network.
fn with_manifest() -> Home {
    let home = Home::new();
    home.configure("roots = [\"$FILES\"]\n");
    fs::create_dir(home.files().join("App")).expect("a home");
    fs::write(home.files().join("App/manifest.json"), MANIFEST).expect("a home");
    home
}

/// Waits until a condition holds. A test that waits for too long fails.
fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process has this text in its command line. In Wine, Windows processes are processes of this system, too.
fn is_running(text: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("Linux lists processes").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(text))
}

#[test]
#[ignore = "needs Wine: tests/platforms/windows.sh"]
fn a_path_can_be_spelled_in_all_ways_of_windows() {
    let home = with_manifest();
    let path = home.file("App/manifest.json");
    let back = path.replace('/', "\\");
    let mut client = Client::start(&home, Era::Modern);
    for spelled in [
        path.clone(),
        back.clone(),
        format!("/{path}"),
        format!("\\\\?\\{back}"),
        path.replacen("Z:", "z:", 1),
        path.replace("/App/", "/app/"),
    ] {
        let reply = client.call("run_manifest_validation", json!({"manifestPath": spelled}));
        let text = text_of(&reply);
        assert_ne!(reply["result"]["isError"], true, "{spelled}: {reply}");
        assert!(text.contains("sap.ui"), "{spelled}: {text}");
        assert!(!text.contains("/Z:"), "a path as guests see it: {text}");
    }
    for (spelled, why) in [
        (format!("{back}::$DATA"), "stream"),
        (back.replace("manifest.json", "NUL.txt"), "device"),
        (back.replace("Z:", "\\\\server\\share"), "network"),
        (back.replace("manifest.json", "..\\..\\x.json"), ".."),
        ("Z:manifest.json".to_owned(), "drive"),
        ("C:\\windows\\win.ini".to_owned(), "roots"),
    ] {
        let text = client.text("run_manifest_validation", json!({"manifestPath": spelled}));
        let is_refused = text.starts_with("error:") || text.starts_with('-');
        assert!(is_refused && text.contains(why), "{spelled}: {text}");
    }
}

#[test]
#[ignore = "needs Wine: tests/platforms/windows.sh"]
fn a_client_names_its_roots_by_uris_with_drives() {
    let home = with_manifest();
    let roots = json!({"roots": {}});
    let path = home.file("App/manifest.json");
    for (uri, is_open) in [
        (format!("file:///{}", home.file("App")), true),
        (format!("file:///{}", home.file("app")), true),
        (format!("file:///{}", home.file("App").replace("Z:", "z%3A")), true),
        ("file:///C:/windows".to_owned(), false),
    ] {
        let mut client = Client::start_with(&home, &["serve"], Era::Modern, roots.clone());
        client.answers = [("roots/list".to_owned(), json!({"roots": [{"uri": uri}]}))].into();
        let text = client.text("run_manifest_validation", json!({"manifestPath": path}));
        assert_eq!(text.contains("sap.ui"), is_open, "{uri}: {text}");
    }
}

/// The folder of generated packages in the repository.
const PACKAGES: &str = "plugins/unreal/libraries/unreal-package/fuzz/corpus/read";

/// A home with an Unreal project that has two versions of a Blueprint.
fn with_game() -> Home {
    let home = Home::new();
    let project = home.files().join("MyGame");
    fs::create_dir_all(project.join("Content/Doors")).expect("a home");
    fs::create_dir(project.join("Config")).expect("a home");
    for (name, text) in [
        ("MyGame.uproject", "{\"FileVersion\": 3, \"EngineAssociation\": \"5.6\"}"),
        ("Config/DefaultEngine.ini", "[URL]\r\nGameName=MyGame\r\n"),
    ] {
        fs::write(project.join(name), text).expect("a home");
    }
    for (name, package) in [("BP_Door", "blueprint-35"), ("BP_Gate", "blueprint-36")] {
        let package = workspace().join(PACKAGES).join(package);
        let file = project.join(format!("Content/Doors/{name}.uasset"));
        fs::copy(package, file).expect("a package of the repository");
    }
    home.configure("roots = [\"$FILES/MyGame\"]\n");
    home
}

#[test]
#[ignore = "needs Wine: tests/platforms/windows.sh"]
fn unreal_tools_read_a_project_on_a_drive() {
    let home = with_game();
    let project = home.file("MyGame");
    let mut client = Client::start(&home, Era::Modern);
    let mut structured = |tool: &str, arguments: Value| {
        let reply = client.call(tool, arguments);
        assert_ne!(reply["result"]["isError"], true, "{tool}: {reply}");
        assert!(!reply.to_string().contains("/Z:"), "a path as guests see it: {reply}");
        reply["result"]["structuredContent"].clone()
    };
    for folder in [
        project.clone(),
        project.replace('/', "\\"),
        project.replacen("Z:", "z:", 1),
        project.replace("/MyGame", "/MYGAME"),
        format!("\\\\?\\{}", project.replace('/', "\\")),
    ] {
        // Names of packages ignore case, as in the engine.
        for asset in ["/Game/Doors/BP_Door", "/game/doors/bp_door"] {
            let arguments = json!({ "assetPath": asset, "projectDir": folder });
            let found = structured("query_asset", arguments);
            assert_eq!(found["bExists"], true, "{folder}, {asset}: {found}");
            assert_eq!(found["file"]["path"], "Content/Doors/BP_Door.uasset", "{found}");
        }
        let arguments = json!({ "projectDir": folder, "key": "GameName" });
        let configured = structured("get_project_config", arguments);
        let content = configured["paths"]["projectContentDir"].as_str().expect("a path");
        let is_there = content.eq_ignore_ascii_case(&format!("{project}/Content/"));
        assert!(is_there, "{folder}: {content}");
        let settings = configured["settings"].to_string();
        assert!(settings.contains("\"value\":\"MyGame\""), "{configured}");
    }
    let searched = structured("search_assets", json!({ "packagePaths": ["/Game/Doors"] }));
    // Each package has a Blueprint and its class.
    assert_eq!(searched["totalCount"], 4, "{searched}");
    let file = |name: &str| format!("{project}/Content/Doors/{name}.uasset").replace('/', "\\");
    let both = json!({ "fileBefore": file("BP_Door"), "fileAfter": file("BP_Gate") });
    let compared = structured("diff_assets", both);
    assert!(compared.to_string().contains("BP_Gate"), "{compared}");
    for (folder, why) in [
        ("C:\\windows".to_owned(), "roots"),
        (format!("{project}\\..\\..\\.."), ".."),
        (format!("{project}:stream"), "stream"),
    ] {
        let arguments = json!({ "assetPath": "/Game/Doors/BP_Door", "projectDir": folder });
        let reply = client.call("query_asset", arguments);
        let text = text_of(&reply);
        let is_refused = reply["result"]["isError"] == true || reply.get("error").is_some();
        assert!(is_refused && text.contains(why), "{folder}: {text}");
    }
}

/// A home whose server starts the stand-in, with these further arguments.
fn with_upstream(arguments: &[&str]) -> Home {
    let home = Home::new();
    let all: Vec<&str> = ["stdio", "all"].iter().chain(arguments).copied().collect();
    home.configure(&format!(
        "[host]\nbundled = false\n[upstreams.held]\ncommand = {:?}\nargs = {all:?}\n",
        stand_in()
    ));
    home
}

#[test]
#[ignore = "needs Wine: tests/platforms/windows.sh"]
fn processes_of_upstream_servers_end_when_the_host_is_killed() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("lock");
    let home = with_upstream(&["stubborn", &format!("beside={}", windows::path(&file))]);
    let mut client = Client::start(&home, Era::Modern);
    client.text("log", json!({}));
    wait_for("somebody is left behind", || file.exists());
    let file = windows::path(&file);
    assert!(is_running(&file));
    client.into_process().kill();
    wait_for("all of them end", || !is_running(&file));
    let verified = home.run(&["trail", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
#[ignore = "needs Wine: tests/platforms/windows.sh"]
fn a_program_is_found_by_its_name_without_the_ending_cmd() {
    let place = tempfile::tempdir().expect("a folder");
    let script = format!("@\"{}\" %*\r\n", stand_in().replace('/', "\\"));
    fs::write(place.path().join("npx.cmd"), script).expect("a folder");
    let mut home = with_upstream(&[]);
    let config = fs::read_to_string(home.config()).expect("it was written");
    fs::write(home.config(), config.replace(&format!("{:?}", stand_in()), "\"npx\""))
        .expect("a home");
    let folder = windows::path(place.path()).replace('/', "\\");
    home.set("PATH", &format!("C:\\windows\\system32;{folder}"));
    let mut client = Client::start(&home, Era::Modern);
    assert_eq!(client.text("log", json!({})), "logged");
}

#[test]
#[ignore = "needs Wine: tests/platforms/windows.sh"]
fn a_host_that_is_killed_in_a_call_leaves_a_whole_audit() {
    let home = Home::with(
        &["greedy"],
        "[host]\nbundled = false\n[plugins.greedy.limits]\nwall-ms = 60000\n",
    );
    let mut client = Client::start(&home, Era::Modern);
    let list = client.request("tools/list", json!({}));
    let tools = client.reply(list);
    assert!(tools["result"]["tools"].is_array(), "{tools}");
    client.begin("spin", json!({}));
    std::thread::sleep(Duration::from_millis(500));
    client.into_process().kill();
    let verified = home.run(&["trail", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let listed = home.run(&["tools"]);
    assert!(listed.code == Some(0) && listed.stdout.contains("spin"), "{listed:?}");
}
