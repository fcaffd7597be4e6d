//! Parked requests: requests to upstream servers that wait for a client's answer to a question. A client of 2026-07-28
//! answers in another request.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;
use portcullis_mcp_client::{AskKey, InFlight};

use super::ANSWER_TIME;

/// Requests that may wait at the same time. What they hold is a place at their upstream.
const MOST: usize = 64;

/// A request that waits for an answer.
pub struct Waiting {
    /// The request.
    pub flight: InFlight,
    /// What the answer is for.
    pub key: AskKey,
}

/// All of them, by names that nobody can guess.
#[derive(Default)]
pub struct Parked(Mutex<HashMap<String, (Instant, Waiting)>>);

impl Parked {
    /// Parks a request, under a new name. `None`: too many are parked.
    pub fn park(&self, waiting: Waiting) -> Option<String> {
        let name = format!("{:016x}{:016x}", getrandom::u64().ok()?, getrandom::u64().ok()?);
        let mut all = self.0.lock();
        // Those that nobody comes back for are given up, which cancels them at their upstream.
        all.retain(|_, (since, _)| since.elapsed() < ANSWER_TIME);
        if all.len() >= MOST {
            return None;
        }
        all.insert(name.clone(), (Instant::now(), waiting));
        Some(name)
    }

    /// Takes one back: it can be answered once.
    pub fn take(&self, name: &str) -> Option<Waiting> {
        let mut all = self.0.lock();
        all.retain(|_, (since, _)| since.elapsed() < ANSWER_TIME);
        all.remove(name).map(|(_, waiting)| waiting)
    }
}
