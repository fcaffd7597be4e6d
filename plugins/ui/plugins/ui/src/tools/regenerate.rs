//! The action `regenerate`: generates a view again.

use crate::{
    settings::Settings,
    stored_views,
    view_assignment::{self, ViewUris},
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
        stored_views::change(&tool.name, |record| record.refinements.clear())?;
    }
    if settings.provider.is_some() {
        return super::generate(request, settings, tool, true, "regenerated");
    }
    let before = ViewUris::new(settings).of(tool);
    stored_views::forget_view(&tool.name)?;
    let address = view_assignment::notify_view_changed(request, tool, settings, &before);
    Ok(format!(
        "UI regenerated for tool '{}' from its schemas; no provider of models is set. Its URI is {address}.",
        tool.name
    ))
}
