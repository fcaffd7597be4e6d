//! Tests that no root gives access to the kernel's file systems or to the host's own files, and that the host runs no
//! code that it did not compile itself.
#![cfg(unix)]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::client::{Client, Era};
use crate::support::guests::guests;
use crate::support::home::Home;

const READS: &str = "[host]\nbundled = false\n\
                     [plugins.snoop.grants.files]\naccess = \"read\"\nscope = \"roots\"\n";
const WRITES: &str = "[host]\nbundled = false\n[plugins.writer.grants.files]\naccess = \"write\"\n";

/// A text in the environment of the host, which no plugin may read.
const SECRET: &str = "seen-by-the-host-alone";

#[cfg(target_os = "linux")]
#[test]
fn the_hosts_environment_and_memory_are_not_read_through_a_root() {
    for root in ["/", "/proc", "/proc/self"] {
        let mut home = Home::with(&["snoop"], READS);
        home.set("PORTCULLIS_TEST_SECRET", SECRET);
        if root != "/" {
            let ran = home.run(&["call", "surroundings", "--root", root]);
            assert!(ran.code != Some(0) && ran.stderr.contains("procfs"), "{ran:?}");
            continue;
        }
        let arguments = ["serve", "--root", root];
        let mut client = Client::start_with(&home, &arguments, Era::Legacy, json!({}));
        let mut look = |way: &str| {
            let paths = [
                "/proc/self/environ",
                "/proc/self/maps",
                "/proc/self/exe",
                "/proc/self/cwd/etc/hostname",
                "/proc/self/root/etc/hostname",
                "/proc/thread-self/environ",
                "/proc",
                "/proc/self/fd",
                "/sys/kernel",
                "/tmp/../proc/self/environ",
            ];
            let anywhere = client.text("look_anywhere", json!({"paths": paths, "way": way}));
            let named = paths.map(|path| {
                client.text("look_at_file", json!({"file": path, "others": [""], "way": way}))
            });
            (anywhere, named.join("\n"))
        };
        for way in ["read", "list", "link"] {
            let (anywhere, named) = look(way);
            for text in [&anywhere, &named] {
                assert!(!text.contains(SECRET) && !text.contains("[heap]"), "{way}: {text}");
            }
            let refused = "Operation not permitted";
            for line in anywhere.lines().filter(|line| !line.starts_with("/proc:")) {
                assert!(line.contains(refused), "{way}: {line}");
            }
            let is_refused = |line: &str| {
                line.contains("file system of the kernel") || line.contains("it contains `..`")
            };
            assert!(named.lines().all(is_refused), "{named}");
        }
        let (anywhere, _) = look("stat");
        assert!(!anywhere.contains("a file of"), "{anywhere}");
        // The rest of the machine can be read, because this operator's root is `/`.
        let text = client.text("look_anywhere", json!({"paths": ["/etc"], "way": "list"}));
        assert!(text.contains("passwd"), "{text}");
    }
}

#[test]
fn a_client_does_not_make_the_whole_machine_a_root() {
    let home = Home::with(&["snoop"], READS);
    let sloppy = ["file:", "file://", "file:..", "file:/", "file:///", "file:///.", "file:////"];
    for era in Era::BOTH {
        for uri in sloppy {
            let capabilities = json!({"roots": {}});
            let mut client = Client::start_with(&home, &["serve"], era, capabilities);
            client.answers.insert("roots/list".into(), json!({"roots": [{"uri": uri}]}));
            let arguments = json!({"file": "/etc/passwd", "others": [""], "way": "read"});
            let text = client.text("look_at_file", arguments);
            assert!(text.contains("no roots"), "{uri}: {text}");
        }
    }
}

/// Has a guest take steps in a directory. Returns a line for each step, with its outcome.
fn change(client: &mut Client, directory: &Path, steps: Value) -> Vec<String> {
    let arguments = json!({"directory": directory, "steps": steps});
    client.text("change_directory", arguments).lines().map(str::to_owned).collect()
}

#[test]
fn the_hosts_own_files_stay_as_they_are_beneath_a_root() {
    let home = Home::with(&["writer"], &format!("roots = [\"$HOME\"]\n{WRITES}"));
    let own = [
        ".config/portcullis/portcullis.toml",
        ".local/share/portcullis/plugins/writer.wasm",
        ".local/state/portcullis/cache.key",
    ];
    let read = |path: &str| fs::read(home.path().join(path)).expect("it is there");
    let before = own.map(read);
    let mut client = Client::start(&home, Era::Legacy);
    // A call, so that there is an audit.
    let done = change(&mut client, home.path(), json!([{"do": "write", "path": "a", "text": "a"}]));
    assert_eq!(done, ["write a : done"]);
    let evil = "[plugins.writer.grants.process]\n";
    let steps = json!([
        {"do": "append", "path": own[0], "text": evil},
        {"do": "write", "path": own[0], "text": evil},
        {"do": "read", "path": own[0]},
        {"do": "read", "path": own[2]},
        {"do": "write", "path": ".config/portcullis/new.toml", "text": evil},
        {"do": "write", "path": ".config/../.config/./portcullis/new.toml", "text": evil},
        {"do": "write", "path": ".local/share/portcullis/plugins/new.wasm", "text": evil},
        {"do": "write", "path": ".local/state/portcullis/audit/index.jsonl", "text": ""},
        {"do": "write", "path": ".local/state/portcullis/portcullis.lock", "text": evil},
        {"do": "makeDirectory", "path": ".local/share/portcullis/logins"},
        {"do": "remove", "path": own[1]},
        {"do": "remove", "path": ".local/state/portcullis/audit/index.jsonl"},
        {"do": "touch", "path": own[0]},
        {"do": "rename", "path": own[0], "to": "moved.toml"},
        {"do": "rename", "path": "a", "to": own[0]},
        {"do": "rename", "path": ".config", "to": "moved"},
        {"do": "rename", "path": ".config/portcullis", "to": "moved"},
        {"do": "rename", "path": ".local", "to": "files/moved"},
        {"do": "rename", "path": ".local/state/portcullis", "to": "moved"},
    ]);
    let names: Vec<_> =
        steps.as_array().expect("steps").iter().map(|it| it["do"].clone()).collect();
    let outcomes = change(&mut client, home.path(), steps);
    assert_eq!(outcomes.len(), names.len());
    for outcome in outcomes {
        assert!(outcome.ends_with("Operation not permitted (os error 63)"), "{outcome}");
    }
    assert_eq!(own.map(read), before);
    assert!(home.audit().len() > 20, "nothing emptied the audit");
    let plugins = fs::read_dir(home.path().join(".local/share/portcullis/plugins"));
    assert_eq!(plugins.expect("it is there").count(), 1);
    let done = change(
        &mut client,
        home.path(),
        json!([
            {"do": "rename", "path": "a", "to": "b"},
            {"do": "makeDirectory", "path": ".config/other"},
            {"do": "write", "path": ".config/other/file", "text": "text"},
            {"do": "rename", "path": ".config/other", "to": "other"},
            {"do": "read", "path": "other/file"},
            {"do": "remove", "path": "other/file"},
            {"do": "removeDirectory", "path": "other"},
        ]),
    );
    assert!(
        done.iter().all(|line| line.ends_with("done") || line.ends_with("\"text\"")),
        "{done:?}"
    );
}

#[test]
fn neither_a_root_nor_an_argument_can_be_a_folder_of_the_host() {
    let home = Home::with(&["writer"], WRITES);
    let arguments = ["serve", "--root", home.path().to_str().expect("UTF-8")];
    let mut client = Client::start_with(&home, &arguments, Era::Legacy, json!({}));
    for folder in [".config/portcullis", ".local/share/portcullis/plugins", ".cache/portcullis"] {
        let root = home.path().join(folder);
        let ran = home.run(&["tools", "--root", root.to_str().expect("UTF-8")]);
        assert!(ran.code != Some(0), "{ran:?}");
        assert!(ran.stderr.contains("is a file of portcullis"), "{ran:?}");
        let named = json!({"directory": root, "steps": [{"do": "read", "path": "x"}]});
        let text = client.text("change_directory", named);
        assert!(text.contains("is a file of portcullis"), "{text}");
    }
}

#[test]
fn a_directory_is_not_moved_if_its_contents_would_be_too_deep() {
    let limit = "[limits]\nfile-depth = 8\n";
    let home = Home::with(&["writer"], &format!("roots = [\"$FILES\"]\n{WRITES}{limit}"));
    let mut client = Client::start(&home, Era::Legacy);
    let deep = "d/".repeat(6);
    let outcomes = change(
        &mut client,
        &home.files(),
        json!([
            {"do": "makeDeep", "bytes": 8},
            {"do": "makeDirectory", "path": "b"},
            {"do": "makeDeep", "path": "b", "bytes": 6},
            // The directory itself would not be too deep, but its contents would.
            {"do": "rename", "path": "b", "to": format!("{deep}b")},
            // A move to the same level or further up makes no file deeper.
            {"do": "rename", "path": "b", "to": "c"},
            {"do": "rename", "path": "c/d/d", "to": "up"},
            // A level deeper is within the limit.
            {"do": "rename", "path": "up", "to": "c/d/e"},
        ]),
    );
    let ends: Vec<_> = outcomes.iter().map(|line| line.rsplit(": ").next().unwrap_or("")).collect();
    let full = "Quota exceeded (os error 19)";
    assert_eq!(ends, ["done", "done", "done", full, "done", "done", "done"], "{outcomes:?}");
}

#[test]
fn compiled_code_that_the_host_did_not_seal_is_not_run() {
    let home = Home::with(&["echo", "snoop"], "[host]\nbundled = false\n[plugins.echo]\n");
    let echo = || home.run(&["call", "echo", r#"{"text":"hello"}"#]);
    let first = echo();
    assert!(first.stdout.contains("hello"), "{first:?}");
    let digest = |name: &str| {
        portcullis_checked_files::digest(&fs::read(guests().component(name)).expect("it was built"))
    };
    let record = |name: &str| {
        let folder =
            fs::read_dir(home.path().join(".cache/portcullis/compiled")).expect("it is there");
        let files = folder.map(|entry| entry.expect("it is there").path());
        let all = files.filter(|path| path.file_name().is_some_and(|name| name.len() == 64));
        let read = |path: std::path::PathBuf| {
            let bytes = fs::read(&path).expect("it is there");
            let end = bytes.iter().position(|byte| *byte == b'\n').expect("a head");
            let head: Value = serde_json::from_slice(&bytes[..end]).expect("a head");
            (path, head, bytes[end + 1..].to_vec())
        };
        let is_its = |(_, head, _): &(_, Value, _)| {
            head["key"].as_str().is_some_and(|key| key.starts_with(&digest(name)))
        };
        all.map(read).find(is_its).expect("it was compiled")
    };
    let (_, _, other) = record("snoop");
    for sealed in [true, false] {
        // The code of another component stands for any native code.
        let (path, mut head, _) = record("echo");
        head["sha256"] = portcullis_checked_files::digest(&other).into();
        if !sealed {
            head.as_object_mut().expect("a head").remove("hmac");
        }
        let bytes = [head.to_string().as_bytes(), b"\n", &other].concat();
        // The old file is a hard link that other homes share, so it is removed before the new one is written.
        fs::remove_file(&path).expect("it is there");
        fs::write(&path, bytes).expect("a home can be written");
        let ran = echo();
        assert!(ran.code == Some(0) && ran.stdout.contains("hello"), "{ran:?}");
        let (_, _, code) = record("echo");
        assert_ne!(code, other, "it was compiled anew");
    }
    // A new key replaces a lost key, and a key that other users could read.
    let key = home.path().join(".local/state/portcullis/cache.key");
    fs::remove_file(&key).expect("it is there");
    assert!(echo().stdout.contains("hello"));
    assert_eq!(fs::read(&key).expect("it was made").len(), 32);
}
