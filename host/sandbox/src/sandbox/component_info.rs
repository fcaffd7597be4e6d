//! Information about a component: its imports, its exported interfaces, and its manifest.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use super::linked_component::Feature;
use super::sockets;
use super::state::ALWAYS_LINKED;
use crate::bindings::Manifest;
use crate::capabilities::Capability;
use crate::gate::Policy;
use portcullis_engine::{Engine, Limits};

/// Information about a component, which is kept on disk under the component's digest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ComponentInfo {
    /// The imported interfaces.
    pub imports: Vec<Import>,
    /// The contract's interfaces that the component exports.
    pub features: Vec<Feature>,
    /// The manifest. `None`: the component was not asked, because it imports an interface that is not linked.
    pub manifest: Option<Manifest>,
}

/// Why a component cannot be a plugin, for the operator. The reason is a text, because refusals are remembered on disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RefusedComponent(pub(super) String);

/// A digest of the contract's files that define [`Manifest`]. The format of the kept bytes depends on these files.
static CONTRACT: LazyLock<String> = LazyLock::new(|| {
    let texts = concat!(
        include_str!("../../../../wit/manifest.wit"),
        include_str!("../../../../wit/types.wit"),
    );
    portcullis_checked_files::digest(texts.as_bytes())
});

/// The key under which the information about a component is kept.
pub fn key(digest: &str) -> String {
    format!("{digest} {} {} 3", env!("CARGO_PKG_VERSION"), *CONTRACT)
}

/// The key under which the refusal of a component within these limits is kept.
pub fn refusal_key(digest: &str, limits: &Limits) -> String {
    let limits: Vec<_> = limits.lines().into_iter().map(|(_, value, ..)| value).collect();
    format!("{} refused {} {limits:?}", key(digest), portcullis_engine::compiler::LIMITS_VERSION)
}

/// Maximum number of tools of one plugin.
const MAX_TOOLS: usize = 256;

/// Maximum number of prompts of one plugin. The same maximum applies to resources, and to resource templates.
const MAX_OTHERS: usize = 1024;

/// Maximum size of the information about a component, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Why a manifest is refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// There are too many tools, prompts, resources or templates.
    #[error("it has {number} {kind}; a plugin may have at most {most}")]
    TooMany {
        /// The kind: tools, prompts, resources or resource templates.
        kind: &'static str,
        /// How many there are.
        number: usize,
        /// The maximum.
        most: usize,
    },
    /// The manifest has too many bytes.
    #[error("its manifest has {0} bytes; the maximum is {MAX_BYTES}")]
    TooLarge(usize),
    /// The manifest cannot be serialised.
    #[error("its manifest cannot be serialised")]
    Bytes(#[from] postcard::Error),
}

impl ComponentInfo {
    /// Checks that the manifest is not too large for clients.
    ///
    /// # Errors
    ///
    /// [`ManifestError`]: the manifest has too many entries or bytes, or cannot be serialised.
    pub fn check_size(&self) -> Result<(), ManifestError> {
        let Some(manifest) = &self.manifest else { return Ok(()) };
        for (kind, number, most) in [
            ("tools", manifest.tools.len(), MAX_TOOLS),
            ("prompts", manifest.prompts.len(), MAX_OTHERS),
            ("resources", manifest.resources.len(), MAX_OTHERS),
            ("resource templates", manifest.templates.len(), MAX_OTHERS),
        ] {
            if number > most {
                return Err(ManifestError::TooMany { kind, number, most });
            }
        }
        let bytes = self.to_bytes()?.len();
        if bytes > MAX_BYTES {
            return Err(ManifestError::TooLarge(bytes));
        }
        Ok(())
    }

    /// Reads kept information. `None`: the bytes have another format.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (known, rest) = postcard::take_from_bytes(bytes).ok()?;
        rest.is_empty().then_some(known)
    }

    /// The bytes to keep, which are not JSON: every start reads them, and JSON would take several times as long.
    ///
    /// # Errors
    ///
    /// A value cannot be serialised: a fault of this program.
    pub fn to_bytes(&self) -> postcard::Result<Vec<u8>> {
        postcard::to_allocvec(self)
    }
}

/// One imported interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// The full name, with the version.
    pub interface: String,
    /// The imported functions. For example, a plugin that does not import `[method]descriptor.open-at` cannot open a
    /// file, whatever is granted.
    pub functions: Vec<String>,
}

/// Why an import cannot be linked.
#[derive(Debug, Clone, PartialEq)]
pub enum Missing {
    /// The capability is not granted.
    Grant(Capability),
    /// This host does not know the interface.
    Unknown(String),
    /// This host has no interfaces of this version of WASI. The field is the version.
    Version(String),
}

/// The capabilities that a plugin can run without, because all of its wants of them are optional. Each of these
/// capabilities is linked even if it is not granted, and then refuses every ask.
pub fn dispensable(manifest: &Manifest) -> Vec<Capability> {
    let can_do_without = |capability: &Capability| {
        let mut wants =
            manifest.wants.iter().filter(|want| want.capability == capability.as_str()).peekable();
        wants.peek().is_some() && wants.all(|want| want.optional)
    };
    Capability::ALL.into_iter().filter(can_do_without).collect()
}

/// The imports that this policy does not allow, each capability or interface once.
pub fn missing(imports: &[Import], policy: &Policy) -> Vec<Missing> {
    let mut missing = Vec::new();
    for import in imports {
        let name = import.interface.as_str();
        if let Some(version) = unknown_version(name) {
            let one = Missing::Version(version.to_owned());
            if !missing.contains(&one) {
                missing.push(one);
            }
            continue;
        }
        if ALWAYS_LINKED.iter().any(|always| name.starts_with(always))
            || policy.is_foreign && name.starts_with(sockets::INTERFACES)
        {
            continue;
        }
        let one = match Capability::ALL
            .into_iter()
            .find(|capability| capability.imports().iter().any(|i| name.starts_with(i)))
        {
            Some(capability) if policy.has(capability) => continue,
            Some(capability) => Missing::Grant(capability),
            None => Missing::Unknown(import.interface.clone()),
        };
        if !missing.contains(&one) {
            missing.push(one);
        }
    }
    missing
}

/// The version of WASI in the name of an interface, if this host has no interfaces of it. It has none of release candidates.
fn unknown_version(name: &str) -> Option<&str> {
    let (_, version) = name.strip_prefix("wasi:")?.split_once('@')?;
    let is_known = ["0.2.", "0.3."].iter().any(|known| version.starts_with(known));
    (!is_known || version.contains('-')).then_some(version)
}

/// Whether some of these imports are sockets.
pub fn imports_sockets(imports: &[Import]) -> bool {
    imports.iter().any(|import| import.interface.starts_with(sockets::INTERFACES))
}

/// The imports of a compiled component.
pub fn imports(engine: &Engine, component: &Component) -> Vec<Import> {
    let engine = engine.wasmtime();
    component
        .component_type()
        .imports(engine)
        .map(|(name, import)| {
            let mut functions = Vec::new();
            if let ComponentItem::ComponentInstance(instance) = import.ty {
                let exports = instance.exports(engine);
                functions.extend(
                    exports
                        .filter(|(_, export)| matches!(export.ty, ComponentItem::ComponentFunc(_)))
                        .map(|(name, _)| name.to_owned()),
                );
            }
            Import { interface: name.to_owned(), functions }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::{Tool, ToolHints};

    fn imports(names: &[&str]) -> Vec<Import> {
        let import = |name: &&str| Import { interface: (*name).into(), functions: Vec::new() };
        names.iter().map(import).collect()
    }

    /// The information about a plugin with this number of tools, each with a description of `bytes` bytes.
    fn saying(tools: usize, bytes: usize) -> ComponentInfo {
        let tool = |at| Tool {
            name: format!("t{at}"),
            title: None,
            description: Some("x".repeat(bytes)),
            input_schema: String::new(),
            output_schema: None,
            paths: Vec::new(),
            needs: Vec::new(),
            hints: ToolHints {
                read_only: None,
                destructive: None,
                idempotent: None,
                open_world: None,
            },
            icons: Vec::new(),
            extra: None,
        };
        let manifest = Manifest {
            name: String::new(),
            title: None,
            version: String::new(),
            description: None,
            website: None,
            instructions: None,
            icons: Vec::new(),
            tools: (0..tools).map(tool).collect(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            wants: Vec::new(),
            extra: None,
        };
        ComponentInfo { imports: Vec::new(), features: Vec::new(), manifest: Some(manifest) }
    }

    #[test]
    fn a_manifest_that_is_too_large_is_refused() {
        saying(MAX_TOOLS, 10).check_size().unwrap();
        let many = saying(MAX_TOOLS + 1, 10).check_size().unwrap_err().to_string();
        assert!(many.contains("257 tools") && many.contains("256"), "{many}");
        let long = saying(1, MAX_BYTES).check_size().unwrap_err().to_string();
        assert!(long.contains("the maximum is 4194304"), "{long}");
    }

    #[test]
    fn imports_beyond_the_grants_are_named_once() {
        let grants = toml::from_str("[store]\nbytes = 1").unwrap();
        let imports = imports(&[
            "wasi:io/streams@0.2.6",
            "wasi:cli/environment@0.2.6",
            "portcullis:plugin/request@0.1.0",
            "portcullis:plugin/store@0.1.0",
            "wasi:filesystem/types@0.2.6",
            "wasi:filesystem/preopens@0.2.6",
            "wasi:sockets/tcp@0.2.6",
        ]);
        let mut policy = Policy { grants, ..Policy::default() };
        assert_eq!(
            missing(&imports, &policy),
            [Missing::Grant(Capability::Files), Missing::Unknown("wasi:sockets/tcp@0.2.6".into())]
        );
        policy.dispensable = vec![Capability::Files];
        assert_eq!(
            missing(&imports, &policy),
            [Missing::Unknown("wasi:sockets/tcp@0.2.6".into())],
            "the plugin can do without files"
        );
        policy.is_foreign = true;
        assert_eq!(missing(&imports, &policy), [], "a foreign component has sockets that refuse");
    }

    #[test]
    fn wasi_0_3_is_linked_and_release_candidates_are_not() {
        let names = [
            "wasi:clocks/system-clock@0.3.0",
            "wasi:filesystem/types@0.3.0",
            "wasi:clocks/system-clock@0.3.0-rc-2026-01-06",
            "wasi:clocks/monotonic-clock@0.3.0-rc-2026-01-06",
            "wasi:cli/stdout@0.4.0",
            "other:cli/stdout@0.4.0",
        ];
        let version = |version: &str| Missing::Version(version.to_owned());
        assert_eq!(
            missing(&imports(&names), &Policy::default()),
            [
                Missing::Grant(Capability::Files),
                version("0.3.0-rc-2026-01-06"),
                version("0.4.0"),
                Missing::Unknown(names[5].to_owned()),
            ]
        );
    }
}
