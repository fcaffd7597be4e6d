//! The action `list`: which tool has which view.

use crate::{
    faces::{self, Addresses},
    kept,
    settings::Settings,
};
use portcullis_plugin::catalog;
use serde::Serialize;

/// All tools.
#[derive(Serialize)]
pub struct Tools {
    /// In the catalog's order.
    tools: Vec<Listed>,
    /// What is wrong with the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

/// A tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// As clients know it.
    name: String,
    /// The plugin or server it comes from.
    source: String,
    /// `rich`: a model made it; `minimal`: made from the schemas; `own`: its source brings it; `none`.
    ui_type: UiType,
    /// Whether a view that a model made is kept.
    cached: bool,
    /// How many refinements are kept.
    refinements: usize,
    /// Whether it gets a view from this plugin.
    enabled: bool,
    /// Where the view is.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

/// What kind of view a tool has.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UiType {
    /// A model made it.
    Rich,
    /// It is made from the schemas.
    Minimal,
    /// Its source brings it.
    Own,
    /// None.
    None,
}

/// The kind of view of that tool.
pub fn ui_type(tool: &catalog::Entry, settings: &Settings, addresses: &Addresses) -> UiType {
    if tool.view.is_some() {
        UiType::Own
    } else if !faces::gets_view(tool, settings) {
        UiType::None
    } else if addresses.view(tool).is_some() {
        UiType::Rich
    } else {
        UiType::Minimal
    }
}

/// All tools but this plugin's, with the state of their views.
pub fn all(settings: &Settings) -> Tools {
    let addresses = Addresses::new(settings);
    let others = catalog::tools().into_iter().filter(|tool| !tool.of_this_plugin);
    let tools = others.map(|tool| {
        let enabled = faces::gets_view(&tool, settings);
        let ui_type = ui_type(&tool, settings, &addresses);
        Listed {
            ui_type,
            cached: ui_type == UiType::Rich,
            refinements: kept::record(&tool.name).refinements.len(),
            enabled,
            address: enabled.then(|| addresses.of(&tool)),
            name: tool.name,
            source: tool.source,
        }
    });
    Tools { tools: tools.collect(), problems: settings.complaints.clone() }
}
