//! Tests of unusual paths: spellings that lead outside, very long paths, and names that JSON cannot hold.
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
fn no_spelling_of_a_path_outside_is_opened() {
    let home = home();
    let files = home.files().display().to_string();
    let secret = format!("{files}/root2/secret.txt");
    let spell =
        |path: &str| path.replace("ROOT", &format!("{files}/root")).replace("SECRET", &secret);
    let mut spellings: Vec<String> = SPELLINGS.iter().map(|path| spell(path)).collect();
    spellings.push(format!("{files}/root/{}root2/secret.txt", "../".repeat(500)));
    spellings.push(format!("{files}/root/{}", "x/".repeat(3000)));
    spellings.push(format!("{files}/root/{}", "x".repeat(5000)));
    spellings.push(files.to_uppercase() + "/root/a.txt");
    let mut client = Client::start(&home, Era::Legacy);
    assert!(look(&mut client, &format!("{files}/root/a.txt")).contains("content"));
    for path in spellings {
        let text = look(&mut client, &path);
        // For a valid path that names nothing, the guest gets the error.
        let refused = text.starts_with("error: ") || text.contains("No such file or directory");
        assert!(refused && !text.contains("content"), "{path:?}: {text}");
    }
    // The guest itself tries the same paths, from the directory that it has.
    let others = ["../root2/secret.txt", "inner/../../root2/secret.txt", "..\\root2\\secret.txt"];
    let arguments = json!({"directory": format!("{files}/root"), "others": others, "way": "read"});
    let text = client.text("look_into", arguments);
    assert!(!text.contains("content"), "{text}");
}

const SPELLINGS: [&str; 27] = [
    "ROOT/../root2/secret.txt",
    "ROOT/./../root2/secret.txt",
    "ROOT/inner/../../root2/secret.txt",
    "ROOT//..//root2/secret.txt",
    "ROOT/..%2froot2/secret.txt",
    "ROOT/%2e%2e/root2/secret.txt",
    "ROOT/..\\root2\\secret.txt",
    "ROOT/\u{2025}/root2/secret.txt",
    "ROOT/\u{ff0e}\u{ff0e}/root2/secret.txt",
    "ROOT/.. /root2/secret.txt",
    "ROOT/../root2/secret.txt\0",
    "ROOT\0/../../root2/secret.txt",
    "ROOT/a.txt/../../root2/secret.txt",
    "ROOT2/secret.txt",
    "ROOT/../ROOT2/secret.txt",
    "/proc/self/rootSECRET",
    "/proc/1/rootSECRET",
    "/proc/self/cwd/files/root2/secret.txt",
    "//SECRET",
    "file://SECRET",
    "~/files/root2/secret.txt",
    "C:\\secret.txt",
    "\\\\server\\share",
    "",
    ".",
    "/",
    "relative/path",
];

#[test]
fn a_root_whose_name_is_not_utf8_is_enforced_like_any_other() {
    let home = home();
    let odd = home.files().join(OsStr::from_bytes(b"odd-\xff\xfe"));
    fs::create_dir(&odd).expect("a home");
    fs::write(odd.join("in.txt"), "content").expect("a home");
    home.configure(&CONFIG.replace("roots = [\"$FILES/root\"]\n", ""));
    let mut client = Client::start_with(&home, &["serve"], Era::Legacy, json!({"roots": {}}));
    let uri = format!("file://{}/odd-%FF%FE", home.files().display());
    client.answers.insert("roots/list".into(), json!({"roots": [{"uri": uri}]}));
    // JSON cannot name anything in this root: similar names are refused.
    for name in ["odd-\u{fffd}\u{fffd}", "odd-%FF%FE", "odd-\u{ff}\u{fe}"] {
        let text = look(&mut client, &format!("{}/{name}/in.txt", home.files().display()));
        assert!(text.starts_with("error: "), "{text}");
    }
    // On the command line, the root can be named.
    let mut command = home.command(&["call", "surroundings", "--root"]);
    let ran = command.arg(&odd).output().expect("the binary runs");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
}

#[test]
fn names_that_are_not_utf8_break_nothing_else() {
    let home = home();
    let odd = home.files().join("root").join(OsStr::from_bytes(b"\xff.txt"));
    fs::write(odd, "content").expect("a home");
    let mut client = Client::start(&home, Era::Legacy);
    let root = home.file("root");
    let list = json!({"directory": root, "others": [""], "way": "list"});
    let text = client.text("look_into", list);
    // WASI has only UTF-8 names: listing another name fails, and other operations work.
    assert!(!text.contains("content"), "{text}");
    assert!(look(&mut client, &format!("{root}/a.txt")).contains("content"));
}
