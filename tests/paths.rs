//! Paths that no line of JSON can hold, and more of them than a case could list.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::support::client::{Client, Era};
use crate::support::home::Home;

const CONFIG: &str = "roots = [\"$FILES/root\"]\n[host]\nbundled = false\n\
                      [plugins.snoop.grants.files]\naccess = \"read\"\n";

fn home() -> Home {
    let home = Home::with(&["snoop"], CONFIG);
    for folder in ["root", "root2", "root/inner"] {
        fs::create_dir(home.files().join(folder)).expect("a home");
    }
    for file in ["root/a.txt", "root2/secret.txt", "root/inner/b.txt"] {
        fs::write(home.files().join(file), "content").expect("a home");
    }
    fs::write(home.files().join("root2/secret.txt"), "secret content").expect("a home");
    home
}

fn look(client: &mut Client, file: &str) -> String {
    client.text("look_at_file", json!({"file": file, "others": [""], "way": "read"}))
}

#[test]
fn a_root_whose_name_is_no_text_is_held_like_any_other() {
    let home = home();
    let odd = home.files().join(OsStr::from_bytes(b"odd-\xff\xfe"));
    fs::create_dir(&odd).expect("a home");
    fs::write(odd.join("in.txt"), "content").expect("a home");
    home.configure(&CONFIG.replace("roots = [\"$FILES/root\"]\n", ""));
    let mut client = Client::start_with(&home, &["serve"], Era::Legacy, json!({"roots": {}}));
    let uri = format!("file://{}/odd-%FF%FE", home.files().display());
    client.answers.insert("roots/list".into(), json!({"roots": [{"uri": uri}]}));
    // JSON has no way to name anything in it: the nearest are refused, and nothing breaks.
    for name in ["odd-\u{fffd}\u{fffd}", "odd-%FF%FE", "odd-\u{ff}\u{fe}"] {
        let text = look(&mut client, &format!("{}/{name}/in.txt", home.files().display()));
        assert!(text.starts_with("error: "), "{text}");
    }
    // On the command line it can be named.
    let mut command = home.command(&["call", "surroundings", "--root"]);
    let ran = command.arg(&odd).output().expect("the binary runs");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
}

#[test]
fn names_that_are_no_text_are_listed_and_nothing_breaks() {
    let home = home();
    let odd = home.files().join("root").join(OsStr::from_bytes(b"\xff.txt"));
    fs::write(odd, "content").expect("a home");
    let mut client = Client::start(&home, Era::Legacy);
    let root = home.file("root");
    let list = json!({"directory": root, "others": [""], "way": "list"});
    let text = client.text("look_into", list);
    // As WASI has text for names, one that is none fails, but only where it is listed.
    assert!(!text.contains("content"), "{text}");
    assert!(look(&mut client, &format!("{root}/a.txt")).contains("content"));
}
