//! The configuration, folders, roots and audit that the commands share.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_mcp_client::Memory;
use portcullis_mcp_server::mcp::{Shared, StateKeys};
use portcullis_roots::{HostFile, HostFiles, InvalidRoot, Root, Roots};

use super::Common;
use portcullis_audit::Audit;
use portcullis_checked_files::{Records, SealKey};
use portcullis_cluster_state::ClusterState;
use portcullis_core::catalog::Catalog;
use portcullis_core::config::{self, Config, Folders};
use portcullis_core::host::{Configured, Host};
use portcullis_core::listing::Selections;
use portcullis_core::lock::Lock;
use portcullis_core::plugins::{Loader, Plugins};
use portcullis_core::sandbox::Sandbox;
use portcullis_core::upstreams::{Summary, Upstreams};

/// The configuration, folders, roots and audit that commands work with.
pub struct CommandContext {
    /// The operator's configuration.
    pub config: Config,
    /// The configuration file, if there is one.
    pub source: Option<PathBuf>,
    /// Where the configuration file is, or would be. `None`: this context has no file.
    pub config_file: Option<PathBuf>,
    /// The folders for files of the host: those that the configuration names, and the user's for the rest. In a context
    /// for trying a plugin, temporary folders.
    pub folders: Folders,
    /// The operator's roots.
    pub roots: Roots,
    /// The audit, in which calls are recorded.
    pub audit: Audit,
    /// The lock file.
    pub lock: Lock,
    /// The folder of compiled code.
    code: PathBuf,
    /// The host's key. It seals files in the cache folder and compiled code, and the state between two rounds if there
    /// is no key file.
    key: SealKey,
    /// The state that this host shares with others. `None`: it shares none.
    pub cluster: Option<ClusterState>,
}

/// Who uses the tools of a catalog.
#[derive(Clone, Copy)]
pub enum Audience {
    /// The commands of this program: also plugins that are for the command line only.
    CommandLine,
    /// MCP clients.
    Clients,
}

/// The configuration as it was read, before anything is opened.
pub struct ReadConfig {
    /// The operator's configuration.
    pub config: Config,
    /// The configuration file, if there is one.
    source: Option<PathBuf>,
    /// The user's folders.
    pub folders: Folders,
}

impl ReadConfig {
    /// Reads the configuration. Logs nothing: the log may depend on the configuration.
    ///
    /// # Errors
    ///
    /// The configuration is invalid or cannot be read.
    pub fn new(common: &Common) -> anyhow::Result<Self> {
        let folders = Folders::of_user()?;
        let (mut config, source) = config::load(common.config.as_deref(), &folders)?;
        if common.locked {
            config.host.locked = Some(true);
        }
        Ok(Self { config, source, folders })
    }
}

impl CommandContext {
    /// Opens the roots and the audit, and completes or undoes file transactions of killed processes.
    ///
    /// # Errors
    ///
    /// A root cannot be opened, or the keys or the password of the cluster's state cannot be read.
    pub fn new(common: &Common, read: ReadConfig) -> anyhow::Result<Self> {
        let ReadConfig { config, source, folders } = read;
        let user_folders = folders.clone();
        let config_file = source.clone().or_else(|| Some(folders.config.clone()));
        let folders = config.host.over(folders);
        let own = host_files(&user_folders, &folders, &config, source.as_deref());
        let roots = open_roots(common, &config, own)?;
        let audit = open_audit(&config, &folders);
        for remark in portcullis_file_transaction::recover(&folders.journals) {
            tracing::warn!("{remark}");
        }
        let (code, key) = (folders.cache.clone(), SealKey::at(folders.key.clone()));
        let lock = Lock::at(folders.lock.clone());
        let cluster = super::cluster::state(&config)?;
        Ok(Self { config, source, config_file, folders, roots, audit, lock, code, key, cluster })
    }

    /// A context for the configuration as it is now, with the host's folders, the audit and the cluster of this context.
    ///
    /// # Errors
    ///
    /// The configuration is invalid or cannot be read, or a root cannot be opened.
    pub fn read_again(&self, common: &Common) -> anyhow::Result<Self> {
        let ReadConfig { config, source, folders: user_folders } = ReadConfig::new(common)?;
        let own = host_files(&user_folders, &self.folders, &config, source.as_deref());
        let roots = open_roots(common, &config, own)?;
        Ok(Self {
            config,
            source,
            config_file: self.config_file.clone(),
            folders: self.folders.clone(),
            roots,
            audit: self.audit.clone(),
            lock: self.lock.clone(),
            code: self.code.clone(),
            key: self.key.clone(),
            cluster: self.cluster.clone(),
        })
    }

    /// A context for trying a plugin: all state is in `folders`, apart from compiled code, which the user's cache keeps.
    ///
    /// # Errors
    ///
    /// A root cannot be opened.
    pub fn apart(
        config: Config,
        folders: Folders,
        roots: &[PathBuf],
        user: &Folders,
    ) -> anyhow::Result<Self> {
        let own = [&folders.store, &folders.audit, &folders.cache, &folders.plugins];
        let own = HostFiles::new(own.into_iter().map(|folder| HostFile::folder(folder.clone())));
        let open = |root: &PathBuf| open_root(root, &own, "name an existing folder");
        let roots = roots.iter().map(open).collect::<Result<_, _>>()?;
        let roots = Roots::new(roots, own);
        let audit = Audit::with(folders.audit.clone(), config.host.audit_limits());
        let (code, key) = (user.cache.clone(), SealKey::at(user.key.clone()));
        let lock = Lock::at(folders.lock.clone());
        let (source, config_file, cluster) = (None, None, None);
        Ok(Self { config, source, config_file, folders, roots, audit, lock, code, key, cluster })
    }

    /// A new sandbox, which runs plugins.
    pub fn sandbox(&self) -> Arc<Sandbox> {
        let (code, key) = (self.code.clone(), self.key.clone());
        let sandbox = Sandbox::new(self.config.largest_limits(), code, key, self.audit.clone());
        Arc::new(sandbox.sharing(self.cluster.clone()))
    }

    /// Loads every plugin.
    pub async fn plugins(&self) -> Plugins {
        self.load_plugins(&self.config).await
    }

    async fn load_plugins(&self, config: &Config) -> Plugins {
        let loading = Plugins::load(self.sandbox(), config, &self.folders, self.lock.clone());
        report_if_slow("loading the plugins (new ones are compiled first)", loading).await
    }

    /// A host that loads its plugins into `sandbox` when they are first needed.
    pub fn host(&self, sandbox: Arc<Sandbox>) -> anyhow::Result<Arc<Host>> {
        let config = self.config.clone().for_clients();
        let (folders, lock) = (self.folders.clone(), self.lock.clone());
        let load = move || async move { Loader::begin(sandbox, &config, &folders, lock).await };
        let upstreams = self.upstreams()?;
        Ok(Host::new(Configured::new(self.roots.clone(), upstreams, self.views(), load)))
    }

    /// The views that plugins declared.
    pub fn views(&self) -> Records {
        Records::sealed(self.folders.cache.join("views"), self.key.clone())
    }

    /// The state that all MCP sessions of a host share. `key_file` contains the keys that this host shares with other
    /// hosts behind the same address.
    ///
    /// # Errors
    ///
    /// The key file cannot be used.
    pub fn shared(
        &self,
        host: Arc<Host>,
        selections: Selections,
        key_file: Option<&Path>,
    ) -> anyhow::Result<Arc<Shared>> {
        let journals = Records::sealed(self.folders.cache.join("runs"), self.key.clone());
        let keys = match key_file {
            Some(file) => StateKeys::in_file(file)?,
            None => StateKeys::of_host(&self.key),
        };
        Ok(Shared::new(host, selections, &keys, journals, self.cluster.clone()))
    }

    /// The upstream servers. No server is started or reached before its first use.
    pub fn upstreams(&self) -> anyhow::Result<Upstreams> {
        self.upstreams_after(None)
    }

    /// The upstream servers after a reload of the configuration. A server of `previous` whose section is the same keeps
    /// its connections.
    pub fn upstreams_after(&self, previous: Option<&Upstreams>) -> anyhow::Result<Upstreams> {
        let (lock, logins) = (self.lock.clone(), self.folders.logins.clone());
        let upstreams = self.config.upstreams.iter();
        let is_locked = self.config.host.locked == Some(true);
        let memory = Records::sealed(self.folders.cache.join("upstreams"), self.key.clone());
        let memory = Memory::new(memory);
        let audit = self.audit.clone();
        Ok(Upstreams::new(upstreams, lock, logins, memory, is_locked, audit, previous)?)
    }

    /// The catalog, and the state of each upstream server.
    pub async fn overview(&self) -> anyhow::Result<(Catalog, Vec<Summary>)> {
        let upstreams = self.upstreams()?;
        let asking = report_if_slow("asking the upstream servers", upstreams.fetched_offers());
        let (plugins, offers) = tokio::join!(self.plugins(), asking);
        let catalog = Catalog::new(plugins.into(), offers, &upstreams.lock).await;
        let summaries = upstreams.summaries().await;
        upstreams.close().await;
        Ok((catalog, summaries))
    }

    /// A loader that has loaded the bundled plugins.
    pub async fn loader(&self) -> Loader {
        Loader::begin(self.sandbox(), &self.config, &self.folders, self.lock.clone()).await
    }

    /// The catalog of the plugins that `audience` may use, and of the upstream servers that could be listed.
    pub async fn catalog(&self, audience: Audience) -> anyhow::Result<Catalog> {
        let upstreams = self.upstreams()?;
        let starting = report_if_slow("starting servers for the first time", upstreams.settled());
        let config = match audience {
            Audience::CommandLine => Cow::Borrowed(&self.config),
            Audience::Clients => Cow::Owned(self.config.clone().for_clients()),
        };
        let (plugins, ()) = tokio::join!(self.load_plugins(&config), starting);
        let offers = upstreams.known_offers().await;
        let catalog = Catalog::new(plugins.into(), offers, &upstreams.lock).await;
        upstreams.close().await;
        Ok(catalog)
    }
}

/// The audit, with copies to the configured log services. Logs a warning for each log service that cannot be used.
fn open_audit(config: &Config, folders: &Folders) -> Audit {
    let audit = Audit::with(folders.audit.clone(), config.host.audit_limits());
    for service in &config.host.audit_copies {
        if let Err(error) = audit.copy_to(*service) {
            tracing::warn!("`host.audit-copies`: {service:?}: {error}");
        }
    }
    audit
}

/// The roots of `--root` and of the configuration. If neither names a root, the folder in `CLAUDE_PROJECT_DIR` is the
/// root.
#[expect(clippy::disallowed_methods, reason = "some clients name the open folder this way")]
fn open_roots(common: &Common, config: &Config, own: HostFiles) -> anyhow::Result<Roots> {
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let mut roots = Vec::new();
    let in_config = "create the folder, or correct `roots` in portcullis.toml";
    let in_options = "create the folder, or pass an existing one with --root";
    let configured = config.roots.iter().map(|path| (path, in_config));
    for (path, hint) in configured.chain(common.roots.iter().map(|path| (path, in_options))) {
        let path = std::path::absolute(path)?;
        let root = open_root(&path, &own, hint)?;
        if root.is_everything() {
            tracing::warn!(
                "the root {} is the whole machine: plugins can be granted every file on it, except those \
                 of Portcullis itself and of the kernel\n  hint: name a folder instead",
                path.display()
            );
        }
        roots.push(root);
    }
    // The variable counts only if the operator named no roots: a client must not widen the operator's roots.
    if let Some(path) = project.filter(|path| roots.is_empty() && path.is_absolute()) {
        match Root::open(&path, &own) {
            Ok(root) if root.is_everything() => {
                tracing::warn!(
                    "CLAUDE_PROJECT_DIR {}: {}",
                    path.display(),
                    InvalidRoot::Everything
                );
            }
            Ok(root) => roots.push(root),
            Err(error) => tracing::warn!("CLAUDE_PROJECT_DIR: {}: {error}", no_root(&path)),
        }
    }
    Ok(Roots::new(roots, own))
}

/// The host's own files. No call can access them, whatever the roots are. The one exception: confined programs can read
/// the folders in `plugin-dirs`.
#[expect(clippy::disallowed_methods, reason = "the binary that runs is one of these files")]
fn host_files(
    user_folders: &Folders,
    folders: &Folders,
    config: &Config,
    source: Option<&Path>,
) -> HostFiles {
    let mut own: Vec<HostFile> = user_folders.own().into_iter().map(HostFile::folder).collect();
    let plugins = config.host.plugin_dirs.iter().flatten().cloned();
    own.extend(plugins.map(|folder| HostFile::folder(folder).public()));
    let other_folders = [&folders.store, &folders.logins, &folders.cache, &folders.audit];
    own.extend(other_folders.map(|folder| HostFile::folder(folder.clone())));
    own.push(HostFile::series(folders.lock.clone()));
    own.extend(source.map(|file| HostFile::file(file.to_owned())));
    // A plugin that could replace a key could make its own signatures valid.
    let keys = config.plugin_sources.values().filter_map(|source| source.key.clone());
    own.extend(keys.map(HostFile::file));
    own.extend(config.secret_files().map(|file| HostFile::file(file).secret()));
    let warn_unprotected = |error: &std::io::Error| {
        tracing::warn!("a file of portcullis is not protected from plugins: {error}");
    };
    own.extend(std::env::current_exe().inspect_err(warn_unprotected).map(HostFile::file));
    // The meaning of a relative path would change with the working directory.
    let absolute =
        own.into_iter().filter_map(|file| file.absolute().inspect_err(warn_unprotected).ok());
    HostFiles::new(absolute)
}

/// A root that the operator named cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{fault}\n  hint: {hint}")]
pub struct UnopenedRoot {
    /// Which root it is, and why it cannot be opened.
    pub fault: String,
    /// What to do.
    pub hint: &'static str,
}

fn open_root(path: &Path, own: &HostFiles, hint: &'static str) -> Result<Root, UnopenedRoot> {
    Root::open(path, own).map_err(|error| {
        let cause = portcullis_sanitize::error_chain(&error);
        UnopenedRoot { fault: format!("{}: {cause}", no_root(path)), hint }
    })
}

fn no_root(path: &Path) -> String {
    format!("the root {} cannot be opened", path.display())
}

/// Waits for some work. Names the work on stderr if it takes longer than a second.
pub async fn report_if_slow<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    match tokio::time::timeout(std::time::Duration::from_secs(1), &mut work).await {
        Ok(done) => done,
        Err(_) => {
            let what = portcullis_sanitize::visible_line(what, 200);
            super::log::note(&format!("{what} …"));
            work.await
        }
    }
}
