//! Tests of connections with TLS to a real server.

use std::time::{Duration, Instant};

use portcullis_cluster_state::{Address, ClusterState, Credentials, StateError};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::server::Server;

/// An authority that signs certificates of servers.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// The certificate for a host name, and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn a_certificate_counts_if_a_named_authority_signed_it_for_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let start = |name: &str| {
        let (certificate, key) = authority.sign(name);
        let write = |file: &str, text: &str| {
            let path = folder.path().join(format!("{name}-{file}"));
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let (certificate, key) = (write("certificate", &certificate), write("key", &key));
        let ca = write("ca", &authority.pem);
        Server::start_with_tls(&[
            "--tls-cert-file",
            &certificate,
            "--tls-key-file",
            &key,
            "--tls-ca-cert-file",
            &ca,
            "--tls-auth-clients",
            "no",
        ])
    };
    let state = |server: &Server, pem: Option<&str>| {
        let address = Address::parse(&format!("rediss://localhost:{}/2", server.port)).unwrap();
        let authorities = pem.map(|pem| pem.as_bytes().to_vec());
        let credentials = Credentials { authorities, ..Credentials::default() };
        ClusterState::new(&address, credentials, &[[1; 32]]).unwrap()
    };
    let server = start("localhost");
    let accepted = state(&server, Some(&authority.pem));
    accepted.put("run", "a", b"text", Duration::from_secs(60)).await.unwrap();
    assert_eq!(accepted.get("run", "a").await.unwrap().as_deref(), Some(&b"text"[..]));
    let other = start("other.example.org");
    let (stranger, began) = (Authority::new(), Instant::now());
    for refused in [
        state(&server, Some(&stranger.pem)),
        state(&server, None),
        state(&other, Some(&authority.pem)),
    ] {
        let error = refused.get("run", "a").await.unwrap_err();
        assert!(matches!(error, StateError::Certificate { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("ca-file") && text.contains("localhost:"), "{text}");
    }
    assert!(began.elapsed() < Duration::from_secs(3), "it is not tried again");
    // Without TLS, the server of this port understands nothing.
    let address = Address::parse(&format!("redis://localhost:{}/2", server.port)).unwrap();
    let plain = ClusterState::new(&address, Credentials::default(), &[[1; 32]]).unwrap();
    assert!(plain.get("run", "a").await.is_err());
}

#[tokio::test]
async fn a_file_without_certificates_is_noticed_at_once() {
    let address = Address::parse("rediss://localhost/2").unwrap();
    let broken = "-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----\n";
    for text in ["", "no PEM", broken] {
        let authorities = Some(text.as_bytes().to_vec());
        let credentials = Credentials { authorities, ..Credentials::default() };
        let error = ClusterState::new(&address, credentials, &[[1; 32]]).err().unwrap();
        assert!(matches!(error, StateError::Authorities { .. }), "{error:?}");
        assert!(error.to_string().contains("ca-file"), "{error}");
    }
}
