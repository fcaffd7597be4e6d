//! Realistic servers without faults: `weather`, `database`, `fifty`, `hundred`.

use serde_json::{Value, json};

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
            _ => None,
        }
    })
}

/// A result with structured content, and the same content as text.
pub fn structured(value: Value) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value})
}

/// A result with `isError`.
pub fn failed(why: &str) -> Value {
    json!({"content": [{"type": "text", "text": why}], "isError": true})
}
