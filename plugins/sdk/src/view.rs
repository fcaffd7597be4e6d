//! Views for the tools of all plugins, and who may call those tools from one.

use crate::{failure::Failure, request::Request};

pub use crate::bindings::views::Dressing;

/// What the plugin has to say of the tools of the [`catalog`](crate::catalog). Implement it for a type of
/// its own, and name that in [`plugin!`](crate::plugin) as `views`.
///
/// ```
/// # use portcullis_plugin::prelude::*;
/// struct Faces;
///
/// impl Views for Faces {
///     fn dress(_request: &Request) -> Result<Vec<Dressing>, Failure> {
///         let bare = catalog::tools().into_iter().filter(|tool| tool.view.is_none());
///         Ok(bare
///             .map(|tool| Dressing {
///                 view: Some(format!("ui://faces/{}/1.html", tool.name)),
///                 tool: tool.name,
///                 for_model: true,
///                 for_views: tool.hints.destructive == Some(false),
///             })
///             .collect())
///     }
/// }
/// ```
///
/// The views are [`Resources`](crate::Resources) of the same plugin.
pub trait Views {
    /// Says it, soon: the host asks whenever its catalog changed, and whenever the plugin said that the
    /// list of tools did ([`Request::list_changed`]). Tools that are not named stay as they are.
    fn dress(request: &Request<'_>) -> Result<Vec<Dressing>, Failure>;
}

/// A plugin that dresses no tool.
impl Views for () {
    fn dress(_request: &Request<'_>) -> Result<Vec<Dressing>, Failure> {
        Ok(Vec::new())
    }
}
