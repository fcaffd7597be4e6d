//! The options of `serve`, which override the configuration each time the configuration is read.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use portcullis_core::config::{Config, HttpConfig};
use portcullis_core::listing::Selections;

use super::context::CommandContext;
use super::{selection, views};

/// The options of `serve`.
#[derive(clap::Args)]
pub struct Options {
    /// Serve over HTTP at this address. Default: `listen` of the section [http], or else 127.0.0.1:8719
    #[arg(long, value_name = "ADDRESS")]
    http: Option<Option<SocketAddr>>,
    /// Require the text of this file as the bearer token of every HTTP request
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Serve HTTPS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "http", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    #[command(flatten)]
    selection: selection::Flags,
    #[command(flatten)]
    views: views::Flags,
}

impl Options {
    /// Whether to serve HTTP, not stdio.
    pub fn is_http(&self) -> bool {
        self.http.is_some()
    }

    /// Lists every tool, if no option says which tools clients see.
    pub fn list_all_by_default(&mut self) {
        self.selection.list_all_by_default();
    }

    /// Applies the options about views to a configuration that was read.
    ///
    /// # Errors
    ///
    /// An option is wrong, or the resulting configuration is invalid.
    pub fn override_config(&self, config: &mut Config) -> anyhow::Result<()> {
        self.views.apply(config)
    }

    /// Which tools each client sees.
    ///
    /// # Errors
    ///
    /// No family, plugin, upstream server or profile has a name that an option gives.
    pub fn selections(&self, context: &CommandContext) -> anyhow::Result<Selections> {
        self.selection.selections(context)
    }

    /// The section `[http]` with the options.
    pub fn http_config(&self, config: &Config) -> HttpConfig {
        let mut config = config.http.clone();
        config.listen = self.http.flatten().unwrap_or(config.listen);
        config.token_file = self.token_file.clone().or(config.token_file);
        config.tls_cert = self.tls_cert.clone().or(config.tls_cert);
        config.tls_key = self.tls_key.clone().or(config.tls_key);
        config
    }

    /// The files with secrets that options name, each with its name for messages.
    pub fn secret_files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [("the token file", &self.token_file), ("the TLS key", &self.tls_key)];
        files.into_iter().filter_map(|(what, file)| Some((what, file.as_deref()?)))
    }
}
