//! Tests of the short forms of all capabilities: from a short form to a grant and back.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;

use super::*;

/// The table of a grant after the values of a short form were added.
fn granted(table: &Table, text: &str) -> Table {
    let ShortForm::Values(capability, asked) = ShortForm::to_grant(text).unwrap() else {
        panic!("{text} names no values");
    };
    let forms = capability.short_forms();
    let before = values(capability, table);
    let after = forms.granted(&before, &asked);
    changed(capability, table, &after)
}

/// The table of a grant after the values of a short form were removed.
fn revoked(table: &Table, text: &str) -> Table {
    let ShortForm::Values(capability, asked) = ShortForm::to_revoke(text).unwrap() else {
        panic!("{text} names no values");
    };
    let after = capability.short_forms().revoked(&values(capability, table), &asked);
    changed(capability, table, &after)
}

fn changed(capability: Capability, table: &Table, after: &BTreeSet<String>) -> Table {
    let before = values(capability, table);
    let mut changed = table.clone();
    capability.short_forms().change(&mut changed, &before, after);
    if after.is_empty() {
        return Table::new();
    }
    assert_eq!(values(capability, &changed), *after, "{table:?} became {changed:?}");
    changed
}

fn values(capability: Capability, table: &Table) -> BTreeSet<String> {
    if table.is_empty() {
        return BTreeSet::new();
    }
    grants(capability, table).values(capability)
}

fn grants(capability: Capability, table: &Table) -> Grants {
    let grants = serde_json::json!({ capability.as_str(): table });
    serde_json::from_value(grants).unwrap_or_else(|error| panic!("{table:?}: {error}"))
}

fn table(text: &str) -> Table {
    toml::from_str(text).unwrap()
}

#[test]
fn a_short_form_becomes_the_grant_that_is_meant() {
    for (form, meant) in [
        ("http=api.example", "hosts = ['api.example']\nmethods = ['GET']"),
        (
            "http=api.example:8443,http://other.example",
            "hosts = ['https://api.example:8443', 'http://other.example']\nmethods = ['GET']",
        ),
        ("http=POST@api.example", "hosts = ['api.example']\nmethods = ['POST']"),
        (
            "http=GET+POST@api.example,b.example",
            "rules = [{ hosts = ['api.example'], methods = ['GET', 'POST'] }, { hosts = ['b.example'] }]",
        ),
        ("http=a.example,net:10.0.0.0/8", "hosts = ['a.example']\naddresses = ['10.0.0.0/8']"),
        (
            "http=argument:localhost,argument:POST@.a.example,argument:*",
            "arguments = [{ hosts = ['localhost', '*'] }, { hosts = ['.a.example'], methods = ['POST'] }]",
        ),
        ("files=read", "access = 'read'"),
        ("files=write", "access = 'write'"),
        ("files=read:roots", "access = 'read'\nscope = 'roots'"),
        ("files=write:roots", "access = 'write'\nscope = 'roots'"),
        ("files=read:/data", "access = 'read'\ndirectories = ['/data']"),
        ("files=write,write:/data", "access = 'write'\nwritable = ['/data']"),
        ("process=git,npm", "commands = ['git', 'npm']"),
        ("store=1MiB", "bytes = 1048576"),
        ("store", "bytes = 1000000"),
        ("cache", "bytes = 1000000"),
        ("cache=disk:2kB", "bytes = 2000\ndisk = true"),
        ("client=sampling,consent", "features = ['sampling', 'consent']"),
        ("actions=edit", "allow = ['edit']"),
        ("catalog=tools", "read = ['tools']"),
    ] {
        let ShortForm::Values(capability, _) = ShortForm::to_grant(form).unwrap() else {
            panic!("{form}");
        };
        let made = granted(&Table::new(), form);
        let (made, meant) = (values(capability, &made), values(capability, &table(meant)));
        assert_eq!(made, meant, "{form}");
    }
}

#[test]
fn every_example_of_every_capability_is_accepted() {
    for capability in Capability::ALL {
        let forms = capability.short_forms().forms;
        assert!(!forms.is_empty());
        for (form, meaning) in forms {
            let made = granted(&Table::new(), &network_with_host(&format!("{capability}={form}")));
            let line = grants(capability, &made).lines();
            assert_eq!(line.len(), 1, "{capability}={form} {meaning}");
            for value in grants(capability, &made).values(capability) {
                assert!(!capability.short_forms().words(&value).is_empty());
            }
        }
    }
}

/// Adds a host to a form that names only a network. A network without a host is no grant.
fn network_with_host(form: &str) -> String {
    if form.contains("net:") { format!("{form},a.example") } else { form.to_owned() }
}

#[test]
fn a_value_that_is_granted_and_revoked_leaves_the_same_table() {
    for (before, value) in [
        ("hosts = ['a.example']", "http=b.example"),
        ("hosts = ['a.example']", "http=POST@a.example"),
        ("hosts = ['a.example']\nmethods = ['GET']", "http=POST@a.example"),
        ("hosts = ['a.example', 'b.example']\nmethods = ['GET', 'PUT']", "http=POST@a.example"),
        ("hosts = ['a.example']", "http=net:10.0.0.0/8"),
        ("access = 'read'", "files=read:/data"),
        ("access = 'read'", "files=write"),
        ("access = 'read'", "files=read:roots"),
        ("access = 'read'\ndirectories = ['/data']", "files=write:/data"),
        ("commands = ['git']", "process=npm"),
        ("features = ['roots']\nagreed.kind = ['*']", "client=sampling"),
        ("allow = ['edit']", "actions=save"),
        ("read = ['tools']", "catalog=results"),
    ] {
        let before = table(before);
        let between = granted(&before, value);
        assert_ne!(between, before, "{value}");
        assert_eq!(revoked(&between, value), before, "{value}");
    }
}

#[test]
fn no_pair_of_a_host_and_a_method_is_granted_beside_the_one_that_is_asked_for() {
    let before = table(
        "hosts = ['a.example', 'b.example']\nmethods = ['GET', 'PUT']\n\
         rules = [{ hosts = ['c.example'], methods = ['POST'] }]",
    );
    // `granted` and `revoked` compare all values with the expected ones.
    for asked in
        ["http=POST@a.example", "http=POST@c.example", "http=DELETE@c.example", "http=d.example"]
    {
        granted(&before, asked);
    }
    let kept = revoked(&before, "http=PUT@a.example");
    assert!(values(Capability::Http, &kept).contains("PUT@b.example"));
    assert!(values(Capability::Http, &kept).contains("GET@a.example"));
}

#[test]
fn headers_for_a_host_are_removed_with_its_last_method() {
    let mut before = table("hosts = ['a.example', 'b.example']");
    let headers = toml::from_str::<Table>("'b.example'.x = { env = 'X' }").unwrap();
    before.insert("headers".into(), headers.into());
    let mut after = before.clone();
    let forms = Capability::Http.short_forms();
    let of = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    forms.change(&mut after, &of(&["GET@a.example", "GET@b.example"]), &of(&["GET@a.example"]));
    assert_eq!(after, table("hosts = ['a.example']"));
}

#[test]
fn agreed_actions_are_removed_with_consent() {
    let before = table("features = ['roots', 'consent']\nagreed.kind = ['*']");
    assert_eq!(revoked(&before, "client=consent"), table("features = ['roots']"));
}

#[test]
fn a_value_is_removed_with_a_value_that_it_implies() {
    let all = table("access = 'write'\nscope = 'roots'\ndirectories = ['/a']\nwritable = ['/b']");
    assert_eq!(revoked(&all, "files=read"), Table::new());
    let read = revoked(&all, "files=write");
    let left = values(Capability::Files, &read);
    assert!(!left.contains("write") && !left.contains("write:roots"), "{left:?}");
    assert!(left.contains("read:roots") && left.contains("write:/b"), "{left:?}");
}

#[test]
fn a_wrong_form_is_an_error_that_names_the_forms() {
    for (text, expected) in [
        ("http", "GET+POST@api.example"),
        ("http=", "a value is empty"),
        ("http=*.example", "must not contain `*`"),
        ("http=api.example/path", "a path cannot be granted"),
        ("http=argument:http://a.example", "a host alone"),
        ("http=argument:a.example:80", "a host alone"),
        ("http=argument:a.*", "must not contain `*`"),
        ("http=post@api.example", "capital letters"),
        ("http=net:10.0.0.0/99", "10.0.0.0/99"),
        ("files=execute", "read:/DIRECTORY"),
        ("files=read:relative", "not an absolute path"),
        ("process=git,,npm", "a value is empty"),
        ("store=much", "`much` is not a size"),
        ("store=0", "at least 1 byte"),
        ("store=99999999999GiB", "at least 1 byte"),
        ("client=passwords", "elicitation"),
        ("network=a", "http"),
        ("settings.=a", "settings.KEY=VALUE"),
        ("settings.key", "settings.KEY=VALUE"),
    ] {
        let error = ShortForm::to_grant(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn wants_and_settings_have_forms_of_their_own() {
    let parsed = |text| ShortForm::to_grant(text).unwrap();
    assert_eq!(parsed("wanted"), ShortForm::Wanted(None));
    assert_eq!(parsed("http=wanted"), ShortForm::Wanted(Some(Capability::Http)));
    let setting = ShortForm::Setting("url".into(), Some("https://a?b=c".into()));
    assert_eq!(parsed("settings.url=https://a?b=c"), setting);
    assert_eq!(ShortForm::to_revoke("http"), Ok(ShortForm::Whole(Capability::Http)));
    let removed = ShortForm::Setting("url".into(), None);
    assert_eq!(ShortForm::to_revoke("settings.url"), Ok(removed));
}

#[test]
fn a_record_may_have_used_a_value_that_covers_its_subject() {
    for (capability, value, subject, expected) in [
        (Capability::Http, "GET@a.example", "GET https://a.example/x?y", true),
        (Capability::Http, "POST@a.example", "GET https://a.example/x", false),
        (Capability::Http, "GET@b.example", "GET https://a.example/x", false),
        (Capability::Http, "argument:GET@localhost", "GET http://localhost:81/x", true),
        (Capability::Http, "argument:GET@.a.example", "GET http://b.a.example/x", true),
        (Capability::Http, "argument:GET@.a.example", "GET http://a.example/x", false),
        (Capability::Http, "argument:POST@*", "GET http://a.example/x", false),
        (Capability::Http, "argument:GET@*", "connect to a.example at 10.1.1.1", false),
        (Capability::Http, "net:10.0.0.0/8", "connect to a.example at 10.1.1.1", true),
        (Capability::Http, "net:10.0.0.0/8", "connect to a.example at 11.1.1.1", false),
        (Capability::Files, "read", "read /a/b", true),
        (Capability::Files, "write", "read /a/b", false),
        (Capability::Files, "read:/a", "read /a/b", true),
        (Capability::Files, "read:/c", "read /a/b", false),
        (Capability::Process, "git", "run git status in /a (access: read)", true),
        (Capability::Process, "gi", "run git status in /a (access: read)", false),
        (Capability::Client, "roots", "ask the client for roots", true),
        (Capability::Client, "consent", "ask the client for consent: delete a", true),
        (Capability::Client, "sampling", "ask the client for roots", false),
        (Capability::Actions, "edit", "take the action edit: tool {}", true),
        (Capability::Actions, "save", "take the action edit: tool {}", false),
        (Capability::Catalog, "tools", "see the tools of all plugins", true),
        (Capability::Catalog, "results", "see the tools of all plugins", false),
        (Capability::Catalog, "results", "see what is in the last answer of `t`", false),
        (Capability::Catalog, "pointers", "see what is in the last answer of `t`", true),
        (Capability::Store, "100", "open its store", true),
    ] {
        let is_use = capability.short_forms().may_be_used_by(value, subject);
        assert_eq!(is_use, expected, "{capability}: {value}: {subject}");
    }
}

const HOSTS: [&str; 3] = ["a.example", "b.example", "http://c.example:8080"];
const PATTERNS: [&str; 3] = ["a.example", ".a.example", "*"];
const METHODS: [&str; 3] = ["GET", "POST", "PUT"];

proptest! {
    /// `granted` and `revoked` compare all pairs of a host and a method with the expected ones.
    #[test]
    fn requests_change_by_the_pairs_that_are_named_and_no_others(
        rules in vec((subsequence(HOSTS.to_vec(), 1..=3), subsequence(METHODS.to_vec(), 1..=3)), 1..4),
        has_first: bool,
        named in vec((subsequence(PATTERNS.to_vec(), 1..=3), subsequence(METHODS.to_vec(), 1..=3)), 0..3),
        asked in vec((select(&METHODS[..]), select(&HOSTS[..])), 1..4),
        asked_named in vec((select(&METHODS[..]), select(&PATTERNS[..])), 0..3),
    ) {
        let mut rules: Vec<_> = rules
            .iter()
            .map(|(hosts, methods)| json!({ "hosts": hosts, "methods": methods }))
            .collect();
        let mut table = Table::new();
        if has_first && let Value::Object(first) = rules.remove(0) {
            table = first;
        }
        if !rules.is_empty() {
            table.insert("rules".into(), rules.into());
        }
        if !named.is_empty() {
            let named = named.iter();
            let named = named.map(|(hosts, methods)| json!({ "hosts": hosts, "methods": methods }));
            table.insert("arguments".into(), named.collect());
        }
        let asked = asked.iter().map(|(method, host)| format!("{method}@{host}"));
        let named = asked_named.iter().map(|(method, host)| format!("argument:{method}@{host}"));
        let asked: Vec<_> = asked.chain(named).collect();
        let text = format!("http={}", asked.join(","));
        granted(&table, &text);
        revoked(&table, &text);
    }
}
