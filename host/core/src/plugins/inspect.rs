//! Inspects a component, to show its possible effects before anything is granted or installed.
//!
//! The component is compiled and asked for its manifest, as it is when a plugin is loaded. All capabilities are linked,
//! and each use of them is refused. Nothing is approved.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use portcullis_confine::Commands;

use super::admission::{judge, tools};
use super::load::ungranted;
use super::open::{Candidate, Opened, candidates};
use super::{PluginTool, RejectedComponent, hints};
use crate::bindings::Want;
use crate::capabilities::{Capability, Grants};
use crate::config::{Config, Folders};
use crate::gate::Policy;
use crate::sandbox::{
    ALWAYS_LINKED, ComponentInfo, Feature, Import, Missing, Origin, Sandbox, missing,
};

/// The result of an inspection: the component's imports, manifest and tools.
pub struct Inspection {
    /// The name of the plugin. For a component in a file, the name of the file without its extension.
    pub name: String,
    /// The file, or the binary.
    pub origin: Origin,
    /// The SHA-256 digest of the component.
    pub digest: String,
    /// The size of the component in bytes. For a bundled plugin, the size of its compiled code.
    pub bytes: u64,
    /// The imports, the exports and the manifest.
    pub info: ComponentInfo,
    /// The tools, as clients would see them.
    pub tools: Vec<PluginTool>,
    /// Why the component cannot be a plugin, independent of grants. `None`: the component can be one.
    pub defect: Option<String>,
    /// Remarks, such as wants that this host does not know.
    pub remarks: Vec<String>,
}

/// A capability that a component cannot use, or cannot use fully, independent of grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableCapability {
    /// The capability.
    pub capability: Capability,
    /// The reason.
    pub why: &'static str,
}

/// Why a component cannot use a capability.
const NOT_IMPORTED: &str = "it imports no function of this capability";
const NOT_WANTED: &str = "its manifest does not want it";
const NO_MANIFEST: &str = "only a component with a manifest can want it";
const NO_WRITING: &str = "it imports no function that writes: it can only read";

/// The functions that change files: those of `wasi:filesystem/types` (WASI 0.2), and `apply` of the contract's own
/// interface `changes`.
const WRITING_FUNCTIONS: &[&str] = &[
    "[method]descriptor.write",
    "[method]descriptor.write-via-stream",
    "[method]descriptor.append-via-stream",
    "[method]descriptor.create-directory-at",
    "[method]descriptor.unlink-file-at",
    "[method]descriptor.remove-directory-at",
    "[method]descriptor.rename-at",
    "[method]descriptor.link-at",
    "[method]descriptor.symlink-at",
    "[method]descriptor.set-size",
    "[method]descriptor.set-times",
    "[method]descriptor.set-times-at",
    "apply",
];

/// The capabilities that a component cannot use, by its imports and its wants. A foreign component has no manifest of
/// its own, so only its imports decide.
pub fn cannot(imports: &[Import], features: &[Feature], wants: &[Want]) -> Vec<UnusableCapability> {
    let is_foreign = !features.contains(&Feature::Manifest);
    let is_wanted =
        |capability: Capability| wants.iter().any(|want| want.capability == capability.as_str());
    let why = |capability: Capability| {
        let mut imports = imports.iter().filter(|import| is_of(import, capability)).peekable();
        if is_foreign && capability.imports().is_empty() {
            Some(NO_MANIFEST)
        } else if !capability.imports().is_empty() && imports.peek().is_none() {
            Some(NOT_IMPORTED)
        } else if !is_foreign && !is_wanted(capability) {
            Some(NOT_WANTED)
        } else if capability == Capability::Files && !imports.any(writes) {
            Some(NO_WRITING)
        } else {
            None
        }
    };
    let cannot = |capability| why(capability).map(|why| UnusableCapability { capability, why });
    Capability::ALL.into_iter().filter_map(cannot).collect()
}

/// Whether an import needs a grant of this capability.
pub fn is_of(import: &Import, capability: Capability) -> bool {
    capability.imports().iter().any(|prefix| import.interface.starts_with(prefix))
}

fn writes(import: &Import) -> bool {
    import.functions.iter().any(|function| WRITING_FUNCTIONS.contains(&function.as_str()))
}

/// What this host makes of an import that not every component may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportUse {
    /// It can be used with a grant of this capability.
    Granted(Capability),
    /// It is there, and each use of it is denied: sockets of a foreign component.
    Denied,
    /// This host does not offer it.
    Unknown,
}

/// What this host makes of one of [`granted_imports`], in a component with these features.
pub fn import_use(import: &Import, features: &[Feature]) -> ImportUse {
    let is_foreign = !features.contains(&Feature::Manifest);
    let ungranted = Policy { is_foreign, ..Policy::default() };
    match missing(std::slice::from_ref(import), &ungranted).pop() {
        Some(Missing::Grant(capability)) => ImportUse::Granted(capability),
        Some(Missing::Unknown(_) | Missing::Version(_)) => ImportUse::Unknown,
        None => ImportUse::Denied,
    }
}

/// The imports that need a grant. Every component may use all others.
pub fn granted_imports(imports: &[Import]) -> impl Iterator<Item = &Import> {
    imports
        .iter()
        .filter(|import| !ALWAYS_LINKED.iter().any(|always| import.interface.starts_with(always)))
}

/// Inspects the plugin of this name, with the component that is in its file now. `None`: there is no such plugin.
///
/// # Errors
///
/// The component cannot be read, compiled or asked for its manifest.
pub async fn inspect(
    name: &str,
    sandbox: &Arc<Sandbox>,
    config: &Config,
    folders: &Folders,
) -> Option<Result<Inspection, RejectedComponent>> {
    let candidate =
        candidates(config, folders, &mut Vec::new()).into_iter().find(|one| one.name == name)?;
    Some(inspect_candidate(candidate, sandbox, config, folders).await)
}

/// Inspects the component in any file, such as one outside of the plugin folders.
///
/// # Errors
///
/// The component cannot be read, compiled or asked for its manifest.
pub async fn inspect_file(
    path: &Path,
    sandbox: &Arc<Sandbox>,
    config: &Config,
    folders: &Folders,
) -> Result<Inspection, RejectedComponent> {
    inspect_candidate(Candidate::in_file(path.to_owned()), sandbox, config, folders).await
}

async fn inspect_candidate(
    candidate: Candidate,
    sandbox: &Arc<Sandbox>,
    config: &Config,
    folders: &Folders,
) -> Result<Inspection, RejectedComponent> {
    let opened = tokio::task::spawn_blocking(move || candidate.open())
        .await
        .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?;
    let commands = Arc::new(Commands::new([]));
    let plugin = ungranted(&opened, sandbox, config, folders, &commands);
    let refused = |reason| opened.candidate.refuse(Some(opened.digest.clone()), reason);
    let info = plugin.examine().await.map_err(|error| refused(error.to_string()))?;
    let own = config.plugins.get(&opened.candidate.name);
    let settings = own.map(|own| own.settings.clone()).unwrap_or_default();
    let granted = own.map(|own| own.grants.clone()).unwrap_or_default();
    Ok(judge_as_granted(opened, info, &settings, granted))
}

/// Judges a component as if all of its wants were granted. A foreign component has no wants: it is judged with the
/// grants that it has.
fn judge_as_granted(
    opened: Opened,
    info: ComponentInfo,
    settings: &BTreeMap<String, String>,
    granted: Grants,
) -> Inspection {
    let bytes = opened.size();
    let Opened { candidate: Candidate { name, origin, .. }, digest, .. } = opened;
    let is_foreign = !info.features.contains(&Feature::Manifest);
    let wants = info.manifest.as_ref().map(|manifest| &*manifest.wants).unwrap_or_default();
    let grants = if is_foreign { granted } else { Grants::wanted(wants, settings).0 };
    let mut inspection = Inspection {
        name,
        origin,
        digest,
        bytes,
        info,
        tools: Vec::new(),
        defect: None,
        remarks: Vec::new(),
    };
    let Inspection { name, info, .. } = &inspection;
    let mut manifest = info.manifest.clone();
    // Some wants depend on settings that the operator has not written yet, so no wanted capability counts as missing.
    manifest.iter_mut().flat_map(|all| &mut all.wants).for_each(|want| want.optional = true);
    let judged = judge(name, is_foreign, &info.imports, manifest, grants, settings);
    let judged = judged
        .and_then(|(policy, manifest, remarks)| Ok((policy, tools(manifest.tools)?, remarks)));
    match judged {
        Ok((policy, mut tools, mut remarks)) => {
            hints::correct(name, &mut tools, &policy, &[], &mut remarks);
            (inspection.tools, inspection.remarks) = (tools, remarks);
        }
        Err(defect) => inspection.defect = Some(defect),
    }
    inspection
}

impl Inspection {
    /// The wants of the manifest.
    pub fn wants(&self) -> &[Want] {
        self.info.manifest.as_ref().map(|manifest| &*manifest.wants).unwrap_or_default()
    }

    /// The capabilities that the component cannot use, independent of grants.
    pub fn cannot(&self) -> Vec<UnusableCapability> {
        cannot(&self.info.imports, &self.info.features, self.wants())
    }
}
