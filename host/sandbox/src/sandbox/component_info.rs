//! What is known of a component without running it: its imports, and the manifest that it once returned.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use super::offer::Feature;
use super::sockets;
use super::state::ALWAYS;
use crate::bindings::Manifest;
use crate::capabilities::Capability;
use crate::gate::Policy;
use portcullis_engine::{Engine, Limits};

/// Kept by digest from one start of the host to the next.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ComponentInfo {
    /// What it imports.
    pub imports: Vec<Import>,
    /// Which of the contract's interfaces it exports.
    pub features: Vec<Feature>,
    /// What it says of itself. `None`: it has not been asked, as it imports what nobody gets.
    pub manifest: Option<Manifest>,
}

/// Of the contract's texts that shape [`Manifest`], and so the bytes that are kept of it.
static CONTRACT: LazyLock<String> = LazyLock::new(|| {
    let texts = concat!(
        include_str!("../../../../wit/manifest.wit"),
        include_str!("../../../../wit/types.wit"),
    );
    portcullis_checked_files::digest(texts.as_bytes())
});

/// What this host's knowledge of a component is kept under.
pub fn key(digest: &str) -> String {
    format!("{digest} {} {} 3", env!("CARGO_PKG_VERSION"), *CONTRACT)
}

/// What a refusal of a component within these limits is kept under.
pub fn refusal_key(digest: &str, limits: &Limits) -> String {
    let limits: Vec<_> = limits.lines().into_iter().map(|(_, value, ..)| value).collect();
    format!("{} refused {} {limits:?}", key(digest), portcullis_engine::compiler::LIMITS_VERSION)
}

/// Most tools of one plugin.
const MAX_TOOLS: usize = 256;

/// Most prompts, resources and resource templates of one plugin, each.
const MAX_OTHERS: usize = 1024;

/// Most bytes of all that one plugin says of itself.
const MAX_BYTES: usize = 4 * 1024 * 1024;

impl ComponentInfo {
    /// Whether a plugin says no more of itself than clients can read.
    ///
    /// # Errors
    ///
    /// What there is too much of, and how much is the most.
    pub fn check_size(&self) -> Result<(), String> {
        let Some(manifest) = &self.manifest else { return Ok(()) };
        for (kind, number, most) in [
            ("tools", manifest.tools.len(), MAX_TOOLS),
            ("prompts", manifest.prompts.len(), MAX_OTHERS),
            ("resources", manifest.resources.len(), MAX_OTHERS),
            ("resource templates", manifest.templates.len(), MAX_OTHERS),
        ] {
            if number > most {
                return Err(format!("it has {number} {kind}; one plugin may have {most}"));
            }
        }
        let bytes = self.to_bytes()?.len();
        if bytes > MAX_BYTES {
            return Err(format!(
                "what it says of itself and its tools has {bytes} bytes; {MAX_BYTES} are the most"
            ));
        }
        Ok(())
    }

    /// As it was kept. `None`: by another host than this one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (known, rest) = postcard::take_from_bytes(bytes).ok()?;
        rest.is_empty().then_some(known)
    }

    /// To be kept: every start reads it, and JSON would take that several times as long.
    ///
    /// # Errors
    ///
    /// In words for the operator.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        postcard::to_allocvec(self).map_err(|error| format!("keeping what is known: {error}"))
    }
}

/// One imported interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// Its full name, with the version.
    pub interface: String,
    /// The functions used. A reader imports `[method]descriptor.open-at`; a plugin that does not
    /// cannot open a file, whatever it is granted.
    pub functions: Vec<String>,
}

/// Why an import is not to be had.
#[derive(Debug, Clone, PartialEq)]
pub enum Missing {
    /// It needs a grant.
    Grant(Capability),
    /// This host offers it to nobody.
    Unknown(String),
}

/// The capabilities that a plugin can do without: all that it wants of them is optional. Where one is not
/// granted, it is there and refuses everything.
pub fn dispensable(manifest: &Manifest) -> Vec<Capability> {
    let can_do_without = |capability: &Capability| {
        let mut wants =
            manifest.wants.iter().filter(|want| want.capability == capability.as_str()).peekable();
        wants.peek().is_some() && wants.all(|want| want.optional)
    };
    Capability::ALL.into_iter().filter(can_do_without).collect()
}

/// What these imports need beyond what this policy gives, each once.
pub fn missing(imports: &[Import], policy: &Policy) -> Vec<Missing> {
    let mut missing = Vec::new();
    for import in imports {
        let name = import.interface.as_str();
        if ALWAYS.iter().any(|always| name.starts_with(always))
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

    /// What a plugin with so many tools, each with a description of so many bytes, says of itself.
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
    fn a_plugin_says_no_more_of_itself_than_clients_can_read() {
        assert_eq!(saying(MAX_TOOLS, 10).check_size(), Ok(()));
        let many = saying(MAX_TOOLS + 1, 10).check_size().unwrap_err();
        assert!(many.contains("257 tools") && many.contains("256"), "{many}");
        let long = saying(1, MAX_BYTES).check_size().unwrap_err();
        assert!(long.contains("4194304 are the most"), "{long}");
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
        assert_eq!(missing(&imports, &policy), [], "a plain component has sockets that refuse");
    }
}
