//! Asking the client, which takes a permit for each question.

use super::grant::ClientAsk;
use crate::bindings::types;
use crate::gate::{Denied, Permit};

/// Questions to the client, each of which is permitted. Asking them is the effect of these permits.
#[derive(Debug)]
pub struct PermittedQuestions(types::Need);

impl PermittedQuestions {
    /// The questions of a plugin. `permit` gets a permit for each of them.
    ///
    /// # Errors
    ///
    /// Where one is of a kind that this host does not know (`None`), or is not permitted.
    pub fn new(
        need: types::Need,
        permit: impl Fn(ClientAsk) -> Result<Permit<ClientAsk>, Denied>,
    ) -> Result<Self, Option<Denied>> {
        for (_, ask) in &need.asks {
            let permit = permit(ClientAsk::of(ask).ok_or(None)?).map_err(Some)?;
            record_question(permit).map_err(Some)?;
        }
        Ok(Self(need))
    }

    /// The questions, to be put to the client now.
    pub fn into_need(self) -> types::Need {
        self.0
    }
}

/// Uses up the permit of one question that is put to the client.
///
/// # Errors
///
/// [`Denied`] where it cannot be recorded.
pub fn record_question(permit: Permit<ClientAsk>) -> Result<(), Denied> {
    permit.record_done("asked")
}
