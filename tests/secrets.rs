//! Tests of secrets: the host sends them where configured, and they appear nowhere else.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::web::Web;

const SECRET: &str = "s3cret-0f-the-0perator";

fn home(web: &Web, other: &Web) -> Home {
    let mut home = Home::with(&["fetcher"], "");
    home.set("API_TOKEN", &format!("Bearer {SECRET}"));
    fs::write(home.path().join("key"), format!("{SECRET}-from-a-file\n")).expect("a home");
    let (base, other) = (format!("http://{}", web.address), format!("http://{}", other.address));
    // The secret of the file is the web's alone, too.
    home.configure(&format!(
        "[host]\nbundled = false\n\
         [plugins.fetcher.settings]\nbase = \"{base}\"\nother = \"{other}\"\n\
         [plugins.fetcher.grants.http]\nhosts = [\"{base}\", \"{other}\"]\n\
         methods = [\"GET\", \"POST\"]\n\
         [plugins.fetcher.grants.http.headers.\"{base}\"]\n\
         authorization = {{ env = \"API_TOKEN\" }}\n\
         x-key = {{ file = \"$HOME/key\" }}\n"
    ));
    home
}

/// Every file beneath a folder that holds the secret.
fn leaks(folder: &Path, except: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a home can be read") {
        let path = entry.expect("a home can be read").path();
        if path.is_dir() {
            found.extend(leaks(&path, except));
        } else {
            let bytes = fs::read(&path).expect("a home can be read");
            let holds = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            if holds && !except.iter().any(|name| path.ends_with(name)) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_secret_goes_to_its_host_and_to_nobody_else() {
    let (web, other) = (Web::start(None), Web::start(None));
    let elsewhere = format!("http://{}/there", other.address);
    web.answer("/page", json!({"body": "public"}));
    web.answer("/away", json!({"status": 302, "headers": {"location": elsewhere}}));
    other.answer("/there", json!({"mirror": true}));
    let home = home(&web, &other);
    let base = format!("http://{}", web.address);
    for era in Era::BOTH {
        let mut client = Client::start_with(&home, &["serve", "-vv"], era, json!({}));
        let page = client.call("fetch", json!({"url": format!("{base}/page")}));
        let away = client.call("fetch", json!({"url": format!("{base}/away"), "follow": 3}));
        // The guest's own header of that name does not count.
        let own = json!({
            "url": format!("{base}/page"), "method": "POST", "body": "x",
            "headers": [{"name": "authorization", "value": "mine"}],
        });
        let own = client.call("fetch", own);
        let ran = client.end();
        for said in [&page.to_string(), &away.to_string(), &own.to_string(), &ran.stdout] {
            assert!(!said.contains(SECRET), "{said}");
        }
        assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
        assert!(
            away["result"]["content"][0]["text"].as_str().is_some_and(|t| t.starts_with("200"))
        );
    }
    assert_eq!(web.asked().len(), 6);
    for request in web.asked() {
        assert!(request.contains(&format!("authorization: Bearer {SECRET}")), "{request}");
        assert!(request.contains(&format!("x-key: {SECRET}-from-a-file")), "{request}");
        assert!(!request.contains("mine"), "{request}");
    }
    assert_eq!(other.asked().len(), 2);
    assert!(!other.asked().concat().contains(SECRET), "{:?}", other.asked());
    for arguments in [
        &["audit"][..],
        &["audit", "--json"],
        &["check"],
        &["config", "show"],
        &["plugin", "list", "--json"],
        &["call", "fetch", "--trail", &format!(r#"{{"url":"{base}/page"}}"#)],
    ] {
        let ran = home.run(arguments);
        assert!(!format!("{ran:?}").contains(SECRET), "{arguments:?}: {ran:?}");
    }
    assert_eq!(leaks(home.path(), &["key"]), Vec::<String>::new());
}

#[test]
fn a_secret_that_is_not_there_is_said_at_start() {
    let web = Web::start(None);
    let home = home(&web, &web);
    fs::remove_file(home.path().join("key")).expect("a home");
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("x-key"), "{ran:?}");
    let config = fs::read_to_string(home.config()).expect("it was written");
    fs::write(home.config(), config.replace("API_TOKEN", "NO_SUCH_TOKEN")).expect("a home");
    fs::write(home.path().join("key"), "k").expect("a home");
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("NO_SUCH_TOKEN"), "{ran:?}");
}

#[test]
fn a_proxy_of_the_operators_is_used_and_asked_for_granted_hosts_alone() {
    let proxy = Web::start(None);
    proxy.answer("http://granted.example/page", json!({"body": "by the proxy"}));
    let mut home = Home::with(&["fetcher"], "");
    home.set("HTTP_PROXY", &format!("http://{}", proxy.address));
    home.configure(
        "[host]\nbundled = false\n\
         [plugins.fetcher.settings]\nbase = \"http://granted.example\"\n\
         [plugins.fetcher.grants.http]\nhosts = [\"http://granted.example\"]\n",
    );
    let mut client = Client::start(&home, Era::Legacy);
    let fetch = |url: &str| json!({"url": url});
    let text = client.text("fetch", fetch("http://granted.example/page"));
    assert_eq!(text, "200 by the proxy", "{}", client.process().stderr());
    let text = client.text("fetch", fetch("http://other.example/page"));
    assert!(text.contains("denied"), "{text}");
    assert_eq!(proxy.asked().len(), 1, "{:?}", proxy.asked());
}

/// A name that this machine resolves to an address that is not public, without asking anybody.
fn private_name() -> String {
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let names = [hostname.trim(), "ip6-localhost", "ip6-loopback", "localhost.localdomain"];
    let resolves = |name: &&str| {
        use std::net::ToSocketAddrs;
        !name.is_empty() && *name != "localhost" && (*name, 80).to_socket_addrs().is_ok()
    };
    let found = names.into_iter().find(resolves);
    found.expect("this machine knows its own name, or another one for itself").to_owned()
}

#[test]
fn a_granted_name_that_leads_to_a_private_address_is_refused() {
    let web = Web::start(None);
    let base = format!("http://{}:{}", private_name(), web.address.port());
    let home = Home::with(&["fetcher"], "");
    let config = format!(
        "[host]\nbundled = false\n[plugins.fetcher.settings]\nbase = \"{base}\"\n\
         [plugins.fetcher.grants.http]\nhosts = [\"{base}\"]\n"
    );
    home.configure(&config);
    let mut client = Client::start(&home, Era::Legacy);
    let text = client.text("fetch", json!({"url": format!("{base}/page")}));
    let ran = client.end();
    assert!(text.contains("denied") || text.contains("prohibited"), "{text}");
    assert!(ran.stderr.contains("to allow it, write this"), "{}", ran.stderr);
    assert!(ran.stderr.contains("addresses = [\""), "{}", ran.stderr);
    assert_eq!(web.asked(), Vec::<String>::new());
}
