//! From what was typed to a host: logging, configuration, roots, threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use portcullis_roots::{Root, Roots};

use super::{Command, Common, End, Plugin};
use crate::catalog::Catalog;
use crate::config::{self, Config, Folders};
use crate::mcp::Host;
use crate::plugins::Plugins;
use crate::sandbox::Sandbox;
use portcullis_audit::Audit;
use portcullis_records::Records;
use portcullis_wrap::{Summary, Upstreams};

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
}

impl Ready {
    fn new(common: &Common) -> Result<Self, String> {
        let folders = Folders::of_user()?;
        let (config, source) = config::load(common.config.as_deref(), &folders)?;
        let folders = config.host.over(folders);
        let roots = roots(common, &config)?;
        let audit = Audit::to_folder(folders.audit.clone());
        Ok(Self { config, source, folders, roots, audit })
    }

    /// What runs plugins.
    pub fn sandbox(&self) -> Arc<Sandbox> {
        let cache = self.folders.cache.clone();
        Arc::new(Sandbox::new(self.config.largest_memory(), cache, self.audit.clone()))
    }

    /// Loads every plugin.
    pub async fn plugins(&self) -> Plugins {
        let loading = Plugins::load(self.sandbox(), &self.config, &self.folders);
        patiently("loading the plugins: one that is new is compiled first", loading).await
    }

    /// A host that loads its plugins when they are first needed.
    pub fn host(&self) -> Result<Arc<Host>, String> {
        let (sandbox, config, folders) =
            (self.sandbox(), self.config.clone(), self.folders.clone());
        let load = async move {
            let plugins = Plugins::load(sandbox, &config, &folders).await;
            plugins.warn();
            Arc::new(plugins)
        };
        let dressed = Records::new(self.folders.cache.join("dressed"));
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

    /// Everything that clients can see.
    pub async fn catalog(&self) -> Result<Catalog, String> {
        let upstreams = self.upstreams()?;
        let catalog = Catalog::new(self.plugins().await.into(), upstreams.offered().await);
        upstreams.close().await;
        Ok(catalog)
    }
}

/// Runs a command that needs all of this.
pub(super) fn block_on(common: &Common, command: Command) -> Result<End, String> {
    super::log::begin(common.verbose, common.log_json);
    let ready = Ready::new(common)?;
    let audit = ready.audit.clone();
    // One thread speaks with clients: a message that goes from thread to thread costs more than most
    // calls do. Guests that take longer, and blocking work, have threads of their own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("starting threads: {error}"))?;
    let ended = runtime.block_on(async move {
        match command {
            Command::Serve(args) => args.run(ready).await,
            Command::Wrap(args) => args.run(ready).await,
            Command::Preview(args) => args.run(ready).await,
            Command::Call(args) => args.run(ready).await,
            Command::Tools { json } => super::list::tools(&ready, json).await,
            Command::Plugin(Plugin::List { json }) => super::list::plugins(&ready, json).await,
            Command::Plugin(Plugin::Approve { name }) => super::approve::run(&ready, &name).await,
            Command::Upstream(args) => args.run(ready).await,
            Command::Audit(args) => args.run(ready).await,
            Command::Check { json } => super::check::run(&ready, json).await,
            Command::Config(_) | Command::Ui5(_) | Command::Completions { .. } => {
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
fn roots(common: &Common, config: &Config) -> Result<Roots, String> {
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let mut roots = Vec::new();
    for path in config.roots.iter().chain(&common.roots) {
        let path = std::path::absolute(path).map_err(|error| error.to_string())?;
        let root = Root::open(&path).map_err(|error| no_root(&path, &error))?;
        roots.push(root);
    }
    // Only where the operator named none: it must not widen what was named.
    if let Some(path) = project.filter(|path| roots.is_empty() && path.is_absolute()) {
        match Root::open(&path) {
            Ok(root) => roots.push(root),
            Err(error) => tracing::warn!("CLAUDE_PROJECT_DIR: {}", no_root(&path, &error)),
        }
    }
    Ok(Roots::new(roots))
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
            anstream::eprintln!("{}", faint(&format!("{what} …")));
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
