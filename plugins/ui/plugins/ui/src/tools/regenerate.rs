//! The tool `_ui_regenerate`: generates a view again.

use crate::{
    faces::{self, Addresses},
    kept,
    settings::Settings,
};
use portcullis_plugin::prelude::*;

/// Makes the UI of a tool anew, whatever was made before. Where no provider of models is set, the tool gets the UI that is made from its schemas.
#[arguments]
pub struct Regenerate {
    /// Name of the tool whose UI to make anew.
    tool_name: String,
    /// Whether to forget as well what was asked to be changed.
    #[serde(default)]
    clear_refinements: bool,
}

impl Tool for Regenerate {
    const NAME: &'static str = "_ui_regenerate";
    const TITLE: Option<&'static str> = Some("Regenerate UI");
    const HINTS: Hints = Hints::new().read_only(false).destructive(true).idempotent(false);
    type Output = String;

    fn call(self, request: &Request<'_>) -> Result<String, Failure> {
        let settings = Settings::read();
        let tool = faces::dressed(&self.tool_name, &settings)?;
        if self.clear_refinements {
            kept::change(&tool.name, |record| record.refinements.clear())?;
        }
        if settings.provider.is_some() {
            return super::generate(request, &settings, &tool, true, "regenerated");
        }
        let before = Addresses::new(&settings).of(&tool);
        kept::forget_view(&tool.name)?;
        let address = faces::tell(request, &tool, &settings, &before);
        Ok(format!(
            "UI regenerated for tool '{}' from its schemas; no provider of models is set. It is {address}.",
            tool.name
        ))
    }
}
