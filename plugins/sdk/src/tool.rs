//! A tool: arguments that can be called.

use crate::{
    bindings::portcullis::plugin::types::ToolHints, content::Icon, failure::Failure,
    reply::IntoReply, request::Request,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::bindings::exports::portcullis::plugin::manifest::{PathAccess, PathKind};

/// Something the model may call. Implement it for the [`arguments`](crate::arguments) of the call.
pub trait Tool: Arguments {
    /// The name the model calls it by, such as `"read_manifest"`.
    const NAME: &'static str;
    /// The name people see.
    const TITLE: Option<&'static str> = None;
    /// What a client may assume of it before it asks the user.
    const HINTS: Hints = Hints::new();
    /// What it does that the operator has to grant by name: see [`Want::action`](crate::Want::action).
    const NEEDS: &'static [&'static str] = &[];

    /// What it answers: a `String`, a [`Json`](crate::Json), or a [`Reply`](crate::Reply) of any
    /// content.
    type Output: IntoReply;

    /// Does the work. An `Err` from [`Failure::new`] or from `?` on any error is told to the model;
    /// see [`Failure`].
    fn call(self, request: &Request<'_>) -> Result<Self::Output, Failure>;

    /// JSON Schema of the structured content. [`Json`](crate::Json) knows its own.
    fn output_schema() -> Option<Value> {
        Self::Output::schema()
    }

    /// Pictures for clients that show some.
    fn icons() -> Vec<Icon> {
        Vec::new()
    }

    /// A JSON object merged into the tool as the client sees it, for fields newer than this crate.
    fn extra() -> Option<Value> {
        None
    }
}

/// What a tool is called with. Made by [`#[arguments]`](crate::arguments).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    note = "write `#[arguments]` before the struct"
)]
pub trait Arguments: DeserializeOwned + JsonSchema {
    /// Which of them name paths.
    const PATHS: &'static [PathArgument] = &[];
}

/// An argument that names a path the host opens for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathArgument {
    /// JSON Pointer into the arguments, `"/files/-"` for each item of a list.
    pub pointer: &'static str,
    /// What it names.
    pub kind: PathKind,
    /// What the tool does there.
    pub access: PathAccess,
    /// Pointer of a `bool` argument: only when that is true.
    pub when: Option<&'static str>,
    /// Names of entries by which the directory that is meant is found at or above the path.
    pub nearest: &'static [&'static str],
}

/// What a client may assume of a tool before it asks the user. What is not said is unknown.
///
/// ```
/// # use portcullis_plugin::Hints;
/// const HINTS: Hints = Hints::new().read_only(true).open_world(false);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// What it changes may be lost.
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// It deals with a world outside, such as the web.
    pub open_world: Option<bool>,
}

impl Hints {
    /// Says nothing.
    pub const fn new() -> Self {
        Self { read_only: None, destructive: None, idempotent: None, open_world: None }
    }

    /// Says whether it leaves everything as it is.
    pub const fn read_only(self, value: bool) -> Self {
        Self { read_only: Some(value), ..self }
    }

    /// Says whether what it changes may be lost.
    pub const fn destructive(self, value: bool) -> Self {
        Self { destructive: Some(value), ..self }
    }

    /// Says whether a second call changes nothing more.
    pub const fn idempotent(self, value: bool) -> Self {
        Self { idempotent: Some(value), ..self }
    }

    /// Says whether it deals with a world outside.
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
