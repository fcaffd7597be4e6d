//! Embeds resources in results, or their text for clients that cannot show resources.

use portcullis_plugin::{Reply, settings};

/// The setting that replaces resources by texts. Any value that is not empty turns it on.
pub const SETTING: &str = "no-resources";

/// Adds a resource to a result, or its text alone if the operator has set [`SETTING`].
pub fn embed(
    reply: Reply,
    uri: impl Into<String>,
    mime_type: &str,
    text: impl Into<String>,
) -> Reply {
    match settings::get(SETTING).is_some_and(|value| !value.is_empty()) {
        true => reply.text(text),
        false => reply.resource(uri, mime_type, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;

    #[test]
    fn the_setting_replaces_resources_by_texts() {
        for (value, is_text) in [("", false), ("true", true), ("0", true)] {
            let _rehearsal = Rehearsal::new().setting(SETTING, value);
            let reply = embed(Reply::new(), "ui5://x", "text/plain", "it");
            assert_eq!(reply.as_text() == "it", is_text, "{value:?}");
            assert_eq!(reply.content.len(), 1);
        }
    }
}
