//! Many different tools, as a large server offers them.

use serde_json::{Value, json};

use crate::shop::{Shop, structured};

/// This number of tools, named `tool_01` and so on.
pub struct Many(pub u32);

impl Shop for Many {
    fn tools(&self) -> Vec<Value> {
        (1..=self.0).map(tool).collect()
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        tool.starts_with("tool_").then(|| structured(json!({"tool": tool, "asked": arguments})))
    }
}

/// The definition of a tool. Its properties depend on its number.
fn tool(number: u32) -> Value {
    let kinds = [
        json!({"type": "string", "description": "Some text", "maxLength": 200}),
        json!({"type": "integer", "minimum": 0, "default": 0}),
        json!({"enum": ["small", "medium", "large"], "title": "Size"}),
        json!({"type": "array", "items": {"type": "string", "format": "date"}, "maxItems": 9}),
        json!({"type": "object", "properties": {"on": {"type": "boolean", "default": false}}}),
    ];
    let properties: serde_json::Map<String, Value> = (0..=number % 12)
        .map(|n| (format!("field_{n}"), kinds[((n + number) % 5) as usize].clone()))
        .collect();
    let name = format!("tool_{number:02}");
    json!({"name": name, "title": format!("Tool {number}"),
        "description": format!("Does the thing with the number {number}, and nothing else."),
        "annotations": {"readOnlyHint": number.is_multiple_of(2), "destructiveHint": number % 10 == 9},
        "inputSchema": {"type": "object", "properties": properties},
        "outputSchema": {"type": "object", "properties": {
            "tool": {"const": name}, "asked": {"type": "object"}}}})
}
