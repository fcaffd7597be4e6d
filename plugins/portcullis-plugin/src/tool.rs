//! Tools: types whose fields are the arguments of a call.

use crate::{
    bindings::portcullis::plugin::types::ToolHints, content::Icon, failure::Failure,
    reply::IntoReply, request::Request,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::bindings::exports::portcullis::plugin::manifest::{PathAccess, PathKind};

/// A tool that the model may call. Implement this trait for the [`arguments`](crate::arguments) of
/// the call.
pub trait Tool: Arguments {
    /// The name the model uses, such as `"read_manifest"`.
    const NAME: &'static str;
    /// The name people see.
    const TITLE: Option<&'static str> = None;
    /// MCP's annotations of the tool: hints by which clients decide whether to ask the user.
    const HINTS: Hints = Hints::new();
    /// Actions that the operator has to grant for this tool: see
    /// [`Want::action`](crate::Want::action).
    const NEEDS: &'static [&'static str] = &[];

    /// The result: a `String`, a [`Json`](crate::Json), or a [`Reply`](crate::Reply) with any
    /// content.
    type Output: IntoReply;

    /// Runs the tool. The model reads an `Err` from [`Failure::new`] or from `?` on any error; see [`Failure`].
    fn call(self, request: &Request<'_>) -> Result<Self::Output, Failure>;

    /// JSON Schema of the structured content. [`Json`](crate::Json) derives it.
    fn output_schema() -> Option<Value> {
        Self::Output::schema()
    }

    /// Icons for clients that show them.
    fn icons() -> Vec<Icon> {
        Vec::new()
    }

    /// A JSON object merged into the tool's description, for fields newer than this crate.
    fn extra() -> Option<Value> {
        None
    }
}

/// The arguments of a tool or a prompt. Implemented by [`#[arguments]`](crate::arguments).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    note = "write `#[arguments]` before the struct"
)]
pub trait Arguments: DeserializeOwned + JsonSchema {
    /// The arguments that are paths.
    const PATHS: &'static [PathArgument] = &[];
}

/// An argument that is a path, which the host opens for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathArgument {
    /// JSON Pointer to the argument. `"/files/-"` means each item of the list `files`.
    pub pointer: &'static str,
    /// The kind of path.
    pub kind: PathKind,
    /// The access that the tool needs.
    pub access: PathAccess,
    /// JSON Pointer to a `bool` argument; the declaration applies only if this argument is true.
    pub when: Option<&'static str>,
    /// Names of entries that mark the directory to open, at or above the path.
    pub nearest: &'static [&'static str],
}

/// MCP's tool annotations: hints by which clients decide whether to ask the user. `None` means unknown.
///
/// ```
/// # use portcullis_plugin::Hints;
/// const HINTS: Hints = Hints::new().read_only(true).open_world(false);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool may destroy or overwrite data.
    pub destructive: Option<bool>,
    /// A repeated call with the same arguments has no further effect.
    pub idempotent: Option<bool>,
    /// The tool interacts with the outside world, such as the web.
    pub open_world: Option<bool>,
}

impl Hints {
    /// No hints.
    pub const fn new() -> Self {
        Self { read_only: None, destructive: None, idempotent: None, open_world: None }
    }

    /// Sets whether the tool changes nothing.
    pub const fn read_only(self, value: bool) -> Self {
        Self { read_only: Some(value), ..self }
    }

    /// Sets whether the tool may destroy or overwrite data.
    pub const fn destructive(self, value: bool) -> Self {
        Self { destructive: Some(value), ..self }
    }

    /// Sets whether a repeated call has no further effect.
    pub const fn idempotent(self, value: bool) -> Self {
        Self { idempotent: Some(value), ..self }
    }

    /// Sets whether the tool interacts with the outside world.
    pub const fn open_world(self, value: bool) -> Self {
        Self { open_world: Some(value), ..self }
    }
}

impl From<ToolHints> for Hints {
    fn from(hints: ToolHints) -> Self {
        let ToolHints { read_only, destructive, idempotent, open_world } = hints;
        Self { read_only, destructive, idempotent, open_world }
    }
}

impl From<Hints> for ToolHints {
    fn from(hints: Hints) -> Self {
        let Hints { read_only, destructive, idempotent, open_world } = hints;
        Self { read_only, destructive, idempotent, open_world }
    }
}
