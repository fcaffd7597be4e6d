//! Tests of stored data and compiled code: with concurrent and killed processes, with other users, and with changed
//! files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::client::{Client, Era};
use crate::support::guests::guests;
use crate::support::home::Home;

const CONFIG: &str = "[host]\nbundled = false\n\
                      [plugins.keeper.grants.store]\nbytes = 1_000_000_000\n\
                      [plugins.keeper.grants.cache]\nbytes = 1_000_000\ndisk = true\n";

/// A home whose plugin `keeper` has quotas that the tests do not reach.
fn home() -> Home {
    Home::with(&["keeper"], CONFIG)
}

/// Every file beneath a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("a home can be read").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn two_processes_increment_one_counter() {
    let home = home();
    let mut clients = [Client::start(&home, Era::Legacy), Client::start(&home, Era::Modern)];
    let mut begun = Vec::new();
    for _ in 0..25 {
        for (which, client) in clients.iter_mut().enumerate() {
            begun.push((which, client.begin("increment", json!({}))));
        }
    }
    let mut counted: Vec<u64> = Vec::new();
    for (which, id) in begun {
        let reply = clients[which].finish(id);
        let text = crate::support::client::text_of(&reply);
        counted.push(text.parse().unwrap_or_else(|error| panic!("{error}: {reply}")));
    }
    counted.sort_unstable();
    assert_eq!(counted, (1..=50).collect::<Vec<_>>(), "no two counted the same");
    // `Home::audit` reads each line as JSON, so the processes did not mix their lines.
    let calls = home.audit().iter().filter(|record| record["event"] == "call").count();
    assert_eq!(calls, 50);
}

#[test]
fn a_process_finds_the_data_that_another_stored() {
    let home = home();
    let keep = json!({"steps": [{"do": "set", "key": "a", "value": "kept"}]});
    assert_eq!(Client::start(&home, Era::Legacy).text("keep", keep), "version 1");
    let remember = |value: &str| json!({"key": "k", "value": value});
    let mut first = Client::start(&home, Era::Modern);
    assert_eq!(first.text("remember", remember("mine")), "made \"mine\"");
    let mut second = Client::start(&home, Era::Legacy);
    assert_eq!(second.text("remember", remember("yours")), "found \"mine\"");
    let get = json!({"steps": [{"do": "get", "key": "a"}, {"do": "keys"}]});
    assert_eq!(second.text("keep", get), "version 1 \"kept\"\n[\"a\"]");
}

#[test]
fn a_process_that_is_killed_leaves_the_old_or_the_new_value() {
    let home = home();
    let store = home.path().join(".local/share/portcullis/store");
    let set = |bytes: u32| {
        let step = |n| json!({"do": "set", "key": format!("k{n}"), "bytes": bytes});
        json!({"steps": (0..4).map(step).collect::<Vec<_>>()})
    };
    let sizes = [200_000, 150_000];
    for round in 0..6 {
        let mut client = Client::start(&home, Era::Legacy);
        assert!(client.text("keep", set(sizes[0])).starts_with("version"));
        for n in 0..8 {
            client.begin("keep", set(sizes[n % 2]));
        }
        // The process is killed while it writes, after a different number of requests in each round.
        for _ in 0..round {
            let id = client.request("ping", json!({}));
            client.reply(id);
        }
        client.into_process().kill();
    }
    let mut client = Client::start(&home, Era::Legacy);
    for n in 0..4 {
        let get = json!({"steps": [{"do": "get", "key": format!("k{n}")}]});
        let found = client.text("keep", get);
        let whole = sizes.iter().any(|size| found.ends_with(&format!("{size} bytes")));
        assert!(whole, "k{n}: {found}");
    }
    // A write removes the incomplete files of the killed processes.
    client.text("keep", json!({"steps": [{"do": "set", "key": "k0", "value": "last"}]}));
    let left: Vec<_> = files(&store)
        .into_iter()
        .map(|file| file.file_name().expect("a file has a name").to_string_lossy().into_owned())
        .filter(|name| name.len() != 64 && name != ".lock")
        .collect();
    assert_eq!(left, Vec::<String>::new(), "half-written files fill the disk");
    // The audit can be read although it has an incomplete line.
    assert_eq!(home.run(&["audit", "--json"]).code, Some(0));
}

#[test]
fn two_hosts_that_start_first_at_once_both_serve() {
    let home = Home::new();
    for guest in ["echo", "keeper"] {
        fs::copy(guests().component(guest), home.plugins().join(format!("{guest}.wasm")))
            .expect("it was built");
    }
    home.configure(CONFIG);
    // Nothing is compiled yet, so both hosts have to compile.
    let mut clients: Vec<_> = (0..2).map(|_| Client::start(&home, Era::Legacy)).collect();
    let ids: Vec<_> =
        clients.iter_mut().map(|c| c.begin("echo", json!({"text": "hello"}))).collect();
    for (client, id) in clients.iter_mut().zip(ids) {
        assert_eq!(crate::support::client::text_of(&client.finish(id)), "hello");
    }
}

#[cfg(unix)]
#[test]
fn stored_files_are_readable_only_by_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with(&["keeper"], CONFIG);
    let mut client = Client::start(&home, Era::Legacy);
    client.text("keep", json!({"steps": [{"do": "set", "key": "a", "value": "b"}]}));
    client.text("remember", json!({"key": "k", "value": "v"}));
    for folder in [".local/share/portcullis/store", ".local/state/portcullis"] {
        for file in files(&home.path().join(folder)) {
            let mode = fs::metadata(&file).expect("it is there").permissions().mode();
            let folder = file.parent().expect("it is in a folder");
            let around = fs::metadata(folder).expect("it is there").permissions().mode();
            assert!(
                mode & 0o077 == 0 || around & 0o077 == 0,
                "{}: {mode:o} in {around:o}",
                file.display()
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn compiled_code_that_others_could_have_written_is_not_run() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with(&["echo"], "[host]\nbundled = false\n[plugins.echo]\n");
    let compiled = home.path().join(".cache/portcullis/compiled");
    fs::set_permissions(&compiled, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let ran = home.run(&["call", "echo", r#"{"text":"hello"}"#]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("other users can write to it"), "{ran:?}");
    assert!(!ran.stdout.contains("hello"), "{ran:?}");
}

#[test]
fn compiled_code_that_was_changed_is_compiled_again() {
    let home = Home::with(&["echo"], "[host]\nbundled = false\n[plugins.echo]\n");
    for file in files(&home.path().join(".cache/portcullis/compiled")) {
        let mut bytes = fs::read(&file).expect("it is there");
        let middle = bytes.len() / 2;
        if let Some(byte) = bytes.get_mut(middle) {
            *byte ^= 0xff;
        }
        // The old file is a hard link that other homes share, so a new file is written.
        fs::remove_file(&file).expect("it is ours");
        fs::write(&file, bytes).expect("it is ours");
    }
    let ran = home.run(&["call", "echo", r#"{"text":"hello"}"#]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hello\n"), "{ran:?}");
}
