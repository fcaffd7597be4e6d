//! `portcullis dev`: builds a plugin whenever its sources change, runs its cases, and serves it for trying.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::config::{Config, ConfigFile, Folders};
use portcullis_core::families::VIEW_PLUGIN;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::context::{CommandContext, ReadConfig};
use super::dev_project::Project;
use super::file_stamps::{FileStamps, wait_for_change};
use super::preview::Preview;
use super::style::{green, red};
use super::test::{plugin_name, test};
use super::trial::{Tested, folders};
use super::trial_text::summary;
use super::{CommandEnd, Common, log, print, signals, start};

/// The end of the help.
const ABOUT: &str = "\
The project is built, its cases in the folder `cases` run, and its tools are served: as forms and views on a page of this \
machine, and for MCP clients at `/mcp` of the same address. The terminal shows what the plugin logs, and what is \
denied to it, with the lines of portcullis.toml that would allow it. All this happens again after each change of a file.

Grants are read from your portcullis.toml, or from the file that --config names. Approvals, the audit and what the plugin \
stores are temporary. The tools may access the folders of --root or, without --root, the folder of the project.";

/// How often the files are checked for changes.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Arguments of `dev`.
#[derive(clap::Args)]
// clap names a group after its struct, and other structs have this name.
#[group(skip)]
#[command(after_help = ABOUT)]
pub struct Args {
    /// The folder of the plugin's project
    #[arg(value_name = "PROJECT", default_value = ".")]
    project: PathBuf,
    /// The command that builds the component. It is split at spaces, and no shell runs it. Default: the one for the
    /// Cargo.toml, package.json or build.sh of the project
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,
    /// The component that the build makes, by its path in the project. Default: the newest *.wasm
    #[arg(long, value_name = "PLUGIN.wasm")]
    component: Option<PathBuf>,
    /// Port on 127.0.0.1; 0 selects a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Build and run the cases once, and serve nothing
    #[arg(long)]
    once: bool,
}

impl Args {
    pub(super) fn run(self, common: &Common) -> anyhow::Result<CommandEnd> {
        log::begin(common.verbose, common.log_json, None);
        start::alone(async {
            signals::survive_file_limits()?;
            let component = self.component.clone();
            let project = Project::open(&self.project, self.build.as_deref(), component)?;
            let place = tempfile::tempdir().context("creating a temporary folder")?;
            let config_file = config_file(common);
            let mut session = DevSession { common, project, place, plugin: None, config_file };
            if self.once {
                let is_well = session.build().await?;
                return Ok(if is_well { CommandEnd::Done } else { CommandEnd::Failed });
            }
            let preview = Preview::bind(self.port, None).await?;
            let stop = CancellationToken::new();
            signals::listen(stop.clone(), signals::OnHangup::Stop)?;
            session.serve(&preview, &stop).await?;
            Ok(CommandEnd::Done)
        })
    }
}

/// The project of a plugin under development, with the state of the host that serves the plugin.
struct DevSession<'a> {
    common: &'a Common,
    project: Project,
    /// The state of the host, and a copy of the component.
    place: TempDir,
    /// The name of the plugin, once it was built.
    plugin: Option<String>,
    /// The configuration file, which is watched.
    config_file: Option<PathBuf>,
}

impl DevSession<'_> {
    /// Builds and serves until `stop` is cancelled.
    async fn serve(&mut self, preview: &Preview, stop: &CancellationToken) -> anyhow::Result<()> {
        while !stop.is_cancelled() {
            let mut before = self.stamps();
            let is_unbuilt = self.project.is_unbuilt();
            match stop.run_until_cancelled(self.build()).await {
                None => return Ok(()),
                Some(Ok(_)) => {}
                // The session goes on, because the next change may mend the error.
                Some(Err(error)) => say_error(&error),
            }
            if is_unbuilt {
                before = self.stamps();
            }
            let context = self.context().unwrap_or_else(|error| {
                say_error(&error);
                None
            });
            let changed = wait_for_change(&before, CHECK_INTERVAL, async || self.stamps());
            let ends = async {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = changed => log::say("a file has changed"),
                }
            };
            match &context {
                Some(context) => {
                    let address = preview.address;
                    log::say(&format!(
                        "serving at http://{address}/, and MCP at http://{address}/mcp"
                    ));
                    preview.serve(context, ends).await?;
                }
                None => ends.await,
            }
        }
        Ok(())
    }

    /// Builds the component, runs its cases and installs it for serving. `false`: the build or a case has failed.
    async fn build(&mut self) -> anyhow::Result<bool> {
        log::say(&format!("building: {}", self.project.command()));
        let Some(component) = self.project.build().await? else {
            log::say(&red("the build has failed"));
            return Ok(false);
        };
        log::say(&format!("{} {}", green("built"), component.display()));
        let plugin = plugin_name(&component)?;
        self.install(&component, &plugin)?;
        self.plugin = Some(plugin);
        let cases = self.project.folder().join("cases");
        if !cases.is_dir() {
            return Ok(true);
        }
        let all = test(&component, &cases, true).await?;
        let passed = all.iter().filter(|one: &&Tested| one.has_passed()).count();
        print(&summary(passed, all.len() - passed))?;
        Ok(passed == all.len())
    }

    /// Copies the component to where plugins are loaded from. A component with a former name is removed.
    #[expect(clippy::disallowed_methods, reason = "the place is a folder of this process")]
    fn install(&self, component: &Path, plugin: &str) -> anyhow::Result<()> {
        let plugins = self.place.path().join("plugins");
        if let Some(former) = self.plugin.as_ref().filter(|former| *former != plugin) {
            let former = plugins.join(format!("{former}.wasm"));
            std::fs::remove_file(former).context("removing the component with the former name")?;
        }
        std::fs::create_dir_all(&plugins).context("creating a temporary folder")?;
        std::fs::copy(component, plugins.join(format!("{plugin}.wasm")))
            .with_context(|| format!("reading {}", component.display()))?;
        Ok(())
    }

    /// The context in which the plugin is served. `None`: nothing was built yet.
    fn context(&self) -> anyhow::Result<Option<CommandContext>> {
        if self.plugin.is_none() {
            return Ok(None);
        }
        let ReadConfig { mut config, folders: user, .. } = ReadConfig::new(self.common)?;
        self.limit_to_plugin(&mut config);
        let roots = match self.common.roots.as_slice() {
            [] => vec![self.project.folder().to_owned()],
            named => named.to_vec(),
        };
        let state = folders(self.place.path());
        CommandContext::apart(config, state, &roots, &user).map(Some)
    }

    /// Leaves out the upstream servers and the bundled plugins, except the plugin that makes views. A changed component
    /// needs no new approval.
    fn limit_to_plugin(&self, config: &mut Config) {
        config.host.plugin_dirs = Some(vec![self.place.path().join("plugins")]);
        config.host.follow_changes = Some(true);
        config.host.locked = None;
        config.upstreams.clear();
        for (name, plugin) in &mut config.plugins {
            if Some(name.as_str()) != VIEW_PLUGIN && portcullis_core::plugins::is_bundled(name) {
                plugin.enabled = Some(false);
            }
        }
    }

    /// The stamps of the sources, the cases and the configuration.
    fn stamps(&self) -> FileStamps {
        self.project.stamps(self.config_file.as_deref())
    }
}

fn say_error(error: &anyhow::Error) {
    let error = portcullis_sanitize::error_chain(error.as_ref());
    log::fail(&portcullis_sanitize::visible(&error));
}

/// Where the configuration file is, or would be.
fn config_file(common: &Common) -> Option<PathBuf> {
    let user = Folders::of_user().ok()?;
    let found = ConfigFile::read(common.config.as_deref(), &user).map(|file| file.path);
    found.ok().or_else(|| common.config.clone())
}
