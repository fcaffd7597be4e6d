//! The bundled plugins as WebAssembly components, handed to the host's build.

/// A plugin that comes with the binary.
pub struct Bundled {
    /// The operator's name for it.
    pub name: &'static str,
    /// The component.
    pub component: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));
