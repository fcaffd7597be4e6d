//! The capability `settings`: names and values the operator gave the plugin, read-only.
//!
//! There is nothing to ask at the gate: what can be read is what the operator wrote for exactly
//! this plugin, in `[plugins.NAME.settings]`.

use crate::bindings::portcullis::plugin::settings;
use crate::sandbox::State;

/// Its name in the wants of a manifest.
pub(super) const NAME: &str = "settings";

impl settings::Host for State {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.settings.get(&key).cloned())
    }
}
