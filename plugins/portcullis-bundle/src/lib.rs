//! The bundled plugins as WebAssembly components, with the defaults, the scripts and the further properties of
//! their families. The host embeds all of them.
//!
//! A family is a folder `plugins/FAMILY`:
//!
//! - `plugins/*`: the plugins. Each is built and bundled.
//! - `libraries/*`: crates that the plugins share.
//! - `defaults.toml`: the default configuration of the plugins, and the commands that they may run.
//! - `commands/*`: scripts. The arguments of a command refer to a script as `@FILE`.
//! - `family.toml`: further properties of the family, see `build/families.rs`.
//! - `resources/*`: data that the plugins are compiled with.

/// A plugin that is part of the host's binary.
pub struct Bundled {
    /// The operator's name for the plugin.
    pub name: &'static str,
    /// The bytes of the component.
    pub component: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));

/// The default configuration of all families, as TOML.
pub const DEFAULTS: &str = include_str!(concat!(env!("OUT_DIR"), "/defaults.toml"));

/// Rust source of the constants about the families. `portcullis-core` defines the types of these constants and compiles
/// the source.
pub const FAMILY_CONSTANTS: &str = include_str!(concat!(env!("OUT_DIR"), "/families.rs"));
