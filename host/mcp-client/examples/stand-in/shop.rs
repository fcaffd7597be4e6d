//! What the server offers where it is to be like one that people run: `weather`, `database`, `fifty`.

use serde_json::{Value, json};

use crate::{database::Database, fifty::Fifty, weather::Weather};

/// A set of tools that do something.
pub trait Shop: Send + Sync {
    /// Their definitions.
    fn tools(&self) -> Vec<Value>;

    /// What a tool answers. `None`: there is none of that name.
    fn call(&self, tool: &str, arguments: &Value) -> Option<Value>;

    /// What can be read.
    fn resources(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The contents at an address. `None`: there are none.
    fn read(&self, _uri: &str) -> Option<Value> {
        None
    }
}

/// The one that is asked for, if any is.
pub fn of(options: &[String]) -> Option<Box<dyn Shop>> {
    options.iter().find_map(|option| -> Option<Box<dyn Shop>> {
        match option.as_str() {
            "weather" => Some(Box::new(Weather)),
            "database" => Some(Box::<Database>::default()),
            "fifty" => Some(Box::new(Fifty)),
            _ => None,
        }
    })
}

/// An answer with structure, and the same as text for those who know none.
pub fn structured(value: Value) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value})
}

/// An answer that says what went wrong.
pub fn failed(why: &str) -> Value {
    json!({"content": [{"type": "text", "text": why}], "isError": true})
}
