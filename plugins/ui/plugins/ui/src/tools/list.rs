//! The action `list`: which tool has which view.

use crate::{
    settings::Settings,
    stored_views,
    view_assignment::{self, ViewUris},
};
use portcullis_plugin::catalog;
use serde::Serialize;

/// All tools.
#[derive(Serialize)]
pub struct Tools {
    /// The tools, in the catalog's order.
    tools: Vec<Listed>,
    /// The errors in the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

/// A tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The name that clients use.
    name: String,
    /// The operator's name for the plugin or upstream server that offers the tool.
    source: String,
    /// `rich`: a model made the view; `minimal`: the view is made from the schemas; `own`: the tool's source
    /// provides the view; `none`.
    ui_type: UiType,
    /// Whether a view that a model made is stored and shown.
    cached: bool,
    /// The number of stored refinements.
    refinements: usize,
    /// Whether the tool gets a view from this plugin.
    enabled: bool,
    /// URI of the view.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

/// The kind of view that a tool has.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UiType {
    /// A model made the view.
    Rich,
    /// The view is made from the schemas.
    Minimal,
    /// The tool's source provides the view.
    Own,
    /// The tool has no view.
    None,
}

/// The kind of view of that tool.
pub fn ui_type(tool: &catalog::Entry, settings: &Settings, addresses: &ViewUris) -> UiType {
    if tool.view.is_some() {
        UiType::Own
    } else if !view_assignment::gets_view(tool, settings) {
        UiType::None
    } else if addresses.view(tool).is_some() {
        UiType::Rich
    } else {
        UiType::Minimal
    }
}

/// All tools except this plugin's own, with the state of their views.
pub fn all(settings: &Settings) -> Tools {
    let addresses = ViewUris::new(settings);
    let others = catalog::tools().into_iter().filter(|tool| !tool.of_this_plugin);
    let tools = others.map(|tool| {
        let enabled = view_assignment::gets_view(&tool, settings);
        let ui_type = ui_type(&tool, settings, &addresses);
        Listed {
            ui_type,
            cached: ui_type == UiType::Rich,
            refinements: stored_views::record(&tool.name).refinements.len(),
            enabled,
            address: enabled.then(|| addresses.of(&tool)),
            name: tool.name,
            source: tool.source,
        }
    });
    Tools { tools: tools.collect(), problems: settings.complaints.clone() }
}
