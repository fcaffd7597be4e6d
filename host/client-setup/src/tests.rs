//! Tests of adding, correcting and removing entries in sample files, and of the places of the files on each operating
//! system.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::clients::Format;
use crate::document::Document;
use crate::plan::BACKUP;
use crate::samples::samples;
use crate::{CLIENTS, Change, Client, Machine, Os, Plan, Refusal, Server};

fn machine(home: &Path) -> Machine {
    let (home, project) = (home.to_owned(), home.join("project"));
    Machine { os: Os::Linux, home, project, variables: BTreeMap::new() }
}

fn server(command: &str, args: Option<&[&str]>) -> Server {
    let args = args.map(|args| args.iter().map(|arg| (*arg).to_owned()).collect());
    Server { name: "portcullis".into(), command: command.into(), args }
}

fn ours() -> Server {
    server("/opt/a b/portcullis", Some(&["serve", "--root", "/home/me/projects"]))
}

fn put(client: &Client, machine: &Machine, text: &str) -> PathBuf {
    let path = client.file(machine);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn files_beside(path: &Path) -> usize {
    fs::read_dir(path.parent().unwrap())
        .unwrap()
        .filter(|one| one.as_ref().unwrap().path().is_file())
        .count()
}

/// The part of `before` that is missing in `after`. `after` should be `before` with one piece inserted.
fn lost<'a>(after: &str, before: &'a str) -> &'a str {
    let start = after.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
    let rest = before.get(start..).unwrap_or_default();
    let back = after.bytes().rev().zip(rest.bytes().rev()).take_while(|(a, b)| a == b).count();
    // A line end that the edit adds to the last line is not a loss.
    rest.get(..rest.len() - back).unwrap_or_default().trim()
}

#[test]
fn an_entry_is_added_once_and_removed_without_a_trace() {
    for client in CLIENTS {
        for (what, text) in samples(client) {
            let home = tempfile::tempdir().unwrap();
            let machine = machine(home.path());
            let path = put(client, &machine, &text);
            let about = format!("{}, {what}", client.id);
            let plan = Plan::add(client, &machine, &ours())
                .unwrap_or_else(|error| panic!("{about}: {error}"));
            assert_eq!(plan.change, Change::Add, "{about}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{about}: a plan writes nothing");
            let written = plan.write().unwrap();
            let after = fs::read_to_string(&path).unwrap();
            assert_eq!(fs::read_to_string(written.backup.unwrap()).unwrap(), text, "{about}");
            if !what.contains("empty ") && what != "nothing" && what != "null" {
                assert_eq!(lost(&after, &text), "", "{about}: only adds\n{after}");
            }
            let is_windows =
                |text: &str| text.matches('\n').count() == text.matches("\r\n").count();
            if what.starts_with("CRLF") {
                assert!(is_windows(&after), "{about}: {after:?}");
            }
            assert_eq!(after.starts_with('\u{feff}'), what == "BOM");
            let installed = Plan::installed(client, &machine).unwrap();
            let [installed] = installed.as_slice() else {
                panic!("{about}: {installed:?}\n{after}")
            };
            assert_eq!(installed.command, ours().command);
            assert_eq!(Some(installed.args.clone()), ours().args);
            let again = Plan::add(client, &machine, &ours()).unwrap();
            assert_eq!(
                (again.change.clone(), again.after.as_str()),
                (Change::Nothing, after.as_str()),
                "{about}"
            );
            again.write().unwrap();
            // Correcting the entry does not lose the text before it.
            let newer = server("/opt/new/portcullis", None);
            let correction = Plan::add(client, &machine, &newer).unwrap();
            let Change::Correct(keys) = &correction.change else {
                panic!("{about}: {correction:?}")
            };
            assert_eq!(keys.len(), 1, "{about}: {keys:?}");
            correction.write().unwrap();
            assert_eq!(
                Plan::installed(client, &machine).unwrap()[0].command,
                newer.command,
                "{about}"
            );
            let removal = Plan::remove(client, &machine, "portcullis").unwrap();
            assert_eq!(removal.change, Change::Remove);
            removal.write().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{about}");
            assert_eq!(files_beside(&path), 1, "{about}: no backup is left");
            assert_eq!(
                Plan::remove(client, &machine, "portcullis").unwrap().change,
                Change::Nothing
            );
        }
    }
}

#[test]
fn a_file_that_was_absent_is_absent_again() {
    for client in CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let machine = machine(home.path());
        let path = client.file(&machine);
        let written = Plan::add(client, &machine, &ours()).unwrap().write().unwrap();
        assert_eq!(written.backup, None, "{}", client.id);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.ends_with('\n') && !text.starts_with('\n'), "{}: {text}", client.id);
        let removal = Plan::remove(client, &machine, "portcullis").unwrap();
        assert_eq!(removal.change, Change::RemoveFile, "{}", client.id);
        removal.write().unwrap();
        assert!(!path.exists());
    }
}

#[test]
fn later_changes_by_others_stay() {
    for client in CLIENTS {
        for (what, text) in samples(client) {
            let home = tempfile::tempdir().unwrap();
            let machine = machine(home.path());
            let path = put(client, &machine, &text);
            Plan::add(client, &machine, &ours()).unwrap().write().unwrap();
            let other = Server { name: "other".into(), ..ours() };
            Plan::add(client, &machine, &other).unwrap().write().unwrap();
            let about = format!("{}, {what}", client.id);
            let removal = Plan::remove(client, &machine, "portcullis");
            let removal = removal.unwrap_or_else(|error| panic!("{about}: {error}"));
            removal.write().unwrap();
            let after = fs::read_to_string(&path).unwrap();
            let left = Document::parse(client.format, &after)
                .unwrap_or_else(|error| panic!("{about}: {error}\n{after}"));
            let names = |document: &Document<'_>| -> Vec<String> {
                let entries = document.entries().unwrap();
                entries.iter().map(|(name, _)| (*name).to_owned()).collect()
            };
            let before = Document::parse(client.format, &text).unwrap();
            let expected: Vec<_> = names(&before).into_iter().chain(["other".to_owned()]).collect();
            assert_eq!(names(&left), expected, "{about}\n{after}");
            for comment in [
                "my settings",
                "finds things",
                "the best",
                "of this project",
                "at night",
                "the rest",
                "# none",
            ] {
                assert_eq!(
                    after.contains(comment),
                    text.contains(comment),
                    "{about}: {comment}\n{after}"
                );
            }
            Plan::remove(client, &machine, "other").unwrap().write().unwrap();
            let after = fs::read_to_string(&path).unwrap();
            let left = Document::parse(client.format, &after).unwrap();
            assert_eq!(names(&left), names(&before), "{about}");
            let _checks_that_it_can_be_added_again = Plan::add(client, &machine, &ours()).unwrap();
        }
    }
}

#[test]
fn a_file_that_cannot_be_parsed_is_not_changed_and_the_place_is_named() {
    for client in CLIENTS {
        let broken = match client.format {
            Format::Json(_) => "{\n  \"a\": 1,\n  oops\n}\n",
            Format::Toml(_) => "a = 1\nb = 2\noops\n",
            Format::YamlMap(_) | Format::YamlList(_) => "a: 1\nb: 2\n\"oops\n",
        };
        let home = tempfile::tempdir().unwrap();
        let machine = machine(home.path());
        let path = put(client, &machine, broken);
        for refused in
            [Plan::add(client, &machine, &ours()), Plan::remove(client, &machine, "portcullis")]
        {
            let error = refused.unwrap_err();
            let Refusal::Unparsable { cause, .. } = &error else { panic!("{error}") };
            assert!((3..=4).contains(&cause.line), "{}: {error}", client.id);
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), broken);
        assert_eq!(files_beside(&path), 1);
        for (text, expected) in [(&b"\xff\xfe{}"[..], "cannot be read"), (&[b'['; 100_000][..], "")]
        {
            fs::write(&path, text).unwrap();
            let error = Plan::add(client, &machine, &ours()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[test]
fn a_value_of_another_type_in_place_of_the_servers_is_not_changed() {
    for client in CLIENTS {
        let text = match client.format {
            Format::Json(key) => format!("{{ \"{key}\": [1] }}"),
            Format::Toml(key) => format!("{key} = 1\n"),
            Format::YamlMap(key) => format!("{key}:\n  - a\n"),
            Format::YamlList(key) => format!("{key}:\n  a: b\n"),
        };
        let home = tempfile::tempdir().unwrap();
        let machine = machine(home.path());
        put(client, &machine, &text);
        let error = Plan::add(client, &machine, &ours()).unwrap_err();
        assert!(matches!(error, Refusal::NoServers { .. }), "{}: {error}", client.id);
    }
    let home = tempfile::tempdir().unwrap();
    let machine = machine(home.path());
    let client = Client::named("cursor").unwrap();
    put(client, &machine, "[1]");
    assert!(matches!(Plan::add(client, &machine, &ours()), Err(Refusal::NoServers { .. })));
}

/// A file of Claude Desktop with one entry, `portcullis`.
fn with(entry: &serde_json::Value) -> String {
    format!("{:#}\n", json!({ "mcpServers": { "portcullis": entry } }))
}

#[test]
fn an_existing_entry_keeps_the_keys_that_setup_does_not_write() {
    let client = Client::named("claude-desktop").unwrap();
    let by_hand = json!({
        "command": "portcullis", "args": ["serve", "--root", "/a"], "env": { "A": "b" }, "disabled": false,
    });
    let windows = json!({ "command": "C:\\old\\Portcullis\\portcullis.exe", "args": ["serve"] });
    let launched =
        json!({ "command": "npx", "args": ["-y", "portcullis@0.1.0", "serve", "--root", "/a"] });
    let zed = json!({ "command": { "path": "/old/portcullis", "args": ["serve", "-v"] } });
    for (before, args) in [
        (by_hand, &["serve", "--root", "/a"][..]),
        (windows, &["serve"]),
        (launched, &["serve", "--root", "/a"]),
        (zed, &["serve", "-v"]),
    ] {
        let home = tempfile::tempdir().unwrap();
        let machine = machine(home.path());
        let path = put(client, &machine, &with(&before));
        Plan::add(client, &machine, &server("/new/portcullis", None)).unwrap().write().unwrap();
        let after: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut expected = before.clone();
        expected["command"] = "/new/portcullis".into();
        expected["args"] = json!(args);
        assert_eq!(after["mcpServers"]["portcullis"], expected);
        let first =
            after["mcpServers"]["portcullis"].as_object().unwrap().keys().next().unwrap().clone();
        assert_eq!(first, "command", "the order stays");
        Plan::remove(client, &machine, "portcullis").unwrap().write().unwrap();
        let left: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(left, json!({ "mcpServers": {} }), "the entry by hand is not brought back");
    }
}

#[test]
fn a_name_of_another_program_is_not_taken() {
    let client = Client::named("claude-desktop").unwrap();
    for (entry, expected) in [
        (json!({ "command": "npx", "args": ["-y", "castle", "--key=s3cr3t"] }), "npx castle"),
        (json!({ "url": "https://h/mcp?key=s3cr3t" }), "https://h/mcp"),
        (json!({ "command": "/bin/portcullis-of-others" }), "/bin/portcullis-of-others"),
        (json!([]), "something else"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let machine = machine(home.path());
        let path = put(client, &machine, &with(&entry));
        for refused in
            [Plan::add(client, &machine, &ours()), Plan::remove(client, &machine, "portcullis")]
        {
            let error = refused.unwrap_err().to_string();
            assert!(
                error.contains(expected) && error.contains("--name") && !error.contains("s3cr3t"),
                "{error}"
            );
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), with(&entry));
    }
}

#[test]
fn a_file_that_changes_between_the_plan_and_the_writing_is_not_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let machine = machine(home.path());
    for client in CLIENTS {
        let plan = Plan::add(client, &machine, &ours()).unwrap();
        let path = put(client, &machine, "");
        assert!(plan.write().unwrap_err().is_race(), "a file was created meanwhile");
        let plan = Plan::add(client, &machine, &ours()).unwrap();
        fs::write(&path, "\n\n").unwrap();
        assert!(plan.write().unwrap_err().is_race());
        assert_eq!(fs::read_to_string(&path).unwrap(), "\n\n", "{}", client.id);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn concurrent_changes_lose_no_entry() {
    for client in CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let machine = machine(home.path());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let machine = &machine;
                scope.spawn(move || {
                    let own = Server { name: format!("portcullis-{number}"), ..ours() };
                    let add = || Plan::add(client, machine, &own).and_then(|plan| plan.write());
                    while let Err(error) = add() {
                        assert!(error.is_race(), "{error}");
                    }
                });
            }
        });
        let mut names: Vec<_> =
            Plan::installed(client, &machine).unwrap().into_iter().map(|one| one.name).collect();
        names.sort_unstable();
        let expected: Vec<_> = (0..8).map(|number| format!("portcullis-{number}")).collect();
        assert_eq!(names, expected, "{}", client.id);
    }
}

#[test]
#[cfg(unix)]
fn links_stay_links_and_backups_are_as_private_as_the_file() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = tempfile::tempdir().unwrap();
    let machine = machine(home.path());
    let client = Client::named("claude-code").unwrap();
    let (link, target) = (client.file(&machine), home.path().join("dotfiles.json"));
    fs::write(&target, "{}").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("dotfiles.json", &link).unwrap();
    let backup = Plan::add(client, &machine, &ours()).unwrap().write().unwrap().backup.unwrap();
    assert!(link.is_symlink() && fs::read_to_string(&target).unwrap().contains("portcullis"));
    for path in [&target, &backup] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let name = backup.file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with(BACKUP), "{name}");
    fs::remove_file(&target).unwrap();
    let error = Plan::add(client, &machine, &ours()).unwrap_err();
    assert!(
        matches!(error, Refusal::Unreadable { .. }),
        "a dangling link is not a missing file: {error}"
    );
}

#[test]
fn files_are_where_the_clients_look_for_them() {
    let at = |os, variables: &[(&'static str, &str)], id: &str| {
        let variables = variables.iter().map(|(name, path)| (*name, PathBuf::from(path))).collect();
        let machine =
            Machine { os, home: "/home/me".into(), project: "/work/app".into(), variables };
        Client::named(id).unwrap().file(&machine).to_str().unwrap().replace('\\', "/")
    };
    let app_data = [("APPDATA", "/users/me/roaming")];
    for (id, linux, mac, windows) in [
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
            "Library/Application Support/Claude/claude_desktop_config.json",
            "/users/me/roaming/Claude/claude_desktop_config.json",
        ),
        ("claude-code", ".claude.json", ".claude.json", "/home/me/.claude.json"),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "Library/Application Support/Code/User/mcp.json",
            "/users/me/roaming/Code/User/mcp.json",
        ),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json", "/home/me/.cursor/mcp.json"),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            ".codeium/windsurf/mcp_config.json",
            "/home/me/.codeium/windsurf/mcp_config.json",
        ),
        (
            "zed",
            ".config/zed/settings.json",
            ".config/zed/settings.json",
            "/users/me/roaming/Zed/settings.json",
        ),
        ("jetbrains", ".junie/mcp/mcp.json", ".junie/mcp/mcp.json", "/home/me/.junie/mcp/mcp.json"),
        ("codex", ".codex/config.toml", ".codex/config.toml", "/home/me/.codex/config.toml"),
        (
            "gemini",
            ".gemini/settings.json",
            ".gemini/settings.json",
            "/home/me/.gemini/settings.json",
        ),
        (
            "goose",
            ".config/goose/config.yaml",
            ".config/goose/config.yaml",
            "/users/me/roaming/Block/goose/config/config.yaml",
        ),
        (
            "continue",
            ".continue/config.yaml",
            ".continue/config.yaml",
            "/home/me/.continue/config.yaml",
        ),
    ] {
        assert_eq!(at(Os::Linux, &[], id), format!("/home/me/{linux}"));
        assert_eq!(at(Os::MacOs, &[], id), format!("/home/me/{mac}"));
        assert_eq!(at(Os::Windows, &app_data, id), windows);
    }
    assert_eq!(at(Os::Linux, &[], "vscode-workspace"), "/work/app/.vscode/mcp.json");
    assert_eq!(at(Os::Linux, &[], "project"), "/work/app/.mcp.json");
    assert_eq!(at(Os::Linux, &[("CODEX_HOME", "/c")], "codex"), "/c/config.toml");
    assert_eq!(at(Os::Linux, &[("CLAUDE_CONFIG_DIR", "/c")], "claude-code"), "/c/.claude.json");
    assert_eq!(at(Os::Linux, &[("XDG_CONFIG_HOME", "/x")], "goose"), "/x/goose/config.yaml");
    assert_eq!(at(Os::Linux, &[("FLATPAK_XDG_CONFIG_HOME", "/f")], "zed"), "/f/zed/settings.json");
    let ids: std::collections::BTreeSet<_> = CLIENTS.iter().map(|client| client.id).collect();
    assert_eq!(ids.len(), CLIENTS.len(), "each name belongs to one client");
}
