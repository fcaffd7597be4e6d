//! Tests of MCP over HTTP with TLS and access tokens.

use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::http::{self, Message};
use crate::support::process::Process;
use crate::support::wire::serve;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n";

/// A certificate for `localhost`, and its files.
pub(crate) struct Certificate {
    certified: CertifiedKey<KeyPair>,
    pub(crate) cert: String,
    key: String,
}

impl Certificate {
    pub(crate) fn new(folder: &Path) -> Self {
        let certified = generate_simple_self_signed(["localhost".to_owned()]).expect("a name");
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).expect("a home can be written");
            path.to_str().expect("a temporary path is UTF-8").to_owned()
        };
        let cert = write("cert.pem", certified.cert.pem());
        let key = write("key.pem", certified.signing_key.serialize_pem());
        Self { certified, cert, key }
    }

    fn client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certified.cert.der().clone()).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().expect("there are some");
        Arc::new(config.with_root_certificates(roots).with_no_client_auth())
    }

    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().expect("there are some");
        let key = PrivateKeyDer::try_from(self.certified.signing_key.serialize_der());
        let chain = vec![self.certified.cert.der().clone()];
        let config = config.with_no_client_auth();
        Arc::new(config.with_single_cert(chain, key.expect("a key")).expect("they fit"))
    }

    /// Sends a request over TLS, and reads the answer.
    fn request(&self, address: SocketAddr, request: &str) -> Option<Message> {
        let name = ServerName::try_from("localhost").expect("a name");
        let tls = ClientConnection::new(self.client(), name).expect("a configuration");
        let mut stream = StreamOwned::new(tls, http::connect(address));
        stream.write_all(request.as_bytes()).ok()?;
        Message::read(&mut BufReader::new(stream))
    }
}

fn call(address: SocketAddr, bearer: Option<&str>) -> String {
    let params = json!({
        "name": "echo", "arguments": {"text": "hidden"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let body = body.to_string();
    let bearer = bearer.map(|token| format!("authorization: Bearer {token}\r\n"));
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:{}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: echo\r\n{}connection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        address.port(),
        bearer.unwrap_or_default(),
        body.len()
    )
}

fn text(reply: &Message) -> Value {
    let reply: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    reply["result"]["content"][0]["text"].clone()
}

#[test]
fn flags_and_the_configuration_turn_tls_on() {
    for by_flags in [true, false] {
        let home = Home::with(&["echo"], CONFIG);
        let certificate = Certificate::new(home.path());
        let Certificate { cert, key, .. } = &certificate;
        let (process, address) = if by_flags {
            serve(&home, &["--tls-cert", cert, "--tls-key", key])
        } else {
            home.configure(&format!(
                "[http]\ntls-cert = {cert:?}\ntls-key = {key:?}\nlegacy-sse = false\n{CONFIG}"
            ));
            serve(&home, &[])
        };
        assert!(process.stderr().contains("https://127.0.0.1:"), "{}", process.stderr());
        let reply = certificate.request(address, &call(address, None)).expect("an answer");
        assert_eq!(text(&reply), "hidden", "{reply:?}");
        // A connection without TLS gets no response.
        let plain = http::exchange(address, call(address, None).as_bytes());
        assert!(plain.is_none(), "{plain:?}");
        let open = "GET /sse HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        if !by_flags {
            let reply = certificate.request(address, open).expect("an answer");
            assert_eq!(reply.status(), 404, "it is switched off: {reply:?}");
        }
    }
}

#[test]
fn invalid_certificates_are_refused_with_the_remedy() {
    let home = Home::with(&["echo"], CONFIG);
    let Certificate { cert, key, .. } = Certificate::new(home.path());
    let beside = home.path().join("beside");
    std::fs::create_dir(&beside).expect("a home can be written");
    let other = Certificate::new(&beside);
    let missing = home.file("missing.pem");
    for (arguments, expected) in [
        (&["--tls-cert", &cert][..], "--tls-key"),
        (&["--tls-key", &key], "--tls-cert"),
        (&["--tls-cert", &missing, "--tls-key", &key], "missing.pem"),
        (&["--tls-cert", &key, "--tls-key", &key], "no certificate in it"),
        (&["--tls-cert", &cert, "--tls-key", &cert], "no private key in it"),
        (&["--tls-cert", &cert, "--tls-key", &other.key], "it is not the key of"),
    ] {
        let ran = home.run(&[&["serve", "--http", "127.0.0.1:0"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    }
}

#[test]
fn a_renewed_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let home = Home::with(&["echo"], CONFIG);
    let first = Certificate::new(home.path());
    let (process, address) = serve(&home, &["--tls-cert", &first.cert, "--tls-key", &first.key]);
    assert!(first.request(address, &call(address, None)).is_some());
    // The files of the new certificate have the same names.
    let renewed = Certificate::new(home.path());
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while renewed.request(address, &call(address, None)).is_none() {
        assert!(std::time::Instant::now() < deadline, "{}", process.stderr());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(first.request(address, &call(address, None)).is_none(), "it was replaced");
    std::fs::write(&renewed.cert, "not a certificate").expect("a home can be written");
    process.hear("the server goes on with the certificate that it has");
    assert!(renewed.request(address, &call(address, None)).is_some());
}

/// An issuer of access tokens, which is served over TLS.
struct Issuer {
    address: String,
    signer: Ed25519KeyPair,
}

impl Issuer {
    fn start(certificate: &Certificate) -> Self {
        let random = SystemRandom::new();
        let key = Ed25519KeyPair::generate_pkcs8(&random).expect("randomness");
        let signer = Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("just made");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback address");
        let port = listener.local_addr().expect("a loopback address").port();
        let address = format!("https://localhost:{port}");
        let x = URL_SAFE_NO_PAD.encode(signer.public_key());
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "1"}]});
        let metadata = json!({"issuer": address, "jwks_uri": format!("{address}/keys")});
        let config = certificate.server();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let _cut_off = publish(stream, config.clone(), &keys, &metadata);
            }
        });
        Self { address, signer }
    }

    fn token(&self, change: impl FnOnce(&mut Value)) -> String {
        let now = std::time::UNIX_EPOCH.elapsed().expect("it is later").as_secs();
        let mut claims = json!({
            "iss": self.address, "sub": "alice", "aud": "https://mcp.example/mcp",
            "exp": now + 600, "scope": "mcp:use",
        });
        change(&mut claims);
        let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": "1"});
        let encode = |text: &Value| URL_SAFE_NO_PAD.encode(text.to_string());
        let message = format!("{}.{}", encode(&header), encode(&claims));
        let signature = URL_SAFE_NO_PAD.encode(self.signer.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }
}

fn publish(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    keys: &Value,
    metadata: &Value,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(crate::support::PATIENCE))?;
    let tls = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(tls, stream);
    let request = Message::read(&mut BufReader::new(&mut stream));
    let line = request.map(|request| request.line).unwrap_or_default();
    let (status, body) = match line.split(' ').nth(1) {
        Some("/keys") => ("200 OK", keys.to_string()),
        Some("/.well-known/oauth-authorization-server") => ("200 OK", metadata.to_string()),
        Some(_) | None => ("404 Not Found", String::new()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all((head + &body).as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()
}

/// A server that trusts an issuer, and listens on all addresses of this machine.
fn guarded(certificate: &Certificate, issuer: &Issuer) -> (Home, Process, SocketAddr) {
    let mut home = Home::with(&["echo"], "");
    home.configure(&format!(
        "{CONFIG}[http]\nlisten = \"0.0.0.0:0\"\n[http.oauth]\nresource = \
         \"https://mcp.example/mcp\"\nscopes = [\"mcp:use\"]\n[[http.oauth.issuers]]\nissuer = {:?}\n",
        issuer.address
    ));
    home.set("SSL_CERT_FILE", &certificate.cert);
    let mut process = Process::start(&mut home.command(&["serve", "--http"]));
    let said = process.hear("/mcp\n");
    process.close();
    let port = said.split_once("0.0.0.0:").and_then(|(_, rest)| rest.split_once("/mcp\n"));
    let port = port.and_then(|(port, _)| port.parse().ok()).expect("a port");
    (home, process, SocketAddr::from(([127, 0, 0, 1], port)))
}

#[test]
fn only_valid_access_tokens_of_the_issuer_are_accepted() {
    let files = Home::new();
    let certificate = Certificate::new(files.path());
    let issuer = Issuer::start(&certificate);
    let (home, process, address) = guarded(&certificate, &issuer);
    assert!(process.stderr().contains("without TLS"), "{}", process.stderr());
    let send = |bearer: Option<&str>| {
        http::exchange(address, call(address, bearer).as_bytes()).expect("an answer")
    };
    let reply = send(None);
    assert_eq!(reply.status(), 401, "{reply:?}");
    let metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
    let challenge = reply.header("www-authenticate").expect("a challenge");
    assert!(challenge.contains(metadata), "{challenge}");
    let line = "GET /.well-known/oauth-protected-resource/mcp";
    let host = format!("localhost:{}", address.port());
    let told = http::request(address, line, &[("host", &host)], b"").expect("an answer");
    let told: Value = serde_json::from_slice(&told.body).expect("JSON");
    assert_eq!(told["authorization_servers"][0], issuer.address.as_str(), "{told}");
    let reply = send(Some(&issuer.token(|_| {})));
    assert_eq!(text(&reply), "hidden", "{reply:?} {}", process.stderr());
    let foreign = issuer.token(|claims| claims["aud"] = json!("https://other.example/mcp"));
    assert_eq!(send(Some(&foreign)).status(), 401);
    let late = issuer.token(|claims| claims["exp"] = json!(1));
    assert_eq!(send(Some(&late)).status(), 401);
    let narrow = issuer.token(|claims| claims["scope"] = json!("other"));
    assert_eq!(send(Some(&narrow)).status(), 403);
    let mut forged = issuer.token(|_| {});
    forged.replace_range(forged.len() - 8.., "AAAAAAAA");
    assert_eq!(send(Some(&forged)).status(), 401);
    // The record has the principal of the token.
    let audit = home.audit();
    let who = format!("{} alice", issuer.address);
    assert!(audit.iter().any(|record| record["principal"] == who.as_str()), "{audit:?}");
}

#[test]
fn without_the_issuers_keys_no_token_is_accepted() {
    let files = Home::new();
    let certificate = Certificate::new(files.path());
    let issuer = Issuer::start(&certificate);
    // The host does not trust the certificate of this issuer.
    let beside = files.path().join("beside");
    std::fs::create_dir(&beside).expect("a home can be written");
    let (_home, process, address) = guarded(&Certificate::new(&beside), &issuer);
    let token = issuer.token(|_| {});
    let reply = http::exchange(address, call(address, Some(&token)).as_bytes());
    assert_eq!(reply.expect("an answer").status(), 503);
    process.hear("the keys of https://localhost");
}
