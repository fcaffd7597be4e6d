//! `portcullis new`: makes the project of a new plugin.

use std::path::Path;

use anyhow::{Context as _, bail};
use portcullis_core::config::Folders;
use portcullis_core::plugins::is_bundled;
use portcullis_plugin_template::{LANGUAGES, Language, ProjectName};
use portcullis_sanitize::visible_line;

use super::relative::working_folder;
use super::style::{faint, green};
use super::{CommandEnd, Common, print};

/// Arguments of `new`.
#[derive(clap::Args)]
// clap names a group after its struct, and other structs have this name.
#[group(skip)]
#[command(after_help = about())]
pub struct Args {
    /// The name of the plugin, and of the new folder in the working directory
    name: String,
    /// The language
    #[arg(long = "lang", value_name = "LANGUAGE")]
    language: Option<String>,
}

/// The end of the help.
fn about() -> String {
    format!(
        "The languages:\n{}\nThe README.md of the project has the commands that build, test, install and call \
         the plugin.",
        languages()
    )
}

/// The languages, line by line.
fn languages() -> String {
    LANGUAGES.iter().map(|language| format!("  {:<8} {}\n", language.id, language.title)).collect()
}

impl Args {
    pub(super) fn run(self, common: &Common) -> anyhow::Result<CommandEnd> {
        super::log::begin(common.verbose, common.log_json, None);
        let language = self.language()?;
        let name = ProjectName::new(&self.name, language)?;
        let plugin = plugin_of(&language.component(&name));
        if is_bundled(&plugin) {
            bail!("a plugin `{plugin}` comes with portcullis\n  hint: write another name");
        }
        let folders = Folders::of_user()?;
        for remark in portcullis_file_transaction::recover(&folders.journals) {
            tracing::warn!("{remark}");
        }
        let here = working_folder().context("finding the folder to make the project in")?;
        let count = language
            .create(&name, &here, &folders.journals)
            .with_context(|| format!("making the project {}", name.as_str()))?;
        let path = here.join(name.as_str()).display().to_string();
        print(&format!(
            "{} {} ({count} files)\n\nNext:\n\n    cd {}\n{}\n{}\n",
            green("made"),
            visible_line(&path, 1000),
            name.as_str(),
            first_commands(&language.files(&name)["README.md"]),
            faint("README.md says more.")
        ))
    }

    fn language(&self) -> anyhow::Result<&'static Language> {
        let Some(id) = &self.language else {
            bail!(
                "the language is missing: add `--lang LANGUAGE`. The languages are:\n{}",
                languages().trim_end()
            );
        };
        match Language::named(id) {
            Some(language) => Ok(language),
            None => bail!(
                "there is no template for the language `{}`. The languages are:\n{}",
                visible_line(id, 80),
                languages().trim_end()
            ),
        }
    }
}

/// The name of the plugin whose component has this file name.
fn plugin_of(component: &str) -> String {
    Path::new(component).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The commands in the first block of a README, indented.
fn first_commands(readme: &str) -> String {
    let block = readme.split("```sh\n").nth(1).unwrap_or_default();
    let commands = block.lines().take_while(|line| !line.starts_with("```"));
    commands.map(|line| format!("    {line}\n")).collect()
}
