//! Views that other servers bring (MCP Apps): their `ui://` addresses, made such that no two servers
//! have the same.

use serde_json::{Map, Value};

const SCHEME: &str = "ui://";

/// The address by which clients know a view of the server called `source`. Other addresses stay.
pub fn outward(source: &str, uri: &str) -> String {
    match uri.strip_prefix(SCHEME) {
        Some(rest) => format!("{SCHEME}{source}/{rest}"),
        None => uri.to_owned(),
    }
}

/// The server's own address for a view of it. `None`: this is no view of that server.
pub fn inward(source: &str, uri: &str) -> Option<String> {
    let rest = uri.strip_prefix(SCHEME)?.strip_prefix(source)?.strip_prefix('/')?;
    Some(format!("{SCHEME}{rest}"))
}

/// Rewrites the address of a resource, a template, or one content of a resource.
pub fn rewrite_resource(source: &str, resource: &mut Map<String, Value>) {
    for key in ["uri", "uriTemplate"] {
        if let Some(Value::String(uri)) = resource.get_mut(key) {
            *uri = outward(source, uri);
        }
    }
}

/// Rewrites the address of the view that a tool brings.
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
    fn there_and_back() {
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
    fn only_addresses_are_rewritten() {
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
        let mut resource = json!({"uri": "ui://a", "name": "ui://a"});
        rewrite_resource("srv", resource.as_object_mut().unwrap());
        assert_eq!(resource, json!({"uri": "ui://srv/a", "name": "ui://a"}));
    }
}
