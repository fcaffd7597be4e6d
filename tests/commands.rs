//! The command line: what cases cannot say of it.

use std::fs;

use serde_json::Value;

use crate::support::home::Home;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n";

#[test]
fn every_shell_has_completions() {
    let home = Home::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = home.run(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("portcullis") && ran.stdout.contains("audit"), "{shell}");
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn help_is_for_strangers_and_says_everything() {
    let home = Home::new();
    let ran = home.run(&["--help"]);
    assert_eq!(ran.code, Some(0));
    for command in ["serve", "call", "tools", "plugin", "audit", "check", "config", "completions"] {
        assert!(ran.stdout.contains(command), "{command}: {}", ran.stdout);
        let help = home.run(&[command, "--help"]);
        assert_eq!(help.code, Some(0), "{help:?}");
        assert!(help.stdout.contains("Usage:"), "{help:?}");
    }
    assert!(!ran.stdout.contains("compile-component"), "{}", ran.stdout);
    assert_eq!(home.run(&["--version"]).code, Some(0));
}

#[test]
fn colours_are_for_terminals() {
    let home = Home::with(&["echo", "sockets"], CONFIG);
    for arguments in [&["tools"][..], &["plugin", "list"], &["audit"], &["check"], &["--help"]] {
        let ran = home.run(arguments);
        assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
        assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    }
}

#[test]
fn everything_with_json_is_json() {
    let home = Home::with(&["echo", "sockets"], CONFIG);
    for (arguments, key) in [
        (&["tools", "--json"][..], "tools"),
        (&["plugin", "list", "--json"], "plugins"),
        (&["audit", "--json"], "plugins"),
        (&["audit", "echo", "--json"], "plugins"),
        (&["check", "--json"], "faults"),
        (&["call", "echo", r#"{"text":"hello"}"#, "--json"], "content"),
    ] {
        let ran = home.run(arguments);
        let value: Value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {ran:?}"));
        assert!(value[key].is_array(), "{arguments:?}: {value:#}");
    }
}

#[test]
fn the_working_directory_grants_nothing() {
    // As in a cloned repository.
    let home = Home::with(&["snoop"], "");
    fs::remove_file(home.config()).expect("it was written");
    let generous = "roots = [\"/\"]\n[plugins.snoop.grants.files]\naccess = \"write\"\n";
    for file in ["portcullis.toml", ".portcullis.toml", ".config/portcullis.toml"] {
        let file = home.files().join(file);
        fs::create_dir_all(file.parent().expect("it has a folder")).expect("a home");
        fs::write(file, generous).expect("a home");
    }
    let mut command = home.command(&["config", "show"]);
    let shown = command.current_dir(home.files()).output().expect("the binary runs");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(!shown.contains("roots = [\"/\"]"), "{shown}");
    let mut command = home.command(&["plugin", "list"]);
    let listed = command.current_dir(home.files()).output().expect("the binary runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("snoop refused"), "{listed}");
}

#[test]
fn the_configuration_is_the_one_that_is_named() {
    let mut home = Home::with(&["echo"], "[limits]\nwall-ms = 1111\n");
    let other = home.path().join("other.toml");
    fs::write(&other, "[limits]\nwall-ms = 2222\n").expect("a home");
    let third = home.path().join("third.toml");
    fs::write(&third, "[limits]\nwall-ms = 3333\n").expect("a home");
    assert!(home.run(&["config", "show"]).stdout.contains("1111"));
    home.set("PORTCULLIS_CONFIG", other.to_str().expect("text"));
    assert!(home.run(&["config", "show"]).stdout.contains("2222"));
    let third = third.to_str().expect("text");
    assert!(home.run(&["config", "show", "--config", third]).stdout.contains("3333"));
    let missing = home.run(&["tools", "--config", "/no/such/file.toml"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.stderr.contains("/no/such/file.toml"), "{missing:?}");
}

#[test]
fn arguments_may_come_from_stdin() {
    let home = Home::with(&["echo"], CONFIG);
    let ran = home.run_with(&["call", "echo", "-"], r#"{"text":"from stdin"}"#);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "from stdin\n"), "{ran:?}");
}

#[test]
fn what_cannot_be_recorded_is_not_done() {
    let nowhere = "bundled = false\naudit-dir = \"/proc/no/such/audit\"\n";
    let home = Home::with(&["echo"], &CONFIG.replace("bundled = false\n", nowhere));
    let ran = home.run(&["call", "echo", r#"{"text":"hello"}"#]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!ran.stdout.contains("hello"), "{ran:?}");
    assert!(ran.stderr.contains("set `audit-dir` in the section [host]"), "{ran:?}");
}

#[test]
fn the_log_may_be_json_with_the_request_in_it() {
    let home = Home::with(&["echo"], CONFIG);
    let call = ["-v", "--log-json", "call", "report", "{}"];
    let ran = home.run(&call);
    let lines: Vec<Value> = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("a line of the log is JSON"))
        .collect();
    let said = lines.iter().find(|line| line["plugin"] == "echo" && line["request"].is_string());
    assert!(said.is_some(), "{ran:?}");
    let request = said.expect("it is there")["request"].clone();
    assert!(home.audit().iter().any(|record| record["request"] == request), "{request}");
}
