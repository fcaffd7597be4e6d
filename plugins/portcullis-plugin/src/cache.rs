//! A cache for derived data, which the host may drop at any time.

#[cfg(target_family = "wasm")]
use crate::bindings::portcullis::plugin::cache as host;
#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::cache as host;
use std::time::Duration;

/// The cached value of the key, if it is still there.
pub fn get(key: &str) -> Option<Vec<u8>> {
    host::get(key)
}

/// Stores a value for at most the given time; `None` sets no time limit. Stores nothing without a grant, or if
/// the value does not fit.
pub fn set(key: &str, value: impl AsRef<[u8]>, ttl: impl Into<Option<Duration>>) {
    host::set(key, value.as_ref(), milliseconds(ttl.into()));
}

/// The cached value of the key; if there is none, makes a value and stores it.
///
/// Concurrent calls for one key wait for the first to make the value. A failure stores nothing, and
/// the next call may try again.
///
/// ```no_run
/// # use portcullis_plugin::prelude::*;
/// # fn fetch() -> Result<Vec<u8>, Failure> {
/// let day = std::time::Duration::from_secs(24 * 60 * 60);
/// let index = cache::get_or_make("index", day, || {
///     Ok::<_, http::Error>(http::get("https://example.org/index")?.success()?.body)
/// })?;
/// # Ok(index)
/// # }
/// ```
pub fn get_or_make<E>(
    key: &str,
    ttl: impl Into<Option<Duration>>,
    make: impl FnOnce() -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    if let Some(value) = get(key) {
        return Ok(value);
    }
    let _claim = host::Claim::take(key);
    // Another call may have set the value during the wait. If there is neither a claim nor a value, either no cache is
    // granted or the value was dropped at once. In both cases, this call makes the value.
    if let Some(value) = get(key) {
        return Ok(value);
    }
    let value = make()?;
    set(key, &value, ttl);
    Ok(value)
}

/// Waits until no other call of this plugin holds the key, and returns a claim. The claim holds the key until it is
/// dropped. If no call ever sets the value of the key, claims work as a lock. `None`: another call has set the value
/// during the wait, or no cache is granted.
pub fn claim(key: &str) -> Option<Claim> {
    host::Claim::take(key).map(|held| Claim { held })
}

/// Like [`claim`], but waits at most `time`. `None` can also mean that this time is over.
pub fn claim_within(key: &str, time: Duration) -> Option<Claim> {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    host::Claim::take_within(key, ms).map(|held| Claim { held })
}

/// Exclusive hold of a key. See [`claim`].
#[must_use = "a claim ends when it is dropped"]
pub struct Claim {
    #[expect(dead_code, reason = "dropping it ends the claim")]
    held: host::Claim,
}

/// The time limit in milliseconds. For the host, 0 means no limit, so every limit is at least 1.
fn milliseconds(ttl: Option<Duration>) -> u64 {
    ttl.map_or(0, |ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::Rehearsal;
    use std::convert::Infallible;

    #[test]
    fn a_value_is_made_once() {
        let _rehearsal = Rehearsal::new();
        let mut times = 0;
        for _ in 0..2 {
            let value = get_or_make("key", None, || {
                times += 1;
                Ok::<_, Infallible>(b"value".to_vec())
            });
            assert_eq!(value, Ok(b"value".to_vec()));
        }
        assert_eq!(times, 1);
    }

    #[test]
    fn a_failure_stores_nothing() {
        let _rehearsal = Rehearsal::new();
        assert_eq!(get_or_make("key", None, || Err("no")), Err("no"));
        assert_eq!(get("key"), None);
    }

    #[test]
    fn the_wait_for_a_claim_is_limited() {
        let rehearsal = Rehearsal::new();
        assert!(claim_within("turn", Duration::ZERO).is_some());
        let _rehearsal = rehearsal.claimed("turn");
        assert!(claim_within("turn", Duration::from_secs(9)).is_none());
        assert!(claim_within("other", Duration::ZERO).is_some());
    }

    #[test]
    fn a_time_of_zero_is_a_limit() {
        assert_eq!(milliseconds(None), 0);
        assert_eq!(milliseconds(Some(Duration::ZERO)), 1);
        assert_eq!(milliseconds(Some(Duration::MAX)), u64::MAX);
    }
}
