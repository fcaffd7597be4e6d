//! Loads plugins one by one: bundled plugins first, then those with cached compiled code, then those that have to be
//! compiled.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_confine::Commands;
use tokio::task::{JoinHandle, spawn_blocking};

use super::admission::{judge, keep_granted, tools};
use super::{
    LoadedPlugin, LoadingProgress, Plugins, RejectedComponent, bundled, description, hints,
    is_bundled,
};
use crate::capabilities::{Capability, Grants};
use crate::config::{Config, Folders, is_name};
use crate::gate::Policy;
use crate::lock::{ApprovalKey, FIRST_USE, Lock, LockError};
use crate::sandbox::{
    CachePlace, Code, ComponentInfo, Feature, Origin, Plugin, PluginResources, PluginTerms,
    Sandbox, StorePlace,
};
use portcullis_engine::ComponentFile;

/// Loads the plugins of a host, one at a time. Plugins that take long to load come last.
pub struct Loader {
    sandbox: Arc<Sandbox>,
    config: Arc<Config>,
    folders: Folders,
    commands: Arc<Commands>,
    lock: Lock,
    /// Candidates whose file has not been opened yet, each with its index among all candidates.
    unopened: VecDeque<(usize, Candidate)>,
    /// The next candidates, whose files are being opened.
    opening: VecDeque<(usize, Opening)>,
    /// Opened components that have to be compiled.
    uncompiled: Vec<(usize, Opened)>,
    loaded: BTreeMap<usize, Arc<LoadedPlugin>>,
    refused: BTreeMap<usize, RejectedComponent>,
    remarks: Vec<String>,
}

/// A component whose file is being opened on a thread of its own: to read a large file and compute its digest may take long.
struct Opening {
    candidate: Candidate,
    opened: JoinHandle<Result<Opened, RejectedComponent>>,
}

/// A component whose file is open.
pub(super) struct Opened {
    pub(super) candidate: Candidate,
    code: Code,
    pub(super) digest: String,
    /// The lock file, if the component has no approval yet: loading the component approves it.
    unapproved: Option<Lock>,
}

impl Loader {
    /// Loads the bundled plugins, whose code is compiled already.
    pub async fn begin(sandbox: Arc<Sandbox>, config: &Config, folders: &Folders) -> Self {
        let commands =
            config.commands().expect("the commands were checked when the configuration was read");
        let mut loader = Self {
            sandbox,
            config: Arc::new(config.clone()),
            folders: folders.clone(),
            commands: Arc::new(Commands::new(commands)),
            lock: Lock::at(folders.lock.clone()),
            unopened: VecDeque::new(),
            opening: VecDeque::new(),
            uncompiled: Vec::new(),
            loaded: BTreeMap::new(),
            refused: BTreeMap::new(),
            remarks: Vec::new(),
        };
        let mut seen: BTreeMap<String, Origin> = BTreeMap::new();
        let all = candidates(config, folders, &mut loader.remarks);
        for (index, candidate) in all.into_iter().enumerate() {
            if let Some(first) = seen.insert(candidate.name.clone(), candidate.origin.clone()) {
                let reason = format!("another plugin has this name: {first}");
                loader.refused.insert(index, candidate.refuse(None, reason));
                seen.insert(candidate.name, first);
                continue;
            }
            let own = config.plugins.get(&candidate.name);
            if own.is_some_and(|own| own.enabled == Some(false)) {
                continue;
            }
            match candidate.bundled {
                None => loader.unopened.push_back((index, candidate)),
                Some(_) => match candidate.open_approved(config, &loader.lock) {
                    Ok(opened) => loader.finish(index, opened).await,
                    Err(refused) => drop(loader.refused.insert(index, refused)),
                },
            }
        }
        for name in config.plugins.keys().filter(|name| !seen.contains_key(*name)) {
            if config.host.bundled.unwrap_or(true) || !is_bundled(name) {
                loader.remarks.push(format!(
                    "portcullis.toml has [plugins.{name}], but there is no such plugin: its \
                     grants have no effect"
                ));
            }
        }
        loader
    }

    /// Takes one step: loads or refuses one more plugin, or finds that it has to be compiled. `false`: all are loaded
    /// or refused.
    pub async fn next(&mut self) -> bool {
        self.open_ahead();
        if let Some((index, Opening { candidate, opened })) = self.opening.pop_front() {
            let opened = opened.await.unwrap_or_else(|error| {
                Err(candidate.refuse(None, format!("opening its file failed: {error}")))
            });
            self.open_ahead();
            match opened {
                Ok(opened) => self.load_if_compiled(index, opened).await,
                Err(refused) => drop(self.refused.insert(index, refused)),
            }
            return true;
        }
        // Small components first: a large one may take a minute to compile.
        self.uncompiled.sort_by_key(|(index, opened)| (std::cmp::Reverse(opened.size()), *index));
        let Some((index, opened)) = self.uncompiled.pop() else { return false };
        self.finish(index, opened).await;
        true
    }

    /// Starts to open the next files, as many at a time as the machine has processors.
    fn open_ahead(&mut self) {
        let at_once = std::thread::available_parallelism().map_or(1, usize::from);
        while self.opening.len() < at_once
            && let Some((index, candidate)) = self.unopened.pop_front()
        {
            let (opened, config, lock) =
                (candidate.clone(), self.config.clone(), self.lock.clone());
            let opened = spawn_blocking(move || opened.open_approved(&config, &lock));
            self.opening.push_back((index, Opening { candidate, opened }));
        }
    }

    /// How far loading is.
    pub fn progress(&self) -> LoadingProgress {
        if !(self.unopened.is_empty() && self.opening.is_empty()) {
            LoadingProgress::Opening
        } else if !self.uncompiled.is_empty() {
            LoadingProgress::Compiling
        } else {
            LoadingProgress::Complete
        }
    }

    /// The plugins that are loaded so far.
    pub fn so_far(&self) -> Plugins {
        Plugins {
            loaded: self.loaded.values().cloned().collect(),
            refused: self.refused.values().cloned().collect(),
            remarks: self.remarks.clone(),
            progress: self.progress(),
        }
    }

    /// The bundled plugins among those that are loaded so far.
    pub fn bundled(&self) -> Plugins {
        let mut plugins = self.so_far();
        plugins.loaded.retain(|loaded| loaded.plugin.origin == Origin::Bundled);
        plugins
    }

    async fn load_if_compiled(&mut self, index: usize, opened: Opened) {
        let limits = self.config.limits_of(&opened.candidate.name);
        if self.sandbox.remembered(&opened.digest, &limits).is_some() {
            self.finish(index, opened).await;
        } else {
            self.uncompiled.push((index, opened));
        }
    }

    async fn finish(&mut self, index: usize, opened: Opened) {
        match self.load(opened).await {
            Ok(loaded) => drop(self.loaded.insert(index, Arc::new(loaded))),
            Err(refused) => drop(self.refused.insert(index, refused)),
        }
    }

    async fn load(&self, opened: Opened) -> Result<LoadedPlugin, RejectedComponent> {
        let ungranted =
            ungranted(&opened, &self.sandbox, &self.config, &self.folders, &self.commands);
        let Opened { candidate, code, digest, unapproved } = opened;
        let (name, sandbox) = (&candidate.name, &self.sandbox);
        let own = self.config.plugins.get(name).cloned().unwrap_or_default();
        let info = ungranted
            .examine()
            .await
            .map_err(|refused| candidate.refuse(Some(digest.clone()), refused.to_string()))?;
        let refuse = |reason| RejectedComponent {
            info: Some(Arc::new(info.clone())),
            ..candidate.refuse(Some(digest.clone()), reason)
        };
        let places = places(sandbox, name, &own.grants, &self.folders, &self.commands);
        let settings = Arc::new(own.settings);
        let limits = self.config.limits_of(name);
        let plugin = |policy: Policy| {
            let terms = PluginTerms {
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
        let ComponentInfo { imports, features, manifest } = info.clone();
        let is_foreign = !features.contains(&Feature::Manifest);
        let judged =
            judge(name, is_foreign, &imports, manifest, own.grants, &settings).map_err(refuse)?;
        let (policy, mut manifest, mut remarks) = judged;
        let mut tools = tools(std::mem::take(&mut manifest.tools)).map_err(refuse)?;
        let withheld = keep_granted(&mut tools, &policy).map_err(refuse)?;
        for off in &own.tools_off {
            match tools.iter_mut().find(|tool| tool.definition.name == *off) {
                Some(tool) => tool.is_on = false,
                None => remarks.push(format!(
                    "`tools-off` of `{name}` names `{off}`, which is not one of the tools that it offers"
                )),
            }
        }
        if own.structured_content == Some(false) {
            for tool in &mut tools {
                tool.text_only = true;
                tool.definition.output_schema = None;
            }
        }
        hints::correct(name, &mut tools, &policy, &own.trusted_hints, &mut remarks);
        if let Some(lock) = unapproved
            && let Err(error) = self.approve_first(&lock, name, &digest, &info).await
        {
            remarks.push(format!(
                "the approval of `{name}` cannot be written, so changes of its file go unnoticed: {error}"
            ));
        }
        let plugin = plugin(policy);
        let prefix = own.prefix;
        Ok(LoadedPlugin { plugin, imports, manifest, remarks, tools, withheld, features, prefix })
    }
}

impl Loader {
    /// Approves a component that is loaded for the first time.
    async fn approve_first(
        &self,
        lock: &Lock,
        name: &str,
        digest: &str,
        info: &ComponentInfo,
    ) -> Result<(), LockError> {
        let (name, digest) = (name.to_owned(), digest.to_owned());
        let (description, audit) = (description::of_component(info), self.sandbox.audit().clone());
        lock.on_a_thread(move |lock| {
            let new = lock.approve_plugin(&name, &digest, FIRST_USE)?;
            lock.finish_approval(ApprovalKey::Plugin(&name), &new, &description, &audit);
            Ok(())
        })
        .await
    }
}

/// The component as a plugin for which every capability is linked and none is granted. Used to read its manifest.
pub(super) fn ungranted(
    opened: &Opened,
    sandbox: &Arc<Sandbox>,
    config: &Config,
    folders: &Folders,
    commands: &Arc<Commands>,
) -> Plugin {
    let Opened { candidate: Candidate { name, origin, .. }, code, digest, .. } = opened;
    let settings = config.plugins.get(name).map(|own| own.settings.clone()).unwrap_or_default();
    let policy = Policy { dispensable: Capability::ALL.to_vec(), ..Policy::default() };
    let terms = PluginTerms {
        policy: Arc::new(policy),
        limits: config.limits_of(name),
        settings: Arc::new(settings),
    };
    let places = places(sandbox, name, &Grants::default(), folders, commands);
    let (name, digest) = (name.as_str().into(), digest.as_str().into());
    Plugin::new(sandbox.clone(), name, digest, origin.clone(), code.clone(), terms, places)
}

impl Opened {
    pub(super) fn size(&self) -> u64 {
        match &self.code {
            Code::Bundled(code) => code.0.len() as u64,
            Code::File(file) => file.size(),
        }
    }
}

/// A component that may be loaded as a plugin.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) bundled: Option<&'static bundled::Bundled>,
}

impl Candidate {
    /// The component in this file.
    pub(super) fn in_file(path: PathBuf) -> Self {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, origin: Origin::File(path), bundled: None }
    }

    pub(super) fn refuse(&self, digest: Option<String>, reason: String) -> RejectedComponent {
        let (name, origin) = (self.name.clone(), self.origin.clone());
        RejectedComponent { name, origin, digest, reason, info: None }
    }

    /// The lock file, if loading the component has to approve it. `None`: it is approved, or needs no approval.
    ///
    /// # Errors
    ///
    /// The text of the refusal, for display: another component was approved under this name, no component was
    /// approved and the host is locked, or the lock file cannot be read.
    fn check_approval(
        &self,
        config: &Config,
        lock: &Lock,
        digest: &str,
    ) -> Result<Option<Lock>, String> {
        let follows_changes =
            config.host.follow_changes == Some(true) && config.host.locked != Some(true);
        if self.bundled.is_some() || follows_changes {
            return Ok(None);
        }
        let name = &self.name;
        match lock.file().plugin(name) {
            Ok(None) if config.host.locked == Some(true) => Err(format!(
                "it is not approved, and this host is locked: to see it, run `portcullis plugin diff {name}`; to \
                 approve it, `portcullis plugin approve {name}`"
            )),
            Ok(None) => Ok(Some(lock.clone())),
            Ok(Some(approved)) if approved == digest => Ok(None),
            Ok(Some(_)) => Err(format!(
                "its file has changed since it was approved: to see the difference, run `portcullis plugin diff \
                 {name}`; to approve it, `portcullis plugin approve {name}`"
            )),
            Err(error) => Err(format!("the approvals cannot be read: {error}")),
        }
    }

    /// Opens the component.
    pub(super) fn open(self) -> Result<Opened, RejectedComponent> {
        if !is_name(&self.name) {
            let reason = "its name must be 1 to 64 letters, digits, `-` and `_`: rename the file";
            return Err(self.refuse(None, reason.into()));
        }
        let (code, digest) = self.code()?;
        Ok(Opened { candidate: self, code, digest, unapproved: None })
    }

    /// Opens the component and compares its digest with the approved one.
    fn open_approved(self, config: &Config, lock: &Lock) -> Result<Opened, RejectedComponent> {
        let mut opened = self.open()?;
        let candidate = &opened.candidate;
        opened.unapproved = candidate
            .check_approval(config, lock, &opened.digest)
            .map_err(|reason| candidate.refuse(Some(opened.digest.clone()), reason))?;
        Ok(opened)
    }

    /// The component's code and digest.
    fn code(&self) -> Result<(Code, String), RejectedComponent> {
        Ok(match (&self.origin, self.bundled) {
            (_, Some(bundled)) => (Code::Bundled(bundled.code), bundled.digest.to_owned()),
            (Origin::File(path), None) => {
                let file = ComponentFile::open(path)
                    .map_err(|error| self.refuse(None, portcullis_sanitize::error_chain(&error)))?;
                let digest = file.digest().to_owned();
                (Code::File(file.into()), digest)
            }
            (Origin::Bundled, None) => unreachable!("a bundled candidate has its code"),
        })
    }
}

/// The plugin folders: those in the configuration, or else the user's.
pub fn folders_of<'a>(config: &'a Config, folders: &'a Folders) -> Vec<&'a Path> {
    match &config.host.plugin_dirs {
        Some(named) => named.iter().map(PathBuf::as_path).collect(),
        None => vec![&folders.plugins],
    }
}

/// All components that may be loaded as plugins: the bundled ones, then those in the plugin folders. A folder that
/// cannot be read adds a remark.
pub(super) fn candidates(
    config: &Config,
    folders: &Folders,
    remarks: &mut Vec<String>,
) -> Vec<Candidate> {
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
            Ok(paths) => found.extend(paths.into_iter().map(Candidate::in_file)),
            // The default folder need not exist.
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

fn places(
    sandbox: &Sandbox,
    name: &str,
    grants: &Grants,
    folders: &Folders,
    commands: &Arc<Commands>,
) -> PluginResources {
    let cluster = sandbox.cluster();
    let cache = grants.cache.as_ref().map(|grant| {
        let folder = grant.disk.then(|| folders.cache.join("plugins").join(name));
        CachePlace::new(name, grant.bytes.get(), folder, cluster)
    });
    let store = StorePlace::new(name, &folders.store, cluster);
    let journals = folders.journals.clone();
    PluginResources { store, journals, cache, commands: commands.clone() }
}
