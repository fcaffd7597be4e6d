//! TLS: reads the certificate and its private key when the server starts, and again when the files change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;

/// How often the server checks whether the files have changed.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The server side of TLS 1.2 and 1.3, with the cryptography of `ring`. Clones share the certificate.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    certificate: PathBuf,
    key: PathBuf,
    /// The certificate and key of new connections.
    current: Mutex<Arc<ServerConfig>>,
    /// The digest of the files when they were last read, even if they could not be used. `None`: a file was unreadable.
    seen: Mutex<Option<[u8; 32]>>,
}

/// Why a certificate and its private key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of the certificate cannot be read, or is not PEM.
    #[error("the TLS certificate {}: {}", .file.display(), pem_text(.cause))]
    ReadCertificate {
        /// The path of the file.
        file: PathBuf,
        /// Why the file cannot be read.
        #[source]
        cause: PemError,
    },
    /// The file of the certificate contains no certificate.
    #[error(
        "the TLS certificate {}: there is no certificate in it; the file must be PEM, which begins with \
         -----BEGIN CERTIFICATE-----", .file.display()
    )]
    NoCertificate {
        /// The path of the file.
        file: PathBuf,
    },
    /// The file of the private key cannot be read, or is not PEM.
    #[error("the TLS key {}: {}", .file.display(), pem_text(.cause))]
    ReadKey {
        /// The path of the file.
        file: PathBuf,
        /// Why the file cannot be read.
        #[source]
        cause: PemError,
    },
    /// The file of the private key contains no private key.
    #[error(
        "the TLS key {}: there is no private key in it; the file must be PEM without a passphrase",
        .file.display()
    )]
    NoKey {
        /// The path of the file.
        file: PathBuf,
    },
    /// The private key belongs to another certificate.
    #[error(
        "the TLS key {}: it is not the key of the TLS certificate {}",
        .key.display(), .certificate.display()
    )]
    Mismatch {
        /// The path of the certificate.
        certificate: PathBuf,
        /// The path of the private key.
        key: PathBuf,
    },
    /// The PEM file of the certificate contains a certificate that is not valid.
    #[error("the TLS certificate {}: it is not a certificate: {cause}", .file.display())]
    InvalidCertificate {
        /// The path of the file.
        file: PathBuf,
        /// What is wrong with the certificate. Not a `source`, because the type does not implement `Error`.
        cause: rustls::CertificateError,
    },
    /// TLS cannot use the certificate and the private key, for another reason.
    #[error(
        "the TLS key {}: it cannot be used with the TLS certificate {}: {cause}",
        .key.display(), .certificate.display()
    )]
    Unusable {
        /// The path of the certificate.
        certificate: PathBuf,
        /// The path of the private key.
        key: PathBuf,
        /// What is wrong with them.
        #[source]
        cause: rustls::Error,
    },
}

impl Tls {
    /// Reads a certificate, followed by its intermediate certificates, and its private key: two PEM files.
    ///
    /// # Errors
    ///
    /// A file cannot be read or used, or the two files do not belong together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let files = PemFiles::read(certificate, key)?;
        Ok(Self(Arc::new(Shared {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            current: Mutex::new(files.config(certificate, key)?),
            seen: Mutex::new(Some(files.digest())),
        })))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.0.current.lock().clone().into()
    }

    /// Reads the files again whenever they have changed. New connections use the new certificate. If the files cannot
    /// be used, the old certificate stays in use, and one warning is logged. Never returns.
    pub(crate) async fn follow_files(self) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let tls = self.clone();
            // The result is ignored, because a panic of one check must not end the server.
            let _ended = tokio::task::spawn_blocking(move || tls.reload()).await;
        }
    }

    fn reload(&self) {
        let Shared { certificate, key, current, seen } = &*self.0;
        let files = PemFiles::read(certificate, key);
        let digest = files.as_ref().ok().map(PemFiles::digest);
        if std::mem::replace(&mut *seen.lock(), digest) == digest {
            return;
        }
        match files.and_then(|files| files.config(certificate, key)) {
            Ok(config) => {
                *current.lock() = config;
                tracing::info!("the TLS certificate {} was read again", certificate.display());
            }
            Err(error) => {
                tracing::warn!("{error}; the server goes on with the certificate that it has");
            }
        }
    }
}

/// The contents of the certificate's file and of the private key's file.
struct PemFiles {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl PemFiles {
    fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        Ok(Self {
            certificate: std::fs::read(certificate).map_err(|error| TlsError::ReadCertificate {
                file: certificate.to_owned(),
                cause: PemError::Io(error),
            })?,
            key: std::fs::read(key).map_err(|error| TlsError::ReadKey {
                file: key.to_owned(),
                cause: PemError::Io(error),
            })?,
        })
    }

    fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update((self.certificate.len() as u64).to_be_bytes());
        digest.update(&self.certificate);
        digest.update(&self.key);
        digest.finalize().into()
    }

    /// The configuration of TLS. The paths are for errors.
    fn config(&self, certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        let certificates =
            CertificateDer::pem_slice_iter(&self.certificate).collect::<Result<Vec<_>, _>>();
        let certificates = match certificates {
            Ok(found) if found.is_empty() => {
                return Err(TlsError::NoCertificate { file: certificate });
            }
            Ok(found) => found,
            Err(cause) => return Err(TlsError::ReadCertificate { file: certificate, cause }),
        };
        let private_key = match PrivateKeyDer::from_pem_slice(&self.key) {
            Ok(found) => found,
            Err(PemError::NoItemsFound) => return Err(TlsError::NoKey { file: key }),
            Err(cause) => return Err(TlsError::ReadKey { file: key, cause }),
        };
        configuration(certificates, private_key).map_err(|error| {
            if matches!(error, rustls::Error::InconsistentKeys(_)) {
                TlsError::Mismatch { certificate, key }
            } else if let rustls::Error::InvalidCertificate(cause) = error {
                TlsError::InvalidCertificate { file: certificate, cause }
            } else {
                TlsError::Unusable { certificate, key, cause: error }
            }
        })
    }
}

fn configuration(
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    // The process's default provider is not used: another crate could change it.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(..)")
    }
}

fn pem_text(error: &PemError) -> String {
    if let PemError::Io(error) = error {
        return error.to_string();
    }
    format!("it is not PEM: {error}")
}
