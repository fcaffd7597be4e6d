//! Reloads the configuration and the plugins of a running server: on SIGHUP, when one of their files changes, and when
//! an approval may release a plugin that is refused or a tool that is held back.
//!
//! A configuration that cannot be used changes nothing, and the log says why. Calls in flight end with the
//! configuration with which they began.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::config::Config;
use portcullis_core::host::Configured;
use portcullis_core::listing::Selections;
use portcullis_core::plugins::{LoadedPlugin, Loader, Plugins, folders_of};
use portcullis_core::sandbox::{Origin, Sandbox};
use portcullis_http_server::Access;
use portcullis_mcp_server::mcp::Shared;
use portcullis_mcp_server::transport;
use tokio::sync::Notify;

use super::context::CommandContext;
use super::file_stamps::{FileStamps, wait_for_change};
use super::serve_options::Options;
use super::signals::Hangup;
use super::{Common, log};

/// How often the files are checked for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Reloads the configuration of one server.
pub struct Reloader<'a> {
    /// The options of every command, with which the configuration is read again.
    pub common: &'a Common,
    /// The options of the command line, which override the configuration again.
    pub options: &'a Options,
    /// The configuration that is in force.
    pub context: CommandContext,
    /// The sandbox of the plugins that are in force.
    pub sandbox: Arc<Sandbox>,
    /// The state of all sessions.
    pub shared: Arc<Shared>,
    /// Who may send requests. `None`: the server speaks stdio.
    pub access: Option<Access>,
    /// Receives SIGHUP.
    pub hangup: Hangup,
    /// Notified when other hosts of the cluster replaced an approval. `None`: there are no other hosts.
    pub replaced: Option<Arc<Notify>>,
}

impl Reloader<'_> {
    /// Reloads the configuration whenever there is a reason. Never ends.
    pub async fn follow(mut self) -> Infallible {
        // The stamps are taken before the files are read: a change during the reading is a reason for the next reload.
        let (mut files, mut approvals) = self.stamps().await;
        loop {
            let (watched, lock, shared) = (self.watched(), self.lock(), self.shared.clone());
            let reason = tokio::select! {
                () = self.hangup.received() => "SIGHUP",
                () = wait_for_change(&files, CHECK_INTERVAL, async || watched.look().await) => {
                    "files of the configuration or of plugins have changed"
                }
                () = approved(approvals, &lock, &shared) => "the approvals have changed",
                () = notified(self.replaced.as_deref()) => "other hosts have approved other definitions",
            };
            (files, approvals) = self.stamps().await;
            match self.reload().await {
                Ok(()) => {
                    log::say(&format!("{reason}: the configuration and plugins were read again"));
                }
                Err(error) => {
                    let error = portcullis_sanitize::error_chain(error.as_ref());
                    tracing::error!(
                        "{reason}, but the new configuration cannot be used, so the server goes on with the one \
                         that it has: {}",
                        portcullis_sanitize::visible(&error)
                    );
                }
            }
        }
    }

    /// The stamps of the files and of the approvals now.
    async fn stamps(&self) -> (FileStamps, FileStamps) {
        (self.watched().look().await, self.lock().look().await)
    }

    /// The configuration, the files with secrets, and the plugin folders.
    fn watched(&self) -> Watched {
        let config = &self.context.config;
        let mut files: Vec<PathBuf> = config.secret_files().collect();
        files.extend(self.options.secret_files().map(|(_, file)| file.to_owned()));
        files.extend(self.context.config_file.clone());
        let folders = folders_of(config, &self.context.folders);
        Watched { files, folders: folders.into_iter().map(ToOwned::to_owned).collect() }
    }

    /// The lock file, which has the approvals.
    fn lock(&self) -> Watched {
        Watched { files: vec![self.context.folders.lock.clone()], folders: Vec::new() }
    }

    /// Reads everything, and only then replaces what is in force.
    async fn reload(&mut self) -> anyhow::Result<()> {
        let mut context = self.context.read_again(self.common)?;
        self.options.override_config(&mut context.config)?;
        for key in fixed_at_start(&self.context.config, &context.config) {
            tracing::warn!("`{key}` has changed: the new value takes effect at the next start");
        }
        for warning in super::safety::warnings(&context) {
            tracing::warn!("{warning}");
        }
        let selections = self.options.selections(&context)?;
        let rules = match &self.access {
            Some(_) => Some(transport::http::access_rules(
                &self.options.http_config(&context.config),
                profiles(&selections),
            )?),
            None => None,
        };
        let is_fitting = context.config.largest_limits() == self.context.config.largest_limits();
        let sandbox = if is_fitting { self.sandbox.clone() } else { context.sandbox() };
        let before = self.shared.host.configured();
        let upstreams = context.upstreams_after(Some(&before.upstreams))?;
        let plugins = self.load(&context, sandbox.clone(), &before).await;
        if let (Some(access), Some(rules)) = (&self.access, rules) {
            access.replace(rules).context("the section [http]")?;
        }
        let configured =
            Configured::with_loaded(context.roots.clone(), upstreams, context.views(), plugins);
        self.shared.replace(configured, selections);
        (self.context, self.sandbox) = (context, sandbox);
        Ok(())
    }

    /// Loads the plugins. If the new file of a plugin cannot be used and its section of the configuration is unchanged,
    /// the plugin goes on with its present code.
    async fn load(
        &self,
        context: &CommandContext,
        sandbox: Arc<Sandbox>,
        before: &Configured,
    ) -> Plugins {
        let config = context.config.clone().for_clients();
        let mut loader =
            Loader::begin(sandbox, &config, &context.folders, context.lock.clone()).await;
        while loader.next().await {}
        let mut plugins = loader.so_far();
        plugins.warn();
        let Some(known) = before.plugins_now() else { return plugins };
        let before = &self.context.config;
        for refused in &plugins.refused {
            let (Origin::File(_), name) = (&refused.origin, &refused.name) else { continue };
            // A file with the digest of the running code is refused for another reason than a change of the file.
            let has_changed = |known: &&Arc<LoadedPlugin>| {
                *known.plugin.name == **name
                    && refused.digest.as_deref() != Some(&known.plugin.digest)
            };
            let Some(known) = known.loaded.iter().find(has_changed) else { continue };
            if is_same_section(before, &context.config, name) {
                tracing::warn!(
                    "plugin `{name}` goes on with the code that it had before this change"
                );
                plugins.loaded.push(known.clone());
            }
        }
        plugins
    }
}

/// The names of the profiles, which are paths over HTTP.
pub fn profiles(selections: &Selections) -> BTreeSet<String> {
    selections.names().map(str::to_owned).collect()
}

/// Whether all that two configurations say about a plugin is the same.
fn is_same_section(before: &Config, now: &Config, name: &str) -> bool {
    before.plugins.get(name) == now.plugins.get(name)
        && before.limits_of(name) == now.limits_of(name)
        && before.commands == now.commands
        && before.unconfined_commands == now.unconfined_commands
}

/// The keys that differ between two configurations and are used at the start only.
fn fixed_at_start(before: &Config, now: &Config) -> Vec<&'static str> {
    /// The keys whose values differ, each as its name and its field.
    macro_rules! differing {
        ($before:expr, $now:expr, $($key:literal: $field:ident,)+) => {
            [$(($key, $before.$field != $now.$field)),+]
        };
    }
    let http = differing!(before.http, now.http,
        "http.listen": listen,
        "http.metrics-listen": metrics_listen,
        "http.tls-cert": tls_cert,
        "http.tls-key": tls_key,
        "http.state-key-file": state_key_file,
        "http.legacy-sse": legacy_sse,
        "http.connections": connections,
        "http.sessions": sessions,
        "http.sessions-per-principal": sessions_per_principal,
        "http.session-idle-ms": session_idle_ms,
        "http.replay-bytes": replay_bytes,
        "http.requests-per-second": requests_per_second,
        "http.body-bytes": body_bytes,
    );
    let host = differing!(before.host, now.host,
        "host.audit-dir": audit_dir,
        "host.audit-bytes": audit_bytes,
        "host.audit-days": audit_days,
        "host.audit-copies": audit_copies,
        "host.cache-dir": cache_dir,
        "host.store-dir": store_dir,
        "host.lock-file": lock_file,
        "host.login-dir": login_dir,
        "host.telemetry": telemetry,
    );
    let all = differing!(before, now, "cluster": cluster,);
    http.into_iter()
        .chain(host)
        .chain(all)
        .filter(|(_, differs)| *differs)
        .map(|(key, _)| key)
        .collect()
}

/// The files, and the folders of files, whose changes are a reason to reload.
struct Watched {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Watched {
    /// The stamps now. They are taken on a thread that serves no client.
    async fn look(&self) -> FileStamps {
        let (files, folders) = (self.files.clone(), self.folders.clone());
        let look = move || {
            FileStamps::of(files.iter().map(PathBuf::as_path), folders.iter().map(PathBuf::as_path))
        };
        tokio::task::spawn_blocking(look).await.expect("looking at files does not panic")
    }
}

/// Waits until other hosts have replaced an approval.
async fn notified(replaced: Option<&Notify>) {
    match replaced {
        Some(replaced) => replaced.notified().await,
        None => std::future::pending().await,
    }
}

/// Waits until the approvals change from `before` while a plugin is refused or a tool is held back, which the new
/// approval may release. Other changes of the lock file are no reason to reload: the host itself approves at first use.
async fn approved(before: FileStamps, lock: &Watched, shared: &Shared) {
    let mut before = before;
    loop {
        wait_for_change(&before, CHECK_INTERVAL, async || lock.look().await).await;
        if shared.host.holds_back() {
            return;
        }
        before = lock.look().await;
    }
}
