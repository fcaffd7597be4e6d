//! The lists of an upstream before they are checked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The lists of an upstream as it sent them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RawLists {
    pub(crate) tools: Vec<Value>,
    pub(crate) prompts: Vec<Value>,
    pub(crate) resources: Vec<Value>,
    pub(crate) templates: Vec<Value>,
    /// Whether arguments may have to be sent in headers.
    pub(crate) has_headers: bool,
}
