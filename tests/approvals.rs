//! Tests that a reviewer sees what a component could do before it is installed, what changed since it was approved, and
//! who approved it, when and why.

use std::fs;

use serde_json::Value;

use crate::support::guests::guests;
use crate::support::home::Home;
use crate::support::web::Web;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Puts another component into the file of the plugin `echo`.
fn replace_echo(home: &Home, with: &str) {
    fs::copy(guests().component(with), home.plugins().join("echo.wasm")).expect("a home");
}

#[test]
fn audit_shows_what_a_component_could_do_before_it_is_installed() {
    let home = Home::new();
    let file = guests().component("snoop");
    let file = file.to_str().expect("a path is UTF-8");
    let ran = home.run(&["audit", file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for expected in [
        "wants    files arguments read: \"to read the paths in the arguments of its tools\"",
        "imports  wasi:filesystem/types@",
        "needs `files`",
        "[method]descriptor.open-at",
        "cannot   use `http`: it imports no function of this capability",
        "cannot   use `client`: its manifest does not want it",
        "tool     look_at_file (read-only, not open-world)",
        "file (string, required)",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
    }
    let all = json(&home.run(&["audit", file, "--json"]).stdout);
    let one = &all["inspected"][0];
    assert_eq!(one["defect"], Value::Null, "{one}");
    assert_eq!(one["definitions"]["look_at_file"]["inputSchema"]["type"], "object");
    assert_eq!(one["wants"][0]["target"], "arguments");
    // The command installed and approved nothing.
    assert!(!home.path().join(".local/state/portcullis/portcullis.lock").exists());
    let wants = json(&home.run(&["audit", file, "--json"]).stdout);
    assert_eq!(wants, all);
}

#[test]
fn a_want_that_depends_on_a_setting_is_not_a_defect() {
    let home = Home::new();
    let file = guests().component("fetcher");
    let ran = home.run(&["audit", file.to_str().expect("a path is UTF-8")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("http (the setting `base`) GET,POST: \"to ask there\""), "{ran:?}");
    assert!(ran.stdout.contains("defect   none"), "{ran:?}");
}

#[test]
fn a_folder_is_inspected_and_files_that_are_not_plugins_are_refused() {
    let home = Home::new();
    let folder = home.files().join("components");
    fs::create_dir_all(&folder).expect("a home");
    fs::copy(guests().component("echo"), folder.join("good.wasm")).expect("a home");
    fs::write(folder.join("bad.wasm"), b"no component").expect("a home");
    fs::write(folder.join("other.txt"), b"not looked at").expect("a home");
    let folder = folder.to_str().expect("a path is UTF-8");
    let ran = home.run(&["audit", folder]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("bad refused") && ran.stdout.contains("good 0.1.0"), "{ran:?}");
    let all = json(&home.run(&["audit", folder, "--json"]).stdout);
    let names: Vec<_> = all["inspected"].as_array().expect("a list").iter().collect();
    assert_eq!(names.len(), 2, "{all}");
    for (target, expected) in
        [("./none.wasm", "none.wasm"), ("/dev/null", "regular"), ("none", "there is no plugin")]
    {
        let ran = home.run(&["audit", target]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_ne!(ran.code, Some(0), "{target}: {said}");
        assert!(said.contains(expected), "{target}: {said}");
    }
}

#[test]
fn a_component_is_fetched_from_a_url_and_redirects_are_followed() {
    let home = Home::new();
    let folder = home.files().join("web");
    fs::create_dir_all(folder.join("v1")).expect("a home");
    fs::copy(guests().component("echo"), folder.join("v1/echo.wasm")).expect("a home");
    let script = r#"{
        "/latest": {"status": 302, "headers": {"location": "/v1/echo.wasm"}},
        "/away": {"status": 302, "headers": {"location": "file:///etc/passwd"}},
        "/around": {"status": 302, "headers": {"location": "/around"}}
    }"#;
    fs::write(folder.join("answers.json"), script).expect("a home");
    let web = Web::start(Some(&folder));
    let address = web.address;
    let ran = home.run(&["audit", &format!("http://{address}/latest")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("echo 0.1.0"), "{ran:?}");
    assert!(ran.stderr.contains(&format!("from http://{address}/v1/echo.wasm")), "{ran:?}");
    let away = home.run(&["audit", &format!("http://{address}/away")]);
    assert!(away.stderr.contains("cannot be used") && away.code == Some(2), "{away:?}");
    let around = home.run(&["audit", &format!("http://{address}/around")]);
    assert!(
        around.stderr.contains("more than five redirects") && around.code == Some(2),
        "{around:?}"
    );
    let gone = home.run(&["audit", &format!("http://{address}/gone.wasm")]);
    assert!(gone.stderr.contains("404") && gone.code == Some(2), "{gone:?}");
}

#[test]
fn a_refused_plugin_shows_its_wants_and_reasons() {
    let home = Home::with(&["snoop"], "[host]\nbundled = false\n[plugins.snoop]\n");
    for command in [&["plugin", "list"][..], &["audit"], &["audit", "snoop"]] {
        let ran = home.run(command);
        assert!(ran.stdout.contains("snoop refused"), "{ran:?}");
        assert!(
            ran.stdout.contains("\"to read the paths in the arguments of its tools\""),
            "{ran:?}"
        );
    }
    let listed = json(&home.run(&["plugin", "list", "--json"]).stdout);
    assert!(listed.to_string().contains("to look around everywhere"), "{listed}");
}

#[test]
fn a_change_is_shown_and_approved_with_a_reason() {
    let home = Home::with(&["echo"], CONFIG);
    assert!(home.run(&["tools"]).stdout.contains("echo (echo)"));
    let same = home.run(&["plugin", "diff", "echo"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(same.stdout.contains("first use") && same.stdout.contains("changes  none"), "{same:?}");

    replace_echo(&home, "snoop");
    let changed = home.run(&["plugin", "diff", "echo"]);
    assert_eq!(changed.code, Some(1), "{changed:?}");
    for expected in [
        "- sha256:",
        "+ sha256:",
        "  imports › wasi:filesystem/preopens@",
        "    + get-directories",
        "  tools › echo\n    - title: Echo\n    - description: Answers with the text it is given.\n",
        "  tools › look_at_file\n    + description: Looks at a file",
        "    + paths: [{\"pointer\":\"/file\",",
        "  wants › files arguments read\n    + reason: to read the paths in the arguments of its tools\n    + optional: false",
    ] {
        assert!(changed.stdout.contains(expected), "{expected}: {}", changed.stdout);
    }
    let facts = json(&home.run(&["plugin", "diff", "echo", "--json"]).stdout);
    assert_eq!(facts["isApproved"], false, "{facts}");
    assert_eq!(facts["approval"]["reason"], "first use", "{facts}");

    // Without a terminal, the command cannot ask.
    let unasked = home.run(&["plugin", "approve", "echo"]);
    assert_eq!(unasked.code, Some(2), "{unasked:?}");
    assert!(unasked.stderr.contains("--yes"), "{unasked:?}");
    assert_eq!(home.run(&["plugin", "diff", "echo"]).code, Some(1), "nothing was approved");

    let reason = "read its source";
    let approved = home.run(&["plugin", "approve", "echo", "--reason", reason, "--yes"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert!(approved.stdout.contains("tools › look_at_file"), "{approved:?}");
    let now = json(&home.run(&["plugin", "diff", "echo", "--json"]).stdout);
    assert_eq!(now["isApproved"], true, "{now}");
    assert_eq!(now["approval"]["reason"], reason, "{now}");
    let record = home
        .audit_with_approvals()
        .into_iter()
        .rfind(|record| record["event"] == "approval")
        .expect("it is in the audit");
    assert_eq!((&record["reason"], &record["plugin"]), (&reason.into(), &"echo".into()));
    assert_eq!(record["digest"], now["digest"]);
    assert_eq!(record["before"], facts["approvedDigest"]);
    assert_eq!(record["user"], now["approval"]["user"]);
}

#[test]
fn a_locked_host_approves_nothing_at_first_use() {
    let home = Home::with(&["echo"], CONFIG);
    for locked in [&["--locked", "tools"][..], &["--locked", "plugin", "list"]] {
        let ran = home.run(locked);
        assert!(!ran.stdout.contains("echo (echo)"), "{ran:?}");
    }
    let listed = home.run(&["--locked", "plugin", "list"]);
    assert!(listed.stdout.contains("this host is locked"), "{listed:?}");
    assert!(home.run(&["--locked", "plugin", "diff", "echo"]).stdout.contains("not approved"));
    let approved = home.run(&["--locked", "plugin", "approve", "echo", "--yes"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert!(home.run(&["--locked", "tools"]).stdout.contains("echo (echo)"));
    // `follow-changes` is for authors of plugins. A locked host does not follow.
    replace_echo(&home, "plain");
    home.configure(
        "[host]\nbundled = false\nfollow-changes = true\nlocked = true\n[plugins.echo]\n",
    );
    let listed = home.run(&["plugin", "list"]);
    assert!(listed.stdout.contains("has changed since it was approved"), "{listed:?}");
}

#[test]
fn the_placeholder_of_a_hint_is_not_a_grant() {
    let home = Home::with(&["fetcher"], "[host]\nbundled = false\n[plugins.fetcher]\n");
    let listed = home.run(&["plugin", "list"]).stdout;
    let lines: Vec<_> = listed.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| *line == "[plugins.fetcher.grants.http]");
    let at = at.unwrap_or_else(|| panic!("{listed}"));
    home.configure(&format!("[host]\nbundled = false\n{}\n{}\n", lines[at], lines[at + 1]));
    let ran = home.run(&["plugin", "list"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("`plugins.fetcher.grants.http`"), "{ran:?}");
    assert!(ran.stderr.contains("is a placeholder"), "{ran:?}");
}

#[test]
fn the_plugin_folder_is_printed_and_takes_files() {
    let home = Home::new();
    let folder = home.run(&["plugin", "folder"]);
    assert_eq!(folder.code, Some(0), "{folder:?}");
    let folder = std::path::PathBuf::from(folder.stdout.trim_end());
    fs::copy(guests().component("echo"), folder.join("mine.wasm")).expect("the folder exists");
    assert!(home.run(&["plugin", "list"]).stdout.contains("mine 0.1.0"), "{folder:?}");
    home.configure("[host]\nplugin-dirs = [\"/one\", \"/two\"]\n");
    assert_eq!(home.run(&["plugin", "folder"]).stdout, "/one\n/two\n");
}
