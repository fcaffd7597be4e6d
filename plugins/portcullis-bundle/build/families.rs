//! Reads the folders of the plugin families.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::commands::{self, Command};

/// A family of plugins: a folder of `plugins/`.
pub struct Family {
    /// The name of its folder.
    name: String,
    /// The names of its plugins.
    pub plugins: Vec<String>,
    /// The text of `defaults.toml`.
    defaults: String,
    /// The files of `commands/`: name and text.
    scripts: BTreeMap<String, String>,
    about: About,
}

/// The file `family.toml`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct About {
    /// The plugin that makes views for the tools of the catalog. At most one family names such a plugin.
    view_plugin: Option<String>,
    /// The plugin of code mode, whose tools run programs that call the other tools. With `serve --tools code`, only
    /// the tools of this plugin are listed. At most one family names such a plugin.
    code_plugin: Option<String>,
    /// URI templates by the name of a plugin. The plugin serves these templates although its manifest does not name
    /// them.
    #[serde(default)]
    reserved_uris: BTreeMap<String, Vec<String>>,
    /// An environment variable that sets the log level.
    log: Option<Log>,
    /// How to recognise a project of this family. If this is missing, the family's tools are for every project.
    #[serde(default)]
    project: Project,
    /// What the family's commands are for.
    #[serde(default)]
    summary: String,
    /// Commands of the command line, by their names.
    #[serde(default)]
    commands: BTreeMap<String, Command>,
}

/// How to recognise a project of a family. By default, clients see the family's tools if the roots contain such a
/// project.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Project {
    /// Files that mark a project. One of them is enough.
    marks: Vec<Mark>,
    /// Names of folders that the search for projects skips.
    #[serde(default)]
    skipped: Vec<String>,
    /// Tools that are useful without a project, by the names that their plugins give them.
    #[serde(default)]
    without_project: Vec<String>,
}

/// A file that marks a project.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// The name of the file; `*` stands for any text.
    file: String,
    /// The file must contain one of these texts. If the list is empty, the name of the file is enough.
    #[serde(default)]
    contains: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    variable: String,
    /// The level that each value of the variable stands for.
    levels: BTreeMap<String, Level>,
}

/// A log level of the host.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Off,
    Error,
    Info,
    Debug,
}

/// Reads all families, in the order of their names.
pub fn read(plugins: &Path) -> Vec<Family> {
    let folders = entries(plugins).into_iter().filter(|path| path.join("plugins").is_dir());
    folders.map(|folder| family(&folder)).collect()
}

fn family(folder: &Path) -> Family {
    let about = folder.join("family.toml");
    let about: About = match about.exists() {
        true => toml::from_str(&text(&about))
            .unwrap_or_else(|error| panic!("{}: {error}", about.display())),
        false => About::default(),
    };
    let plugins: Vec<_> = entries(&folder.join("plugins"))
        .iter()
        .filter(|path| path.join("Cargo.toml").exists())
        .map(|path| name(path))
        .collect();
    for plugin in about.reserved_uris.keys().chain(&about.view_plugin).chain(&about.code_plugin) {
        assert!(plugins.contains(plugin), "{}: no plugin `{plugin}`", folder.display());
    }
    let has_summary = !about.summary.is_empty();
    assert_eq!(has_summary, !about.commands.is_empty(), "{}: summary", folder.display());
    let scripts = folder.join("commands");
    let scripts = if scripts.exists() { entries(&scripts) } else { Vec::new() };
    Family {
        name: name(folder),
        plugins,
        defaults: text(&folder.join("defaults.toml")),
        scripts: scripts.iter().map(|path| (name(path), text(path))).collect(),
        about,
    }
}

/// The default configuration of all families, as TOML.
pub fn defaults(families: &[Family]) -> String {
    families.iter().map(|family| family.defaults.as_str()).collect::<Vec<_>>().join("\n")
}

/// Generates the Rust source of the families' constants. Their types are in `host/core/src/families/family.rs`.
pub fn constants(families: &[Family]) -> String {
    let scripts: Vec<_> = families.iter().flat_map(|family| &family.scripts).collect();
    let mut names = BTreeSet::new();
    for (name, _) in &scripts {
        assert!(names.insert(name), "two families have a script with the name {name}");
    }
    let uris: Vec<_> = families
        .iter()
        .flat_map(|family| &family.about.reserved_uris)
        .flat_map(|(plugin, uris)| uris.iter().map(move |uri| (plugin, uri)))
        .collect();
    let levels: Vec<_> = families
        .iter()
        .filter_map(|family| family.about.log.as_ref())
        .flat_map(|log| log.levels.iter().map(|(value, level)| (&log.variable, value, level)))
        .map(|(variable, value, level)| (variable, value, format!("{level:?}").to_lowercase()))
        .collect();
    let code: Vec<_> = families.iter().filter_map(|one| one.about.code_plugin.as_ref()).collect();
    assert!(code.len() <= 1, "more than one plugin runs programs: {code:?}");
    let views: Vec<_> = families.iter().filter_map(|one| one.about.view_plugin.as_ref()).collect();
    assert!(views.len() <= 1, "more than one plugin makes views: {views:?}");
    format!(
        "\n/// Scripts that commands run: name and text.\n\
         pub const SCRIPTS: &[(&str, &str)] = &{scripts:?};\n\
         \n/// URI templates that a plugin serves and that its manifest does not name: plugin and template.\n\
         pub const RESERVED_URIS: &[(&str, &str)] = &{uris:?};\n\
         \n/// Environment variables that set the log level: variable, value, and level (`off`, `error`, `info`,\n\
         /// `debug`).\n\
         pub const LOG_LEVELS: &[(&str, &str, &str)] = &{levels:?};\n\
         \n/// The plugin that makes views for the tools of the catalog.\n\
         pub const VIEW_PLUGIN: Option<&str> = {:?};\n\
         \n/// The plugin whose tools run programs that call the other tools.\n\
         pub const CODE_PLUGIN: Option<&str> = {:?};\n\
         \n/// The families, with the files that mark their projects.\n\
         pub const FAMILIES: &[Family] = &[{}];\n",
        views.first(),
        code.first(),
        families.iter().map(expression).collect::<String>(),
    )
}

/// Generates the Rust expression for a `Family`.
fn expression(family: &Family) -> String {
    let Project { marks, skipped, without_project } = &family.about.project;
    let mark = |Mark { file, contains }: &Mark| {
        format!("Mark {{ file: {file:?}, contains: &{contains:?} }}, ")
    };
    format!(
        "Family {{ name: {:?}, plugins: &{:?}, marks: &[{}], skipped: &{skipped:?}, \
         without_project: &{without_project:?}, summary: {:?}, commands: &[{}] }}, ",
        family.name,
        family.plugins,
        marks.iter().map(mark).collect::<String>(),
        family.about.summary,
        commands::expressions(&family.about.commands),
    )
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().and_then(|name| name.to_str()).expect("the name is UTF-8").to_owned()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
