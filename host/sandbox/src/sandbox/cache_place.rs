//! Where the cache of a plugin is: at this host and, if hosts share state, at their server, too.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portcullis_cache::Cache;
use portcullis_cluster_state::{ClusterCache, ClusterState};

/// The cache of a plugin. Clones share it.
#[derive(Clone)]
pub struct CachePlace {
    here: Arc<Cache>,
    /// What all hosts keep together. `None`: no state is shared, or the grant allows no disk.
    shared: Option<ClusterCache>,
}

impl CachePlace {
    /// The cache of a plugin: at most `bytes` bytes in memory and, if the grant allows a disk, in this folder. Only then
    /// do hosts share the cache, because the server of the shared state writes to a disk, too.
    pub fn new(
        plugin: &str,
        bytes: u64,
        folder: Option<PathBuf>,
        state: Option<&ClusterState>,
    ) -> Self {
        let state = state.filter(|_| folder.is_some());
        let shared = state.map(|state| state.cache_of(plugin, bytes));
        Self { here: Arc::new(Cache::new(bytes, folder)), shared }
    }

    /// The part of the cache at this host.
    pub fn here(&self) -> &Cache {
        &self.here
    }

    /// The value of a key, at this host or else in what all hosts keep together. If that cannot be read, there is no
    /// value.
    ///
    /// # Errors
    ///
    /// A panic while the disk is read.
    pub(crate) async fn look_up(&self, key: String) -> wasmtime::Result<Option<Arc<[u8]>>> {
        let Some(shared) = &self.shared else {
            let here = self.here.clone();
            return Ok(tokio::task::spawn_blocking(move || here.get(&key)).await?);
        };
        let (here, of) = (self.here.clone(), key.clone());
        let mut found = tokio::task::spawn_blocking(move || here.find(&of)).await?;
        if found.is_none() {
            found = self.fetch(shared, key).await?;
        }
        self.here.count_look_up(found.is_some());
        Ok(found)
    }

    /// Fetches a value that another host made, and keeps it here for the rest of its time.
    async fn fetch(
        &self,
        shared: &ClusterCache,
        key: String,
    ) -> wasmtime::Result<Option<Arc<[u8]>>> {
        let value = match shared.read(&key).await {
            Ok(Some(value)) => value,
            Ok(None) => return Ok(None),
            Err(error) => {
                tracing::debug!("a cached value is made again, because of this error: {error}");
                return Ok(None);
            }
        };
        let (here, bytes) = (self.here.clone(), Arc::from(value.bytes.as_slice()));
        tokio::task::spawn_blocking(move || here.set(&key, value.bytes, value.rest)).await?;
        Ok(Some(bytes))
    }

    /// Keeps a value for at most `ttl`. `None`: without a time limit. What the hosts keep together is written in a task
    /// of its own: if that fails, another host makes the value again.
    ///
    /// # Errors
    ///
    /// A panic while the disk is written.
    pub(crate) async fn keep(
        &self,
        key: String,
        value: Vec<u8>,
        ttl: Option<Duration>,
    ) -> wasmtime::Result<()> {
        if let Some(shared) = self.shared.clone() {
            let (key, value) = (key.clone(), value.clone());
            tokio::spawn(async move {
                let written = shared.write(&key, &value, ttl).await;
                let _logged = written.inspect_err(|error| {
                    tracing::debug!("a cached value stays at this host: {error}");
                });
            });
        }
        let here = self.here.clone();
        tokio::task::spawn_blocking(move || here.set(&key, value, ttl)).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use portcullis_cluster_state::{Address, Credentials};

    use super::*;

    #[test]
    fn hosts_share_a_cache_only_if_it_may_be_on_a_disk() {
        let address = Address::parse("redis://127.0.0.1:1/0").unwrap();
        let none = Credentials { user: None, password: None, authorities: None };
        // Nothing is connected before the first operation.
        let state = ClusterState::new(&address, none, &[[1; 32]]).unwrap();
        let folder = || Some(PathBuf::from("cache"));
        assert!(CachePlace::new("p", 10, folder(), Some(&state)).shared.is_some());
        assert!(CachePlace::new("p", 10, None, Some(&state)).shared.is_none());
        assert!(CachePlace::new("p", 10, folder(), None).shared.is_none());
    }
}
