//! Taking actions: calling a tool takes a permit for each action that it needs.

use super::grant::ActionAsk;
use crate::gate::Permit;

/// A tool call whose actions are all permitted. Running the tool is the effect of these permits.
#[derive(Debug, Clone)]
pub struct PermittedTool {
    name: String,
    /// A JSON object.
    arguments: String,
}

impl PermittedTool {
    /// A call of a tool that needs these actions: `arguments` are a JSON object, as text, checked against the
    /// tool's schema. `permits` has one permit for each action. They are used up: the actions are on record,
    /// and the record of the call has the outcome.
    ///
    /// # Errors
    ///
    /// The first action for which there is no permit.
    pub fn new(
        name: String,
        arguments: String,
        needs: &[String],
        permits: Vec<Permit<ActionAsk>>,
    ) -> Result<Self, String> {
        let has = |need: &&String| permits.iter().any(|permit| permit.ask().action == **need);
        if let Some(missing) = needs.iter().find(|need| !has(need)) {
            return Err(missing.clone());
        }
        for permit in permits {
            permit.record_done("taken").map_err(|denied| denied.to_string())?;
        }
        Ok(Self { name, arguments })
    }

    /// The plugin's own name for the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its arguments: a JSON object.
    pub fn arguments(&self) -> &String {
        &self.arguments
    }
}
