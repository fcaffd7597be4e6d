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

/// A family, as far as the choice of the listed tools needs it.
#[derive(Debug)]
pub struct Family {
    /// The name: that of its folder.
    pub name: &'static str,
    /// The names of its plugins.
    pub plugins: &'static [&'static str],
    /// Files that mark a project of this family. Empty: its tools are for every project.
    pub marks: &'static [Mark],
    /// Names of folders in which no project is looked for.
    pub skipped: &'static [&'static str],
    /// Tools that are of use without a project, by the plugins' own names.
    pub without_project: &'static [&'static str],
}

/// A file that marks a project.
#[derive(Debug)]
pub struct Mark {
    /// Its name, in which `*` stands for any text.
    pub file: &'static str,
    /// Texts of which the file must contain one. Empty: the name is enough.
    pub contains: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/families.rs"));
