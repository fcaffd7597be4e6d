//! Tests that check which asks a grant of requests covers, and which remedies refused asks have.

use portcullis_egress::{Connection, Request};

use serde_json::{Value, json};

use super::grant::*;
use crate::capabilities::Registered as _;
use crate::gate::Ask as _;

fn grant(text: &str) -> HttpGrant {
    toml::from_str(text).unwrap()
}

#[test]
fn a_request_is_within_by_scheme_host_port_and_method() {
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
fn unsafe_methods_are_seen_wherever_they_are_granted() {
    for (text, expected) in [
        ("hosts = [\"a.example\"]", false),
        ("hosts = [\"a.example\"]\nmethods = [\"HEAD\", \"OPTIONS\"]", false),
        ("hosts = [\"a.example\"]\nmethods = [\"GET\", \"PUT\"]", true),
        ("arguments = [{ hosts = [\"a.example\"] }]", false),
        ("arguments = [{ hosts = [\"a.example\"], methods = [\"POST\"] }]", true),
    ] {
        assert_eq!(grant(text).can_change(), expected, "{text}");
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
    let named = grant("arguments = [{ hosts = [\".a\", \"b\"] }]");
    let after = grant(&ask("a", "GET").remedy(Some(&named)));
    assert_eq!(after.arguments, named.arguments);
    assert_eq!(after.rules.len(), 1);
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
        ("methods = [\"GET\"]", "`methods` needs `hosts`"),
        ("rules = [{ hosts = [] }]", "name at least one"),
        ("rules = [{ hosts = [\"a\"], methods = [\"get\"] }]", "capital letters"),
        ("hosts = [\"a\"]\nmethods = []", "name at least one"),
        ("hosts = [\"a\"]\nmethods = [\"get\"]", "capital letters"),
        ("hosts = [\"*\"]", "`*`"),
        ("hosts = [\"*.a.example\"]", "`*.a.example`"),
        ("hosts = [\"https://a/path\"]", "path"),
        ("arguments = []", "name at least one"),
        ("arguments = [{ hosts = [] }]", "name at least one"),
        ("arguments = [{ hosts = [\"a\"], methods = [\"get\"] }]", "capital letters"),
        ("hosts = [\"a.example\"]\nmethods = [\"\"]", "capital letters"),
        ("arguments = [{ hosts = [\"http://a\"] }]", "a host alone"),
        ("arguments = [{ hosts = [\"a:80\"] }]", "a host alone"),
        ("arguments = [{ hosts = [\"a/path\"] }]", "path"),
        ("arguments = [{ hosts = [\"*.a\"] }]", "must not contain `*`"),
        ("hosts = [\"a\"]\nheaders.\"b\".x = { env = \"X\" }", "never be sent"),
        ("hosts = [\"a\"]\nheaders.\"a\".\"x y\" = { env = \"X\" }", "name of a header"),
    ] {
        let error = toml::from_str::<HttpGrant>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// The requests that a call with these arguments may make, out of those that are tried here.
fn reached(granted: &str, targets: &[&str], arguments: &Value) -> Vec<String> {
    let granted = grant(granted);
    let mut wanted = None;
    for target in targets {
        want(&mut wanted, target, "GET").unwrap();
    }
    let wanted = wanted.unwrap();
    let (granted, wanted) =
        granted.of_call(&wanted, arguments).unwrap_or_else(|| (granted.clone(), wanted.clone()));
    let mut reached = Vec::new();
    for origin in [
        "http://localhost:81",
        "http://localhost:82",
        "https://localhost",
        "https://a.example",
        "https://b.a.example:8443",
        "https://evil-a.example",
    ] {
        for method in ["GET", "POST"] {
            let ask = Request {
                origin: origin.parse().unwrap(),
                method: method.into(),
                path: "/".into(),
            };
            if ask.is_within(&granted) && ask.is_wanted(&wanted) {
                reached.push(format!("{method} {origin}"));
            }
        }
    }
    reached
}

#[test]
fn a_call_reaches_the_host_that_its_argument_names_and_no_other() {
    let local = "arguments = [{ hosts = [\"localhost\"], methods = [\"GET\", \"POST\"] }]";
    let target = ["arguments/service/url"];
    let url = |url: &str| json!({ "service": { "url": url }, "other": "http://localhost:82" });
    let named = reached(local, &target, &url("http://LOCALHOST:81/x?y=http://localhost:82"));
    assert_eq!(named, ["GET http://localhost:81"]);
    for arguments in [
        url("https://a.example/"),
        url("localhost.evil.example"),
        url("http://user@localhost:81/"),
        url("/x"),
        url("file://localhost/x"),
        json!({ "service": { "url": ["http://localhost:81"] } }),
        json!({ "service": "http://localhost:81" }),
        json!(null),
    ] {
        assert_eq!(reached(local, &target, &arguments), [""; 0], "{arguments}");
    }
    let beneath = "arguments = [{ hosts = [\".a.example\"] }]";
    let one = reached(beneath, &target, &url("https://b.a.example:8443"));
    assert_eq!(one, ["GET https://b.a.example:8443"]);
    for other in ["https://a.example", "https://evil-a.example"] {
        assert_eq!(reached(beneath, &target, &url(other)), [""; 0], "{other}");
    }
}

#[test]
fn a_host_in_an_argument_needs_a_grant_and_a_want() {
    let url = json!({ "url": "https://a.example/x" });
    assert_eq!(reached("hosts = [\"c\"]", &["arguments/url"], &url), [""; 0]);
    assert_eq!(reached("arguments = [{ hosts = [\"*\"] }]", &["c"], &url), [""; 0]);
    assert_eq!(reached("arguments = [{ hosts = [\"*\"] }]", &["arguments/uri"], &url), [""; 0]);
    let both = reached("arguments = [{ hosts = [\"*\"] }]", &["arguments/url"], &url);
    assert_eq!(both, ["GET https://a.example"]);
    // A want of a host by its name is not covered by a grant of hosts that calls name.
    assert_eq!(reached("arguments = [{ hosts = [\"*\"] }]", &["a.example"], &url), [""; 0]);
}

#[test]
fn a_named_host_has_a_private_address_only_if_the_operator_wrote_its_name() {
    for (hosts, url, address, expected) in [
        ("localhost", "http://localhost:81", "127.0.0.1", true),
        ("localhost", "http://localhost:81", "10.0.0.1", false),
        ("*", "http://localhost:81", "127.0.0.1", false),
        ("*", "http://169.254.169.254", "169.254.169.254", false),
        ("169.254.169.254", "http://169.254.169.254", "169.254.169.254", true),
        ("*", "https://a.example", "8.8.8.8", true),
        (".a.example", "https://b.a.example", "10.0.0.1", false),
        // The grant has this host, but the call names another host.
        ("localhost", "https://a.example", "127.0.0.1", false),
    ] {
        let granted = grant(&format!("arguments = [{{ hosts = [\"{hosts}\"] }}]"));
        let mut wanted = None;
        want(&mut wanted, "arguments/url", "GET").unwrap();
        let of_call = granted.of_call(&wanted.unwrap(), &json!({ "url": url }));
        let granted = of_call.map_or(granted, |(granted, _)| granted);
        let host = match url.rsplit_once("//").unwrap().1.split(':').next() {
            Some("a.example") if hosts == "localhost" => "localhost",
            host => host.unwrap(),
        };
        let ask = Connection { host: host.into(), address: address.parse().unwrap() };
        assert_eq!(ask.is_within(&granted), expected, "{hosts} {url} {address}");
    }
}
