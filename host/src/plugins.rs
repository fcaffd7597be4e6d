//! Every plugin: bundled or found in a folder, loaded or refused.

mod judge;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use portcullis_cache::Cache;
use portcullis_confine::Commands;

use crate::bindings::{Manifest, Tool as Definition};
use crate::capabilities::files::Scope;
use crate::capabilities::{Capability, Grants};
use crate::config::{Config, Folders, PluginConfig, is_name};
use crate::gate::Policy;
use crate::sandbox::{
    Code, Failure, Feature, Import, Known, Origin, Places, Plugin, Sandbox, Terms,
};
use portcullis_engine::code::ComponentFile;
use portcullis_schema::Schema;
use portcullis_wrap::Lock;

use judge::{judge, keep_granted, tools};

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
    pub tools: Vec<Tool>,
    /// Tools that clients cannot call, because an action of theirs is not granted.
    pub withheld: Vec<Tool>,
    /// Which of the contract's interfaces it exports.
    pub features: Vec<Feature>,
    /// What the operator puts before the names of its tools and prompts.
    pub prefix: Option<String>,
}

impl Loaded {
    /// A tool that is withheld, by the name that clients would know it by.
    pub fn withheld(&self, name: &str) -> Option<&Tool> {
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
pub struct Tool {
    /// As the plugin describes it.
    pub definition: Definition,
    /// Whether clients see it: the operator may switch it off.
    pub on: bool,
    /// Whether its answers are texts alone: the operator's clients take no structured ones.
    pub text_only: bool,
    input: OnceLock<Result<Schema, String>>,
    output: OnceLock<Option<Result<Schema, String>>>,
}

impl Tool {
    /// The schema of its arguments, read with the first call.
    ///
    /// # Errors
    ///
    /// What is wrong with the schema.
    pub fn input(&self) -> Result<&Schema, &str> {
        let parse = || Schema::parse(&self.definition.input_schema);
        self.input.get_or_init(parse).as_ref().map_err(String::as_str)
    }

    /// The schema of its structured answer, if it promises one.
    ///
    /// # Errors
    ///
    /// What is wrong with the schema.
    pub fn output(&self) -> Result<Option<&Schema>, &str> {
        let parse = || self.definition.output_schema.as_deref().map(Schema::parse);
        match self.output.get_or_init(parse) {
            None => Ok(None),
            Some(schema) => schema.as_ref().map(Some).map_err(String::as_str),
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
#[derive(Default)]
pub struct Plugins {
    /// Those whose tools can be called.
    pub loaded: Vec<Arc<Loaded>>,
    /// Those that are refused.
    pub refused: Vec<Refused>,
    /// What else the operator should know.
    pub remarks: Vec<String>,
}

impl Plugins {
    /// Loads what comes with the binary, and what lies in the plugin folders.
    pub async fn load(sandbox: Arc<Sandbox>, config: &Config, folders: &Folders) -> Self {
        let mut plugins = Self::default();
        let commands = config.commands().expect("checked when the configuration was read");
        let commands = Arc::new(Commands::new(commands));
        let mut seen: BTreeMap<String, Origin> = BTreeMap::new();
        for candidate in candidates(config, folders, &mut plugins.remarks) {
            if let Some(first) = seen.insert(candidate.name.clone(), candidate.origin.clone()) {
                let reason = format!("another plugin has this name: {first}");
                plugins.refused.push(candidate.refuse(None, reason));
                continue;
            }
            let own = config.plugins.get(&candidate.name).cloned().unwrap_or_default();
            if own.enabled == Some(false) {
                continue;
            }
            match load(&sandbox, config, folders, &commands, &candidate, own).await {
                Ok(loaded) => plugins.loaded.push(Arc::new(loaded)),
                Err(refused) => plugins.refused.push(refused),
            }
        }
        for name in config.plugins.keys().filter(|name| !seen.contains_key(*name)) {
            let bundled = config.host.bundled.unwrap_or(true) || !is_bundled(name);
            if bundled {
                plugins.remarks.push(format!(
                    "portcullis.toml speaks of `{name}`, but there is no such plugin: what it \
                     grants is granted to nobody"
                ));
            }
        }
        plugins
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

/// A component that might be a plugin.
struct Candidate {
    name: String,
    origin: Origin,
    bundled: Option<&'static bundled::Bundled>,
}

impl Candidate {
    fn refuse(&self, digest: Option<String>, reason: String) -> Refused {
        Refused { name: self.name.clone(), origin: self.origin.clone(), digest, reason }
    }

    /// Where to note that it was seen, if it never was. It is held back where another component was approved
    /// under its name: that one's grants are not for it.
    fn is_new(
        &self,
        config: &Config,
        folders: &Folders,
        digest: &str,
    ) -> Result<Option<Lock>, String> {
        if self.bundled.is_some() || config.host.follow_changes == Some(true) {
            return Ok(None);
        }
        let (lock, name) = (Lock::at(folders.lock.clone()), &self.name);
        match lock.plugin(name) {
            Ok(None) => Ok(Some(lock)),
            Ok(Some(approved)) if approved == digest => Ok(None),
            Ok(Some(_)) => Err(format!(
                "its file has changed since it was approved: if you know why, run `portcullis plugin approve {name}`"
            )),
            Err(error) => Err(format!("what is approved cannot be read: {error}")),
        }
    }

    /// Where its code is, and the digest of it.
    fn code(&self) -> Result<(Code, String), Refused> {
        Ok(match (&self.origin, self.bundled) {
            (_, Some(bundled)) => (Code::Bundled(bundled.code), bundled.digest.to_owned()),
            (Origin::File(path), None) => {
                let file = ComponentFile::open(path).map_err(|error| self.refuse(None, error))?;
                let digest = file.digest().to_owned();
                (Code::Foreign(file.into()), digest)
            }
            (Origin::Bundled, None) => unreachable!("a bundled candidate has its bundle"),
        })
    }
}

/// Approves the component that is now in the file of a plugin. Answers its digest; `None`: there is no such
/// plugin.
///
/// # Errors
///
/// In words for the operator.
pub fn approve(name: &str, config: &Config, folders: &Folders) -> Result<Option<String>, String> {
    let mut all = candidates(config, folders, &mut Vec::new()).into_iter();
    let Some(candidate) = all.find(|one| one.name == name && one.bundled.is_none()) else {
        return Ok(None);
    };
    let (_, digest) = candidate.code().map_err(|refused| refused.reason)?;
    let approved = Lock::at(folders.lock.clone()).approve_plugin(name, &digest);
    approved.map_err(|error| format!("approving `{name}`: {error}"))?;
    Ok(Some(digest))
}

fn candidates(config: &Config, folders: &Folders, remarks: &mut Vec<String>) -> Vec<Candidate> {
    let mut found = Vec::new();
    if config.host.bundled.unwrap_or(true) {
        found.extend(bundled::PLUGINS.iter().map(|plugin| Candidate {
            name: plugin.name.to_owned(),
            origin: Origin::Bundled,
            bundled: Some(plugin),
        }));
    }
    let default = vec![folders.plugins.clone()];
    for folder in config.host.plugin_dirs.as_ref().unwrap_or(&default) {
        match components(folder) {
            Ok(paths) => found.extend(paths.into_iter().map(|path| Candidate {
                name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                origin: Origin::File(path),
                bundled: None,
            })),
            // The default folder need not be there.
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    && config.host.plugin_dirs.is_none() => {}
            Err(error) => {
                remarks.push(format!("the plugin folder {}: {error}", folder.display()));
            }
        }
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "plugins are files in folders")]
fn components(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wasm") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

async fn load(
    sandbox: &Arc<Sandbox>,
    config: &Config,
    folders: &Folders,
    commands: &Arc<Commands>,
    candidate: &Candidate,
    own: PluginConfig,
) -> Result<Loaded, Refused> {
    let name = &candidate.name;
    if !is_name(name) {
        let reason = "its name may hold letters, digits, `-` and `_` only: rename the file";
        return Err(candidate.refuse(None, reason.into()));
    }
    let (code, digest) = candidate.code()?;
    let refuse = |reason| candidate.refuse(Some(digest.clone()), reason);
    let first = candidate.is_new(config, folders, &digest).map_err(refuse)?;
    let places = places(name, &own.grants, folders, commands);
    let settings = Arc::new(own.settings);
    let limits = config.limits_of(name);
    let plugin = |policy: Policy| {
        let terms =
            Terms { policy: Arc::new(policy), limits: limits.clone(), settings: settings.clone() };
        Plugin::new(
            sandbox.clone(),
            name.as_str().into(),
            digest.as_str().into(),
            candidate.origin.clone(),
            code.clone(),
            terms,
            places.clone(),
        )
    };
    let described_with = Capability::ALL.to_vec();
    let unknown = plugin(Policy { dispensable: described_with, ..Policy::default() });
    let Known { imports, features, manifest } =
        unknown.know().await.map_err(|failure| refuse(explain(failure)))?;
    let plain = !features.contains(&Feature::Manifest);
    let judged = judge(name, plain, &imports, manifest, own.grants, &settings).map_err(refuse)?;
    let (policy, mut manifest, mut remarks) = judged;
    let mut tools = tools(std::mem::take(&mut manifest.tools)).map_err(refuse)?;
    let withheld = keep_granted(&mut tools, &policy).map_err(refuse)?;
    for off in &own.tools_off {
        match tools.iter_mut().find(|tool| tool.definition.name == *off) {
            Some(tool) => tool.on = false,
            None => remarks.push(format!("`{name}` has no tool `{off}` that could be off")),
        }
    }
    if !own.no_structured_content.is_empty() {
        for tool in &mut tools {
            tool.text_only = true;
            tool.definition.output_schema = None;
        }
    }
    if let Some(lock) = first
        && let Err(error) = lock.approve_plugin(name, &digest)
    {
        remarks
            .push(format!("that `{name}` was seen is not kept, so changes go unnoticed: {error}"));
    }
    let plugin = plugin(policy);
    let prefix = own.prefix;
    Ok(Loaded { plugin, imports, manifest, remarks, tools, withheld, features, prefix })
}

fn places(name: &str, grants: &Grants, folders: &Folders, commands: &Arc<Commands>) -> Places {
    let cache = grants.cache.as_ref().map(|grant| {
        let folder = grant.disk.then(|| folders.cache.join("plugins").join(name));
        Arc::new(Cache::new(grant.bytes.get(), folder))
    });
    Places { store: folders.store.join(name), cache, commands: commands.clone() }
}

fn explain(failure: Failure) -> String {
    match failure {
        Failure::Unusable(why) => format!("it is no component that can be run here: {why}"),
        Failure::Crashed(why) => format!("it failed while it described itself: {why}"),
        Failure::TimedOut(limit) => format!("describing itself took longer than `{limit}`"),
        Failure::Limit(hit) => format!("while it described itself, {hit}"),
        Failure::Protocol(error) => format!("it could not describe itself: {}", error.message),
        Failure::Host(why) => why,
    }
}

/// The capabilities in the order in which they are shown, with what is granted and what wanted.
pub fn compare(loaded: &Loaded) -> Vec<(Capability, Option<String>, Option<String>)> {
    let Policy { grants, wants, .. } = &*loaded.plugin.terms.policy;
    let (granted, wanted) = (grants.lines(), wants.lines());
    let find = |lines: &[(Capability, String)], capability| {
        lines.iter().find(|(c, _)| *c == capability).map(|(_, line)| line.clone())
    };
    Capability::ALL
        .into_iter()
        .map(|capability| (capability, find(&granted, capability), find(&wanted, capability)))
        .filter(|(_, granted, wanted)| granted.is_some() || wanted.is_some())
        .collect()
}
