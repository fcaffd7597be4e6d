//! The plugins: bundled or found in a folder, loaded or refused.

mod admission;
mod approve;
pub mod description;
mod hints;
pub mod inspect;
mod install;
mod load;
mod open;
mod unused;

use std::sync::{Arc, OnceLock};

use crate::bindings::{Manifest, Tool as Definition};
use crate::capabilities::Capability;
use crate::capabilities::files::Scope;
use crate::config::{Config, Folders};
use crate::gate::Policy;
use crate::lock::Lock;
use crate::sandbox::{ComponentInfo, Feature, Import, Origin, Plugin, Sandbox};
use crate::schema::{Schema, SchemaError};

pub use approve::{ApprovalError, Review, review};
pub use install::{InstallError, Installation, PlaceOf, place_of, uninstall};
pub use load::Loader;
pub use open::folders_of;
pub use unused::{UnusedGrant, UnusedReason, Uses, unused_grants};

mod bundled {
    use portcullis_engine::code::PageAligned;

    /// A plugin that is part of the binary.
    pub struct Bundled {
        pub name: &'static str,
        pub digest: &'static str,
        pub code: &'static PageAligned<[u8]>,
    }

    include!(concat!(env!("OUT_DIR"), "/bundled.rs"));
}

/// A plugin whose tools can be called.
pub struct LoadedPlugin {
    /// The component with its terms, ready to run.
    pub plugin: Plugin,
    /// The interfaces that the component imports.
    pub imports: Vec<Import>,
    /// The manifest, without the tools.
    pub manifest: Manifest,
    /// Remarks for the operator, such as wants that this host does not know.
    pub remarks: Vec<String>,
    /// The tools.
    pub tools: Vec<PluginTool>,
    /// Tools that clients cannot call, because they need an action that is not granted.
    pub withheld: Vec<PluginTool>,
    /// The contract's interfaces that the component exports.
    pub features: Vec<Feature>,
    /// The operator's prefix for the names of the plugin's tools and prompts.
    pub prefix: Option<String>,
}

impl LoadedPlugin {
    /// The withheld tool that clients would know by this name.
    pub fn withheld(&self, name: &str) -> Option<&PluginTool> {
        let rest = match &self.prefix {
            Some(prefix) => name.strip_prefix(prefix.as_str())?.strip_prefix('_')?,
            None => name,
        };
        self.withheld.iter().find(|tool| tool.definition.name == rest)
    }

    /// Whether every call gets the session's roots, even if its arguments have no paths.
    pub fn wants_roots(&self) -> bool {
        let grant = &self.plugin.terms.policy.grants.files;
        grant.as_ref().is_some_and(|grant| grant.scope == Scope::Roots) || self.may_call_tools()
    }

    /// Whether the operator wants to keep the programs that the plugin runs, such as models' scripts, in the folder of
    /// the audit.
    pub fn keeps_programs(&self) -> bool {
        let grant = &self.plugin.terms.policy.grants.tools;
        grant.as_ref().is_some_and(|grant| grant.keeps_programs())
    }

    /// Whether the plugin may call tools of other sources. The called tools get the session's roots.
    pub fn may_call_tools(&self) -> bool {
        self.plugin.terms.policy.grants.tools.is_some()
    }
}

/// One tool of a plugin.
pub struct PluginTool {
    /// The plugin's definition of the tool.
    pub definition: Definition,
    /// Whether the tool is offered. The operator can switch a tool off.
    pub is_on: bool,
    /// Whether structured content is removed from the tool's answers, as the operator configured.
    pub text_only: bool,
    input: OnceLock<Result<Schema, SchemaError>>,
    output: OnceLock<Option<Result<Schema, SchemaError>>>,
}

impl PluginTool {
    /// The schema of the tool's arguments, parsed at the first call.
    ///
    /// # Errors
    ///
    /// The schema is too large or invalid.
    pub fn input(&self) -> Result<&Schema, &SchemaError> {
        let parse = || Schema::parse(&self.definition.input_schema);
        self.input.get_or_init(parse).as_ref()
    }

    /// The schema of the tool's structured content, if the tool declares one.
    ///
    /// # Errors
    ///
    /// The schema is too large or invalid.
    pub fn output(&self) -> Result<Option<&Schema>, &SchemaError> {
        let parse = || self.definition.output_schema.as_deref().map(Schema::parse);
        match self.output.get_or_init(parse) {
            None => Ok(None),
            Some(schema) => schema.as_ref().map(Some),
        }
    }
}

/// A component that is not loaded as a plugin.
#[derive(Debug, Clone)]
pub struct RejectedComponent {
    /// The operator's name for the component.
    pub name: String,
    /// Where the component is: in a file, or in the binary.
    pub origin: Origin,
    /// The SHA-256 digest of the component, if the file could be read.
    pub digest: Option<String>,
    /// The reason, with a remedy if there is one, for display.
    pub reason: String,
    /// The imports and the manifest, if the component could be examined.
    pub info: Option<Arc<ComponentInfo>>,
}

/// All plugins of this host.
#[derive(Default, Clone)]
pub struct Plugins {
    /// The plugins whose tools can be called.
    pub loaded: Vec<Arc<LoadedPlugin>>,
    /// The components that are refused.
    pub refused: Vec<RejectedComponent>,
    /// Further remarks for the operator.
    pub remarks: Vec<String>,
    /// How far loading is.
    pub progress: LoadingProgress,
}

/// How far the loading of all plugins is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum LoadingProgress {
    /// Files are still being opened.
    #[default]
    Opening,
    /// All files are opened. The plugins that are not loaded yet have to be compiled, which may take minutes.
    Compiling,
    /// Each plugin is loaded or refused.
    Complete,
}

impl Plugins {
    /// Whether each plugin is loaded or refused.
    pub fn is_complete(&self) -> bool {
        self.progress == LoadingProgress::Complete
    }

    /// Loads the bundled plugins and those in the plugin folders. `lock`: the lock file.
    pub async fn load(
        sandbox: Arc<Sandbox>,
        config: &Config,
        folders: &Folders,
        lock: Lock,
    ) -> Self {
        let mut loader = Loader::begin(sandbox, config, folders, lock).await;
        while loader.next().await {}
        loader.so_far()
    }

    /// Logs the refused plugins, for commands that do not show them otherwise.
    pub fn warn(&self) {
        for refused in &self.refused {
            tracing::warn!("plugin `{}` is refused: {}", refused.name, refused.reason);
        }
    }
}

/// Whether a bundled plugin has this name.
pub fn is_bundled(name: &str) -> bool {
    bundled::PLUGINS.iter().any(|plugin| plugin.name == name)
}

/// The grant of a capability beside the plugin's want, as text for display.
pub struct GrantComparison {
    /// The capability.
    pub capability: Capability,
    /// The grant. `None`: there is none.
    pub granted: Option<String>,
    /// The plugin's want. `None`: the plugin does not want the capability.
    pub wanted: Option<String>,
    /// Whether the grant equals the want, apart from values that only the operator can give.
    pub is_as_wanted: bool,
    /// The targets of the grant, such as hosts with their methods, or commands.
    pub targets: Vec<String>,
    /// Whether the grant lets the plugin change something outside the host.
    pub can_change: bool,
}

/// Compares the grants and wants of a plugin, in the order of [`Capability::ALL`]. Only capabilities that are
/// granted or wanted are included.
pub fn compare(loaded: &LoadedPlugin) -> Vec<GrantComparison> {
    let Policy { grants, wants, .. } = &*loaded.plugin.terms.policy;
    let (granted, wanted) = (grants.lines(), wants.lines());
    let find = |lines: &[(Capability, String)], capability| {
        lines.iter().find(|(c, _)| *c == capability).map(|(_, line)| line.clone())
    };
    Capability::ALL
        .into_iter()
        .map(|capability| GrantComparison {
            capability,
            granted: find(&granted, capability),
            wanted: find(&wanted, capability),
            is_as_wanted: grants.is_as_wanted(capability, wants),
            targets: grants.targets(capability),
            can_change: grants.can_change(capability),
        })
        .filter(|compared| compared.granted.is_some() || compared.wanted.is_some())
        .collect()
}
