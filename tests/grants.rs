//! Tests of `plugin grant` and `plugin revoke`: what they write and show, and when they write nothing.

use std::fs;

use crate::support::home::Home;

/// A section without grants, which the commands must not change.
const CONFIG: &str = "# mine\n[host]\nbundled = false # none of them\n";

fn text(home: &Home) -> String {
    fs::read_to_string(home.config()).expect("it was written")
}

#[test]
fn a_grant_is_shown_and_written_only_with_consent() {
    let home = Home::with(&["keeper"], CONFIG);
    let grant = ["plugin", "grant", "keeper", "store=1MB"];
    let refused = home.run(&grant);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stdout.contains("+bytes = 1_000_000"), "{refused:?}");
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    assert_eq!(text(&home), CONFIG);
    let dry = home.run(&[&grant[..], &["--dry-run"]].concat());
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert_eq!(text(&home), CONFIG);
    let written = home.run(&[&grant[..], &["--yes"]].concat());
    assert_eq!(written.code, Some(0), "{written:?}");
    assert!(written.stdout.contains("keep up to 1000000 bytes"), "{written:?}");
    let expected = format!("{CONFIG}\n[plugins.keeper.grants.store]\nbytes = 1_000_000\n");
    assert_eq!(text(&home), expected);
    assert!(home.run(&["plugin", "list"]).stdout.contains("loaded"));
    let again = home.run(&[&grant[..], &["--yes"]].concat());
    assert!(again.code == Some(0) && again.stdout.contains("nothing to write"), "{again:?}");
    let revoked = home.run(&["plugin", "revoke", "keeper", "--all", "--yes"]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    assert_eq!(text(&home), CONFIG);
}

#[test]
fn a_grant_that_the_plugin_does_not_want_is_warned_about() {
    let config = format!("{CONFIG}[plugins.keeper.grants.store]\nbytes = 1_000_000\n");
    let home = Home::with(&["keeper"], &config);
    let ran = home.run(&["plugin", "grant", "keeper", "http=a.example", "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("does not want http=GET@a.example"), "{ran:?}");
    assert!(ran.stdout.contains("to keep what it is told"), "{ran:?}");
    let ran = home.run(&["plugin", "grant", "keeper", "wanted", "--yes"]);
    assert!(ran.code == Some(0) && !ran.stdout.contains("warning"), "{ran:?}");
    assert!(text(&home).contains("[plugins.keeper.grants.cache]\nbytes = 1_000_000\n"));
    let ran = home.run(&["plugin", "grant", "keeper", "http=wanted", "--yes"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("does not want `http`"), "{ran:?}");
}

#[test]
fn unused_grants_are_named_with_the_reason_and_revoked() {
    let home = Home::with(
        &["fetcher"],
        &format!(
            "{CONFIG}[plugins.fetcher.settings]\nbase = \"http://127.0.0.1:9\"\nother = \"http://127.0.0.1:8\"\n\
             [plugins.fetcher.grants.http]\n\
             hosts = [\"http://127.0.0.1:9\", \"http://127.0.0.1:8\", \"c.example\"]\n"
        ),
    );
    let unused = ["plugin", "revoke", "fetcher", "--unused"];
    let never_called = home.run(&[&unused[..], &["--dry-run"]].concat());
    assert!(never_called.stdout.contains("the audit has no call of `fetcher`"), "{never_called:?}");
    assert!(never_called.stdout.contains("http=GET@c.example"), "{never_called:?}");
    assert!(!never_called.stdout.contains("never used"), "{never_called:?}");
    home.run(&["call", "fetch", r#"{"url":"http://127.0.0.1:9/"}"#]);
    let ran = home.run(&[&unused[..], &["--yes"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("GET@http://127.0.0.1:8 never used since 2"), "{ran:?}");
    assert!(ran.stdout.contains("GET@c.example the plugin does not want it"), "{ran:?}");
    assert!(text(&home).ends_with("hosts = [\"http://127.0.0.1:9\"]\n"), "{}", text(&home));
    let ran = home.run(&[&unused[..], &["--yes"]].concat());
    assert!(ran.stdout.contains("nothing to revoke"), "{ran:?}");
}

#[test]
fn a_wrong_form_and_an_unknown_plugin_are_explained() {
    let home = Home::with(&["echo"], CONFIG);
    for (arguments, expected) in [
        (&["plugin", "grant", "echo", "http"][..], "GET+POST@api.example"),
        (&["plugin", "grant", "echo", "network=a"], "there is no capability `network`"),
        (&["plugin", "grant", "nobody", "files=read"], "there is no plugin `nobody`"),
        (&["plugin", "revoke", "echo", "files"], "is not granted `files"),
        (&["plugin", "grant", "echo", "process=git", "--yes"], "define it as [commands.git]"),
        (&["plugin", "grant", "echo", "files=read", "--yes", "--dry-run"], "cannot be used with"),
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{arguments:?}: {ran:?}");
        assert_eq!(text(&home), CONFIG);
    }
}

#[test]
fn a_missing_configuration_is_made_and_a_bundled_plugin_keeps_its_default_grants() {
    let home = Home::new();
    let list = home.run(&["plugin", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list.stdout).expect("JSON");
    let name = list["plugins"][0]["name"].as_str().expect("a bundled plugin").to_owned();
    let before = home.run(&["audit", &name, "--json"]).stdout;
    let ran = home.run(&["plugin", "grant", &name, "client=roots", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("replaces its default grants"), "{ran:?}");
    let ran = home.run(&["plugin", "revoke", &name, "client", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let granted = |text: &str| {
        let whole: serde_json::Value = serde_json::from_str(text).expect("JSON");
        whole["plugins"][0]["capabilities"].clone()
    };
    let after = home.run(&["audit", &name, "--json"]).stdout;
    assert_eq!(granted(&before), granted(&after));
}

#[test]
fn the_shown_difference_has_no_secrets() {
    let config = format!(
        "{CONFIG}[upstreams.a]\nurl = \"https://a.example/\"\nheaders.x = \"s3cr3t-value\"\nenabled = false\n"
    );
    let home = Home::with(&["echo"], &config);
    let ran = home.run(&["plugin", "grant", "echo", "files=read", "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("+access = \"read\""), "{ran:?}");
    assert!(!ran.stdout.contains("s3cr3t") && !ran.stderr.contains("s3cr3t"), "{ran:?}");
}
