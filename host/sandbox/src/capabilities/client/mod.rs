//! The capability `client`: what a plugin may ask of the connected client and its user.

pub mod effect;
mod grant;
#[cfg(test)]
mod tests;

use super::Registered;

pub use effect::PermittedQuestions;
pub use grant::{ClientAsk, ClientGrant, Feature};

/// Nothing is linked: a plugin asks through the outcome of a call, and not through an import.
impl Registered for ClientGrant {
    const NAME: &'static str = "client";
    const LEAST: &'static str = "features = [\"elicitation\"]";

    fn want(sum: &mut Option<Self>, target: &str, _: &str) -> Result<(), String> {
        grant::want(sum, target)
    }
}
