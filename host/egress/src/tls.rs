//! The TLS configuration of outgoing connections.

use std::sync::OnceLock;

use rustls::ClientConfig;
use rustls_platform_verifier::ConfigVerifierExt;

/// The TLS configuration with the system's certificates. They are loaded once. A failure is not kept: the next call
/// tries again.
///
/// # Errors
///
/// The system's certificates cannot be loaded.
pub fn tls_config() -> Result<ClientConfig, rustls::Error> {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    let load = || {
        // The provider of another part of the process may be installed already. That provider is also suitable.
        let _already = rustls::crypto::ring::default_provider().install_default();
        ClientConfig::with_platform_verifier()
    };
    get_or_try_init(&CONFIG, load).cloned()
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
