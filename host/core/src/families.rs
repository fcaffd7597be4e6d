//! The data of the families of bundled plugins. The host's own code names no plugin: the build script collects
//! this data from the folders `plugins/FAMILY`.

/// The data of a family that decides which tools are listed.
#[derive(Debug)]
pub struct Family {
    /// The name.
    pub name: &'static str,
    /// The names of the family's plugins.
    pub plugins: &'static [&'static str],
    /// Files that mark a project of this family. Empty: the family's tools are for every project.
    pub marks: &'static [Mark],
    /// Names of folders that are not searched for projects.
    pub skipped: &'static [&'static str],
    /// Tools that are of use without a project, by the plugins' own names.
    pub without_project: &'static [&'static str],
}

/// A file that marks a project.
#[derive(Debug)]
pub struct Mark {
    /// The name of the file, in which `*` stands for any text.
    pub file: &'static str,
    /// The file must contain one of these texts. Empty: the name is enough.
    pub contains: &'static [&'static str],
}

impl Family {
    /// The family of a bundled plugin.
    pub fn of(plugin: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.plugins.contains(&plugin))
    }

    /// The families whose tools are listed only if the roots contain a project of the family.
    pub fn with_projects() -> impl Iterator<Item = &'static Self> {
        FAMILIES.iter().filter(|family| !family.marks.is_empty())
    }
}

include!(concat!(env!("OUT_DIR"), "/families.rs"));
