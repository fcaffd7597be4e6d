//! The capability `settings`: reads the values in `[plugins.NAME.settings]`.
//!
//! The gate is not asked: the operator wrote these values for this plugin.

use crate::bindings::portcullis::plugin::settings;
use crate::sandbox::State;

/// The name in the wants of a manifest.
pub(super) const NAME: &str = "settings";

impl settings::Host for State {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.settings.get(&key).cloned())
    }
}
