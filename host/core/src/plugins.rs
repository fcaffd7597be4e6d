//! Every plugin: bundled or found in a folder, loaded or refused.

mod hints;
mod judge;
mod load;

use std::sync::{Arc, OnceLock};

use crate::bindings::{Manifest, Tool as Definition};
use crate::capabilities::Capability;
use crate::capabilities::files::Scope;
use crate::config::{Config, Folders};
use crate::gate::Policy;
use crate::sandbox::{Feature, Import, Origin, Plugin, Sandbox};
use crate::schema::{Schema, SchemaError};

pub use load::{Loader, approve, folders_of};

mod bundled {
    use portcullis_engine::code::Aligned;

    /// A plugin that came with the binary.
    pub struct Bundled {
        pub name: &'static str,
        pub digest: &'static str,
        pub code: &'static Aligned<[u8]>,
    }

    include!(concat!(env!("OUT_DIR"), "/bundled.rs"));
}

/// A plugin whose tools can be called.
pub struct Loaded {
    /// What runs it.
    pub plugin: Plugin,
    /// What it imports.
    pub imports: Vec<Import>,
    /// What it says of itself, but for its tools.
    pub manifest: Manifest,
    /// What it says it wants, as far as this host understands it.
    pub remarks: Vec<String>,
    /// Its tools.
    pub tools: Vec<PluginTool>,
    /// Tools that clients cannot call, because an action of theirs is not granted.
    pub withheld: Vec<PluginTool>,
    /// Which of the contract's interfaces it exports.
    pub features: Vec<Feature>,
    /// What the operator puts before the names of its tools and prompts.
    pub prefix: Option<String>,
}

impl Loaded {
    /// A tool that is withheld, by the name that clients would know it by.
    pub fn withheld(&self, name: &str) -> Option<&PluginTool> {
        let rest = match &self.prefix {
            Some(prefix) => name.strip_prefix(prefix.as_str())?.strip_prefix('_')?,
            None => name,
        };
        self.withheld.iter().find(|tool| tool.definition.name == rest)
    }

    /// Whether calls have the session's roots, whatever their arguments.
    pub fn wants_roots(&self) -> bool {
        let grant = &self.plugin.terms.policy.grants.files;
        grant.as_ref().is_some_and(|grant| grant.scope == Scope::Roots)
    }
}

/// One tool of a plugin.
pub struct PluginTool {
    /// As the plugin describes it.
    pub definition: Definition,
    /// Whether clients see it: the operator may switch it off.
    pub on: bool,
    /// Whether its answers are texts alone: the operator's clients take no structured ones.
    pub text_only: bool,
    input: OnceLock<Result<Schema, SchemaError>>,
    output: OnceLock<Option<Result<Schema, SchemaError>>>,
}

impl PluginTool {
    /// The schema of its arguments, read with the first call.
    ///
    /// # Errors
    ///
    /// What is wrong with the schema.
    pub fn input(&self) -> Result<&Schema, &SchemaError> {
        let parse = || Schema::parse(&self.definition.input_schema);
        self.input.get_or_init(parse).as_ref()
    }

    /// The schema of its structured answer, if it promises one.
    ///
    /// # Errors
    ///
    /// What is wrong with the schema.
    pub fn output(&self) -> Result<Option<&Schema>, &SchemaError> {
        let parse = || self.definition.output_schema.as_deref().map(Schema::parse);
        match self.output.get_or_init(parse) {
            None => Ok(None),
            Some(schema) => schema.as_ref().map(Some),
        }
    }
}

/// A plugin that is there and cannot be called.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The operator's name for it.
    pub name: String,
    /// Where it came from.
    pub origin: Origin,
    /// SHA-256 of the component, where it could be read.
    pub digest: Option<String>,
    /// Why, and what would help.
    pub reason: String,
}

/// All plugins of this host.
#[derive(Default, Clone)]
pub struct Plugins {
    /// Those whose tools can be called.
    pub loaded: Vec<Arc<Loaded>>,
    /// Those that are refused.
    pub refused: Vec<Refused>,
    /// What else the operator should know.
    pub remarks: Vec<String>,
    /// Whether these are all; others may still be compiled.
    pub complete: bool,
}

impl Plugins {
    /// Loads what comes with the binary, and what lies in the plugin folders.
    pub async fn load(sandbox: Arc<Sandbox>, config: &Config, folders: &Folders) -> Self {
        let mut loader = Loader::begin(sandbox, config, folders).await;
        while loader.next().await {}
        loader.so_far()
    }

    /// Says on the log which plugins are refused, where nothing else will show it.
    pub fn warn(&self) {
        for refused in &self.refused {
            tracing::warn!("plugin `{}` is refused: {}", refused.name, refused.reason);
        }
    }
}

/// Whether a plugin of this name comes with the binary.
pub fn is_bundled(name: &str) -> bool {
    bundled::PLUGINS.iter().any(|plugin| plugin.name == name)
}

/// What is granted of a capability and what the plugin wants of it, as text for a person.
pub struct Compared {
    /// The capability.
    pub capability: Capability,
    /// The grant. `None`: there is none.
    pub granted: Option<String>,
    /// What the plugin wants. `None`: it does not want the capability.
    pub wanted: Option<String>,
    /// Whether the grant is what the plugin wants, apart from what only an operator can say.
    pub is_as_wanted: bool,
}

/// Compares grants and wants of a plugin. Capabilities that are neither granted nor wanted are left out; the others
/// come in the order in which they are shown.
pub fn compare(loaded: &Loaded) -> Vec<Compared> {
    let Policy { grants, wants, .. } = &*loaded.plugin.terms.policy;
    let (granted, wanted) = (grants.lines(), wants.lines());
    let find = |lines: &[(Capability, String)], capability| {
        lines.iter().find(|(c, _)| *c == capability).map(|(_, line)| line.clone())
    };
    Capability::ALL
        .into_iter()
        .map(|capability| Compared {
            capability,
            granted: find(&granted, capability),
            wanted: find(&wanted, capability),
            is_as_wanted: grants.is_as_wanted(capability, wants),
        })
        .filter(|compared| compared.granted.is_some() || compared.wanted.is_some())
        .collect()
}
