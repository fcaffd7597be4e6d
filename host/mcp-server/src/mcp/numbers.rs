//! Numbers about a host, as it is now.

use std::sync::Arc;

use super::Host;
use portcullis_core::plugins::Loaded;

impl Host {
    /// How often each plugin's cache had what was looked for, and how often not.
    pub fn cache_uses(&self) -> Vec<(String, (u64, u64))> {
        let Some(shown) = self.shown.lock().clone() else { return Vec::new() };
        let loaded = shown.catalog.plugins.loaded.iter();
        let used = |loaded: &Arc<Loaded>| {
            Some((loaded.plugin.name.to_string(), loaded.plugin.cache_use()?))
        };
        loaded.filter_map(used).collect()
    }
}
