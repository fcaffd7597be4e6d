//! The bundled plugins as WebAssembly components, with the defaults, scripts and project marks of their
//! families. The host embeds all of them.
//!
//! A family is a folder `plugins/FAMILY`:
//!
//! - `plugins/*`: the plugins. Each is built and bundled.
//! - `libraries/*`: crates that the plugins share.
//! - `defaults.toml`: the default configuration of the plugins, and the commands that they may run.
//! - `commands/*`: scripts, which the arguments of a command name as `@FILE`.
//! - `family.toml`: further properties of the family, see `build/families.rs`.
//! - `resources/*`: data that the plugins are compiled with.

mod family;

/// A plugin that is part of the host's binary.
pub struct Bundled {
    /// The operator's name for the plugin.
    pub name: &'static str,
    /// The bytes of the component.
    pub component: &'static [u8],
}

pub use family::{CommandOption, Family, FamilyCommand, Fixed, Mark, Position};

include!(concat!(env!("OUT_DIR"), "/families.rs"));
