//! Reads the operator's settings of this plugin, from `[plugins.NAME.settings]`.

#[cfg(target_family = "wasm")]
use crate::bindings::portcullis::plugin::settings as host;
#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::settings as host;

/// The value of the setting, if the operator has set it.
///
/// Declare settings with [`Want::settings`](crate::Want::settings), so that the operator knows
/// them. Never use settings for secrets: the host adds secrets to outgoing requests itself.
pub fn get(key: &str) -> Option<String> {
    host::get(key)
}
