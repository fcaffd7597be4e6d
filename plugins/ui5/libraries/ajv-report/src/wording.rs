//! Ajv's parameters and message for each keyword.

use serde_json::{Map, Value, json};

/// The texts of an error.
pub struct Words {
    /// The `params` of the error.
    pub params: Value,
    /// The `message` of the error.
    pub message: String,
}

fn words(params: Value, message: impl Into<String>) -> Words {
    Words { params, message: message.into() }
}

/// The texts for a keyword whose value alone explains the error. `None` for other keywords, which have functions of
/// their own below.
pub fn of_keyword(keyword: &str, value: &Value) -> Option<Words> {
    let shown = display(value);
    Some(match keyword {
        "type" => words(json!({"type": value}), format!("must be {shown}")),
        "const" => words(json!({"allowedValue": value}), "must be equal to constant"),
        "enum" => {
            words(json!({"allowedValues": value}), "must be equal to one of the allowed values")
        }
        "not" => words(json!({}), "must NOT be valid"),
        "anyOf" => words(json!({}), "must match a schema in anyOf"),
        "maximum" => compared("<=", value),
        "minimum" => compared(">=", value),
        "exclusiveMaximum" => compared("<", value),
        "exclusiveMinimum" => compared(">", value),
        "multipleOf" => words(json!({"multipleOf": value}), format!("must be multiple of {shown}")),
        "maxLength" => limited("more", value, "characters"),
        "minLength" => limited("fewer", value, "characters"),
        "maxItems" => limited("more", value, "items"),
        "minItems" => limited("fewer", value, "items"),
        "maxProperties" => limited("more", value, "properties"),
        "minProperties" => limited("fewer", value, "properties"),
        "pattern" => words(json!({"pattern": value}), format!("must match pattern \"{shown}\"")),
        "format" => words(json!({"format": value}), format!("must match format \"{shown}\"")),
        _ => return None,
    })
}

/// For a schema that is `false`.
pub fn of_false_schema() -> Words {
    words(json!({}), "boolean schema is false")
}

/// For `oneOf`, with the first two schemas that the instance matches, if there are two.
pub fn of_one_of(passing: Option<[usize; 2]>) -> Words {
    words(json!({"passingSchemas": passing}), "must match exactly one schema in oneOf")
}

/// For `if`, with the branch that the instance does not match.
pub fn of_condition(failing: &str) -> Words {
    words(json!({"failingKeyword": failing}), format!("must match \"{failing}\" schema"))
}

/// For a missing member.
pub fn of_required(property: &str) -> Words {
    words(json!({"missingProperty": property}), format!("must have required property '{property}'"))
}

/// For a member that another member requires.
pub fn of_dependency(property: &str, missing: &str, all: &[&str]) -> Words {
    let deps = all.join(", ");
    let property_ies = if all.len() == 1 { "property" } else { "properties" };
    let message = format!("must have {property_ies} {deps} when property {property} is present");
    let params = json!({
        "property": property,
        "missingProperty": missing,
        "depsCount": all.len(),
        "deps": deps,
    });
    words(params, message)
}

/// For an additional member.
pub fn of_additional(property: &str) -> Words {
    words(json!({"additionalProperty": property}), "must NOT have additional properties")
}

/// For a member that no schema has evaluated.
pub fn of_unevaluated(property: &str) -> Words {
    words(json!({"unevaluatedProperty": property}), "must NOT have unevaluated properties")
}

/// For a name that is not allowed.
pub fn of_name(property: &str) -> Words {
    words(json!({"propertyName": property}), "property name must be valid")
}

/// For items after the last allowed item.
pub fn of_surplus_items(limit: usize) -> Words {
    limited("more", &json!(limit), "items")
}

/// For two equal items.
pub fn of_duplicates((i, j): (usize, usize)) -> Words {
    let message = format!("must NOT have duplicate items (items ## {j} and {i} are identical)");
    words(json!({"i": i, "j": j}), message)
}

/// For the number of items that match `contains`.
pub fn of_contains(at_least: &Value, at_most: Option<&Value>) -> Words {
    let least = display(at_least);
    match at_most {
        None => words(
            json!({"minContains": at_least}),
            format!("must contain at least {least} valid item(s)"),
        ),
        Some(at_most) => words(
            json!({"minContains": at_least, "maxContains": at_most}),
            format!(
                "must contain at least {least} and no more than {} valid item(s)",
                display(at_most)
            ),
        ),
    }
}

/// The positions of the two duplicates that Ajv names, if Ajv finds any. Like Ajv, searches from the end and
/// compares values, or texts if the schema allows only scalar items.
pub fn duplicates(items: &[Value], schema: &Map<String, Value>) -> Option<(usize, usize)> {
    let scalar_types = scalar_item_types(schema);
    if scalar_types.is_empty() {
        return (0..items.len())
            .rev()
            .find_map(|i| (0..i).rev().find(|j| equal(&items[i], &items[*j])).map(|j| (i, j)));
    }
    let comparison_key = |value: &Value| {
        let text = display(value);
        // Ajv uses scalars as member names, and distinguishes only strings from other types.
        if scalar_types.len() > 1 && value.is_string() { text + "_" } else { text }
    };
    let mut seen = std::collections::HashMap::new();
    (0..items.len())
        .rev()
        .filter(|i| scalar_types.iter().any(|name| has_type(&items[*i], name)))
        .find_map(|i| seen.insert(comparison_key(&items[i]), i).map(|j| (i, j)))
}

/// The types that the schema allows for items; empty unless all are scalar.
fn scalar_item_types(schema: &Map<String, Value>) -> Vec<&str> {
    let types: Vec<&str> = match schema.get("items").and_then(|items| items.get("type")) {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if types.iter().any(|name| matches!(*name, "object" | "array")) { Vec::new() } else { types }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

/// Equality as in Ajv: numbers by value, members in any order.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, left)| right.get(name).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

fn compared(comparison: &str, limit: &Value) -> Words {
    let message = format!("must be {comparison} {}", display(limit));
    words(json!({"comparison": comparison, "limit": limit}), message)
}

fn limited(than: &str, limit: &Value, what: &str) -> Words {
    let message = format!("must NOT have {than} than {} {what}", display(limit));
    words(json!({"limit": limit}), message)
}

/// A value as JavaScript inserts it into a text.
fn display(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(display).collect::<Vec<_>>().join(","),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), number_text),
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Object(_) => "[object Object]".to_owned(),
    }
}

/// JavaScript's `Number::toString`.
fn number_text(number: f64) -> String {
    let is_plain = number.abs() >= 1e-6 && number.abs() < 1e21;
    if is_plain || number == 0.0 {
        return if number == 0.0 { "0".to_owned() } else { format!("{number}") };
    }
    let text = format!("{number:e}");
    if text.contains("e-") { text } else { text.replace('e', "e+") }
}
