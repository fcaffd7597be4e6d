//! The capability `actions`: what a plugin's tools may do in the world beyond what files and hosts
//! tell apart, such as to change what an editor has open. A tool without its actions does not exist.

pub mod effect;
mod grant;
#[cfg(test)]
mod tests;

use super::Registered;

pub use effect::PermittedTool;
pub use grant::{ActionAsk, ActionsGrant, ToolInput};

/// Nothing is linked: the tools that need an action ask for it before they run.
impl Registered for ActionsGrant {
    const NAME: &'static str = "actions";
    const LEAST: &'static str = "allow = [\"ACTION\"]";

    fn want(sum: &mut Option<Self>, target: &str, _: &str) -> Result<(), String> {
        grant::want(sum, target)
    }
}
