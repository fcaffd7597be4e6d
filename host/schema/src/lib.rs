//! Is this JSON what the tool said?

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Largest schema that is looked at, in bytes: a tool's schema is read by a model.
const MAX_BYTES: usize = 256 * 1024;

/// Most faults that are named; the rest is counted.
const MAX_FAULTS: usize = 10;

/// A JSON Schema, ready to check values.
pub struct Schema(Validator);

impl Schema {
    /// Reads a schema. Nothing is fetched for it and no file read; patterns cost linear time.
    ///
    /// # Errors
    ///
    /// In words for whoever wrote the schema.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("it has {} bytes; {MAX_BYTES} are the most", text.len()));
        }
        let schema: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .map(Self)
            .map_err(|error| error.to_string())
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// Each fault with the place it is at, in one line.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        let mut faults = self.0.iter_errors(value);
        let named: Vec<_> =
            faults.by_ref().take(MAX_FAULTS).map(|fault| name(&fault, value)).collect();
        let more = faults.count();
        let mut text = named.join("; ");
        if more > 0 {
            text.push_str(&format!("; and {more} more"));
        }
        Err(text)
    }
}

/// A fault of a value, told by the name of the argument it is about.
fn name(fault: &jsonschema::ValidationError<'_>, value: &Value) -> String {
    use jsonschema::error::ValidationErrorKind;
    let at = fault.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let within = if at.is_empty() { String::new() } else { format!(" in `{at}`") };
    let list = |names: &[String]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    use ValidationErrorKind::{
        AdditionalProperties, Enum, FalseSchema, Required, UnevaluatedProperties,
    };
    if let Required { property } = fault.kind() {
        let property = property.as_str().unwrap_or_default();
        return format!("`{property}` is missing{within}");
    }
    if let AdditionalProperties { unexpected } | UnevaluatedProperties { unexpected } = fault.kind()
    {
        return format!("{} is not known{within}", list(unexpected));
    }
    // Of an object that may have no members at all, the library names the value of one.
    let members = value.pointer(fault.instance_path().as_str()).and_then(Value::as_object);
    if let (FalseSchema, Some(members)) = (fault.kind(), members) {
        let unexpected: Vec<_> = members.keys().cloned().collect();
        return format!("{} is not known{within}", list(&unexpected));
    }
    let words = if let Enum { options } = fault.kind() {
        // The library names the first three only.
        let options = options.as_array().map_or(&[][..], Vec::as_slice);
        let options: Vec<_> = options.iter().map(Value::to_string).collect();
        format!("{} is not one of {}", fault.instance(), options.join(", "))
    } else {
        fault.to_string()
    };
    let words = portcullis_sanitize::line(&words, 500);
    if at.is_empty() { words } else { format!("`{at}`: {words}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(value: &Value) -> String {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "pattern": "^(a+)+$"},
                "count": {"type": "integer", "minimum": 1},
                "inner": {"type": "object", "required": ["x"]},
                "way": {"enum": ["a", "b", "c", "d", "e"]},
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        Schema::parse(&schema.to_string()).unwrap().check(value).unwrap_err()
    }

    #[test]
    fn missing_surplus_and_out_of_range_arguments_are_named() {
        assert_eq!(faults(&json!({})), "`name` is missing");
        assert_eq!(faults(&json!({"name": "a", "b": 1, "c": 2})), "`b`, `c` is not known");
        assert!(faults(&json!({"name": "a", "count": 0})).starts_with("`count`: "));
        assert_eq!(faults(&json!({"name": "a", "inner": {}})), "`x` is missing in `inner`");
        let all = "`way`: \"x\" is not one of \"a\", \"b\", \"c\", \"d\", \"e\"";
        assert_eq!(faults(&json!({"name": "a", "way": "x"})), all);
    }

    #[test]
    fn of_a_tool_without_arguments_none_is_known() {
        for properties in [json!({}), json!(null)] {
            let mut schema = json!({"type": "object", "additionalProperties": false});
            if properties.is_object() {
                schema["properties"] = properties;
            }
            let schema = Schema::parse(&schema.to_string()).unwrap();
            assert_eq!(schema.check(&json!({})), Ok(()));
            assert_eq!(schema.check(&json!({"a": 1})).unwrap_err(), "`a` is not known");
            let both = schema.check(&json!({"a": 1, "b": 2})).unwrap_err();
            assert_eq!(both, "`a`, `b` is not known");
        }
    }

    #[test]
    fn a_pattern_that_backtracks_costs_linear_time() {
        let fault = faults(&json!({"name": format!("{}b", "a".repeat(50_000))}));
        assert!(fault.starts_with("`name`: "), "{fault}");
        assert!(fault.len() < 1000, "the value is cut: {}", fault.len());
    }

    #[test]
    fn nothing_is_fetched_for_a_reference() {
        for reference in ["http://127.0.0.1:9/x.json", "file:///etc/hostname"] {
            assert!(Schema::parse(&json!({"$ref": reference}).to_string()).is_err());
        }
    }
}
