//! Values that expire.

use std::time::Duration;

use crate::error::StateError;
use crate::{ClusterState, PREFIX};

impl ClusterState {
    /// Keeps a value for a time. A value of the same kind and name is replaced.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn put(
        &self,
        kind: &'static str,
        name: &str,
        value: &[u8],
        time: Duration,
    ) -> Result<(), StateError> {
        let sealed = self.0.seal.seal(&[kind.as_bytes(), name.as_bytes()], value)?;
        let key = key_of(kind, name);
        let milliseconds = milliseconds(time);
        let mut set = redis::cmd("SET");
        set.arg(key).arg(sealed).arg("PX").arg(milliseconds);
        self.0.connection.repeat(set).await
    }

    /// The value of this kind and name. `None`: there is none, or it has expired.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn get(&self, kind: &'static str, name: &str) -> Result<Option<Vec<u8>>, StateError> {
        let mut get = redis::cmd("GET");
        get.arg(key_of(kind, name));
        let found: Option<Vec<u8>> = self.0.connection.repeat(get).await?;
        let Some(sealed) = found else { return Ok(None) };
        self.0.seal.open(&[kind.as_bytes(), name.as_bytes()], &sealed, "a value").map(Some)
    }
}

/// The server's key of a value.
pub(crate) fn key_of(kind: &str, name: &str) -> String {
    format!("{PREFIX}:{kind}:{name}")
}

/// A time for the server. At least a millisecond: without a time, a value would be kept for ever.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, 1 << 40)
}

/// A number as an argument of a script.
pub(crate) fn number(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}
