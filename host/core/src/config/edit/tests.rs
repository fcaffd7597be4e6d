//! Tests that edits change only the requested grants and settings, and leave all other text as it was.

use super::*;
use crate::capabilities::InvalidShortForm;

type Parse = fn(&str) -> Result<ShortForm, InvalidShortForm>;

fn forms(texts: &[&str], parse: Parse) -> Vec<ShortForm> {
    texts.iter().map(|text| parse(text).unwrap()).collect()
}

fn granted(text: &str, asked: &[&str]) -> Edit {
    grant(text, "a", &forms(asked, ShortForm::to_grant), None).unwrap()
}

fn revoked(text: &str, asked: &[&str]) -> Edit {
    revoke(text, "a", &forms(asked, ShortForm::to_revoke), None).unwrap()
}

const WRITTEN: &str = r#"#:schema ./portcullis.schema.json

# Where I work.
roots = [ "/srv/a" ] # and nowhere else

# For the weather.
[plugins.a.grants.http] # asked for by ops
hosts = [
    "a.example", # the first
    "b.example", # the second
]

[plugins.a.limits]
wall-ms = 5_000   # slow

# Of somebody else.
[plugins.b.grants]
files = { access = "read" }
"#;

#[test]
fn a_host_is_added_to_its_list_and_the_rest_stays_as_it_is_written() {
    let edit = granted(WRITTEN, &["http=c.example"]);
    let expected = WRITTEN.replace(
        "    \"b.example\", # the second\n",
        "    \"b.example\", # the second\n    \"c.example\",\n",
    );
    assert_eq!(edit.after, expected);
    assert_eq!(edit.added, [(Capability::Http, "GET@c.example".to_owned())]);
    assert_eq!(revoked(&edit.after, &["http=c.example"]).after, WRITTEN);
}

#[test]
fn the_comment_of_a_value_goes_with_it() {
    let edit = revoked(WRITTEN, &["http=a.example"]);
    assert_eq!(edit.after, WRITTEN.replace("    \"a.example\", # the first\n", ""));
    let edit = revoked(WRITTEN, &["http=b.example"]);
    assert_eq!(edit.after, WRITTEN.replace("    \"b.example\", # the second\n", ""));
}

#[test]
fn what_is_granted_and_revoked_leaves_the_text_as_it_was() {
    for (text, value) in [
        ("", "http=a.example"),
        ("# mine\n", "http=a.example"),
        ("roots = [\"/srv\"]\n", "store=1MiB"),
        (WRITTEN, "http=POST@a.example"),
        (WRITTEN, "http=net:10.0.0.0/8"),
        (WRITTEN, "files=read"),
        (WRITTEN, "cache=disk:1MiB"),
        (WRITTEN, "settings.key=value"),
        (WRITTEN, "actions=edit,save"),
        (WRITTEN, "client=roots"),
        (WRITTEN, "catalog=tools"),
        ("[plugins.a]\ngrants.http.hosts = [\"a.example\"]\n", "store=5"),
        ("[plugins.a]\ngrants = { http = { hosts = [\"a.example\"] } }\n", "http=b.example"),
        ("[plugins.a.grants]\nhttp = { hosts = [\"a.example\"] }\n", "http=POST@a.example"),
        ("[plugins.a.grants.http]\nhosts = [\"a.example\"] # one\n", "http=b.example"),
        ("[plugins.a.grants.http]\nhosts = [ \"a.example\" ]\n", "http=b.example"),
        ("[plugins.a.grants.http]\nhosts = [\n  \"a.example\"\n]\n", "http=b.example"),
        ("[plugins.a.grants.http]\nhosts = [\n  \"a.example\" # one\n]\n", "http=b.example"),
        (
            "[[plugins.a.grants.http.rules]]\nhosts = [\"a.example\"]\nmethods = [\"PUT\"]\n",
            "http=POST@b.example",
        ),
        (
            "[plugins.a.grants.http]\nrules = [\n  { hosts = [\"a.example\"] }, # one\n]\n",
            "http=POST@b.example",
        ),
        ("[plugins.a.grants.files]\naccess = \"read\" # no more\n", "files=read:/data"),
        ("[plugins.a.grants.files]\naccess = \"read\" # no more\n", "files=write"),
    ] {
        let edit = granted(text, &[value]);
        assert_ne!(edit.after, text, "{value}");
        let back = revoked(&edit.after, &[value]);
        assert_eq!(back.after, text, "{value} made\n{}", edit.after);
    }
}

#[test]
fn a_new_section_comes_behind_the_others_with_a_line_between() {
    assert_eq!(
        granted("", &["http=a.example"]).after,
        "[plugins.a.grants.http]\nhosts = [\"a.example\"]\nmethods = [\"GET\"]\n"
    );
    let edit = granted("roots = [\"/srv\"]\n", &["files=read", "store=1MiB", "settings.k=v"]);
    assert_eq!(
        edit.after,
        "roots = [\"/srv\"]\n\n[plugins.a.grants.files]\naccess = \"read\"\n\n\
         [plugins.a.grants.store]\nbytes = 1_048_576\n\n[plugins.a.settings]\nk = \"v\"\n"
    );
    assert_eq!(edit.settings, [("k".to_owned(), Some("v".to_owned()))]);
    assert_eq!(edit.added.len(), 2);
}

#[test]
fn the_last_value_removes_the_table_and_comments_about_other_things_stay() {
    let edit = revoked(WRITTEN, &["http"]);
    let start = WRITTEN.find("# For the weather").unwrap();
    let end = WRITTEN.find("[plugins.a.limits]").unwrap();
    assert_eq!(edit.after, format!("{}{}", &WRITTEN[..start], &WRITTEN[end..]));
    let text = "# About this file.\n\n[plugins.a.grants.http]\nhosts = [\"h\"]\n\n[limits]\n";
    let edit = revoked(text, &["http=h"]);
    assert!(edit.after.starts_with("# About this file.\n\n[limits]"), "{}", edit.after);
    let edit = revoked("# mine\n[plugins.a.grants.store]\nbytes = 1\n# end\n", &["store"]);
    assert_eq!(edit.after, "# mine\n# end\n");
}

#[test]
fn no_grant_is_wider_than_what_is_asked_for() {
    let text = "[plugins.a.grants.files]\naccess = \"write\"\n";
    let asked = forms(&["files=read:roots"], ShortForm::to_grant);
    let error = grant(text, "a", &asked, None).unwrap_err();
    assert!(error.to_string().contains("it would also allow: write:roots"), "{error}");
    let text = "[plugins.a.grants.http]\nhosts = [\"a.example\", \"b.example\"]\nmethods = [\"GET\", \"PUT\"]\n";
    let edit = granted(text, &["http=POST@a.example"]);
    let config = Config::parse(&edit.after).unwrap();
    let values = config.plugins["a"].grants.values(Capability::Http);
    assert_eq!(values.len(), 5, "{values:?}");
    assert!(!values.contains("POST@b.example"), "{values:?}");
}

#[test]
fn what_is_not_granted_cannot_be_revoked() {
    for asked in ["http=c.example", "store", "settings.key", "http=POST@a.example"] {
        let asked = forms(&[asked], ShortForm::to_revoke);
        revoke(WRITTEN, "a", &asked, None).unwrap_err();
    }
    assert!(granted(WRITTEN, &["http=a.example"]).is_nothing());
}

#[test]
fn a_configuration_that_is_or_would_be_invalid_is_left_alone() {
    let http = forms(&["http=a.example"], ShortForm::to_grant);
    let error = grant("rots = 1", "a", &http, None).unwrap_err();
    assert!(matches!(error, EditError::Before(_)), "{error}");
    let process = forms(&["process=no-such-command"], ShortForm::to_grant);
    let error = grant("", "a", &process, None).unwrap_err();
    assert!(matches!(error, EditError::After(_)), "{error}");
    let error = grant("", "a b", &http, None).unwrap_err();
    assert!(matches!(error, EditError::After(_)), "{error}");
}

#[test]
fn wanted_grants_exactly_what_the_manifest_wants() {
    let want = |capability: &str, target: &str, access: &str| Want {
        capability: capability.to_owned(),
        target: target.to_owned(),
        access: access.to_owned(),
        reason: String::new(),
        optional: false,
    };
    let wants = [
        want("http", "a.example", "GET,POST"),
        want("http", "$server", "GET"),
        want("files", "arguments", "read"),
    ];
    let asked = forms(&["wanted", "settings.server=https://b.example"], ShortForm::to_grant);
    let edit = grant("", "a", &asked, Some(&wants)).unwrap();
    let config = Config::parse(&edit.after).unwrap();
    let (wanted, _) = Grants::wanted(&wants, &config.plugins["a"].settings);
    assert_eq!(wanted.values(Capability::Http).len(), 3);
    for capability in Capability::ALL {
        assert!(config.plugins["a"].grants.is_as_wanted(capability, &wanted), "{capability}");
    }
    let store = forms(&["store=wanted"], ShortForm::to_grant);
    let error = grant("", "a", &store, Some(&wants)).unwrap_err();
    assert!(matches!(error, EditError::Unwanted { .. }), "{error}");
    let error = grant("", "a", &store, None).unwrap_err();
    assert!(matches!(error, EditError::UnknownWants { .. }), "{error}");
}

#[test]
fn a_bundled_plugin_starts_from_its_defaults_and_does_not_get_them_back() {
    let defaults = Config::parse("").unwrap();
    for (name, plugin) in &defaults.plugins {
        let before = values_of(&defaults, name);
        let asked = forms(&["client=roots"], ShortForm::to_grant);
        let edit = grant("# mine\n", name, &asked, None).unwrap();
        assert!(edit.from_defaults && edit.after.starts_with("# mine\n"), "{}", edit.after);
        let after = Config::parse(&edit.after).unwrap();
        assert_eq!(after.plugins[name].settings, plugin.settings, "{name}");
        assert!(lacking(&before, &values_of(&after, name)).is_empty(), "{name}");
        let every: Vec<_> = before.keys().map(|one| ShortForm::Whole(*one)).collect();
        let edit = revoke("", name, &every, None).unwrap();
        let after = Config::parse(&edit.after).unwrap();
        assert_eq!(after.plugins[name].grants, Grants::default(), "{name}: {}", edit.after);
        if let Some((capability, values)) = before.first_key_value() {
            let text = format!("[plugins.{name}.grants.store]\nbytes = 7\n");
            let edit = revoke(&text, name, &[ShortForm::Whole(Capability::Store)], None).unwrap();
            let after = Config::parse(&edit.after).unwrap();
            assert_eq!(
                after.plugins[name].grants,
                Grants::default(),
                "{name} {capability} {values:?}"
            );
        }
    }
}

#[test]
fn a_text_that_cannot_be_parsed_keeps_its_cause() {
    let error = keys_at("[plugins", &["plugins"]).unwrap_err();
    let cause = std::error::Error::source(&error).expect("the parser's error");
    assert!(cause.downcast_ref::<toml::de::Error>().is_some(), "{cause}");
    assert!(portcullis_sanitize::error_chain(&error).contains(&cause.to_string()));
}
