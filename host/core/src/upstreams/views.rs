//! Views of upstream servers (MCP Apps): rewrites their `ui://` URIs, so that no two servers have the same URI.

use serde_json::{Map, Value};

const SCHEME: &str = "ui://";

/// The URI by which clients know a view of the server `source`. URIs of other schemes stay.
pub fn outward(source: &str, uri: &str) -> String {
    match uri.strip_prefix(SCHEME) {
        Some(rest) => format!("{SCHEME}{source}/{rest}"),
        None => uri.to_owned(),
    }
}

/// The server's own URI for one of its views. `None`: the URI is not of a view of that server.
pub fn inward(source: &str, uri: &str) -> Option<String> {
    let rest = uri.strip_prefix(SCHEME)?.strip_prefix(source)?.strip_prefix('/')?;
    Some(format!("{SCHEME}{rest}"))
}

/// Rewrites the URI of a tool's view.
pub fn rewrite_tool(source: &str, tool: &mut Map<String, Value>) {
    let Some(meta) = tool.get_mut("_meta") else { return };
    let places = [("/ui~1resourceUri"), ("/ui/resourceUri")];
    for place in places {
        if let Some(Value::String(uri)) = meta.pointer_mut(place) {
            *uri = outward(source, uri);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rewritten_uri_maps_back_to_its_own_server() {
        for uri in ["ui://weather/view.html", "ui://x", "ui://a/b?c#d"] {
            let out = outward("srv", uri);
            assert_eq!(inward("srv", &out).as_deref(), Some(uri), "{out}");
            assert_eq!(inward("other", &out), None);
            assert_eq!(inward("sr", &out), None);
        }
        assert_eq!(outward("srv", "file:///a"), "file:///a");
        assert_eq!(inward("srv", "file:///srv/a"), None);
    }

    #[test]
    fn only_the_uris_of_a_tools_view_are_rewritten() {
        let mut tool = json!({
            "name": "ui://name",
            "_meta": {"ui": {"resourceUri": "ui://a", "x": "ui://x"}, "ui/resourceUri": "ui://a"},
        });
        rewrite_tool("srv", tool.as_object_mut().unwrap());
        let expected = json!({
            "name": "ui://name",
            "_meta": {
                "ui": {"resourceUri": "ui://srv/a", "x": "ui://x"}, "ui/resourceUri": "ui://srv/a",
            },
        });
        assert_eq!(tool, expected);
    }
}
