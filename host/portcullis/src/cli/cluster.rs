//! The state that this host shares with other hosts, as the section `[cluster]` configures it.

use std::path::Path;

use anyhow::Context as _;
use portcullis_cluster_state::{Address, ClusterState, Credentials, KEY_PURPOSE};
use portcullis_core::config::Config;
use portcullis_mcp_server::mcp::keys_in_file;
use portcullis_sanitize::error_chain;

/// The state of the cluster. Nothing is connected before it is first used. `None`: the configuration has no `[cluster]`.
///
/// # Errors
///
/// The keys or the password cannot be read.
pub fn state(config: &Config) -> anyhow::Result<Option<ClusterState>> {
    let Some(cluster) = &config.cluster else { return Ok(None) };
    let key_file = config.http.state_key_file.as_deref();
    let key_file = key_file.context("`cluster.state` needs `state-key-file` under [http]")?;
    let keys = keys_in_file(key_file, KEY_PURPOSE)?;
    let address = Address::parse(&cluster.state).context("`cluster.state`")?;
    let password = cluster.password.as_ref().map(|secret| secret.read()).transpose();
    let password = password.context("`cluster.password`")?;
    if password.is_some() && !address.has_tls() && !address.is_loopback() {
        tracing::warn!(
            "`cluster.state` is without TLS, so others on the network can read the password: write rediss://, unless a \
             tunnel protects the connection"
        );
    }
    let authorities = cluster.ca_file.as_deref().map(authorities).transpose()?;
    let credentials = Credentials { user: cluster.user.clone(), password, authorities };
    Ok(Some(ClusterState::new(&address, credentials, &keys).context("`cluster.state`")?))
}

/// Reads the certificates of the authorities that may have signed the server's certificate.
#[expect(
    clippy::disallowed_methods,
    reason = "the operator names the file, which is read at the start"
)]
fn authorities(file: &Path) -> anyhow::Result<Vec<u8>> {
    let read = std::fs::read(file);
    read.with_context(|| format!("`cluster.ca-file`: cannot read {}", file.display()))
}

/// Prepares the state of the cluster for a server: asks its server every second whether it is there, logs settings with
/// which it can lose data, and seals records again after a key was replaced.
///
/// # Errors
///
/// No thread can be started.
pub fn begin(state: &ClusterState) -> anyhow::Result<()> {
    state.watch().context("`cluster.state`")?;
    let state = state.clone();
    tokio::spawn(async move {
        match state.remarks().await {
            Ok(remarks) => remarks.iter().for_each(|remark| tracing::warn!("{remark}")),
            Err(error) => tracing::debug!("the cluster's state: {}", error_chain(&error)),
        }
        match state.seal_records_again().await {
            Ok((0, 0)) => {}
            Ok((sealed, foreign)) => {
                tracing::info!("{sealed} records of plugins were sealed again with the first key");
                if foreign > 0 {
                    tracing::warn!(
                        "{foreign} records of plugins were sealed with none of the keys in `state-key-file`, so they \
                         cannot be read: add the key that sealed them"
                    );
                }
            }
            Err(error) => {
                tracing::warn!(
                    "the records of plugins were not sealed again with the first key, so no key may be removed: {}",
                    error_chain(&error)
                );
            }
        }
    });
    Ok(())
}
