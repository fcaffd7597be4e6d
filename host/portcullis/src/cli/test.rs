//! `portcullis test`: runs the cases of a plugin's author in the sandbox.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use portcullis_core::config::is_name;
use portcullis_plugin_cases::read_cases;
use serde_json::json;

use super::trial::{Tested, Trial};
use super::trial_text::{as_json, as_text, summary};
use super::{CommandEnd, Common, print, start};

/// The end of the help.
const ABOUT: &str = "\
A case is a file such as this:

  tool = \"find_lines\"
  arguments = { file = \"list.txt\", pattern = { text = \"water\" } }
  files = { \"list.txt\" = \"bread and water\" }
  grants = { files = { access = \"read\" } }

  [expect]
  contains = [\"water\"]

`grants` has the same keys as [plugins.NAME.grants] of portcullis.toml. [expect] may also have `text`, `structured`, \
`is-error` and `denied`. Each case runs alone, in a folder of its own that is removed afterwards; `{root}` in a text \
stands for this folder. Your configuration, approvals and audit are neither used nor changed. The plugin gets the \
grants that a case names, so read the cases of others before you run them.";

/// Arguments of `test`.
#[derive(clap::Args)]
// clap names a group after its struct, and other structs have this name.
#[group(skip)]
#[command(after_help = ABOUT)]
pub struct Args {
    /// The component
    #[arg(value_name = "PLUGIN.wasm")]
    plugin: PathBuf,
    /// The folder of the cases, which are its files `*.toml`
    #[arg(long, value_name = "DIR", default_value = "cases")]
    cases: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(super) fn run(self, common: &Common) -> anyhow::Result<CommandEnd> {
        super::log::begin(common.verbose, common.log_json, None);
        start::alone(async {
            super::signals::survive_file_limits()?;
            let all = test(&self.plugin, &self.cases, !self.json).await?;
            let failed = all.iter().filter(|one| !one.has_passed()).count();
            if self.json {
                let cases: Vec<_> = all.iter().map(as_json).collect();
                let whole = json!({"cases": cases, "passed": all.len() - failed, "failed": failed});
                print::json(&whole)?;
            } else {
                print(&summary(all.len() - failed, failed))?;
            }
            Ok(if failed == 0 { CommandEnd::Done } else { CommandEnd::Failed })
        })
    }
}

/// Runs the cases of a folder with a component. With `is_shown`, prints each case when it has ended.
///
/// # Errors
///
/// A case file has a mistake, or the component or the cases cannot be read.
pub async fn test(component: &Path, cases: &Path, is_shown: bool) -> anyhow::Result<Vec<Tested>> {
    let plugin = plugin_name(component)?;
    let cases = read_cases(cases, &plugin)
        .with_context(|| format!("reading the cases of {}", component.display()))?;
    let trial = Trial::new(component, plugin)?;
    let mut all = Vec::new();
    for case in cases {
        let tested = trial.run(case).await?;
        if is_shown {
            print(&as_text(&tested))?;
        }
        all.push(tested);
    }
    Ok(all)
}

/// The name of the plugin: the name of its file without `.wasm`.
pub fn plugin_name(component: &Path) -> anyhow::Result<String> {
    let name = component.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if component.extension().is_none_or(|extension| extension != "wasm") {
        bail!(
            "{} is not a file NAME.wasm\n  hint: name the component that the build made",
            component.display()
        );
    }
    if !is_name(&name) {
        bail!(
            "`{name}` cannot be the name of a plugin\n  hint: rename the file, with letters, digits, `-` and `_` only"
        );
    }
    Ok(name)
}
