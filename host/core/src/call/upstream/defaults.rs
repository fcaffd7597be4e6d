//! Fills in the defaults of required arguments that a client leaves out.

use portcullis_mcp_client::Object;
use serde_json::Value;

/// The arguments, with the defaults of required arguments that are missing. Some libraries declare arguments with
/// defaults as required, although their servers fill in the defaults themselves. Calls of such tools must pass the
/// check against the schema.
pub fn with_defaults(definition: &Object, arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    let schema = definition.get("inputSchema").unwrap_or(&Value::Null);
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(given) = arguments.as_object_mut() {
        for name in required {
            if let Some(default) = schema["properties"][name].get("default")
                && !given.contains_key(name)
            {
                given.insert(name.to_owned(), default.clone());
            }
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_arguments_get_their_defaults_and_given_ones_stay() {
        let definition = json!({ "inputSchema": {
            "required": ["a", "b", "c"],
            "properties": { "a": { "default": 1 }, "b": { "default": 2 }, "c": {}, "d": { "default": 4 } },
        }});
        let filled = with_defaults(definition.as_object().unwrap(), &json!({ "b": null }));
        assert_eq!(filled, json!({ "a": 1, "b": null }));
        let none = with_defaults(&Object::new(), &json!({ "b": 1 }));
        assert_eq!(none, json!({ "b": 1 }));
    }
}
