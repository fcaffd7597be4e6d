//! Permits and records the questions of a plugin before they are sent to the client. Each question takes a permit.

use super::grant::ClientAsk;
use crate::bindings::types;
use crate::gate::{Denied, Permit};

/// Questions to the client, all of which are permitted.
#[derive(Debug)]
pub struct PermittedQuestions(types::Need);

impl PermittedQuestions {
    /// The questions of a plugin. `permit` is called for each question, and asks the gate for a permit.
    ///
    /// # Errors
    ///
    /// `Some`: a question is not permitted, or cannot be recorded. `None`: this host does not know the kind of a
    /// question.
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

    /// The questions, each with its key.
    pub fn asks(&self) -> &[(String, types::Ask)] {
        &self.0.asks
    }

    /// The questions, to be sent to the client.
    pub fn into_need(self) -> types::Need {
        self.0
    }
}

/// Records one question, which uses up its permit.
///
/// # Errors
///
/// [`Denied`]: the question cannot be recorded.
pub fn record_question(permit: Permit<ClientAsk>) -> Result<(), Denied> {
    permit.record_done("asked")
}
