//! Checks the arguments and the structured content of tools against JSON Schemas.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Maximum size of a schema in bytes. Models also read the schemas of tools, so a larger schema is of no use.
const MAX_BYTES: usize = 256 * 1024;

/// Maximum number of faults in a message. Further faults are counted.
const MAX_FAULTS: usize = 10;

/// Why a text cannot be used as a schema.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The text has too many bytes.
    #[error("it has {0} bytes; the maximum is {MAX_BYTES}")]
    TooLarge(usize),
    /// The text is not JSON.
    #[error(transparent)]
    NotJson(#[from] serde_json::Error),
    /// The text is JSON and not a JSON Schema, or refers to a schema that would have to be fetched.
    #[error("{0}")]
    NotASchema(String),
}

/// The first faults of a value in one line, and the number of the others. The place of a fault is named, unless the
/// fault concerns the whole value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Faults(String);

/// A JSON Schema, ready to check values.
pub struct Schema(Validator);

impl Schema {
    /// Compiles a schema. No reference is fetched or read from a file. Patterns match in linear time.
    ///
    /// # Errors
    ///
    /// The text is too large, is not JSON, or is not a usable JSON Schema: [`SchemaError`].
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        if text.len() > MAX_BYTES {
            return Err(SchemaError::TooLarge(text.len()));
        }
        let schema: Value = serde_json::from_str(text)?;
        jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .map(Self)
            .map_err(|error| SchemaError::NotASchema(error.to_string()))
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// The value does not fit the schema: [`Faults`].
    pub fn check(&self, value: &Value) -> Result<(), Faults> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        let mut faults = self.0.iter_errors(value);
        let named: Vec<_> =
            faults.by_ref().take(MAX_FAULTS).map(|fault| describe(&fault, value)).collect();
        let more = faults.count();
        let mut text = named.join("; ");
        if more > 0 {
            text.push_str(&format!("; and {more} more"));
        }
        Err(Faults(text))
    }
}

/// A fault of a value in words, with the place of the fault unless it concerns the whole value.
fn describe(fault: &jsonschema::ValidationError<'_>, value: &Value) -> String {
    use jsonschema::error::ValidationErrorKind;
    let at = fault.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let within = if at.is_empty() { String::new() } else { format!(" in `{at}`") };
    let list = |names: &[String]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let unknown = |names: &[String]| {
        let what = if names.len() == 1 { "property" } else { "properties" };
        format!("unknown {what} {}{within}", list(names))
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
        return unknown(unexpected);
    }
    // If an object may have no members at all, the library reports the value of a member, not its name.
    let members = value.pointer(fault.instance_path().as_str()).and_then(Value::as_object);
    if let (FalseSchema, Some(members)) = (fault.kind(), members) {
        let unexpected: Vec<_> = members.keys().cloned().collect();
        return unknown(&unexpected);
    }
    let words = if let Enum { options } = fault.kind() {
        // The library names only the first three options.
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
        Schema::parse(&schema.to_string()).unwrap().check(value).unwrap_err().to_string()
    }

    #[test]
    fn missing_surplus_and_out_of_range_arguments_are_named() {
        assert_eq!(faults(&json!({})), "`name` is missing");
        assert_eq!(faults(&json!({"name": "a", "b": 1, "c": 2})), "unknown properties `b`, `c`");
        assert!(faults(&json!({"name": "a", "count": 0})).starts_with("`count`: "));
        assert_eq!(faults(&json!({"name": "a", "inner": {}})), "`x` is missing in `inner`");
        let all = "`way`: \"x\" is not one of \"a\", \"b\", \"c\", \"d\", \"e\"";
        assert_eq!(faults(&json!({"name": "a", "way": "x"})), all);
    }

    #[test]
    fn a_tool_without_arguments_refuses_every_argument() {
        for properties in [json!({}), json!(null)] {
            let mut schema = json!({"type": "object", "additionalProperties": false});
            if properties.is_object() {
                schema["properties"] = properties;
            }
            let schema = Schema::parse(&schema.to_string()).unwrap();
            assert_eq!(schema.check(&json!({})), Ok(()));
            assert_eq!(
                schema.check(&json!({"a": 1})).unwrap_err().to_string(),
                "unknown property `a`"
            );
            let both = schema.check(&json!({"a": 1, "b": 2})).unwrap_err().to_string();
            assert_eq!(both, "unknown properties `a`, `b`");
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
