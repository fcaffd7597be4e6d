//! Tests of what a grant of requests holds, and of its remedies.

use portcullis_egress::{Connection, Request};

use super::grant::*;
use crate::gate::Ask as _;

fn grant(text: &str) -> HttpGrant {
    toml::from_str(text).unwrap()
}

#[test]
fn within_is_scheme_host_port_and_method() {
    let grant =
        grant("hosts = [\"a.example\", \"http://b.example:81\"]\nmethods = [\"GET\", \"POST\"]");
    for (origin, method, expected) in [
        ("https://a.example", "GET", true),
        ("https://A.Example.", "POST", true),
        ("https://a.example", "DELETE", false),
        ("http://a.example", "GET", false),
        ("https://a.example:8443", "GET", false),
        ("https://sub.a.example", "GET", false),
        ("https://a.example.evil", "GET", false),
        ("http://b.example:81", "GET", true),
        ("https://b.example:81", "GET", false),
    ] {
        let ask =
            Request { origin: origin.parse().unwrap(), method: method.into(), path: "/".into() };
        assert_eq!(ask.is_within(&grant), expected, "{method} {origin}");
    }
}

#[test]
fn a_rule_permits_nothing_at_the_hosts_of_another_rule() {
    let granted = grant(
        "rules = [{ hosts = [\"a.example\"] }, { hosts = [\"b.example\"], methods = [\"POST\"] }]",
    );
    let mut wanted = None;
    want(&mut wanted, "a.example", "GET").unwrap();
    want(&mut wanted, "b.example", "POST").unwrap();
    let wanted = wanted.unwrap();
    for (origin, method, expected) in [
        ("https://a.example", "GET", true),
        ("https://a.example", "POST", false),
        ("https://b.example", "POST", true),
        ("https://b.example", "GET", false),
    ] {
        let ask =
            Request { origin: origin.parse().unwrap(), method: method.into(), path: "/".into() };
        assert_eq!(ask.is_within(&granted), expected, "{method} {origin}");
        assert_eq!(ask.is_wanted(&wanted), expected, "{method} {origin}");
    }
    assert_eq!(granted.to_string(), "GET a.example; POST b.example");
}

#[test]
fn a_remedy_permits_what_was_asked_and_nothing_else() {
    let ask = |origin: &str, method: &str| Request {
        origin: origin.parse().unwrap(),
        method: method.into(),
        path: "/".into(),
    };
    for before in [
        "hosts = [\"a\"]",
        "hosts = [\"a\", \"b\"]",
        "hosts = [\"a\"]\nmethods = [\"POST\", \"PUT\"]\naddresses = [\"10.0.0.0/8\"]",
        "rules = [{ hosts = [\"a\"] }, { hosts = [\"b\"], methods = [\"POST\"] }]",
    ] {
        let before = grant(before);
        for (origin, method) in [("a", "DELETE"), ("c", "GET"), ("c", "POST")] {
            let after = grant(&ask(origin, method).remedy(Some(&before)));
            let origins = ["a", "b", "c"].into_iter();
            let all = origins.flat_map(|origin| {
                ["GET", "POST", "PUT", "DELETE"].map(|method| ask(origin, method))
            });
            let is_new = |ask: &Request| ask.is_within(&after) && !ask.is_within(&before);
            let new: Vec<_> = all.clone().filter(is_new).map(|ask| ask.subject()).collect();
            assert_eq!(new, [ask(origin, method).subject()], "{before}: {after}");
            assert!(all.clone().all(|ask| !ask.is_within(&before) || ask.is_within(&after)));
            assert_eq!(before.addresses, after.addresses);
        }
    }
    let post = ask("https://a.example", "POST");
    let new: HttpGrant = toml::from_str(&post.remedy(None)).unwrap();
    assert_eq!(new, grant("hosts = [\"a.example\"]\nmethods = [\"POST\"]"));
}

#[test]
fn addresses_are_public_or_named() {
    let public = grant("hosts = [\"a.example\"]");
    let named = grant("hosts = [\"http://127.0.0.1:8080\", \"http://localhost:8080\"]");
    let ranges = grant("hosts = [\"a.example\"]\naddresses = [\"10.1.0.0/16\"]");
    for (grant, host, address, expected) in [
        (&public, "a.example", "8.8.8.8", true),
        (&public, "a.example", "127.0.0.1", false),
        (&public, "a.example", "::ffff:10.0.0.1", false),
        (&public, "a.example", "169.254.169.254", false),
        (&named, "127.0.0.1", "127.0.0.1", true),
        (&named, "localhost", "127.0.0.1", true),
        (&named, "localhost", "10.0.0.1", false),
        (&named, "127.0.0.2", "127.0.0.2", false),
        (&ranges, "a.example", "10.1.2.3", true),
        (&ranges, "a.example", "10.2.2.3", false),
    ] {
        let ask = Connection { host: host.into(), address: address.parse().unwrap() };
        assert_eq!(ask.is_within(grant), expected, "{host} {address}");
    }
}

#[test]
fn what_could_not_be_enforced_is_refused_at_load() {
    for (text, expected) in [
        ("hosts = []", "name at least one"),
        ("", "name at least one"),
        ("methods = [\"GET\"]", "no `hosts`"),
        ("rules = [{ hosts = [] }]", "name at least one"),
        ("rules = [{ hosts = [\"a\"], methods = [\"get\"] }]", "capitals"),
        ("hosts = [\"a\"]\nmethods = []", "name at least one"),
        ("hosts = [\"a\"]\nmethods = [\"get\"]", "capitals"),
        ("hosts = [\"*\"]", "`*`"),
        ("hosts = [\"*.a.example\"]", "`*.a.example`"),
        ("hosts = [\"https://a/path\"]", "path"),
        ("hosts = [\"a\"]\nheaders.\"b\".x = { env = \"X\" }", "never be sent"),
        ("hosts = [\"a\"]\nheaders.\"a\".\"x y\" = { env = \"X\" }", "name of a header"),
    ] {
        let error = toml::from_str::<HttpGrant>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
