//! Derived data that is worth keeping, but may be gone at any time.

#[cfg(target_family = "wasm")]
use crate::bindings::portcullis::plugin::cache as host;
#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::cache as host;
use std::time::Duration;

/// What is kept under that key, if it still is.
pub fn get(key: &str) -> Option<Vec<u8>> {
    host::get(key)
}

/// Keeps a value for that time, or with `None` for as long as there is room.
pub fn set(key: &str, value: impl AsRef<[u8]>, ttl: impl Into<Option<Duration>>) {
    host::set(key, value.as_ref(), milliseconds(ttl.into()));
}

/// What is kept under that key; otherwise makes it and keeps it.
///
/// Calls that want the same key at the same time wait for the first to make it. One that fails
/// keeps nothing, and the next may try.
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
    // Made since we looked, or by the one we waited for. If that one failed we make it without a
    // claim: better twice than never.
    if let Some(value) = get(key) {
        return Ok(value);
    }
    let value = make()?;
    set(key, &value, ttl);
    Ok(value)
}

/// Waits until nobody else holds this key, and holds it until the claim is dropped: in one call at a time,
/// whatever instance it is in. A key that is never set makes this a lock; `None`: the value of the key was
/// set meanwhile, or no cache is granted.
pub fn claim(key: &str) -> Option<Claim> {
    host::Claim::take(key).map(|held| Claim { held })
}

/// A key that nobody else holds. See [`claim`].
#[must_use = "it ends when it is dropped"]
pub struct Claim {
    #[expect(dead_code, reason = "it is held")]
    held: host::Claim,
}

/// 0 means for ever, so the shortest time is 1.
fn milliseconds(ttl: Option<Duration>) -> u64 {
    ttl.map_or(0, |ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::Rehearsal;
    use std::convert::Infallible;

    #[test]
    fn made_once() {
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
    fn what_fails_is_not_kept() {
        let _rehearsal = Rehearsal::new();
        assert_eq!(get_or_make("key", None, || Err("no")), Err("no"));
        assert_eq!(get("key"), None);
    }

    #[test]
    fn no_time_is_not_for_ever() {
        assert_eq!(milliseconds(None), 0);
        assert_eq!(milliseconds(Some(Duration::ZERO)), 1);
        assert_eq!(milliseconds(Some(Duration::MAX)), u64::MAX);
    }
}
