//! The interface `settings`: reads the values in `[plugins.NAME.settings]`.
//!
//! The interface is linked without a grant, and the gate is not asked: the operator wrote these values for this plugin.

use crate::bindings::portcullis::plugin::settings;
use crate::sandbox::InstanceState;

/// The name in the wants of a manifest.
pub(super) const NAME: &str = "settings";

/// The prefix of a setting on the command line.
pub(super) const PREFIX: &str = "settings.";

/// The form of a setting on the command line.
pub(super) const FORM: &str = "settings.KEY=VALUE";

impl settings::Host for InstanceState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.settings.get(&key).map(|value| portcullis_roots::guest_setting(value)))
    }
}
