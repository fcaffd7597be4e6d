//! A certificate and its key, read and understood before anybody connects.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A server's side of TLS 1.2 and 1.3, by ring.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads a certificate, followed by those that lead to its root, and its private key: two files
    /// of PEM.
    ///
    /// # Errors
    ///
    /// In words for the operator: which file, and what is wrong with it.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, String> {
        let of = |what, path: &Path| format!("the TLS {what} {}", path.display());
        let (certificate_file, key_file) = (of("certificate", certificate), of("key", key));
        let certificates = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| format!("{certificate_file}: {}", say(&error)))?;
        if certificates.is_empty() {
            return Err(format!(
                "{certificate_file}: there is no certificate in it; PEM is wanted, which begins with \
                 -----BEGIN CERTIFICATE-----"
            ));
        }
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| {
            if matches!(error, PemError::NoItemsFound) {
                let wanted = "PEM is wanted, without a passphrase";
                format!("{key_file}: there is no private key in it; {wanted}")
            } else {
                format!("{key_file}: {}", say(&error))
            }
        })?;
        Self::new(certificates, key).map_err(|error| {
            if matches!(error, rustls::Error::InconsistentKeys(_)) {
                format!("{key_file}: it is not the key of {certificate_file}")
            } else if let rustls::Error::InvalidCertificate(error) = error {
                format!("{certificate_file}: it is no certificate: {error}")
            } else {
                format!("{key_file}: it cannot be used with {certificate_file}: {error}")
            }
        })
    }

    fn new(
        certificates: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        // Named, and not the process's default: what others install changes nothing here.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.0.clone().into()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(..)")
    }
}

fn say(error: &PemError) -> String {
    if let PemError::Io(error) = error {
        return error.to_string();
    }
    format!("it is not PEM: {error}")
}
