//! `portcullis ui5`: what the UI5 plugins fetch, carried to machines without a network.

use std::path::Path;

use portcullis_pack::{Args, Defaults};

use super::End;
use portcullis_core::config::{self, Folders};

/// The plugin whose settings say where things are.
const PLUGIN: &str = "ui5-reference";

/// Packs or unpacks.
pub(super) fn run(args: Args, given: Option<&Path>) -> Result<End, String> {
    let (config, _) = config::load(given, &Folders::of_user()?)?;
    let settings = config.plugins.get(PLUGIN).map(|plugin| &plugin.settings);
    let setting = |key: &str| settings?.get(key).filter(|value| !value.is_empty()).cloned();
    let data_dir = setting("data-dir").map(|path| portcullis_confine::at_home(path.as_ref()));
    let mut say = |what: &str| super::log::say(&portcullis_sanitize::line(what, 200));
    super::print(&args.run(Defaults { cdn: setting("cdn-url"), data_dir }, &mut say)?)
}
