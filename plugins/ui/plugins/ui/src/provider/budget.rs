//! The time budget of one generation: all attempts, all pauses, and the repair.

use super::{Code, Error};
use crate::time::Clock;
use portcullis_plugin::prelude::*;
use std::time::Duration;

/// Pause before the second attempt; doubled for each further attempt.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest part of a pause without a check for cancellation.
const STEP: Duration = Duration::from_millis(200);

/// The time left.
pub struct Budget<'a> {
    request: &'a Request<'a>,
    clock: &'a dyn Clock,
    begin: Duration,
    end: Duration,
}

impl<'a> Budget<'a> {
    /// Starts a budget of `time`, within the time left for the call.
    pub fn new(request: &'a Request<'a>, clock: &'a dyn Clock, time: Duration) -> Self {
        let begin = clock.elapsed();
        let time = request.remaining().map_or(time, |remaining| remaining.min(time));
        Self { request, clock, begin, end: begin + time }
    }

    /// The time left. An error if no time is left, or the caller has cancelled.
    pub fn left(&self) -> Result<Duration, Error> {
        let left = self.end.saturating_sub(self.clock.elapsed());
        if left.is_zero() {
            let whole = (self.end - self.begin).as_millis();
            return Err(Error::new(Code::Timeout, format!("not done within {whole} ms")));
        }
        if self.request.cancelled() {
            return Err(Error::new(Code::Aborted, "the request was cancelled"));
        }
        Ok(left)
    }

    /// The time used, in milliseconds.
    pub fn spent_ms(&self) -> u64 {
        crate::stored_views::milliseconds(self.clock.elapsed() - self.begin)
    }

    /// Pauses before another attempt: as long as the service asks, or else [`PAUSE`], doubled for each
    /// further attempt. Fails at once if the pause would use up the time left.
    pub fn pause(&self, tries: u64, after: &Error) -> Result<(), Error> {
        let doubled = PAUSE.saturating_mul(1 << tries.saturating_sub(1).min(16));
        let pause = after.retry_after.unwrap_or(doubled);
        if pause >= self.left()? {
            return Err(after.clone());
        }
        let until = self.clock.elapsed() + pause;
        while let Some(left) =
            until.checked_sub(self.clock.elapsed()).filter(|left| !left.is_zero())
        {
            self.left()?;
            self.clock.wait(left.min(STEP));
        }
        Ok(())
    }
}
