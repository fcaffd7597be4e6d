//! The data of a family of plugins, which the build script collects. `portcullis-core` compiles this file too, for
//! the constants that its own build script copies from this crate.

/// The properties of a family that decide which of its tools clients see.
#[derive(Debug)]
pub struct Family {
    /// The name of its folder.
    pub name: &'static str,
    /// The names of its plugins.
    pub plugins: &'static [&'static str],
    /// Files that mark a project of this family. Empty: the tools of this family are for every project.
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
