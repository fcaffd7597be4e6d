//! Reloads the configuration and the plugins of a running server: on SIGHUP, and when one of their files changes.
//!
//! What cannot be used changes nothing, and the log says why. Calls in flight end as they began.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::config::{Config, HttpConfig};
use portcullis_core::host::Configured;
use portcullis_core::listing::Selections;
use portcullis_core::plugins::{Loader, Plugins, folders_of};
use portcullis_core::sandbox::{Origin, Sandbox};
use portcullis_http_server::Access;
use portcullis_mcp_server::mcp::Shared;
use portcullis_mcp_server::transport;

use super::context::CommandContext;
use super::file_stamps::FileStamps;
use super::serve_options::Options;
use super::{Common, log, signals};

/// How often the files are checked for changes. A change counts once two checks in turn find the same, so that a file
/// that is being copied is not read half.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Reloads the configuration of one server.
pub struct Reloader<'a> {
    common: &'a Common,
    /// The options of the command line, which override the configuration again.
    options: &'a Options,
    /// The configuration that is in force.
    context: CommandContext,
    sandbox: Arc<Sandbox>,
    shared: Arc<Shared>,
    /// Who may send requests. `None`: the server speaks stdio.
    access: Option<Access>,
    hangup: signals::Hangup,
    /// The stamps of the files when they were last read.
    stamps: FileStamps,
}

impl<'a> Reloader<'a> {
    /// A reloader for a server that `context` configures.
    pub fn new(
        common: &'a Common,
        options: &'a Options,
        context: CommandContext,
        sandbox: Arc<Sandbox>,
        shared: Arc<Shared>,
        access: Option<Access>,
        hangup: signals::Hangup,
    ) -> Self {
        let stamps = stamps(watched(&context, options, &shared));
        Self { common, options, context, sandbox, shared, access, hangup, stamps }
    }

    /// Reloads the configuration whenever there is a reason. Never ends.
    pub async fn follow(mut self) -> Infallible {
        loop {
            let reason = self.reason().await;
            // Read before the files are used: a change meanwhile is a reason for the next reload.
            self.stamps = self.stamps_now().await;
            match self.reload().await {
                Ok(()) => {
                    log::say(&format!("{reason}: the configuration and plugins were read again"))
                }
                Err(error) => {
                    let error = portcullis_sanitize::error_chain(error.as_ref());
                    tracing::error!(
                        "{reason}, but the configuration cannot be used, so the server goes on with the one \
                         that it has: {}",
                        portcullis_sanitize::visible(&error)
                    );
                }
            }
        }
    }

    /// Waits for a reason to reload. Returns the reason, for the log.
    async fn reason(&mut self) -> &'static str {
        let mut before = self.stamps.clone();
        loop {
            tokio::select! {
                () = self.hangup.received() => return "SIGHUP",
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
            let now = self.stamps_now().await;
            if now != self.stamps && now == before {
                return "a file has changed";
            }
            before = now;
        }
    }

    async fn stamps_now(&self) -> FileStamps {
        let watched = watched(&self.context, self.options, &self.shared);
        let looked = tokio::task::spawn_blocking(move || stamps(watched)).await;
        looked.unwrap_or_else(|_| self.stamps.clone())
    }

    /// Reads everything, and only then replaces what is in force.
    async fn reload(&mut self) -> anyhow::Result<()> {
        let mut context = self.context.read_again(self.common)?;
        self.options.override_config(&mut context.config)?;
        for key in fixed_at_start(&self.context.config, &context.config) {
            tracing::warn!("{key} has changed, which takes effect at the next start");
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
        if context.config.largest_limits() != self.context.config.largest_limits() {
            self.sandbox = context.sandbox();
        }
        let before = self.shared.host.configured();
        let upstreams = context.upstreams_after(Some(&before.upstreams))?;
        let plugins = self.load(&context, &before).await;
        if let (Some(access), Some(rules)) = (&self.access, rules) {
            access.replace(rules).context("the section [http]")?;
        }
        let configured =
            Configured::with_loaded(context.roots.clone(), upstreams, context.views(), plugins);
        self.shared.replace(configured, selections);
        self.context = context;
        Ok(())
    }

    /// Loads the plugins. A plugin whose new file cannot be used, and whose section of the configuration is the same,
    /// goes on with the code that it has.
    async fn load(&self, context: &CommandContext, before: &Configured) -> Plugins {
        let config = context.config.clone().for_clients();
        let mut loader = Loader::begin(self.sandbox.clone(), &config, &context.folders).await;
        while loader.next().await {}
        let mut plugins = loader.so_far();
        plugins.warn();
        let Some(known) = before.plugins_now() else { return plugins };
        let before = &self.context.config;
        for refused in &plugins.refused {
            let (Origin::File(_), name) = (&refused.origin, &refused.name) else { continue };
            let is_same = |known: &&Arc<portcullis_core::plugins::LoadedPlugin>| {
                *known.plugin.name == **name
                    && refused.digest.as_deref() != Some(&known.plugin.digest)
            };
            let Some(known) = known.loaded.iter().find(is_same) else { continue };
            if is_same_section(before, &context.config, name) {
                tracing::warn!("plugin `{name}` goes on with the code that was approved before");
                plugins.loaded.push(known.clone());
            }
        }
        plugins
    }
}

/// The names of the profiles, which are paths over HTTP.
pub fn profiles(selections: &Selections) -> std::collections::BTreeSet<String> {
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
    fn folders(config: &Config) -> [Option<&PathBuf>; 5] {
        let host = &config.host;
        [&host.audit_dir, &host.cache_dir, &host.store_dir, &host.lock_file, &host.login_dir]
            .map(Option::as_ref)
    }
    type Key<'a> = (&'static str, &'a dyn Fn(&HttpConfig) -> String);
    let keys: [Key<'_>; 9] = [
        ("`http.listen`", &|http| format!("{:?}", (http.listen, http.metrics_listen))),
        ("`http.tls-cert`", &|http| format!("{:?}", (&http.tls_cert, &http.tls_key))),
        ("`http.state-key-file`", &|http| format!("{:?}", http.state_key_file)),
        ("`http.legacy-sse`", &|http| format!("{:?}", http.legacy_sse)),
        ("`http.connections`", &|http| format!("{:?}", http.connections)),
        ("`http.sessions`", &|http| format!("{:?}", (http.sessions, http.sessions_per_principal))),
        ("`http.session-idle-ms`", &|http| {
            format!("{:?}", (http.session_idle_ms, http.replay_bytes))
        }),
        ("`http.requests-per-second`", &|http| format!("{:?}", http.requests_per_second)),
        ("`http.body-bytes`", &|http| format!("{:?}", http.body_bytes)),
    ];
    let http = keys.iter().filter(|(_, value)| value(&before.http) != value(&now.http));
    let mut changed: Vec<_> = http.map(|(key, _)| *key).collect();
    if folders(before) != folders(now) {
        changed.push("a folder of `[host]`");
    }
    let audit = |config: &Config| {
        let host = &config.host;
        (host.audit_bytes, host.audit_days, host.audit_copies.clone())
    };
    if audit(before) != audit(now) {
        changed.push("a key of the audit in `[host]`");
    }
    if before.host.telemetry != now.host.telemetry {
        changed.push("`host.telemetry`");
    }
    changed
}

/// The files and folders whose changes are a reason to reload.
struct Watched {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

fn watched(context: &CommandContext, options: &Options, shared: &Shared) -> Watched {
    let mut files: Vec<PathBuf> = context.config.secret_files().collect();
    files.extend(options.secret_files().map(|(_, file)| file.to_owned()));
    files.extend(context.config_file.clone());
    // The host itself approves at first use, so the approvals matter only while something is held back.
    if shared.host.holds_back() {
        files.push(context.folders.lock.clone());
    }
    let folders = folders_of(&context.config, &context.folders);
    Watched { files, folders: folders.into_iter().map(ToOwned::to_owned).collect() }
}

fn stamps(watched: Watched) -> FileStamps {
    let Watched { files, folders } = watched;
    FileStamps::of(files.iter().map(PathBuf::as_path), folders.iter().map(PathBuf::as_path))
}
