//! Parked requests: requests to upstream servers that wait for a client's answer to a question. A client of 2026-07-28
//! sends the answer in another request.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;
use portcullis_mcp_client::{InFlight, QuestionKey};

use super::ANSWER_TIME;

/// Maximum number of parked requests. Each of them occupies its upstream server.
const MAX_PARKED: usize = 64;

/// A request that waits for an answer.
pub struct ParkedRequest {
    /// The request to the upstream server, which is still open.
    pub flight: InFlight,
    /// The question that the client answers.
    pub key: QuestionKey,
}

/// Why a request cannot be parked.
#[derive(Debug, thiserror::Error)]
pub enum ParkError {
    /// Too many requests are parked.
    #[error("too many requests wait for answers of clients")]
    TooMany,
    /// The operating system has no random bytes for a name.
    #[error("the system has no random bytes: {0}")]
    Random(getrandom::Error),
}

/// All parked requests, by random names.
#[derive(Default)]
pub struct Parked(Mutex<HashMap<String, (Instant, ParkedRequest)>>);

impl Parked {
    /// Parks a request, under a new name.
    ///
    /// # Errors
    ///
    /// Too many requests are parked, or the system has no random bytes: [`ParkError`].
    pub fn park(&self, request: ParkedRequest) -> Result<String, ParkError> {
        let random = || getrandom::u64().map_err(ParkError::Random);
        let name = format!("{:016x}{:016x}", random()?, random()?);
        let mut all = self.0.lock();
        // Dropping an expired request cancels it at its upstream server.
        all.retain(|_, (since, _)| since.elapsed() < ANSWER_TIME);
        if all.len() >= MAX_PARKED {
            return Err(ParkError::TooMany);
        }
        all.insert(name.clone(), (Instant::now(), request));
        Ok(name)
    }

    /// Removes a parked request and returns it, so that it is answered only once. `None`: the request was answered
    /// already, or waited longer than `ANSWER_TIME`.
    pub fn take(&self, name: &str) -> Option<ParkedRequest> {
        let mut all = self.0.lock();
        all.retain(|_, (since, _)| since.elapsed() < ANSWER_TIME);
        all.remove(name).map(|(_, request)| request)
    }
}
