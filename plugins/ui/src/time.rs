//! What time it is, and how long something takes.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The last moment that has four digits for its year.
const LAST: u64 = 253_402_300_799_999;

/// Milliseconds since 1970 as ISO 8601 has it.
pub fn iso(milliseconds: u64) -> String {
    let moment = UNIX_EPOCH + Duration::from_millis(milliseconds.min(LAST));
    humantime::format_rfc3339_millis(moment).to_string()
}

/// A clock that can be waited by.
pub trait Clock {
    /// Since some moment that stays the same.
    fn elapsed(&self) -> Duration;
    /// Lets that much time go by.
    fn wait(&self, time: Duration);
}

/// The one on the wall.
pub struct WallClock(Instant);

impl WallClock {
    /// From now on.
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
    fn moments_are_written_as_people_do() {
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
