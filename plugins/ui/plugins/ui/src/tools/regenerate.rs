//! The action `regenerate`: generates a view again.

use crate::{
    faces::{self, Addresses},
    kept,
    settings::Settings,
};
use portcullis_plugin::{catalog::Entry, prelude::*};

/// Makes the view of a tool anew: with the provider or, without a provider, from the tool's schemas.
/// `forget`: removes the refinements first.
pub fn regenerate(
    request: &Request<'_>,
    settings: &Settings,
    tool: &Entry,
    forget: bool,
) -> Result<String, Failure> {
    if forget {
        kept::change(&tool.name, |record| record.refinements.clear())?;
    }
    if settings.provider.is_some() {
        return super::generate(request, settings, tool, true, "regenerated");
    }
    let before = Addresses::new(settings).of(tool);
    kept::forget_view(&tool.name)?;
    let address = faces::tell(request, tool, settings, &before);
    Ok(format!(
        "UI regenerated for tool '{}' from its schemas; no provider of models is set. It is {address}.",
        tool.name
    ))
}
