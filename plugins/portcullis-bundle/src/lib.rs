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

/// A plugin that is part of the host's binary.
pub struct Bundled {
    /// The operator's name for the plugin.
    pub name: &'static str,
    /// The bytes of the component.
    pub component: &'static [u8],
}

/// The properties of a family that decide which of its tools clients see.
#[derive(Debug)]
pub struct Family {
    /// The name of its folder.
    pub name: &'static str,
    /// The names of its plugins.
    pub plugins: &'static [&'static str],
    /// Files that mark a project of this family. Empty: its tools are for every project.
    pub marks: &'static [Mark],
    /// Names of folders that the search for projects skips.
    pub skipped: &'static [&'static str],
    /// Tools that are useful without a project, by the names that their plugins give them.
    pub without_project: &'static [&'static str],
}

/// A file that marks a project.
#[derive(Debug)]
pub struct Mark {
    /// The name of the file; `*` stands for any text.
    pub file: &'static str,
    /// The file must contain one of these texts. Empty: the name is enough.
    pub contains: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/families.rs"));
