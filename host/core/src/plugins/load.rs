//! Loading plugins one after the other: bundled ones, those that are known from before, and then those that
//! have to be compiled first.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_cache::Cache;
use portcullis_confine::Commands;

use super::judge::{judge, keep_granted, tools};
use super::{Loaded, Plugins, Refused, bundled, hints, is_bundled};
use crate::capabilities::{Capability, Grants};
use crate::config::{Config, Folders, is_name};
use crate::gate::Policy;
use crate::lock::{Lock, LockError};
use crate::sandbox::{Code, ComponentInfo, Feature, Origin, Places, Plugin, Sandbox, Terms};
use portcullis_engine::ComponentFile;

/// Loads the plugins of a host. What takes long comes last, and one at a time.
pub struct Loader {
    sandbox: Arc<Sandbox>,
    config: Config,
    folders: Folders,
    commands: Arc<Commands>,
    /// Files that nobody has looked at yet, with the place of each among all candidates.
    unopened: VecDeque<(usize, Candidate)>,
    /// Files of which nothing is known from before.
    unknown: Vec<(usize, Opened)>,
    loaded: BTreeMap<usize, Arc<Loaded>>,
    refused: BTreeMap<usize, Refused>,
    remarks: Vec<String>,
}

/// A component whose file is open.
struct Opened {
    candidate: Candidate,
    code: Code,
    digest: String,
    /// Where to note that it was seen, if it never was.
    first: Option<Lock>,
}

impl Loader {
    /// Loads what comes with the binary: this neither compiles nor waits for anything.
    pub async fn begin(sandbox: Arc<Sandbox>, config: &Config, folders: &Folders) -> Self {
        let commands = config.commands().expect("checked when the configuration was read");
        let mut loader = Self {
            sandbox,
            config: config.clone(),
            folders: folders.clone(),
            commands: Arc::new(Commands::new(commands)),
            unopened: VecDeque::new(),
            unknown: Vec::new(),
            loaded: BTreeMap::new(),
            refused: BTreeMap::new(),
            remarks: Vec::new(),
        };
        let mut seen: BTreeMap<String, Origin> = BTreeMap::new();
        let all = candidates(config, folders, &mut loader.remarks);
        for (place, candidate) in all.into_iter().enumerate() {
            if let Some(first) = seen.insert(candidate.name.clone(), candidate.origin.clone()) {
                let reason = format!("another plugin has this name: {first}");
                loader.refused.insert(place, candidate.refuse(None, reason));
                seen.insert(candidate.name, first);
                continue;
            }
            let own = config.plugins.get(&candidate.name);
            if own.is_some_and(|own| own.enabled == Some(false)) {
                continue;
            }
            match candidate.bundled {
                None => loader.unopened.push_back((place, candidate)),
                Some(_) => match candidate.open(config, folders) {
                    Ok(opened) => loader.finish(place, opened).await,
                    Err(refused) => drop(loader.refused.insert(place, refused)),
                },
            }
        }
        for name in config.plugins.keys().filter(|name| !seen.contains_key(*name)) {
            if config.host.bundled.unwrap_or(true) || !is_bundled(name) {
                loader.remarks.push(format!(
                    "portcullis.toml speaks of `{name}`, but there is no such plugin: what it \
                     grants is granted to nobody"
                ));
            }
        }
        loader
    }

    /// Loads one more plugin. `false`: there are no more.
    pub async fn next(&mut self) -> bool {
        if let Some((place, candidate)) = self.unopened.pop_front() {
            // A large file takes a while to be read.
            let (config, folders) = (self.config.clone(), self.folders.clone());
            let opening = move || candidate.open(&config, &folders);
            match tokio::task::spawn_blocking(opening).await {
                Ok(Ok(opened)) => self.begin_one(place, opened).await,
                Ok(Err(refused)) => drop(self.refused.insert(place, refused)),
                Err(error) => tracing::error!("looking at a plugin's file: {error}"),
            }
            return true;
        }
        // Small ones first: a large one may take a minute, and nobody should wait for it.
        self.unknown.sort_by_key(|(place, opened)| (std::cmp::Reverse(opened.size()), *place));
        let Some((place, opened)) = self.unknown.pop() else { return false };
        self.finish(place, opened).await;
        true
    }

    /// Whether the plugins that are left have to be compiled first.
    pub fn is_compiling(&self) -> bool {
        self.unopened.is_empty() && !self.unknown.is_empty()
    }

    /// What is loaded so far.
    pub fn so_far(&self) -> Plugins {
        Plugins {
            loaded: self.loaded.values().cloned().collect(),
            refused: self.refused.values().cloned().collect(),
            remarks: self.remarks.clone(),
            complete: self.unopened.is_empty() && self.unknown.is_empty(),
        }
    }

    /// Of what is loaded so far, what is bundled.
    pub fn bundled(&self) -> Plugins {
        let mut plugins = self.so_far();
        plugins.loaded.retain(|loaded| loaded.plugin.origin == Origin::Bundled);
        plugins
    }

    async fn begin_one(&mut self, place: usize, opened: Opened) {
        let limits = self.config.limits_of(&opened.candidate.name);
        if self.sandbox.known(&opened.digest, &limits).is_some() {
            self.finish(place, opened).await;
        } else {
            self.unknown.push((place, opened));
        }
    }

    async fn finish(&mut self, place: usize, opened: Opened) {
        match self.load(opened).await {
            Ok(loaded) => drop(self.loaded.insert(place, Arc::new(loaded))),
            Err(refused) => drop(self.refused.insert(place, refused)),
        }
    }

    async fn load(&self, opened: Opened) -> Result<Loaded, Refused> {
        let Opened { candidate, code, digest, first } = opened;
        let (name, sandbox) = (&candidate.name, &self.sandbox);
        let own = self.config.plugins.get(name).cloned().unwrap_or_default();
        let refuse = |reason| candidate.refuse(Some(digest.clone()), reason);
        let places = places(name, &own.grants, &self.folders, &self.commands);
        let settings = Arc::new(own.settings);
        let limits = self.config.limits_of(name);
        let plugin = |policy: Policy| {
            let terms = Terms {
                policy: Arc::new(policy),
                limits: limits.clone(),
                settings: settings.clone(),
            };
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
        let ComponentInfo { imports, features, manifest } = unknown.know().await.map_err(refuse)?;
        let is_foreign = !features.contains(&Feature::Manifest);
        let judged =
            judge(name, is_foreign, &imports, manifest, own.grants, &settings).map_err(refuse)?;
        let (policy, mut manifest, mut remarks) = judged;
        let mut tools = tools(std::mem::take(&mut manifest.tools)).map_err(refuse)?;
        let withheld = keep_granted(&mut tools, &policy).map_err(refuse)?;
        for off in &own.tools_off {
            match tools.iter_mut().find(|tool| tool.definition.name == *off) {
                Some(tool) => tool.on = false,
                None => remarks.push(format!("`{name}` has no tool `{off}` that could be off")),
            }
        }
        if own.structured_content == Some(false) {
            for tool in &mut tools {
                tool.text_only = true;
                tool.definition.output_schema = None;
            }
        }
        hints::correct(name, &mut tools, &policy, &own.trusted_hints, &mut remarks);
        if let Some(lock) = first
            && let Err(error) = note(&lock, name, &digest).await
        {
            remarks.push(format!(
                "that `{name}` was seen is not kept, so changes go unnoticed: {error}"
            ));
        }
        let plugin = plugin(policy);
        let prefix = own.prefix;
        Ok(Loaded { plugin, imports, manifest, remarks, tools, withheld, features, prefix })
    }
}

/// Approves a component that was never seen before.
async fn note(lock: &Lock, name: &str, digest: &str) -> Result<(), LockError> {
    let (name, digest) = (name.to_owned(), digest.to_owned());
    lock.on_a_thread(move |lock| lock.approve_plugin(&name, &digest)).await
}

impl Opened {
    fn size(&self) -> u64 {
        match &self.code {
            Code::Bundled(code) => code.0.len() as u64,
            Code::File(file) => file.size(),
        }
    }
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

    /// Opens its file, and compares it with what was approved.
    fn open(self, config: &Config, folders: &Folders) -> Result<Opened, Refused> {
        if !is_name(&self.name) {
            let reason = "its name may hold letters, digits, `-` and `_` only: rename the file";
            return Err(self.refuse(None, reason.into()));
        }
        let (code, digest) = self.code()?;
        let first = self
            .is_new(config, folders, &digest)
            .map_err(|reason| self.refuse(Some(digest.clone()), reason))?;
        Ok(Opened { candidate: self, code, digest, first })
    }

    /// Where its code is, and the digest of it.
    fn code(&self) -> Result<(Code, String), Refused> {
        Ok(match (&self.origin, self.bundled) {
            (_, Some(bundled)) => (Code::Bundled(bundled.code), bundled.digest.to_owned()),
            (Origin::File(path), None) => {
                let file = ComponentFile::open(path)
                    .map_err(|error| self.refuse(None, portcullis_sanitize::error_chain(&error)))?;
                let digest = file.digest().to_owned();
                (Code::File(file.into()), digest)
            }
            (Origin::Bundled, None) => unreachable!("a bundled candidate has its bundle"),
        })
    }
}

/// Approves the component that is now in the file of a plugin, and forgets why it may have been refused.
/// Answers its digest; `None`: there is no such plugin.
///
/// # Errors
///
/// In words for the operator.
pub fn approve(
    name: &str,
    sandbox: &Sandbox,
    config: &Config,
    folders: &Folders,
) -> Result<Option<String>, String> {
    let mut all = candidates(config, folders, &mut Vec::new()).into_iter();
    let Some(candidate) = all.find(|one| one.name == name && one.bundled.is_none()) else {
        return Ok(None);
    };
    let (_, digest) = candidate.code().map_err(|refused| refused.reason)?;
    let approved = Lock::at(folders.lock.clone()).approve_plugin(name, &digest);
    approved.map_err(|error| format!("approving `{name}`: {error}"))?;
    // A refusal that is remembered counts no more: the file is looked at again.
    sandbox.forget(&digest, &config.limits_of(name));
    Ok(Some(digest))
}

/// The plugin folders: those of the configuration, or the user's.
pub fn folders_of<'a>(config: &'a Config, folders: &'a Folders) -> Vec<&'a Path> {
    match &config.host.plugin_dirs {
        Some(named) => named.iter().map(PathBuf::as_path).collect(),
        None => vec![&folders.plugins],
    }
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
    for folder in folders_of(config, folders) {
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

fn places(name: &str, grants: &Grants, folders: &Folders, commands: &Arc<Commands>) -> Places {
    let cache = grants.cache.as_ref().map(|grant| {
        let folder = grant.disk.then(|| folders.cache.join("plugins").join(name));
        Arc::new(Cache::new(grant.bytes.get(), folder))
    });
    let (store, journals) = (folders.store.join(name), folders.journals.clone());
    Places { store, journals, cache, commands: commands.clone() }
}
