//! Remarks about settings of the server with which it can lose what it acknowledged.

use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use crate::ClusterState;
use crate::error::StateError;

impl ClusterState {
    /// What the operator should change in the settings of the server, so that nothing that it acknowledged is lost.
    /// What the server does not tell is passed over: some services forbid to read settings.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn remarks(&self) -> Result<Vec<String>, StateError> {
        let ask = |mut connection: MultiplexedConnection| async move {
            let info: String = redis::cmd("INFO").query_async(&mut connection).await?;
            let asked: RedisResult<Vec<String>> = redis::cmd("CONFIG")
                .arg("GET")
                .arg("appendfsync")
                .query_async(&mut connection)
                .await;
            Ok((info, asked.ok()))
        };
        let (info, synced) = self.0.connection.run(ask).await?;
        let synced = synced.and_then(|pair| pair.into_iter().nth(1));
        Ok(remarks_on(&info, synced.as_deref()))
    }
}

/// Remarks on the answer to `INFO`, and on the value of `appendfsync`, if it is known.
fn remarks_on(info: &str, synced: Option<&str>) -> Vec<String> {
    let value = |name: &str| {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
    };
    let mut remarks = Vec::new();
    if value("aof_enabled") == Some("0") {
        remarks.push(
            "the server of the cluster's state keeps no log of its writes: after a crash, records of plugins are lost; \
             set `appendonly yes` there"
                .to_owned(),
        );
    } else if let Some(other) = synced.filter(|synced| *synced != "always") {
        remarks.push(format!(
            "the server of the cluster's state has `appendfsync {other}`: a crash can lose writes that it acknowledged; \
             set `appendfsync always` there"
        ));
    }
    if let Some(policy) = value("maxmemory_policy").filter(|policy| *policy != "noeviction") {
        remarks.push(format!(
            "the server of the cluster's state has `maxmemory-policy {policy}`: without memory left, it deletes records; \
             set `maxmemory-policy noeviction` there"
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_which_the_server_loses_data_are_named() {
        // Lines of a Redis 7.0 server's answer to INFO.
        let info = |aof, policy| {
            format!(
                "# Persistence\r\nloading:0\r\naof_enabled:{aof}\r\nmaxmemory_policy:{policy}\r\n"
            )
        };
        assert!(remarks_on(&info(1, "noeviction"), Some("always")).is_empty());
        assert!(remarks_on(&info(1, "noeviction"), None).is_empty());
        let remarks = remarks_on(&info(0, "allkeys-lru"), Some("everysec"));
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        assert!(remarks[0].contains("appendonly yes") && remarks[1].contains("noeviction"));
        let remarks = remarks_on(&info(1, "noeviction"), Some("everysec"));
        assert!(remarks[0].contains("appendfsync always"), "{remarks:?}");
        assert!(remarks_on("", None).is_empty(), "a server that tells nothing");
    }
}
