//! What the operator set for this plugin, under `[plugins.NAME.settings]`.

#[cfg(target_family = "wasm")]
use crate::bindings::portcullis::plugin::settings as host;
#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::settings as host;

/// The setting of that name, if the operator has set it.
///
/// Say which settings there are with [`Want::settings`](crate::Want::settings), so that the
/// operator can know. Never secrets: those the host adds to outgoing requests by itself.
pub fn get(key: &str) -> Option<String> {
    host::get(key)
}
