//! The effect of `actions`: a tool call, which needs a permit for each action of the tool.

use std::sync::Arc;

use serde_json::Value;

use super::grant::{ActionAsk, ToolInput};
use crate::gate::{Denied, Permit};

/// A tool call whose actions are all permitted, to be made once.
#[derive(Debug)]
pub struct PermittedTool(Arc<ToolInput>);

/// Why a tool may not be run.
#[derive(Debug, thiserror::Error)]
pub enum NotPermitted {
    /// There is no permit for this action of this call.
    #[error("there is no permit for the action `{0}`")]
    Missing(String),
    /// The actions cannot be recorded.
    #[error(transparent)]
    Denied(#[from] Denied),
}

impl PermittedTool {
    /// A call of a tool that needs these actions. `permits` has one permit for each action, asked for with the same
    /// input. The permits are used up. The outcome is in the record of the call.
    ///
    /// # Errors
    ///
    /// [`NotPermitted`]: a permit is missing, or is for another call, or the use of the permits cannot be recorded.
    pub fn new(
        input: Arc<ToolInput>,
        needs: &[String],
        permits: Vec<Permit<ActionAsk>>,
    ) -> Result<Self, NotPermitted> {
        let is_for = |ask: &ActionAsk, need: &str| ask.action == need && ask.is_of(&input);
        let has = |need: &&String| permits.iter().any(|permit| is_for(permit.ask(), need));
        if let Some(missing) = needs.iter().find(|need| !has(need)) {
            return Err(NotPermitted::Missing(missing.clone()));
        }
        for permit in permits {
            permit.record_done("taken")?;
        }
        Ok(Self(input))
    }

    /// The same call with the arguments as the guest gets them, which differ from the client's in the spelling of paths
    /// only.
    #[must_use]
    pub fn with_guest_arguments(self, arguments: Arc<Value>) -> Self {
        Self(ToolInput::new(self.0.name(), arguments))
    }

    /// The plugin's own name for the tool.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The arguments as JSON text: an object.
    pub fn arguments(&self) -> &String {
        self.0.text()
    }
}
