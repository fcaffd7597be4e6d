//! Parked requests: requests to upstream servers that wait for a client's answer to a question. A client of 2026-07-28
//! sends the answer in another request.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;
use portcullis_mcp_client::{AskKey, InFlight};

use super::ANSWER_TIME;

/// Maximum number of parked requests. Each of them occupies its upstream server.
const MAX_PARKED: usize = 64;

/// A request that waits for an answer.
pub struct ParkedRequest {
    /// The request.
    pub flight: InFlight,
    /// The question that the answer belongs to.
    pub key: AskKey,
}

/// All parked requests, by random names.
#[derive(Default)]
pub struct Parked(Mutex<HashMap<String, (Instant, ParkedRequest)>>);

impl Parked {
    /// Parks a request, under a new name. `None`: too many are parked.
    pub fn park(&self, request: ParkedRequest) -> Option<String> {
        let name = format!("{:016x}{:016x}", getrandom::u64().ok()?, getrandom::u64().ok()?);
        let mut all = self.0.lock();
        // Dropping an expired request cancels it at its upstream server.
        all.retain(|_, (since, _)| since.elapsed() < ANSWER_TIME);
        if all.len() >= MAX_PARKED {
            return None;
        }
        all.insert(name.clone(), (Instant::now(), request));
        Some(name)
    }

    /// Takes a parked request out, so that it can be answered once only.
    pub fn take(&self, name: &str) -> Option<ParkedRequest> {
        let mut all = self.0.lock();
        all.retain(|_, (since, _)| since.elapsed() < ANSWER_TIME);
        all.remove(name).map(|(_, request)| request)
    }
}
