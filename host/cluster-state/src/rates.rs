//! Rates of requests that all hosts count together.

use std::sync::OnceLock;
use std::time::Duration;

use redis::Script;
use redis::aio::MultiplexedConnection;

use crate::ClusterState;
use crate::error::StateError;
use crate::values::key_of;

/// Maximum time to wait for the server. A rate is not worth a longer delay of a request.
const RATE_TIME: Duration = Duration::from_millis(250);

/// A token bucket, which fills with time up to the number of one second. Grants as many of the wanted tokens as there
/// are. The time is that of the server, because the clocks of hosts differ.
const TAKE: &str = r"
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local rate, wanted = tonumber(ARGV[1]), tonumber(ARGV[2])
local bucket = redis.call('HMGET', KEYS[1], 'left', 'at')
local left, at = tonumber(bucket[1]) or rate, tonumber(bucket[2]) or now
left = math.min(rate, left + math.max(0, now - at) * rate)
local granted = math.min(wanted, math.floor(left))
redis.call('HSET', KEYS[1], 'left', string.format('%.6f', left - granted), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], 2000)
return granted
";

impl ClusterState {
    /// Takes tokens from the bucket of a client, which holds `per_second` and fills in one second. Returns how many of
    /// the `wanted` tokens were left. `client`: a text without anything that the server must not read.
    ///
    /// # Errors
    ///
    /// [`StateError`]. The server is not asked while it is known to be away, and at most for a quarter of a second.
    pub async fn take_rate(
        &self,
        client: &str,
        per_second: u32,
        wanted: u32,
    ) -> Result<u32, StateError> {
        static SCRIPT: OnceLock<Script> = OnceLock::new();
        let away =
            || StateError::Away { address: self.0.connection.address().to_owned(), cause: None };
        self.require_reached()?;
        let key = key_of("rate", client);
        let take = move |mut connection: MultiplexedConnection| async move {
            let script = SCRIPT.get_or_init(|| Script::new(TAKE));
            let mut call = script.key(key);
            call.arg(per_second).arg(wanted).invoke_async::<u32>(&mut connection).await
        };
        match tokio::time::timeout(RATE_TIME, self.0.connection.run(take)).await {
            Ok(taken) => taken,
            Err(_) => Err(away()),
        }
    }
}
