//! The bundled plugins as WebAssembly components, embedded in the host.

/// A plugin that is part of the host's binary.
pub struct Bundled {
    /// The operator's name for the plugin.
    pub name: &'static str,
    /// The bytes of the component.
    pub component: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));
