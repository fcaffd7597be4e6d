//! The capability `client`: questions to the connected client and its user.

pub mod effect;
mod grant;
#[cfg(test)]
mod tests;

use super::{InvalidWant, Registered};

pub use effect::PermittedQuestions;
pub use grant::{ClientAsk, ClientGrant, Feature};

/// Nothing is linked: a plugin asks through the outcome of a call, and not through an import.
impl Registered for ClientGrant {
    const NAME: &'static str = "client";
    const EXAMPLE: &'static str = "features = [\"elicitation\"]";

    fn want(wants: &mut Option<Self>, target: &str, _: &str) -> Result<(), InvalidWant> {
        grant::want(wants, target)
    }
}
