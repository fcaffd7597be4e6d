//! An upstream's description of itself.

use serde_json::Value;

use crate::message::Object;
use crate::wire::Era;

/// An upstream's description of itself. None of it is verified.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// The era of its protocol.
    pub era: Era,
    /// The revision of MCP, such as `2025-11-25`.
    pub version: String,
    /// Its `name`, `title`, `version`, `description` and `websiteUrl`, sanitised. Other members are unchanged.
    pub info: Object,
    /// Its capabilities, unchanged.
    pub capabilities: Object,
    /// Its instructions for use, sanitised.
    pub instructions: Option<String>,
}

impl Peer {
    /// Whether the upstream has this capability.
    pub fn offers(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| !value.is_null())
    }

    /// Whether the upstream supports subscriptions to resources.
    pub(crate) fn takes_subscriptions(&self) -> bool {
        let resources = self.capabilities.get("resources");
        let told = resources.and_then(|value| value.get("subscribe"));
        told.and_then(Value::as_bool).unwrap_or(false)
    }

    /// Whether the upstream notifies of changes to the list of this capability.
    pub(crate) fn tells_changes_of(&self, capability: &str) -> bool {
        let told = self.capabilities.get(capability).and_then(|value| value.get("listChanged"));
        told.and_then(Value::as_bool).unwrap_or(false)
    }
}
