//! Views for the tools of the catalog, and who may call these tools.

use crate::{failure::Failure, request::Request};

pub use crate::bindings::views::ToolView;

/// The views that this plugin assigns to tools of the [`catalog`](crate::catalog). Implement this
/// trait for a type of its own, and name the type in [`plugin!`](crate::plugin) as `views`.
///
/// ```
/// # use portcullis_plugin::prelude::*;
/// struct Faces;
///
/// impl Views for Faces {
///     fn assign(_request: &Request) -> Result<Vec<ToolView>, Failure> {
///         let bare = catalog::tools().into_iter().filter(|tool| tool.view.is_none());
///         Ok(bare
///             .map(|tool| ToolView {
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
    /// Assigns views to tools; has to be quick. The host calls this after each change of its catalog, and after the
    /// plugin reports a change of the list of tools ([`Request::list_changed`]). Tools with a view of their own, and
    /// tools that the result does not name, stay as they are.
    fn assign(request: &Request<'_>) -> Result<Vec<ToolView>, Failure>;
}

/// A plugin that assigns no views.
impl Views for () {
    fn assign(_request: &Request<'_>) -> Result<Vec<ToolView>, Failure> {
        Ok(Vec::new())
    }
}
