//! The catalog: the tools of all plugins and upstream servers of this host.
//!
//! The catalog is empty unless the plugin wants it ([`Want::catalog`](crate::Want::catalog)) and the operator
//! grants it.

use crate::bindings::portcullis::plugin::catalog as wit;
#[cfg(target_family = "wasm")]
use crate::bindings::portcullis::plugin::catalog as host;
#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::catalog as host;
use crate::tool::Hints;
use serde_json::Value;

/// All tools, in a stable order.
pub fn tools() -> Vec<Entry> {
    host::tools().into_iter().map(Into::into).collect()
}

/// The tool with that name. `None`: there is no such tool, or no grant.
pub fn tool(name: &str) -> Option<Entry> {
    host::tool(name).map(Into::into)
}

/// The data of the tool's last successful call, if the host still has it and `"results"` is granted. The data is the
/// structured content of the result, or else the first JSON object or list among its texts, or else its first text.
pub fn last_result(name: &str) -> Option<Value> {
    serde_json::from_str(&host::last_result(name)?).ok()
}

/// Whether paths lead to something in the data of the tool's last successful call. The data stays in the host. A path
/// is a list of JSON Pointers. The first pointer starts at the whole data. Each further pointer starts at every item of
/// the list that the previous pointer leads to. An object counts as a list of its members, each as `{ key, value }`.
///
/// Returns one finding for each path. A finding is unknown, for example, if the host has no data, if `"pointers"` is
/// not granted, or if the call has already asked about 500 paths.
pub fn find(name: &str, paths: &[Vec<String>]) -> Vec<Finding> {
    host::find(name, paths)
}

pub use wit::Finding;

/// A tool as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name clients use.
    pub name: String,
    /// The operator's name for the plugin or upstream server that offers the tool.
    pub source: String,
    /// Whether this plugin is the source of the tool.
    pub of_this_plugin: bool,
    /// The name people see.
    pub title: Option<String>,
    /// The description by the source.
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// JSON Schema of the structured content of the result.
    pub output_schema: Option<Value>,
    /// Hints by the source; not to be relied on.
    pub hints: Hints,
    /// URI of the view that the source provides for the tool.
    pub view: Option<String>,
}

impl Entry {
    /// A tool with only a name, a source and a schema, for a [`Rehearsal`](crate::rehearsal::Rehearsal).
    pub fn new(
        name: impl Into<String>,
        source: impl Into<String>,
        input_schema: impl Into<Value>,
    ) -> Self {
        Self {
            name: name.into(),
            source: source.into(),
            of_this_plugin: false,
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output_schema: None,
            hints: Hints::new(),
            view: None,
        }
    }
}

impl From<wit::Entry> for Entry {
    fn from(entry: wit::Entry) -> Self {
        Self {
            name: entry.name,
            source: entry.source,
            of_this_plugin: entry.of_this_plugin,
            title: entry.title,
            description: entry.description,
            // The host wrote both schemas as JSON. An input schema that does not parse becomes one that
            // allows everything.
            input_schema: serde_json::from_str(&entry.input_schema).unwrap_or(Value::Bool(true)),
            output_schema: entry
                .output_schema
                .and_then(|schema| serde_json::from_str(&schema).ok()),
            hints: entry.hints.into(),
            view: entry.view,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::Rehearsal;
    use serde_json::json;

    #[test]
    fn tools_and_last_results_are_those_of_the_rehearsal() {
        let forecast = Entry {
            title: Some("Forecast".to_owned()),
            output_schema: Some(json!({ "type": "object" })),
            hints: Hints::new().read_only(true).destructive(false),
            view: Some("ui://weather/forecast.html".to_owned()),
            ..Entry::new("forecast", "weather", json!({ "type": "object" }))
        };
        let _rehearsal = Rehearsal::new()
            .catalog_tool(forecast.clone())
            .catalog_tool(Entry::new("b", "weather", json!({})))
            .last_result("forecast", json!({ "days": [] }));
        assert_eq!(tools().len(), 2);
        assert_eq!(tool("forecast"), Some(forecast));
        assert_eq!(tool("c"), None);
        assert_eq!(last_result("forecast"), Some(json!({ "days": [] })));
        assert_eq!(last_result("b"), None);
    }

    #[test]
    fn paths_lead_into_data_that_the_plugin_cannot_read() {
        let data = json!({ "days": [{ "high": 1 }, { "low": 2 }], "none": [] });
        let _rehearsal = Rehearsal::new().hidden_result("forecast", data);
        let found = |path: &[&str]| {
            let path = path.iter().map(ToString::to_string).collect();
            find("forecast", &[path])[0]
        };
        assert_eq!(found(&["/days", "/low"]), Finding::Found);
        assert_eq!(found(&["/days", "/wind"]), Finding::Missing);
        assert_eq!(found(&["/none", "/wind"]), Finding::Unknown);
        assert_eq!(last_result("forecast"), None);
        assert_eq!(find("other", &[vec![String::new()]]), [Finding::Unknown]);
    }

    #[test]
    fn the_catalog_is_empty_at_first() {
        let _rehearsal = Rehearsal::new();
        assert_eq!(tools(), []);
    }
}
