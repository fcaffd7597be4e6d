//! Loads plugins one by one: bundled plugins first, then those with cached compiled code, then those that have to be
//! compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use portcullis_confine::Commands;
use tokio::sync::mpsc::UnboundedReceiver;

use super::admission::{judge, keep_granted, tools};
use super::open::{Candidate, Opened, OpeningResult, candidates, changed, open_on_threads};
use super::{
    LoadedPlugin, LoadingProgress, Plugins, RejectedComponent, description, hints, is_bundled,
};
use crate::capabilities::{Capability, Grants};
use crate::config::{Config, Folders};
use crate::gate::Policy;
use crate::lock::{ApprovalKey, Lock, LockError};
use crate::sandbox::{
    CachePlace, ComponentInfo, Feature, Origin, Plugin, PluginResources, PluginTerms, Sandbox,
    StorePlace,
};

/// Loads the plugins of a host, one at a time. Plugins that take long to load come last.
pub struct Loader {
    sandbox: Arc<Sandbox>,
    config: Arc<Config>,
    folders: Folders,
    commands: Arc<Commands>,
    lock: Lock,
    /// Candidates whose file is not open yet, by their index among all candidates.
    unopened: BTreeMap<usize, Candidate>,
    /// The results of the threads that open the files. `None`: these threads are not started yet.
    opening: Option<UnboundedReceiver<OpeningResult>>,
    /// Opened components that have to be compiled.
    uncompiled: Vec<(usize, Opened)>,
    loaded: BTreeMap<usize, Arc<LoadedPlugin>>,
    refused: BTreeMap<usize, RejectedComponent>,
    remarks: Vec<String>,
}

impl Loader {
    /// Loads the bundled plugins, whose code is compiled already. `lock`: the lock file.
    pub async fn begin(
        sandbox: Arc<Sandbox>,
        config: &Config,
        folders: &Folders,
        lock: Lock,
    ) -> Self {
        let commands =
            config.commands().expect("the commands were checked when the configuration was read");
        let mut loader = Self {
            sandbox,
            config: Arc::new(config.clone()),
            folders: folders.clone(),
            commands: Arc::new(Commands::new(commands)),
            lock,
            unopened: BTreeMap::new(),
            opening: None,
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
                None => drop(loader.unopened.insert(index, candidate)),
                Some(_) => match candidate.open() {
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
        if !self.unopened.is_empty() {
            self.load_next_opened().await;
            return true;
        }
        // Small components first: a large one may take a minute to compile.
        self.uncompiled.sort_by_key(|(index, opened)| (std::cmp::Reverse(opened.size()), *index));
        let Some((index, opened)) = self.uncompiled.pop() else { return false };
        self.finish(index, opened).await;
        true
    }

    /// Loads the next component whose file is open, if it is compiled.
    async fn load_next_opened(&mut self) {
        let opening = self.opening.get_or_insert_with(|| {
            let (config, lock) = (self.config.clone(), self.lock.clone());
            open_on_threads(&self.unopened, config, lock, self.sandbox.clone())
        });
        let Some((index, opened)) = opening.recv().await else {
            for (index, candidate) in std::mem::take(&mut self.unopened) {
                let reason = "opening its file failed: the host's log says why".to_owned();
                self.refused.insert(index, candidate.refuse(None, reason));
            }
            return;
        };
        self.unopened.remove(&index);
        match opened {
            Ok(opened) if opened.known.is_some() => self.finish(index, opened).await,
            Ok(opened) => self.uncompiled.push((index, opened)),
            Err(refused) => drop(self.refused.insert(index, refused)),
        }
    }

    /// How far loading is.
    pub fn progress(&self) -> LoadingProgress {
        if !self.unopened.is_empty() {
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

    async fn finish(&mut self, index: usize, opened: Opened) {
        match self.load(opened).await {
            Ok(loaded) => drop(self.loaded.insert(index, Arc::new(loaded))),
            Err(refused) => drop(self.refused.insert(index, refused)),
        }
    }

    async fn load(&self, opened: Opened) -> Result<LoadedPlugin, RejectedComponent> {
        let ungranted =
            || ungranted(&opened, &self.sandbox, &self.config, &self.folders, &self.commands);
        let found = match &opened.known {
            Some(known) => known.clone(),
            None => ungranted().examine().await,
        };
        let Opened { candidate, code, digest, is_new, .. } = opened;
        let (name, sandbox) = (&candidate.name, &self.sandbox);
        let own = self.config.plugins.get(name).cloned().unwrap_or_default();
        let info =
            found.map_err(|refused| candidate.refuse(Some(digest.clone()), refused.to_string()))?;
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
        if is_new {
            match self.approve_first(name, &digest, &info).await {
                Ok(true) => {}
                Ok(false) => return Err(refuse(changed(name))),
                Err(error) => remarks.push(format!(
                    "the approval of `{name}` cannot be written, so changes of its file go unnoticed: {error}"
                )),
            }
        }
        let plugin = plugin(policy);
        let prefix = own.prefix;
        Ok(LoadedPlugin { plugin, imports, manifest, remarks, tools, withheld, features, prefix })
    }
}

impl Loader {
    /// Approves a component that is loaded for the first time. `false`: another component was approved under its name
    /// since the files were opened.
    async fn approve_first(
        &self,
        name: &str,
        digest: &str,
        info: &ComponentInfo,
    ) -> Result<bool, LockError> {
        let (name, digest) = (name.to_owned(), digest.to_owned());
        let (description, audit) = (description::of_component(info), self.sandbox.audit().clone());
        let approving = self.lock.on_a_thread(move |lock| {
            let Some(new) = lock.approve_new_plugin(&name, &digest)? else {
                return Ok(lock.plugin(&name)?.is_some_and(|approved| approved == digest));
            };
            lock.finish_approval(ApprovalKey::Plugin(&name), &new, &description, &audit);
            Ok(true)
        });
        approving.await
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
