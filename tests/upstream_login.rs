//! Tests of OAuth logins to upstream servers: the login command, the use of the token in `serve`,
//! and where the token is stored.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;
use crate::support::process::Process;
use crate::support::web::Web;
use crate::support::{http, stand_in};

/// The token that the server accepts, and that the issuer issues.
const KEY: &str = "key";
/// A token that the server refuses. Tests put it into the stored login.
const FIRST: &str = "f1rst-t0ken";
/// The refresh token.
const RENEWS: &str = "ren3ws-it";

/// A server that requires a token, the issuer of the token, and a home in which the server is `odd`.
struct Locked {
    issuer: Web,
    _server: Process,
    home: Home,
}

impl Locked {
    fn start(transport: &str) -> Self {
        let issuer = Web::start(None);
        let origin = format!("http://{}", issuer.address);
        let metadata = format!("metadata={origin}/resource");
        let mut server =
            Process::start(Command::new(stand_in()).args([transport, "all", "locked", &metadata]));
        let url = server.line().expect("it says where it listens");
        let url = url.trim();
        let said = |value: Value| json!({"body": value.to_string()});
        issuer
            .answer("/resource", said(json!({"resource": url, "authorization_servers": [origin]})));
        let at = |path: &str| format!("{origin}{path}");
        issuer.answer(
            "/.well-known/oauth-authorization-server",
            said(json!({
                "issuer": origin,
                "authorization_endpoint": at("/authorize"),
                "token_endpoint": at("/token"),
                "registration_endpoint": at("/register"),
                "code_challenge_methods_supported": ["S256"],
            })),
        );
        issuer.answer("/register", said(json!({"client_id": "a-client"})));
        let home = Home::new();
        home.configure(&format!(
            "[host]\nbundled = false\n[upstreams.odd]\nurl = {url:?}\ntransport = {transport:?}\n"
        ));
        Self { issuer, _server: server, home }
    }

    /// From now on, the issuer issues this token, which is valid for this many seconds.
    fn issue(&self, token: &str, seconds: u64) {
        let issued = json!({
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": seconds,
            "refresh_token": RENEWS,
        });
        self.issuer.answer("/token", json!({"body": issued.to_string()}));
    }

    /// Runs the login command, and opens the redirect as a browser does after a login. Returns the output and the exit
    /// code.
    fn log_in(&self) -> (String, Option<i32>) {
        let mut process = Process::start(&mut self.home.command(&["upstream", "login", "odd"]));
        let mut said = String::new();
        let shown = loop {
            let line = process.line().unwrap_or_else(|| panic!("{said}{}", process.stderr()));
            said += &line;
            said.push('\n');
            if line.starts_with("http") {
                break line;
            }
        };
        let param = |name: &str| {
            let (_, rest) = shown.split_once(&format!("{name}=")).expect("it is there");
            rest.split('&').next().expect("a value").trim().to_owned()
        };
        let back = param("redirect_uri").replace("%3A", ":").replace("%2F", "/");
        let (address, path) = back["http://".len()..].split_once('/').expect("a path");
        let target = format!("GET /{path}?code=c0de&state={}", param("state"));
        let address = address.parse().expect("an address");
        let page = http::request(address, &target, &[("host", "127.0.0.1")], b"").expect("a page");
        assert_eq!(page.status(), 200);
        let ran = process.end();
        (said + &ran.stdout + &ran.stderr, ran.code)
    }

    fn kept(&self) -> std::path::PathBuf {
        self.home.path().join(".local/share/portcullis/logins/odd.json")
    }

    fn tools(&self, client: &mut Client) -> usize {
        let asked = client.request("tools/list", json!({}));
        client.reply(asked)["result"]["tools"].as_array().map_or(0, Vec::len)
    }
}

#[test]
fn a_login_is_stored_renewed_and_removed() {
    let locked = Locked::start("http");
    let call = |arguments: &[&str]| locked.home.run(&[&["call", "log"], arguments].concat());
    // Without a login, a command says how to log in, clients get no tools, and no browser is opened.
    let ran = locked.home.run(&["plugin", "list"]);
    assert!(ran.stdout.contains("portcullis upstream login odd"), "{ran:?}");
    let mut client = Client::start(&locked.home, Era::Modern);
    assert_eq!(locked.tools(&mut client), 0);
    client.end();
    locked.issue(KEY, 3600);
    let (said, code) = locked.log_in();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("logged in") && !said.contains(RENEWS), "{said}");
    assert_eq!(call(&[]).code, Some(0), "{:?}", call(&[]));
    // The token has expired, and another process renews it.
    let text = fs::read_to_string(locked.kept()).expect("it is kept");
    let mut kept: Value = serde_json::from_str(&text).expect("it is JSON");
    kept["granted"]["access"] = FIRST.into();
    kept["granted"]["expires"] = 1.into();
    fs::write(locked.kept(), kept.to_string()).expect("a home can be written");
    for era in Era::BOTH {
        let mut client = Client::start_with(&locked.home, &["serve", "-vv"], era, json!({}));
        let reply = client.call("log", json!({}));
        assert_eq!(text_of(&reply), "logged", "{reply}");
        let ran = client.end();
        let everything = format!("{}{}", ran.stdout, ran.stderr);
        for secret in [FIRST, RENEWS, "c0de"] {
            assert!(!everything.contains(secret), "{secret}: {everything}");
        }
    }
    let asked = locked.issuer.asked();
    let renewed = asked.iter().filter(|asked| asked.starts_with("POST /token")).count();
    assert_eq!(renewed, 2, "once for the login, once to renew it");
    let ran = locked.home.run(&["upstream", "logout", "odd"]);
    assert!(ran.code == Some(0) && !locked.kept().exists(), "{ran:?}");
    assert_ne!(call(&[]).code, Some(0));
}

#[test]
fn a_refused_token_leads_to_a_message_with_the_command_to_run() {
    let locked = Locked::start("http");
    locked.issue(KEY, 3600);
    locked.log_in();
    let text = fs::read_to_string(locked.kept()).expect("it is kept");
    let mut kept: Value = serde_json::from_str(&text).expect("it is JSON");
    kept["granted"]["access"] = FIRST.into();
    fs::write(locked.kept(), kept.to_string()).expect("a home can be written");
    let refusal = json!({"error": "invalid_grant", "error_description": RENEWS});
    locked.issuer.answer("/token", json!({"status": 400, "body": refusal.to_string()}));
    let ran = locked.home.run(&["plugin", "list"]);
    assert!(ran.stdout.contains("portcullis upstream login odd"), "{ran:?}");
    let everything = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!everything.contains(FIRST) && !everything.contains(RENEWS), "{everything}");
    // A name that no upstream has.
    let ran = locked.home.run(&["upstream", "login", "nobody"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("there is no upstream"), "{ran:?}");
}

#[test]
fn the_transport_of_2024_also_uses_tokens() {
    let locked = Locked::start("sse");
    locked.issue(KEY, 3600);
    let (said, code) = locked.log_in();
    assert_eq!(code, Some(0), "{said}");
    let ran = locked.home.run(&["call", "log"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_stored_login_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let locked = Locked::start("http");
    locked.issue(KEY, 3600);
    locked.log_in();
    for path in [locked.kept(), locked.kept().parent().expect("a folder").to_owned()] {
        let mode = fs::metadata(&path).expect("it is kept").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}
