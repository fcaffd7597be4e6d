//! The TLS configuration of outgoing connections.

use std::sync::OnceLock;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt;

/// The TLS configuration with the system's certificates. They are loaded once. If they cannot be loaded, no certificate
/// of a host is trusted, and requests without TLS still work; the next call tries again.
pub fn tls_config() -> ClientConfig {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    let load = || {
        // The provider of another part of the process may be installed already. That provider is also suitable.
        let _already = rustls::crypto::ring::default_provider().install_default();
        ClientConfig::with_platform_verifier()
    };
    get_or_try_init(&CONFIG, load).cloned().unwrap_or_else(|error| {
        let error = portcullis_sanitize::error_chain(&error);
        tracing::warn!(
            "cannot load the system's certificates, so requests over https will fail: {error}; install them (on Debian the \
             package `ca-certificates`), or name a file of certificates in SSL_CERT_FILE"
        );
        trusting_nobody()
    })
}

/// The configuration that trusts no certificate.
fn trusting_nobody() -> ClientConfig {
    ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
}

/// The value of a cell. If the cell is empty, `make` makes the value. An error of `make` is not kept.
fn get_or_try_init<T, E>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_success_is_stored() {
        let cell = OnceLock::new();
        assert_eq!(get_or_try_init(&cell, || Err("no certificates")), Err("no certificates"));
        assert_eq!(get_or_try_init(&cell, || Ok::<_, &str>(1)), Ok(&1));
        assert_eq!(get_or_try_init(&cell, || Err("not called")), Ok(&1));
    }
}
