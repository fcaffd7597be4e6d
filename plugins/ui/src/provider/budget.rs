//! One stretch of time for all that a generation takes: every try, every pause, and the repair.

use super::{Code, Error};
use crate::time::Clock;
use portcullis_plugin::prelude::*;
use std::time::Duration;

/// The pause before the second try; each further one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a pause goes on without asking whether anybody still waits.
const STEP: Duration = Duration::from_millis(200);

/// What is left of it.
pub struct Budget<'a> {
    request: &'a Request<'a>,
    clock: &'a dyn Clock,
    begin: Duration,
    end: Duration,
}

impl<'a> Budget<'a> {
    /// From now on, that much, and no more than the call has.
    pub fn new(request: &'a Request<'a>, clock: &'a dyn Clock, time: Duration) -> Self {
        let begin = clock.elapsed();
        let time = request.remaining().map_or(time, |remaining| remaining.min(time));
        Self { request, clock, begin, end: begin + time }
    }

    /// How much is left; an error where nothing is, or nobody waits any more.
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

    /// How much is used up, in milliseconds.
    pub fn spent_ms(&self) -> u64 {
        crate::kept::milliseconds(self.clock.elapsed() - self.begin)
    }

    /// Pauses before another try, for as long as the service wants; fails at once where that is longer than
    /// what is left.
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
