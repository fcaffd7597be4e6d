//! The tool `_ui_list`: which tool has which view.

use crate::{
    faces::{self, Addresses},
    kept,
    settings::Settings,
};
use portcullis_plugin::prelude::*;

/// Lists all tools and the state of their UIs.
#[arguments]
pub struct List {}

/// All tools.
#[data]
pub struct Tools {
    /// In the catalog's order.
    tools: Vec<Listed>,
    /// What is wrong with the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

/// A tool.
#[data]
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
#[data]
#[derive(Clone, Copy, PartialEq, Eq)]
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

impl Tool for List {
    const NAME: &'static str = "_ui_list";
    const TITLE: Option<&'static str> = Some("List UIs");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    type Output = Json<Tools>;

    fn call(self, _request: &Request<'_>) -> Result<Json<Tools>, Failure> {
        let settings = Settings::read();
        let addresses = Addresses::new(&settings);
        let others = catalog::tools().into_iter().filter(|tool| !tool.of_this_plugin);
        let tools = others.map(|tool| {
            let enabled = faces::gets_view(&tool, &settings);
            let ui_type = ui_type(&tool, &settings, &addresses);
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
        Ok(Json(Tools { tools: tools.collect(), problems: settings.complaints.clone() }))
    }
}
