//! How many requests there may be in a second.

use std::num::NonZeroU32;
use std::time::Instant;

/// A bucket that fills with time, up to what one second brings.
pub(crate) struct Rate {
    per_second: f64,
    left: f64,
    at: Instant,
}

impl Rate {
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        let per_second = f64::from(per_second.get());
        Self { per_second, left: per_second, at: Instant::now() }
    }

    /// Whether there may be one more now.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * self.per_second).min(self.per_second);
        self.at = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rate_gives_a_second_at_once_and_then_by_and_by() {
        let mut rate = Rate::new(NonZeroU32::new(3).unwrap());
        let now = rate.at;
        assert_eq!((0..5).filter(|_| rate.take(now)).count(), 3);
        let later = now + Duration::from_millis(400);
        assert_eq!((0..5).filter(|_| rate.take(later)).count(), 1);
    }
}
