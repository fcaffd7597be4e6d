//! Limits the warnings about a collector that does not accept data. The first fault is reported at once. After that, at
//! most one warning a minute reports the number of further faults.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Shortest time between two warnings.
const MIN_PAUSE: Duration = Duration::from_secs(60);

/// Counts faults, and decides which of them are reported.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    last_warning: Option<Instant>,
    unreported: u64,
}

impl Faults {
    /// Counts a fault at the time `now`. Returns the number of faults since the last warning, this one included, if a
    /// warning is due.
    pub(crate) fn count(&self, now: Instant) -> Option<u64> {
        let mut seen = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        seen.unreported += 1;
        let is_due = seen.last_warning.is_none_or(|last| now.duration_since(last) >= MIN_PAUSE);
        is_due.then(|| {
            seen.last_warning = Some(now);
            std::mem::take(&mut seen.unreported)
        })
    }
}

/// The faults of all exporters, because traces and logs go to the same collector.
pub(crate) static FAULTS: Faults = Faults(Mutex::new(Seen { last_warning: None, unreported: 0 }));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_warning_and_then_at_most_one_a_minute_with_a_count() {
        let (faults, start) = (Faults::default(), Instant::now());
        let at = |seconds| faults.count(start + Duration::from_secs(seconds));
        assert_eq!(at(0), Some(1));
        assert_eq!([at(1), at(2), at(59)], [None; 3]);
        assert_eq!(at(60), Some(4));
        assert_eq!(at(119), None);
        assert_eq!(at(120), Some(2));
    }
}
