//! From what was typed to a host: logging, configuration, roots, threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use portcullis_roots::{HostFile, HostFiles, NoRoot, Root, Roots};

use super::{Command, Common, End, Plugin};
use portcullis_audit::Audit;
use portcullis_checked_files::{Records, SealKey};
use portcullis_core::catalog::Catalog;
use portcullis_core::config::{self, Config, Folders};
use portcullis_core::host::Host;
use portcullis_core::plugins::{Loader, Plugins};
use portcullis_core::sandbox::Sandbox;
use portcullis_core::upstreams::{Summary, Upstreams};

/// Everything a command works with.
pub struct Ready {
    /// What the operator says.
    pub config: Config,
    /// Its file, if there is one.
    pub source: Option<PathBuf>,
    /// Where this user's files go.
    pub folders: Folders,
    /// The operator's roots.
    pub roots: Roots,
    /// The folder that calls are recorded in.
    pub audit: Audit,
    /// What is kept in the cache is sealed with it.
    key: SealKey,
}

impl Ready {
    fn new(common: &Common) -> Result<Self, String> {
        let folders = Folders::of_user()?;
        let (config, source) = config::load(common.config.as_deref(), &folders)
            .map_err(|error| portcullis_sanitize::error_chain(&error))?;
        let by_custom = folders.clone();
        let folders = config.host.over(folders);
        let own = own_files(&by_custom, &folders, &config, source.as_deref());
        let roots = roots(common, &config, own)?;
        let audit = Audit::to_folder(folders.audit.clone());
        for remark in portcullis_file_transaction::recover(&folders.journals) {
            tracing::warn!("{remark}");
        }
        let key = SealKey::at(folders.key.clone());
        Ok(Self { config, source, folders, roots, audit, key })
    }

    /// What runs plugins.
    pub fn sandbox(&self) -> Arc<Sandbox> {
        let (cache, key) = (self.folders.cache.clone(), self.key.clone());
        Arc::new(Sandbox::new(self.config.largest_memory(), cache, key, self.audit.clone()))
    }

    /// Loads every plugin.
    pub async fn plugins(&self) -> Plugins {
        let loading = Plugins::load(self.sandbox(), &self.config, &self.folders);
        patiently("loading the plugins: one that is new is compiled first", loading).await
    }

    /// A host that loads its plugins when they are first needed.
    pub fn host(&self) -> Result<Arc<Host>, String> {
        let config = self.config.clone().for_clients();
        let (sandbox, folders) = (self.sandbox(), self.folders.clone());
        let load = move || async move { Loader::begin(sandbox, &config, &folders).await };
        let dressed = Records::sealed(self.folders.cache.join("dressed"), self.key.clone());
        Ok(Host::new(self.roots.clone(), self.upstreams()?, dressed, load))
    }

    /// Other MCP servers.
    pub fn upstreams(&self) -> Result<Upstreams, String> {
        let Folders { lock, logins, .. } = self.folders.clone();
        Upstreams::new(self.config.upstreams.iter(), lock, logins, self.audit.clone())
    }

    /// How each of them is; they are started for it, and ended.
    pub async fn others(&self) -> Result<Vec<Summary>, String> {
        let upstreams = self.upstreams()?;
        let all = patiently("asking other servers", upstreams.summaries()).await;
        upstreams.close().await;
        Ok(all)
    }

    /// Everything that clients can see, and how other servers are.
    pub async fn overview(&self) -> Result<(Catalog, Vec<Summary>), String> {
        let upstreams = self.upstreams()?;
        let asked = patiently("asking other servers", upstreams.offered());
        let (plugins, others) = tokio::join!(self.plugins(), asked);
        let catalog = Catalog::new(plugins.into(), others, &upstreams.lock).await;
        let summaries = upstreams.summaries().await;
        upstreams.close().await;
        Ok((catalog, summaries))
    }

    /// A loader of the plugins; what is bundled is loaded.
    pub async fn loader(&self) -> Loader {
        Loader::begin(self.sandbox(), &self.config, &self.folders).await
    }

    /// Everything that clients can see.
    pub async fn catalog(&self) -> Result<Catalog, String> {
        let upstreams = self.upstreams()?;
        let (plugins, others) = tokio::join!(self.plugins(), upstreams.offered());
        let catalog = Catalog::new(plugins.into(), others, &upstreams.lock).await;
        upstreams.close().await;
        Ok(catalog)
    }
}

/// Runs a command that needs all of this.
pub(super) fn block_on(common: &Common, command: Command) -> Result<End, String> {
    super::log::begin(common.verbose, common.log_json);
    let ready = Ready::new(common)?;
    // `check` and `audit` show them among what they found.
    if !matches!(command, Command::Check { .. } | Command::Audit(_)) {
        for warning in super::safety::warnings(&ready) {
            tracing::warn!("{warning}");
        }
    }
    let audit = ready.audit.clone();
    // One thread speaks with clients: a message that goes from thread to thread costs more than most
    // calls do. Guests that take longer, and blocking work, have threads of their own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("starting threads: {error}"))?;
    let ended = runtime.block_on(async move {
        super::signals::survive_file_limits()?;
        match command {
            Command::Serve(args) => args.run(ready).await,
            Command::Wrap(args) => args.run(ready).await,
            Command::Preview(args) => args.run(ready).await,
            Command::Call(args) => args.run(ready).await,
            Command::Tools { json } => super::list::tools(&ready, json).await,
            Command::Plugin(Plugin::List { json }) => super::list::plugins(&ready, json).await,
            Command::Plugin(Plugin::Approve { name, server, variables }) => {
                super::approve::run(ready, &name, &server, &variables).await
            }
            Command::Upstream(args) => args.run(ready).await,
            Command::Audit(args) => args.run(ready).await,
            Command::Check { json } => super::check::run(&ready, json).await,
            Command::Config(_) | Command::Completions { .. } => {
                unreachable!("it needs no host")
            }
        }
    });
    // A thread may be in the middle of a read that nobody waits for any more.
    runtime.shutdown_background();
    if let Err(error) = audit.end() {
        tracing::error!("the audit of this process could not be sealed: {error}");
    }
    ended
}

/// Roots from `--root` and the configuration, and from clients that say it in the environment.
#[expect(clippy::disallowed_methods, reason = "some clients name the open folder this way")]
fn roots(common: &Common, config: &Config, own: HostFiles) -> Result<Roots, String> {
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let mut roots = Vec::new();
    for path in config.roots.iter().chain(&common.roots) {
        let path = std::path::absolute(path).map_err(|error| error.to_string())?;
        let root = Root::open(&path, &own).map_err(|error| no_root(&path, &error))?;
        if root.is_everything() {
            tracing::warn!(
                "the root {} is the whole machine: plugins may be granted every file on it, but for \
                 those of portcullis itself and of the kernel; name a folder instead",
                path.display()
            );
        }
        roots.push(root);
    }
    // Only where the operator named none: it must not widen what was named.
    if let Some(path) = project.filter(|path| roots.is_empty() && path.is_absolute()) {
        match Root::open(&path, &own) {
            Ok(root) if root.is_everything() => {
                tracing::warn!("CLAUDE_PROJECT_DIR {}: {}", path.display(), NoRoot::Everything);
            }
            Ok(root) => roots.push(root),
            Err(error) => tracing::warn!("CLAUDE_PROJECT_DIR: {}", no_root(&path, &error)),
        }
    }
    Ok(Roots::new(roots, own))
}

/// What belongs to the host: no call reaches it, whatever the roots are.
#[expect(clippy::disallowed_methods, reason = "the binary that runs is one of these files")]
fn own_files(
    by_custom: &Folders,
    folders: &Folders,
    config: &Config,
    source: Option<&Path>,
) -> HostFiles {
    let mut own: Vec<HostFile> = by_custom.own().into_iter().map(HostFile::folder).collect();
    let plugins = config.host.plugin_dirs.iter().flatten().cloned();
    own.extend(plugins.map(|folder| HostFile::folder(folder).public()));
    let kept = [&folders.store, &folders.logins, &folders.cache, &folders.audit];
    own.extend(kept.map(|folder| HostFile::folder(folder.clone())));
    own.push(HostFile::series(folders.lock.clone()));
    own.extend(source.map(|file| HostFile::file(file.to_owned())));
    own.extend(config.secret_files().map(|file| HostFile::file(file).secret()));
    own.extend(std::env::current_exe().map(HostFile::file));
    // What a path of the working directory means would change with it.
    let absolute = own.into_iter().filter_map(HostFile::absolute);
    HostFiles::new(absolute)
}

fn no_root(path: &Path, error: &std::io::Error) -> String {
    format!("the root {} cannot be opened: {error}", path.display())
}

/// Waits for something, and says on stderr what for if it takes longer than a second.
pub async fn patiently<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    match tokio::time::timeout(std::time::Duration::from_secs(1), &mut work).await {
        Ok(done) => done,
        Err(_) => {
            let what = portcullis_sanitize::visible_line(what, 200);
            super::log::whisper(&format!("{what} …"));
            work.await
        }
    }
}

fn coloured(text: &str, colour: AnsiColor) -> String {
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{text}{style:#}")
}

/// Text for something wrong; plain where it is not shown on a terminal.
pub fn red(text: &str) -> String {
    coloured(text, AnsiColor::Red)
}

/// Text for something right; plain where it is not shown on a terminal.
pub fn green(text: &str) -> String {
    coloured(text, AnsiColor::Green)
}

/// Text that matters less; plain where it is not shown on a terminal.
pub fn faint(text: &str) -> String {
    let style = Style::new().dimmed();
    format!("{style}{text}{style:#}")
}
