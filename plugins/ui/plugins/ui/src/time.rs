//! The current time, and a clock that tests can replace.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The last millisecond of the year 9999.
const LAST: u64 = 253_402_300_799_999;

/// Milliseconds since 1970 in ISO 8601.
pub fn iso(milliseconds: u64) -> String {
    let moment = UNIX_EPOCH + Duration::from_millis(milliseconds.min(LAST));
    humantime::format_rfc3339_millis(moment).to_string()
}

/// A clock that can also wait.
pub trait Clock {
    /// The time since a fixed moment.
    fn elapsed(&self) -> Duration;
    /// Waits.
    fn wait(&self, time: Duration);
}

/// The system's clock.
pub struct WallClock(Instant);

impl WallClock {
    /// A clock that starts now.
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for WallClock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn wait(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_iso_8601() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_769_596_200_123, "2026-01-28T10:30:00.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (milliseconds, written) in table {
            assert_eq!(iso(milliseconds), written);
        }
    }
}
