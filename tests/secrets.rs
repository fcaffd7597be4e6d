//! Tests of secrets: the host sends them where configured, and they appear nowhere else.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

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
    // The secret in the file is also only for `web`.
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

/// All files beneath a folder whose contents include the secret.
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
fn a_secret_is_sent_to_its_host_only() {
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
        // The host replaces the header `authorization` of the guest.
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
fn a_missing_secret_is_reported_at_start() {
    let web = Web::start(None);
    let home = home(&web, &web);
    fs::remove_file(home.path().join("key")).expect("a home");
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("x-key"), "{ran:?}");
    let config = fs::read_to_string(home.config()).expect("it was written");
    fs::write(home.config(), config.replace("API_TOKEN", "NO_SUCH_TOKEN")).expect("a home");
    fs::write(home.path().join("key"), "a-longer-key").expect("a home");
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("NO_SUCH_TOKEN"), "{ran:?}");
}

#[test]
fn a_proxy_of_the_operator_is_used_for_granted_hosts_only() {
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

/// A name that this machine resolves to an address that is not public, without a DNS query.
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
fn a_granted_name_that_resolves_to_a_private_address_is_refused() {
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
    assert!(ran.stderr.contains("to allow it, set this table"), "{}", ran.stderr);
    assert!(ran.stderr.contains("addresses = [\""), "{}", ran.stderr);
    assert_eq!(web.asked(), Vec::<String>::new());
}

/// The encodings in which [`echo`] sends a header back. The path of the request names one.
const ENCODINGS: [&str; 12] = [
    "plain",
    "capitals",
    "base64",
    "base64url",
    "within-base64",
    "hex",
    "url",
    "partly-url",
    "json",
    "html",
    "location",
    "utf-16",
];

/// A text in one of the [`ENCODINGS`].
fn encoded(encoding: &str, text: &str) -> Vec<u8> {
    let each = |format: &dyn Fn(u8) -> String| text.bytes().map(format).collect::<String>();
    let encoded = match encoding {
        "plain" | "location" => text.to_owned(),
        "capitals" => text.to_uppercase(),
        "base64" => BASE64_STANDARD.encode(text),
        "base64url" => BASE64_URL_SAFE_NO_PAD.encode(text),
        "within-base64" => BASE64_STANDARD.encode(format!("{{\"authorization\":\"{text}\"}}")),
        "hex" => each(&|byte| format!("{byte:02X}")),
        "url" => each(&|byte| format!("%{byte:02x}")),
        "partly-url" => text.replace('3', "%33").replace('e', "%65").replace(' ', "+"),
        "json" => each(&|byte| format!("\\u{byte:04x}")),
        "html" => each(&|byte| format!("&#x{byte:x};")),
        "utf-16" => return text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => panic!("{encoding} is no encoding"),
    };
    encoded.into_bytes()
}

/// A server that sends the header `authorization` back. In the path `/ENCODING/SIZE/FIRST`, `ENCODING` is one of
/// [`ENCODINGS`]. The body is sent as a piece of `FIRST` bytes, and then in pieces of `SIZE` bytes. For `location`, the
/// answer is a redirect without a body.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback address");
    let address = listener.local_addr().expect("a loopback address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().filter_map(Result::ok) {
            let lines = BufReader::new(stream.try_clone().expect("a connection")).lines();
            let head: Vec<_> =
                lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            // A connection without a request is ignored.
            let Some(first) = head.first() else { continue };
            if first.contains("/end") {
                return;
            }
            let mut path = first.split([' ', '/']).skip(2);
            let encoding = path.next().expect("an encoding");
            let mut number = || path.next().and_then(|text| text.parse().ok()).expect("a number");
            let (size, first): (usize, usize) = (number(), number());
            let is_authorization =
                |line: &&String| line.to_lowercase().starts_with("authorization: ");
            let line = head.iter().find(is_authorization).expect("the secret");
            let told = encoded(encoding, &line["authorization: ".len()..]);
            let mut answer =
                b"HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n".to_vec();
            if encoding == "location" {
                answer = [
                    b"HTTP/1.1 302 ",
                    &told[..],
                    b"\r\ncontent-length: 0\r\nlocation: /x?",
                    &told,
                    b"\r\n\r\n",
                ]
                .concat();
            } else {
                answer.extend([b"x-seen: ", &encoded("plain", line)[..], b"\r\n\r\n"].concat());
                let body = [b"<", &told[..], b">"].concat();
                let (before, after) = body.split_at(first.min(body.len()));
                for piece in std::iter::once(before).chain(after.chunks(size)) {
                    if !piece.is_empty() {
                        answer.extend(format!("{:x}\r\n", piece.len()).into_bytes());
                        answer.extend([piece, b"\r\n"].concat());
                    }
                }
                answer.extend(b"0\r\n\r\n");
            }
            // A client that has read enough may have closed the connection.
            let _gone = stream.write_all(&answer);
        }
    });
    address
}

#[test]
fn a_secret_that_a_server_sends_back_is_removed() {
    let address = echo();
    let base = format!("http://{address}");
    let mut home = Home::with(&["fetcher"], "");
    home.set("API_TOKEN", &format!("Bearer {SECRET}"));
    home.configure(&format!(
        "[host]\nbundled = false\n[plugins.fetcher.settings]\nbase = \"{base}\"\n\
         [plugins.fetcher.grants.http]\nhosts = [\"{base}\"]\n\
         headers.\"{base}\".authorization = {{ env = \"API_TOKEN\" }}\n"
    ));
    let mut client = Client::start(&home, Era::Legacy);
    let mut told = |encoding: &str, size: usize, first: usize| {
        let url = format!("{base}/{encoding}/{size}/{first}");
        client.call("fetch", json!({"url": url, "follow": 0}))["result"]["content"][0]["text"]
            .to_string()
    };
    let whole = format!("\"200 <Bearer {}>\"", "*".repeat(SECRET.len()));
    for first in 0..SECRET.len() + "<Bearer >".len() {
        assert_eq!(told("plain", 1000, first), whole, "{first}");
    }
    let last = SECRET.split('-').next_back().expect("it has parts");
    for encoding in ENCODINGS {
        let of = |text: &str| String::from_utf8_lossy(&encoded(encoding, text)).into_owned();
        for size in [1, 2, 3, 7, 1000] {
            let text = told(encoding, size, 0);
            assert!(text.starts_with("\"200 <") || encoding == "location", "{encoding}: {text}");
            assert!(
                text.replace("\\u0000", "").contains("******") || encoding == "location",
                "{encoding}: {text}"
            );
            for part in [SECRET, "s3cret", last] {
                assert!(!text.contains(&of(part)) && !text.contains(part), "{encoding}: {text}");
            }
        }
    }
    // The plugin sees the target of a redirect, so the secret must be removed from the target, too.
    let text = client.call("fetch", json!({"url": format!("{base}/location/1/0"), "follow": 1}));
    assert!(!text.to_string().contains(SECRET), "{text}");
    let ran = client.end();
    assert!(!ran.stderr.contains(SECRET) && !ran.stdout.contains(SECRET), "{}", ran.stderr);
    let mut end = std::net::TcpStream::connect(address).expect("the server");
    end.write_all(b"GET /end HTTP/1.1\r\n\r\n").expect("the server");
}

#[test]
fn a_secret_that_is_too_short_to_be_found_is_refused_at_start() {
    let web = Web::start(None);
    let home = home(&web, &web);
    fs::write(home.path().join("key"), "short").expect("a home");
    let ran = home.run(&["check"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("x-key") && ran.stderr.contains("shorter than 8 bytes"), "{ran:?}");
    assert!(!ran.stderr.contains("short\""), "{ran:?}");
}
