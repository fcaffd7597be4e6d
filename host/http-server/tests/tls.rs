//! Tests of TLS: requests over TLS, and certificates that cannot be used.

use std::path::Path;
use std::sync::Arc;

use portcullis_http_server::{Tls, TlsError};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::client::{Connection, TestServer, modern, modern_headers, soon};

struct Files {
    folder: tempfile::TempDir,
    certified: CertifiedKey<rcgen::KeyPair>,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certified = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text);
        write("certificate.pem", certified.cert.pem()).unwrap();
        write("key.pem", certified.signing_key.serialize_pem()).unwrap();
        Self { folder, certified }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn load(&self, certificate: &str, key: &str) -> Result<Tls, TlsError> {
        Tls::load(&self.path(certificate), &self.path(key))
    }

    fn connector(&self, protocols: &[&str]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.certified.cert.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::new(config).into()
    }
}

#[tokio::test]
async fn requests_are_served_over_tls_only() {
    let files = Files::new();
    let tls = files.load("certificate.pem", "key.pem").unwrap();
    let server = TestServer::start(|settings| settings.tls = Some(tls)).await;
    // A client that sends nothing does not hold up others.
    let _silent = server.connect().await;
    let name = ServerName::try_from("localhost").unwrap();
    let stream = soon(TcpStream::connect(server.address)).await.unwrap();
    let connector = files.connector(&["h2", "http/1.1"]);
    let stream = soon(connector.connect(name.clone(), stream)).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let mut connection = Connection::new(stream);
    let body = modern("echo", json!({"text": "hidden"})).to_string();
    connection.send("POST /mcp", &modern_headers("echo"), &body).await;
    assert_eq!(connection.reply().await.text(), "hidden");
    let mut plain = server.connect().await;
    plain.send("GET /mcp", &[], "").await;
    assert!(plain.head().await.is_none());
    let stream = soon(TcpStream::connect(server.address)).await.unwrap();
    let h2_only = soon(files.connector(&["h2"]).connect(name, stream)).await;
    assert!(h2_only.is_err());
}

#[tokio::test]
async fn a_handshake_times_out() {
    let files = Files::new();
    let tls = files.load("certificate.pem", "key.pem").unwrap();
    let server = TestServer::start(|settings| settings.tls = Some(tls)).await;
    let mut silent = server.connect().await;
    assert!(silent.head().await.is_none());
}

#[test]
fn unusable_files_have_different_errors() {
    let files = Files::new();
    let write = |name: &str, text: &str| std::fs::write(files.path(name), text).unwrap();
    write("empty", "");
    write("text", "hello");
    write("broken", "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n");
    write("no-certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    write("other-key.pem", &Files::new().certified.signing_key.serialize_pem());
    for (certificate, key, named, why) in [
        ("missing", "key.pem", "missing", "No such file"),
        ("certificate.pem", "missing", "missing", "No such file"),
        ("empty", "key.pem", "empty", "no certificate in it"),
        ("text", "key.pem", "text", "no certificate in it"),
        ("key.pem", "key.pem", "key.pem", "no certificate in it"),
        ("broken", "key.pem", "broken", "not PEM"),
        ("no-certificate", "key.pem", "no-certificate", "not a certificate"),
        ("certificate.pem", "empty", "empty", "no private key in it"),
        ("certificate.pem", "certificate.pem", "certificate.pem", "no private key in it"),
        ("certificate.pem", "other-key.pem", "other-key.pem", "not the key of"),
    ] {
        let error = files.load(certificate, key).unwrap_err().to_string();
        let file = files.path(named);
        assert!(error.contains(&file.display().to_string()), "{error}");
        assert!(error.contains(why) || (cfg!(windows) && named == "missing"), "{error}");
    }
    assert!(Tls::load(Path::new("/"), &files.path("key.pem")).is_err());
}
