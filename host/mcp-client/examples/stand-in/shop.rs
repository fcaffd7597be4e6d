//! Realistic servers without faults: `weather`, `database`, `fifty`, `hundred`, and those of `office`.

use serde_json::{Value, json};

use crate::office::{Commits, Files, Graph, Linter, Pages, Repository};
use crate::{database::Database, many::Many, weather::Weather};

/// The tools and resources of a realistic server.
pub trait Shop: Send + Sync {
    /// The definitions of the tools.
    fn tools(&self) -> Vec<Value>;

    /// The result of a tool call. `None`: there is no tool of this name.
    fn call(&self, tool: &str, arguments: &Value) -> Option<Value>;

    /// The resources.
    fn resources(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The contents of a resource. `None`: there is no such resource.
    fn read(&self, _uri: &str) -> Option<Value> {
        None
    }
}

/// The shop that an option names. `None`: no option names one.
pub fn of(options: &[String]) -> Option<Box<dyn Shop>> {
    options.iter().find_map(|option| -> Option<Box<dyn Shop>> {
        match option.as_str() {
            "weather" => Some(Box::new(Weather)),
            "database" => Some(Box::<Database>::default()),
            "fifty" => Some(Box::new(Many(50))),
            "hundred" => Some(Box::new(Many(100))),
            "commits" => Some(Box::new(Commits)),
            "fetch" => Some(Box::new(Pages)),
            "filesystem" => Some(Box::<Files>::default()),
            "github" => Some(Box::new(Repository)),
            "linter" => Some(Box::new(Linter)),
            "memory" => Some(Box::new(Graph)),
            _ => None,
        }
    })
}

/// A result that is a text.
pub fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// The definition of a tool. `properties` are its arguments, of which `required` have to be given.
pub fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    json!({"name": name, "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": required}})
}

/// A result with structured content, and the same content as text.
pub fn structured(value: Value) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value})
}

/// A result with `isError`.
pub fn failed(why: &str) -> Value {
    json!({"content": [{"type": "text", "text": why}], "isError": true})
}
