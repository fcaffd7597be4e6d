//! The bundled plugins as WebAssembly components, and what their families bring with them, embedded in
//! the host.
//!
//! A family is a folder `plugins/FAMILY`:
//!
//! - `plugins/*`: the plugins. Each is built and bundled.
//! - `libraries/*`: crates that the plugins share.
//! - `defaults.toml`: the default configuration of the plugins, and the commands that they may run.
//! - `commands/*`: scripts, which the arguments of a command name as `@FILE`.
//! - `family.toml`: what else the host needs to know, see `build/families.rs`.
//! - `resources/*`: data that the plugins are compiled with.

/// A plugin that is part of the host's binary.
pub struct Bundled {
    /// The operator's name for the plugin.
    pub name: &'static str,
    /// The bytes of the component.
    pub component: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/families.rs"));
