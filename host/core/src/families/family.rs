//! The types of the constants about plugin families. The build script of `portcullis-bundle` generates the constants
//! from the folders of the families.

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
    /// What its commands are for.
    pub summary: &'static str,
    /// Its commands. Empty: the command line has no command with the name of the family.
    pub commands: &'static [FamilyCommand],
}

/// A command that a family adds to the command line, `portcullis FAMILY NAME`. It calls one tool of the family.
#[derive(Debug)]
pub struct FamilyCommand {
    /// The name of the command.
    pub name: &'static str,
    /// What the command does.
    pub help: &'static str,
    /// The tool, by the name that its plugin gives it.
    pub tool: &'static str,
    /// Arguments of the tool that each call has.
    pub fixed: &'static [(&'static str, Fixed)],
    /// The values that follow the name of the command.
    pub positions: &'static [Position],
    /// Its options.
    pub options: &'static [CommandOption],
    /// Whether the command succeeds even if the tool fails. This is for callers, such as Git, that stop when the
    /// command fails.
    pub always_succeeds: bool,
}

/// A value that follows the name of a command.
#[derive(Debug)]
pub struct Position {
    /// Its name in the help.
    pub name: &'static str,
    /// What it stands for.
    pub help: &'static str,
    /// The argument of the tool that gets the value. `None`: the value is not used.
    pub argument: Option<&'static str>,
    /// Whether it can be left out.
    pub is_optional: bool,
    /// The arguments of the tool that are set instead of `argument` if the value is `/dev/null` (or `nul` on Windows),
    /// which stands for a file that does not exist. Empty: such a value is like any other.
    pub no_file: &'static [(&'static str, Fixed)],
}

/// An option of a command, with a value.
#[derive(Debug)]
pub struct CommandOption {
    /// Its name, without `--`.
    pub name: &'static str,
    /// The name of its value in the help.
    pub value: &'static str,
    /// What it does.
    pub help: &'static str,
    /// The argument of the tool that gets the value.
    pub argument: &'static str,
    /// The name of a file or folder that marks a root, such as `.git`. If the option is given, then for each file that
    /// the command names, the nearest folder above the file with such an entry becomes a root of the call.
    pub root_mark: Option<&'static str>,
}

/// A fixed value of an argument.
#[derive(Debug)]
pub enum Fixed {
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(i64),
    /// A text.
    Text(&'static str),
}

/// A file that marks a project.
#[derive(Debug)]
pub struct Mark {
    /// The name of the file; `*` stands for any text.
    pub file: &'static str,
    /// The file must contain one of these texts. Empty: the name is enough.
    pub contains: &'static [&'static str],
}
