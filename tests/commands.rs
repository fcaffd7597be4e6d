//! Tests of the command line that cases cannot express.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

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
fn help_explains_every_command() {
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
fn colours_are_written_only_to_terminals() {
    let home = Home::with(&["echo", "sockets"], CONFIG);
    for arguments in [&["tools"][..], &["plugin", "list"], &["audit"], &["check"], &["--help"]] {
        let ran = home.run(arguments);
        assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
        assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    }
}

#[test]
fn every_command_with_the_option_json_writes_json() {
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
    // The working directory has configuration files, as a cloned repository may have.
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
fn a_tilde_in_a_path_of_the_configuration_is_the_home_folder() {
    let home = Home::new();
    home.configure("roots = [\"~\"]\n[host]\naudit-dir = \"~/records\"\n");
    let checked = home.run(&["check"]);
    let folder = home.path().join("records").display().to_string();
    assert!(checked.code == Some(0) && checked.stdout.contains(&folder), "{checked:?}");
}

#[test]
fn check_says_why_http_cannot_be_served() {
    let home = Home::new();
    let short = home.path().join("short");
    fs::write(&short, "0123456789").expect("a home");
    for (section, expected) in [
        ("token-file = \"$HOME/none\"", "none: No such file"),
        ("token-file = \"$HOME/short\"", "fewer than 16 bytes"),
        ("listen = \"0.0.0.0:8719\"", "0.0.0.0:8719 can be reached by other machines"),
        ("tls-cert = \"$HOME/short\"", "`tls-cert` without `tls-key`"),
        ("state-key-file = \"$HOME/none\"", "none: No such file"),
    ] {
        home.configure(&format!("[http]\n{section}\n"));
        let checked = home.run(&["check"]);
        assert_eq!(checked.code, Some(1), "{section}: {checked:?}");
        let line = checked.stdout.lines().find(|line| line.contains("the section [http]"));
        assert!(line.is_some_and(|line| line.contains(expected)), "{section}: {checked:?}");
    }
    home.configure("[http]\nlisten = \"127.0.0.1:1\"\n");
    let checked = home.run(&["check"]);
    assert!(checked.code == Some(0) && !checked.stdout.contains("[http]"), "{checked:?}");
}

#[test]
fn check_asks_an_upstream_server_once_and_says_once_that_it_does_not_answer() {
    let home = Home::new();
    home.configure(&format!("{CONFIG}[upstreams.gone]\ncommand = \"$HOME/gone\"\n"));
    let checked = home.run(&["check"]);
    assert!(checked.stdout.contains("the upstream `gone` does not answer"), "{checked:?}");
    assert_eq!(checked.stderr.matches("upstream `gone`").count(), 1, "{checked:?}");
}

#[test]
fn audit_shows_a_want_whose_text_is_a_prefix_of_the_grants_text() {
    let home = Home::with(&["fetcher"], "");
    let audit = |grant: &str| {
        home.configure(&format!(
            "[host]\nbundled = false\n[plugins.fetcher.settings]\nbase = \"https://a.example\"\n\
             [plugins.fetcher.grants.http]\nmethods = [\"GET\", \"POST\"]\n{grant}\n"
        ));
        home.run(&["audit", "fetcher"])
    };
    let other_host = audit("hosts = [\"https://a.example.com\"]");
    assert!(other_host.stdout.contains("it wants: GET,POST"), "{other_host:?}");
    let more_hosts = audit("hosts = [\"https://a.example\", \"https://b.example\"]");
    assert!(more_hosts.stdout.contains("it wants: GET,POST"), "{more_hosts:?}");
    let own = "arguments = [{ hosts = [\"localhost\"] }]\naddresses = [\"10.0.0.0/8\"]";
    let with_network = audit(&format!("hosts = [\"https://a.example\"]\n{own}"));
    assert!(with_network.stdout.contains("10.0.0.0/8"), "{with_network:?}");
    assert!(!with_network.stdout.contains("it wants"), "{with_network:?}");
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
fn the_log_can_be_json_and_names_the_request() {
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

/// The remedy that the log names for a denial: whether it replaces a table, and the lines to write.
fn remedy(said: &str) -> Option<(bool, String)> {
    let (before, block) = said.split_once("portcullis.toml:\n")?;
    let lines = block.lines().take_while(|line| line.starts_with('[') || line.contains(" = "));
    let block = lines.map(|line| format!("{line}\n")).collect();
    Some((before.ends_with("set this table of "), block))
}

#[test]
fn the_configuration_that_a_denial_suggests_allows_the_ask() {
    let home = Home::new();
    home.install("runner");
    let head = format!(
        "roots = [\"{}\"]\n[host]\nbundled = false\n\
         [commands.shell]\nprogram = \"/bin/sh\"\nargs = [\"-c\", \"echo shell\"]\n\
         [commands.count]\nprogram = \"/bin/sh\"\nargs = [\"-c\", \"echo count\"]\n\
         [plugins.runner.grants.files]\naccess = \"read\"\n",
        home.files().display()
    );
    let mut process = String::from("[plugins.runner.grants.process]\ncommands = [\"shell\"]\n");
    let call = |process: &str, command: &str, write: bool| {
        home.configure(&format!("{head}{process}"));
        let with = json!({ "directory": home.files(), "command": command, "write": write });
        home.run(&["call", "run", &with.to_string()])
    };
    let denied = call(&process, "count", false);
    assert!(!denied.stdout.contains("\ncount"), "{denied:?}");
    let (in_place, block) = remedy(&denied.stderr).expect("it says what would allow it");
    assert!(in_place, "there is such a block: {denied:?}");
    process = block;
    for command in ["count", "shell"] {
        let allowed = call(&process, command, false);
        assert!(allowed.stdout.contains(&format!("\n{command}")), "{process}{allowed:?}");
    }
    // No grant can allow an ask that the plugin does not want, so the log suggests no configuration.
    let unwanted = call(&process, "nothing", false);
    assert!(unwanted.stderr.contains("no grant can allow it"), "{unwanted:?}");
    assert_eq!(remedy(&unwanted.stderr), None, "{unwanted:?}");
}

#[test]
fn files_that_others_can_read_or_change_are_reported_with_the_remedy() {
    let home = Home::with(
        &["echo"],
        "[host]\nbundled = false\n[http]\ntoken-file = \"$HOME/token\"\nstate-key-file = \"$HOME/states\"\n\
         [plugins.echo]\n[upstreams.a]\ncommand = \"none\"\nenabled = false\n\
         env.PASSWORD = { file = \"$HOME/password\" }\n\
         [plugin-sources.\"example.org\"]\nkey = \"$HOME/key.pem\"\n",
    );
    let file = |name: &str| {
        let path = home.path().join(name);
        fs::write(&path, "0123456789abcdef").expect("a home");
        path
    };
    let places = [
        (file("states"), 0o640, "the state key file", "chmod 600"),
        (file("password"), 0o604, "the secret in", "chmod 600"),
        (file("key.pem"), 0o620, "the key of plugin sources", "chmod go-w"),
        (file("token"), 0o644, "the token file", "chmod 600"),
        (home.config(), 0o666, "the configuration", "chmod go-w"),
        (home.plugins(), 0o777, "the plugin folder", "chmod go-w"),
    ];
    let set = |path: &std::path::Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    let private = || places.iter().for_each(|(path, ..)| set(path, 0o700));
    let call = ["call", "echo", r#"{"text":"x"}"#];
    let check = |what: Option<(&str, &str)>| {
        for command in
            [&call[..], &["check"], &["check", "--json"], &["audit"], &["audit", "--json"]]
        {
            let ran = home.run(command);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            match what {
                Some((what, mend)) => {
                    assert!(said.contains(what) && said.contains(mend), "{command:?}: {said}");
                }
                None => assert!(!said.contains("chmod"), "{command:?}: {said}"),
            }
        }
    };
    private();
    check(None);
    for (path, mode, what, mend) in &places {
        private();
        set(path, *mode);
        check(Some((*what, *mend)));
    }
    private();
}

#[test]
fn no_command_shows_a_secret_of_the_configuration() {
    let home = Home::with(&["echo"], CONFIG);
    let secret = "Bearer pl4nted";
    let wrong = [
        format!(
            "[plugins.echo.grants.http]\nhosts = [\"h\"]\nheaders.h.authorization = \"{secret}\""
        ),
        format!(
            "[upstreams.a]\nurl = \"https://h.example\"\nheaders.authorization = [\"{secret}\"]"
        ),
        format!("[upstreams.a]\ncommand = \"none\"\nenv = \"{secret}\""),
        format!("[upstreams.a]\nurl = \"https://h.example\"\noauth.client-secret = \"{secret}\""),
        format!("[plugins.echo.settings]\napi-key = [\"{secret}\"]"),
        format!("[http]\ntoken = \"{secret}\""),
        format!("[upstreams.a]\nheaders = {{ authorization = {secret} }}"),
    ];
    let right = format!(
        "[host]\nbundled = false\n[upstreams.a]\nenabled = false\nurl = \"https://h.example\"\n\
         headers.authorization = \"{secret}\"\n[plugins.echo.settings]\npassword = \"{secret}\"\n"
    );
    let commands = [
        &["serve"][..],
        &["tools"],
        &["call", "echo", r#"{"text":"x"}"#],
        &["check"],
        &["check", "--json"],
        &["audit", "--json"],
        &["plugin", "list", "--json"],
        &["plugin", "approve", "echo"],
        &["upstream", "logout", "a"],
        &["config", "show"],
        &["config", "path"],
        &["ui5", "pack", "nowhere"],
        &["--log-json", "-vv", "tools"],
        &["wrap", "none"],
    ];
    for config in wrong.iter().chain([&right]) {
        home.configure(config);
        for command in commands {
            if config == &right && matches!(command[0], "wrap" | "ui5") {
                continue;
            }
            let ran = home.run(command);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains("pl4nted"), "{command:?}: {config}\n{said}");
        }
    }
    let ran = {
        home.configure(&wrong[0]);
        home.run(&["tools"])
    };
    assert!(ran.stderr.contains("headers.h.authorization"), "{ran:?}");
    assert!(ran.stderr.contains("{ env = \"NAME\" }"), "{ran:?}");
}
