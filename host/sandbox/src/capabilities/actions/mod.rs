//! The capability `actions`: effects of a plugin's tools that the grants of files and hosts cannot distinguish, such as
//! changes in a running editor. A tool is listed only if all of its actions are granted.

pub mod effect;
mod grant;
#[cfg(test)]
mod tests;

use super::{InvalidWant, Registered};

pub use effect::PermittedTool;
pub use grant::{ActionAsk, ActionsGrant, ToolInput};

/// Nothing is linked: before a tool runs, the host asks the gate for the actions that the tool needs.
impl Registered for ActionsGrant {
    const NAME: &'static str = "actions";
    const EXAMPLE: &'static str = "allow = [\"<action>\"]";

    fn want(wants: &mut Option<Self>, target: &str, _: &str) -> Result<(), InvalidWant> {
        grant::want(wants, target)
    }

    fn targets(&self) -> Vec<String> {
        self.names().cloned().collect()
    }

    fn can_change(&self) -> bool {
        true
    }
}
