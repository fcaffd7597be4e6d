//! The data of the families of bundled plugins. The host's own code names no plugin. Instead, the build script collects
//! this data from the folders `plugins/FAMILY`.

mod family;

pub use family::{CommandOption, Family, FamilyCommand, Fixed, Mark, Position};

impl Family {
    /// The family of a bundled plugin.
    pub fn of(plugin: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.plugins.contains(&plugin))
    }

    /// The families that add commands to the command line.
    pub fn with_commands() -> impl Iterator<Item = &'static Self> {
        FAMILIES.iter().filter(|family| !family.commands.is_empty())
    }

    /// The families whose projects are marked by files. By default, most tools of such a family are listed only if the
    /// roots contain, or may contain, a project of the family.
    pub fn with_projects() -> impl Iterator<Item = &'static Self> {
        FAMILIES.iter().filter(|family| !family.marks.is_empty())
    }
}

include!(concat!(env!("OUT_DIR"), "/families.rs"));
