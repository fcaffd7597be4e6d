//! News for all hosts.
//!
//! News are a stream of the server. Each host reads it with a connection of its own, which waits in the server. What a
//! host missed while the server was away is still there when it is back.

use std::sync::{Arc, LazyLock};

use redis::Script;
use redis::aio::MultiplexedConnection;
use tokio::sync::Mutex;

use crate::ClusterState;
use crate::error::StateError;
use crate::inbox::{Entry, HostId, entries_of, wait};
use crate::values::key_of;

/// The kind of the news.
const NEWS: &str = "news";

/// How long the server waits for news, in milliseconds.
const WAIT: u64 = 2500;

/// Maximum number of news that are read at once.
const BATCH: u64 = 64;

/// Adds news. They are kept for ten minutes after the last ones, and some thousand of them.
static POST: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
redis.call('XADD', KEYS[1], 'MAXLEN', '~', 4096, '*', ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], 600000)
return 1
",
    )
});

/// Reads the news of other hosts.
pub struct NewsReader {
    state: ClusterState,
    host: HostId,
    /// The connection that waits in the server.
    waiting: Arc<Mutex<Option<MultiplexedConnection>>>,
    /// The last entry that was read. `None`: nothing was read yet.
    last: Option<String>,
}

impl ClusterState {
    /// Reads the news of all hosts but this one, from now on.
    pub fn news(&self, host: &HostId) -> NewsReader {
        let (state, host) = (self.clone(), host.clone());
        NewsReader { state, host, waiting: Arc::default(), last: None }
    }

    /// Tells all other hosts. They may be told twice.
    ///
    /// # Errors
    ///
    /// [`StateError`]. The other hosts may have been told.
    pub async fn post_news(&self, host: &HostId, news: &[u8]) -> Result<(), StateError> {
        let sealed = self.0.seal.seal(&place(host.0.as_bytes()), news)?;
        let args = vec![host.0.clone().into(), sealed];
        self.invoke::<u8>(&POST, vec![news_key()], args).await.map(drop)
    }
}

impl NewsReader {
    /// Waits for news of other hosts, at most for some seconds, and returns them in their order.
    ///
    /// # Errors
    ///
    /// [`StateError`]. The news are read later.
    pub async fn next(&mut self) -> Result<Vec<Vec<u8>>, StateError> {
        let last = match &self.last {
            Some(last) => last.clone(),
            None => self.now().await?,
        };
        self.last = Some(last.clone());
        let mut read = redis::cmd("XREAD");
        read.arg("COUNT")
            .arg(BATCH)
            .arg("BLOCK")
            .arg(WAIT)
            .arg("STREAMS")
            .arg(news_key())
            .arg(last);
        let connection = self.state.0.connection.clone();
        let found: redis::Value = wait(&connection, self.waiting.clone(), read).await?;
        let entries = entries_of(found).ok_or(StateError::Foreign { what: "the news" })?;
        let mut news = Vec::new();
        for Entry { id, kind: host, value } in entries {
            self.last = Some(id);
            if host == self.host.0.as_bytes() {
                continue;
            }
            match self.state.0.seal.open(&place(&host), &value, "the news of another host") {
                Ok(opened) => news.push(opened),
                Err(error) => tracing::warn!("{error}"),
            }
        }
        Ok(news)
    }

    /// The name of an entry that is older than all entries from now on: names begin with the time of the server.
    async fn now(&self) -> Result<String, StateError> {
        let (seconds, microseconds): (u64, u64) =
            self.state.0.connection.repeat(redis::cmd("TIME")).await?;
        Ok(format!("{}-0", seconds * 1000 + microseconds / 1000))
    }
}

/// What the seal of news is bound to.
fn place(host: &[u8]) -> [&[u8]; 2] {
    [NEWS.as_bytes(), host]
}

/// The server's key of the news.
fn news_key() -> String {
    key_of(NEWS, "all")
}
