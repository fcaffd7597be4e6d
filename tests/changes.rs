//! Tests of tools that write several files: they write all files or none, even if the host is killed, the quota is used
//! up, the caller cancels, or another process writes at the same time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::{Client, Era};
use crate::support::home::Home;

/// The contents of files by their paths, including files with hidden names.
type Files = BTreeMap<String, String>;

/// The prefix of the names under which files are written before they are renamed.
const HIDDEN: &str = ".portcullis-";

/// Grants of `ui5-create`, whose tests use neither the network nor a command.
const GRANTS: &str = r#"
roots = ["$FILES"]

[plugins.ui5-create.grants.files]
access = "write"

[plugins.ui5-create.grants.http]
hosts = ["ui5.sap.com"]

[plugins.ui5-create.grants.process]
commands = ["npm-install"]

[plugins.ui5-create.grants.cache]
bytes = 1_000
"#;

fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    let mut open = vec![folder.to_owned()];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for path in entries.map(|entry| entry.expect("it can be listed").path()) {
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("it was found there").display().to_string();
            // A file with a hidden name may disappear at any time.
            if let Ok(text) = fs::read_to_string(path) {
                found.insert(name, text);
            }
        }
    }
    found
}

/// The arguments for a new app: in a directory of its own, or in the directory with the user's files.
fn app(home: &Home, own_directory: bool, author: &str) -> Value {
    json!({
        "appNamespace": "com.example.app", "basePath": home.files(), "createAppDirectory": own_directory,
        "framework": "OpenUI5", "frameworkVersion": "1.136.0", "author": author,
        "initializeGitRepository": false, "runNpmInstall": false,
    })
}

fn home(limits: &str) -> Home {
    let home = Home::with(&[], &format!("{GRANTS}{limits}"));
    start_again(&home);
    home
}

/// Resets all files to the user's files before the test.
fn start_again(home: &Home) {
    let _gone = fs::remove_dir_all(home.files());
    fs::create_dir_all(home.files().join("webapp")).expect("a folder");
    fs::write(home.files().join("mine.txt"), "mine").expect("a file");
    fs::write(home.files().join("webapp/mine.txt"), "mine").expect("a file");
}

fn succeeded(reply: &Value) -> bool {
    reply["result"]["content"].is_array() && reply["result"]["isError"] != true
}

/// A client whose plugins are loaded.
fn client(home: &Home) -> Client {
    let mut client = Client::start(home, Era::Legacy);
    let id = client.request("tools/list", json!({}));
    client.reply(id);
    client
}

/// The files before and after a new app is created.
fn before_and_after(home: &Home, own_directory: bool) -> (Files, Files) {
    start_again(home);
    let before = files(&home.files());
    let reply = client(home).call("create_ui5_app", app(home, own_directory, "Ada"));
    assert!(succeeded(&reply), "{reply}");
    let after = files(&home.files());
    assert!(after.len() > before.len() + 25, "{after:?}");
    (before, after)
}

/// Asserts that each file without a hidden name has either its contents before or those after.
fn assert_whole(seen: &Files, before: &Files, after: &Files) {
    for (name, text) in seen.iter().filter(|(name, _)| !name.contains(HIDDEN)) {
        let is = |files: &Files| files.get(name) == Some(text);
        assert!(is(before) || is(after), "{name} is `{text}`");
    }
}

fn killed(own_directory: bool) {
    let home = home("");
    let (before, after) = before_and_after(&home, own_directory);
    let (mut interrupted, mut undone, mut finished) = (0, 0, 0);
    for round in 0..40_u32 {
        start_again(&home);
        let mut client = client(&home);
        client.begin("create_ui5_app", app(&home, own_directory, "Ada"));
        let begun = Instant::now();
        while files(&home.files()).len() == before.len() && begun.elapsed().as_secs() < 60 {}
        std::thread::sleep(Duration::from_micros(500) * round);
        let id = rustix::process::Pid::from_raw(client.process().id().cast_signed());
        let id = id.expect("no process has the number 0");
        rustix::process::kill_process(id, rustix::process::Signal::KILL).expect("it runs");
        while client.process().line().is_some() {}
        drop(client);
        let seen = files(&home.files());
        interrupted += u32::from(seen != before && seen != after);
        assert_whole(&seen, &before, &after);
        // The next command completes or undoes the changes.
        home.run(&["tools"]);
        let left = files(&home.files());
        assert!(left == before || left == after, "{round}: {:?}", left.keys());
        *if left == before { &mut undone } else { &mut finished } += 1;
    }
    assert!(interrupted > 3 && undone > 0, "{interrupted} {undone} {finished}");
}

#[test]
fn a_host_that_is_killed_leaves_a_whole_app_or_none() {
    killed(true);
}

#[test]
fn a_host_that_is_killed_leaves_all_files_or_none_in_an_existing_directory() {
    killed(false);
}

#[test]
fn an_app_that_exceeds_a_limit_leaves_no_file() {
    for limit in ["file-write-bytes = 10_000", "file-bytes = 1_000", "file-entries = 20"] {
        let home = home(&format!("\n[plugins.ui5-create.limits]\n{limit}\n"));
        let before = files(&home.files());
        for own_directory in [true, false] {
            let said = client(&home).text("create_ui5_app", app(&home, own_directory, "Ada"));
            let name = limit.split(' ').next().expect("a name");
            assert!(said.contains("Nothing was written") && said.contains(name), "{said}");
            assert_eq!(files(&home.files()), before);
            assert_eq!(fs::read_dir(home.files()).expect("a folder").count(), 2, "{limit}");
        }
    }
}

#[test]
fn a_call_that_is_cancelled_leaves_a_whole_app_or_none() {
    let home = home("");
    let (before, after) = before_and_after(&home, false);
    let mut outcomes = [0, 0];
    for round in 0..30_u32 {
        start_again(&home);
        let mut client = client(&home);
        let id = client.begin("create_ui5_app", app(&home, false, "Ada"));
        std::thread::sleep(Duration::from_millis(u64::from(round)));
        client.cancel(id);
        client.process().close();
        // Waits for the orderly end of the server: all changes are completed or undone then.
        while client.process().line().is_some() {}
        let left = files(&home.files());
        assert!(left == before || left == after, "{round}: {:?}", left.keys());
        outcomes[usize::from(left == after)] += 1;
    }
    assert!(outcomes[0] > 0, "{outcomes:?}");
}

#[test]
fn of_two_apps_created_at_once_one_is_written() {
    let home = home("");
    for own_directory in [true, false] {
        for _ in 0..8 {
            start_again(&home);
            let mut clients = [client(&home), client(&home)];
            let authors = ["Ada", "Grace"];
            let ids: Vec<_> = clients
                .iter_mut()
                .zip(authors)
                .map(|(client, author)| {
                    client.begin("create_ui5_app", app(&home, own_directory, author))
                })
                .collect();
            let replies: Vec<_> =
                clients.iter_mut().zip(ids).map(|(client, id)| client.reply(id)).collect();
            let winners: Vec<_> = replies.iter().map(succeeded).collect();
            assert!(winners[0] != winners[1], "{replies:?}");
            let there = files(&home.files());
            let (winner, loser) = if winners[0] { ("Ada", "Grace") } else { ("Grace", "Ada") };
            assert!(there.values().any(|text| text.contains(winner)));
            assert!(!there.values().any(|text| text.contains(loser)), "{:?}", there.keys());
            assert!(!there.keys().any(|name| name.contains(HIDDEN)), "{:?}", there.keys());
        }
    }
}

#[test]
fn the_linter_fixes_all_files_or_none() {
    let home = Home::new();
    let webapp = home.files().join("webapp");
    fs::create_dir(&webapp).expect("a folder");
    fs::write(webapp.join("manifest.json"), r#"{"sap.app": {"id": "a", "type": "application"}}"#)
        .expect("a file");
    let (one, two) = (webapp.join("a.js"), webapp.join("b.js"));
    let fix = |path: &Path| {
        let sha256 = portcullis_checked_files::digest(b"old\r\n");
        json!({"path": path, "sha256": sha256, "contents": "new\r\n"})
    };
    let answer = json!({"version": "1", "results": [], "fixes": [fix(&one), fix(&two)]});
    let worker = format!("while read -r line; do printf '%s\\n' '{answer}'; done");
    home.configure(&format!(
        "roots = [\"$FILES\"]\n[plugins.ui5-linter.grants.files]\naccess = \"write\"\n\
         [plugins.ui5-linter.grants.process]\ncommands = [\"ui5lint\"]\n\
         [commands.ui5lint]\nprogram = \"/bin/sh\"\nargs = [\"-c\", {}]\n",
        Value::from(worker)
    ));
    let arguments =
        json!({"projectDir": home.files(), "fix": true, "provideContextInformation": false});
    for (theirs, is_fixed) in [("changed since", false), ("old\r\n", true)] {
        fs::write(&one, "old\r\n").expect("a file");
        fs::write(&two, theirs).expect("a file");
        let reply = client(&home).call("run_ui5_linter", arguments.clone());
        assert_eq!(succeeded(&reply), is_fixed, "{reply}");
        let expected = if is_fixed { ["new\r\n"; 2] } else { ["old\r\n", theirs] };
        let read = |path| fs::read_to_string(path).expect("it is there");
        assert_eq!([read(&one), read(&two)], expected);
        assert_eq!(fs::read_dir(&webapp).expect("a folder").count(), 3);
    }
}
