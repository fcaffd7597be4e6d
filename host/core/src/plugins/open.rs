//! Finds the components that may be loaded as plugins, opens their files, and compares their digests with the approved
//! ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use portcullis_engine::ComponentFile;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::spawn_blocking;

use super::{RejectedComponent, bundled};
use crate::config::{Config, Folders, is_name};
use crate::lock::{ApprovedPlugins, Lock, LockError};
use crate::sandbox::{Code, ComponentInfo, Origin, RefusedComponent, Sandbox};

/// A component whose file is open.
pub(super) struct Opened {
    pub(super) candidate: Candidate,
    pub(super) code: Code,
    pub(super) digest: String,
    /// Whether the component has no approval yet: loading it approves it.
    pub(super) is_new: bool,
    /// What is known of the component from an earlier start. `None`: it has to be compiled first.
    pub(super) known: Option<Result<ComponentInfo, RefusedComponent>>,
}

impl Opened {
    pub(super) fn size(&self) -> u64 {
        match &self.code {
            Code::Bundled(code) => code.0.len() as u64,
            Code::File(file) => file.size(),
        }
    }
}

/// The index of a candidate among all candidates, and its open file.
pub(super) type OpeningResult = (usize, Result<Opened, RejectedComponent>);

/// Opens the files of these candidates in any order, on as many threads as the machine has processors: to read a large
/// file and compute its digest may take long. The threads end when the receiver is dropped.
pub(super) fn open_on_threads(
    candidates: &BTreeMap<usize, Candidate>,
    config: Arc<Config>,
    lock: Lock,
    sandbox: Arc<Sandbox>,
) -> UnboundedReceiver<OpeningResult> {
    let (sender, opened) = unbounded_channel();
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = at_once.min(candidates.len());
    let waiting = Arc::new(Mutex::new(candidates.clone()));
    let approved = Arc::new(OnceLock::new());
    for _ in 0..at_once {
        let (config, lock, sandbox) = (config.clone(), lock.clone(), sandbox.clone());
        let (sender, waiting, approved) = (sender.clone(), waiting.clone(), approved.clone());
        let next = move || waiting.lock().pop_first();
        spawn_blocking(move || {
            while let Some((index, candidate)) = next() {
                let approved = approved.get_or_init(|| lock.file().approved_plugins());
                let opened = candidate.open_approved(&config, approved, &sandbox);
                if sender.send((index, opened)).is_err() {
                    return;
                }
            }
        });
    }
    opened
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

    /// Whether the component is new: loading it approves it. `false`: it is approved, or needs no approval. `approved`: the
    /// approved plugins, or why they are not known.
    ///
    /// # Errors
    ///
    /// The text of the refusal, for display: another component was approved under this name, no component was
    /// approved and the host is locked, or the lock file cannot be read.
    fn check_approval(
        &self,
        config: &Config,
        approved: &Result<ApprovedPlugins, LockError>,
        digest: &str,
    ) -> Result<bool, String> {
        let follows_changes =
            config.host.follow_changes == Some(true) && config.host.locked != Some(true);
        if follows_changes {
            return Ok(false);
        }
        let name = &self.name;
        let unreadable = |error| format!("the approvals cannot be read: {error}");
        let approved = approved.as_ref().map_err(unreadable)?;
        match approved.digest(name) {
            None if config.host.locked == Some(true) => Err(format!(
                "it is not approved, and this host is locked: to see it, run `portcullis plugin diff {name}`; to \
                 approve it, `portcullis plugin approve {name}`"
            )),
            None => Ok(true),
            Some(approved) if approved == digest => Ok(false),
            Some(_) => Err(changed(name)),
        }
    }

    /// Opens the component.
    pub(super) fn open(self) -> Result<Opened, RejectedComponent> {
        if !is_name(&self.name) {
            let reason = "its name must be 1 to 64 letters, digits, `-` and `_`: rename the file";
            return Err(self.refuse(None, reason.into()));
        }
        let (code, digest) = self.code()?;
        Ok(Opened { candidate: self, code, digest, is_new: false, known: None })
    }

    /// Opens the component, compares its digest with the approved one, and looks up what is known of it.
    fn open_approved(
        self,
        config: &Config,
        approved: &Result<ApprovedPlugins, LockError>,
        sandbox: &Sandbox,
    ) -> Result<Opened, RejectedComponent> {
        let mut opened = self.open()?;
        let candidate = &opened.candidate;
        opened.is_new = candidate
            .check_approval(config, approved, &opened.digest)
            .map_err(|reason| candidate.refuse(Some(opened.digest.clone()), reason))?;
        opened.known = sandbox.remembered(&opened.digest, &config.limits_of(&candidate.name));
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

/// The text of a refusal, for display: another component is approved under this name.
pub(super) fn changed(name: &str) -> String {
    format!(
        "its file has changed since it was approved: to see the difference, run `portcullis plugin diff {name}`; to \
         approve it, `portcullis plugin approve {name}`"
    )
}
