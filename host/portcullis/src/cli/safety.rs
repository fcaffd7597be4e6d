//! Warns of the operator's files that other users of the machine can read or change.

use std::path::Path;

use super::context::CommandContext;
use portcullis_core::config::HttpConfig;

/// The warnings about the configuration file, the plugin folders, and files with secrets, such as the token file.
pub fn warnings(context: &CommandContext) -> Vec<String> {
    let config = &context.config;
    let mut all = Vec::new();
    all.extend(context.source.as_deref().and_then(|path| changeable("the configuration", path)));
    for folder in portcullis_core::plugins::folders_of(config, &context.folders) {
        all.extend(changeable("the plugin folder", folder));
    }
    let HttpConfig { token_file, tls_key, state_key_file, .. } = &config.http;
    let http_files = [
        ("the token file", token_file),
        ("the TLS key", tls_key),
        ("the state key file", state_key_file),
    ];
    all.extend(http_files.iter().filter_map(|(what, file)| readable(what, file.as_deref()?)));
    all.extend(config.secrets().filter_map(|file| readable("the secret in", file)));
    let keys = config.plugin_sources.values().filter_map(|source| source.key.as_deref());
    all.extend(keys.filter_map(|file| changeable("the key of plugin sources", file)));
    all
}

/// A warning if other users can read or change a file with a secret.
pub fn readable(what: &str, file: &Path) -> Option<String> {
    let mode = mode(file)?;
    (mode & 0o077 != 0).then(|| {
        let file = file.display();
        format!(
            "{what} {file} can be read or changed by other users of this machine (mode {:03o}): \
             chmod 600 {file}",
            mode & 0o777
        )
    })
}

/// A warning if other users can change a file or folder that decides what plugins may do.
fn changeable(what: &str, path: &Path) -> Option<String> {
    let mode = mode(path)?;
    let shown = path.display();
    if mode & 0o022 != 0 {
        return Some(format!(
            "{what} {shown} can be changed by other users of this machine (mode {:03o}): chmod go-w {shown}",
            mode & 0o777
        ));
    }
    None
}

/// The permission bits of a file. `None`: the file does not exist, or the system has no such bits.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "files that the operator named")]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| metadata.mode())
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}
