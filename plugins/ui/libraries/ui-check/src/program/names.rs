//! The names that the scripts of a document declare and use.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The globals of a document, as the page's interpreter offers them.
const GLOBALS: &str = include_str!("../../../../resources/document-globals.json");

/// Members of a document's `window` that are not globals.
const WINDOW: &[&str] =
    &["addEventListener", "devicePixelRatio", "innerHeight", "innerWidth", "removeEventListener"];

fn globals() -> BTreeSet<String> {
    serde_json::from_str(GLOBALS).expect("the list of globals is JSON")
}

/// Whether the window of a document has a member of this name.
pub fn is_in_window(name: &str) -> bool {
    WINDOW.contains(&name) || globals().contains(name)
}

/// The names of all scripts of a document: they share one scope.
#[derive(Default)]
pub struct Names {
    declared: BTreeSet<String>,
    used: BTreeSet<String>,
}

impl Names {
    /// Adds the names that a node declares or uses.
    pub fn read(&mut self, kind: &str, node: &Map<String, Value>) {
        match kind {
            "VariableDeclarator" => self.declare(&node["id"]),
            "FunctionDeclaration" | "FunctionExpression" | "ArrowFunctionExpression" => {
                self.declare(&node["id"]);
                self.declare(&node["params"]);
            }
            "ClassDeclaration" | "ClassExpression" => self.declare(&node["id"]),
            "CatchClause" => self.declare(&node["param"]),
            _ => {}
        }
        // Keys are names of members, not of variables.
        let is_computed = node.get("computed").and_then(Value::as_bool).unwrap_or_default();
        for (field, value) in node {
            let is_key = matches!(field.as_str(), "key" | "property") && !is_computed;
            if is_key || field == "label" {
                continue;
            }
            for one in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
                if one["type"] == "Identifier"
                    && let Some(name) = one["name"].as_str()
                {
                    self.used.insert(name.to_owned());
                }
            }
        }
    }

    /// Adds the names that a pattern binds.
    fn declare(&mut self, pattern: &Value) {
        match pattern {
            Value::Array(all) => all.iter().for_each(|one| self.declare(one)),
            Value::Object(node) => match node["type"].as_str().unwrap_or_default() {
                "Identifier" => {
                    self.declared.extend(node["name"].as_str().map(str::to_owned));
                }
                "ArrayPattern" => self.declare(&node["elements"]),
                "ObjectPattern" => self.declare(&node["properties"]),
                "Property" => self.declare(&node["value"]),
                "AssignmentPattern" => self.declare(&node["left"]),
                "RestElement" => self.declare(&node["argument"]),
                _ => {}
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The faults for names that are used, but are neither declared nor global. `ids`: the ids of the
    /// document's elements.
    pub fn faults(&self, ids: &BTreeSet<String>) -> Vec<String> {
        let globals = globals();
        let unknown = self.used.difference(&self.declared).filter(|name| !globals.contains(*name));
        unknown
            .map(|name| match name.as_str() {
                "arguments" => "a script uses `arguments`: use rest parameters".to_owned(),
                name if ids.contains(name) => format!(
                    "a script uses the element `{name}` without declaring it: write \
                     `const {name} = document.getElementById(\"{name}\")`"
                ),
                name => format!(
                    "a script uses `{name}`, which is not there: a document has its tool, its elements and the \
                     language itself"
                ),
            })
            .collect()
    }
}
