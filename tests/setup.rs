//! Tests of the commands `setup`, `import` and `doctor`, and of the lines that the first start of a server prints.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::support::BINARY;
use crate::support::home::{Home, Ran};
use crate::support::stand_in;

/// Configurations of clients before the setup, each with its path in a home.
const BEFORE: &[(&str, &str)] = &[
    (
        ".cursor/mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"a\", \"env\": { \"TOKEN\": \"s3cr3t-s3cr3t\" } },\n  }\n}\n",
    ),
    (
        ".codex/config.toml",
        "model = \"o3\" # the best\r\n\r\n[mcp_servers.a]\r\ncommand = \"a\"\r\n",
    ),
    (".config/goose/config.yaml", "# mine\nGOOSE_MODE: auto\nextensions:\n  a:\n    cmd: a # it\n"),
];

fn put(home: &Home, name: &str, text: &str) {
    let path = home.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a home can be written");
    fs::write(path, text).expect("a home can be written");
}

fn read(home: &Home, name: &str) -> String {
    fs::read_to_string(home.path().join(name)).unwrap_or_default()
}

fn with_clients() -> Home {
    let home = Home::new();
    for (name, text) in BEFORE {
        put(&home, name, text);
    }
    home
}

fn unchanged(home: &Home) -> bool {
    BEFORE.iter().all(|(name, text)| read(home, name) == *text)
}

/// The files in a folder and in its folders.
fn files(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            all.extend(files(&entry.path()));
        } else {
            all.push(entry.path().display().to_string());
        }
    }
    all
}

#[test]
fn found_clients_are_set_up_with_consent_and_can_be_restored() {
    let home = with_clients();
    let root = home.files().display().to_string();
    let setup = ["setup", "--root", &root, "--with", "ui5,ui"];
    let refused = home.run(&setup);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("Write these 3 files?") && refused.stderr.contains("--yes"),
        "{refused:?}"
    );
    let dry = home.run(&[&setup[..], &["--dry-run"]].concat());
    assert!(dry.code == Some(0) && unchanged(&home), "{dry:?}");
    for part in ["Cursor", "Codex", "goose", BINARY, "--tools"] {
        assert!(dry.stdout.contains(part), "{part}: {dry:?}");
    }
    assert!(!dry.stdout.contains("s3cr3t"), "{dry:?}");
    let written = home.run(&[&setup[..], &["--yes"]].concat());
    assert_eq!(written.code, Some(0), "{written:?}");
    for (name, before) in BEFORE {
        let now = read(&home, name);
        assert!(now.contains(BINARY) && now.contains(&root) && now.contains("ui5,ui"), "{now}");
        assert!(
            now.len() > before.len() && now.contains("mine") == before.contains("mine"),
            "{now}"
        );
        assert_eq!(read(&home, &format!("{name}.portcullis-backup")), *before);
    }
    let again = home.run(&["setup", "--yes"]);
    assert!(again.code == Some(0) && again.stdout.contains("nothing to write"), "{again:?}");
    let removed = home.run(&["setup", "--remove", "--yes"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(unchanged(&home), "{removed:?}");
    assert!(
        !files(home.path()).iter().any(|file| file.contains("backup")),
        "{:?}",
        files(home.path())
    );
}

#[test]
fn the_entry_of_a_client_starts_a_server() {
    let home = Home::new();
    let root = home.files().display().to_string();
    home.run(&["setup", "cursor", "--root", &root, "--yes"]);
    let entry: Value = serde_json::from_str(&read(&home, ".cursor/mcp.json")).expect("JSON");
    let entry = &entry["mcpServers"]["portcullis"];
    assert_eq!(entry["command"], BINARY);
    let args: Vec<_> =
        entry["args"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let served = home.run(&args);
    assert_eq!(served.code, Some(0), "{served:?}");
}

#[test]
fn a_client_that_cannot_be_set_up_does_not_affect_the_others() {
    let home = with_clients();
    let broken = "{ \"mcpServers\": { oops } }";
    put(&home, ".cursor/mcp.json", broken);
    put(
        &home,
        ".gemini/settings.json",
        "{\"mcpServers\": {\"portcullis\": {\"command\": \"other\"}}}",
    );
    let ran = home.run(&["setup", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in
        ["cannot be parsed", "line 1, column", "the name of another program: other", "--name"]
    {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(read(&home, ".cursor/mcp.json"), broken);
    assert!(read(&home, ".codex/config.toml").contains(BINARY));
    let named = home.run(&["setup", "gemini", "--name", "castle", "--yes"]);
    assert_eq!(named.code, Some(0), "{named:?}");
    assert!(read(&home, ".gemini/settings.json").contains("\"castle\""));
    for (arguments, expected) in [
        (&["setup", "emacs"][..], "possible values"),
        (&["setup", "cursor", "--with", "nope"], "the families are"),
        (&["setup", "cursor", "--root", "nowhere"], "is not a folder"),
        (&["setup", "cursor", "--name", "a b"], "letters, digits"),
    ] {
        let ran = home.run(arguments);
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{ran:?}");
    }
}

#[test]
fn nothing_is_found_on_an_empty_machine() {
    let home = Home::new();
    let ran = home.run(&["setup", "--yes"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("claude-desktop"), "{ran:?}");
    assert!(files(home.path()).is_empty(), "{:?}", files(home.path()));
}

#[test]
fn a_killed_setup_leaves_whole_files() {
    let home = with_clients();
    let arguments = ["setup", "--yes", "--name"];
    let mut alive = 0;
    for number in 0_u64..24 {
        let name = format!("portcullis-{number}");
        let mut child = home
            .command(&[&arguments[..], &[&name]].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(number * 2));
        child.kill().expect("it is ours");
        let ended = child.wait().expect("it ends");
        alive += usize::from(ended.success());
        let checked = home.run(&["doctor", "--json"]);
        let found: Value = serde_json::from_str(&checked.stdout).expect("JSON");
        let findings = found["findings"].as_array().expect("a list");
        let broken =
            findings.iter().find(|one| one["area"] == "clients" && one["level"] == "error");
        assert_eq!(broken, None, "after {number}");
        for (name, before) in BEFORE {
            let now = read(&home, name);
            let first = before.lines().next().expect("a line");
            assert!(now.starts_with(first) && now.len() >= before.len(), "{name}: {now}");
        }
    }
    assert!(alive < 24, "some were killed");
}

#[test]
fn servers_of_a_client_become_upstreams_without_their_secrets() {
    let mut home = Home::new();
    home.set("GH_TOKEN", "0123456789abcdef");
    let server = stand_in();
    let text = serde_json::json!({ "mcpServers": {
        "mine": {
            "command": server, "args": ["stdio"], "timeout": 5,
            "env": { "API_TOKEN": "s3cr3t-s3cr3t", "TOKEN": "${env:GH_TOKEN}", "MODE": "fast" },
        },
        "asks": { "command": "a", "env": { "KEY": "${input:key}" } },
        "of the web": { "type": "sse", "url": "https://h.example/sse" },
        "own": { "command": BINARY, "args": ["serve"] },
    }});
    put(&home, "mcp.json", &text.to_string());
    let import = ["import", "mcp.json"];
    let dry = home.run(&[&import[..], &["--dry-run"]].concat());
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert!(files(home.path()).len() == 1, "{:?}", files(home.path()));
    assert!(dry.stdout.contains("+[upstreams.mine]") && !dry.stdout.contains("s3cr3t"), "{dry:?}");
    for part in [
        "asks the user for `key`",
        "not translated: `timeout`",
        "[upstreams.of-the-web]",
        "`own` is portcullis itself",
    ] {
        assert!(dry.stdout.contains(part), "{part}: {dry:?}");
    }
    let written = home.run(&[&import[..], &["--yes"]].concat());
    assert_eq!(written.code, Some(1), "one is left out: {written:?}");
    let config = read(&home, ".config/portcullis/portcullis.toml");
    for part in [
        "API_TOKEN = { file = ",
        "TOKEN = { env = \"GH_TOKEN\" }",
        "MODE = \"fast\"",
        "transport = \"sse\"",
    ] {
        assert!(config.contains(part), "{part}: {config}");
    }
    assert!(!config.contains("s3cr3t"), "{config}");
    let secret = home.path().join(".config/portcullis/secrets/mine.API_TOKEN");
    assert_eq!(fs::read_to_string(&secret).expect("it was written"), "s3cr3t-s3cr3t");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode =
            |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode(&secret), mode(secret.parent().expect("a folder"))), (0o600, 0o700));
    }
    let again = home.run(&[&import[..], &["--yes"]].concat());
    assert!(again.stdout.contains("`mine` is in portcullis.toml already"), "{again:?}");
    assert!(again.stdout.contains("nothing to write"), "{again:?}");
    assert_eq!(read(&home, ".config/portcullis/portcullis.toml"), config);
    let tools = home.run(&["tools"]);
    assert!(tools.code == Some(0) && tools.stdout.contains("(mine)"), "{tools:?}");
}

#[test]
fn a_file_without_servers_is_not_imported() {
    let home = Home::new();
    put(&home, "empty.json", "{}");
    put(&home, "broken.json", "{\n oops");
    for (file, expected) in [
        ("empty.json", "lists no MCP servers (looked for `mcpServers`"),
        ("broken.json", "line 2"),
        ("absent.json", "absent.json cannot be read"),
    ] {
        let ran = home.run(&["import", file, "--yes"]);
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{ran:?}");
    }
}

/// Runs `doctor`. Returns its output, and the level, the area and the remedy of each finding.
fn doctor(home: &Home) -> (Ran, Vec<(String, String, String)>) {
    let ran = home.run(&["doctor", "--json"]);
    let found: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let findings = found["findings"].as_array().expect("a list");
    let all = findings.iter().map(|one| (text(one, "level"), text(one, "area"), text(one, "mend")));
    (ran, all.collect())
}

#[test]
fn the_doctor_names_faults_and_their_remedies() {
    let home = Home::new();
    home.configure("[host]\nbundled = false\n");
    let (ran, healthy) = doctor(&home);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for area in
        ["binary", "clients", "configuration", "roots", "cache", "approvals", "audit", "commands"]
    {
        assert!(healthy.iter().any(|(_, found, _)| found == area), "{area}: {healthy:?}");
    }
    assert!(
        healthy.iter().any(|(_, area, mend)| area == "clients" && mend == "portcullis setup"),
        "{healthy:?}"
    );
    home.run(&["setup", "cursor", "--yes"]);
    let config = read(&home, ".cursor/mcp.json").replace(BINARY, "/nowhere/portcullis");
    put(&home, ".cursor/mcp.json", &config);
    let (ran, ill) = doctor(&home);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let mends = |level: &str, area: &str, all: &[(String, String, String)]| -> Vec<String> {
        let of = all.iter().filter(|(found, place, _)| found == level && place == area);
        of.map(|(_, _, mend)| mend.clone()).collect()
    };
    assert_eq!(mends("error", "clients", &ill), ["portcullis setup cursor"]);
    let mended = home.run(&["setup", "cursor", "--yes"]);
    assert_eq!(mended.code, Some(0), "{mended:?}");
    assert_eq!(doctor(&home).0.code, Some(0), "the command mends it");
    home.configure("rots = []");
    let (ran, ill) = doctor(&home);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(mends("error", "configuration", &ill).len(), 1, "{ill:?}");
    home.configure("roots = [\"/nowhere/at/all\"]");
    let mend = "create the folder, or correct `roots` in portcullis.toml";
    assert_eq!(mends("error", "roots", &doctor(&home).1), [mend]);
    home.configure("[host]\nbundled = false\n");
    put(&home, ".local/state/portcullis/portcullis.lock", "oops");
    assert_eq!(mends("error", "approvals", &doctor(&home).1).len(), 1);
    let text = home.run(&["doctor"]);
    assert!(text.stdout.contains("error") && text.stdout.contains("→ "), "{text:?}");
}

#[test]
fn a_first_start_without_a_configuration_describes_the_defaults() {
    let home = Home::new();
    let first = home.run(&["serve"]);
    assert_eq!(first.stderr.lines().count(), 5, "{first:?}");
    for part in ["without a configuration", "ui5", "folders: only", "portcullis.toml", "audit: "] {
        assert!(first.stderr.contains(part), "{part}: {first:?}");
    }
    assert_eq!(home.run(&["serve"]).stderr, "", "only once");
    let configured = Home::new();
    configured.configure("");
    assert_eq!(configured.run(&["serve"]).stderr, "");
}
