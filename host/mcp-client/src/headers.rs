//! HTTP headers of MCP 2026-07-28 that repeat parts of a request, so that proxies need not read its body.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use thiserror::Error;

use crate::message::Object;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The prefix and the suffix of a value in Base64.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// Why a schema breaks the rules for `x-mcp-header`. Arguments are named by their path.
#[derive(Debug, Error)]
pub(crate) enum HeaderParamError {
    #[error("`x-mcp-header` is at a place that does not describe exactly one argument")]
    Place,
    #[error("`x-mcp-header` of {0} is not a valid name of a header")]
    Name(String),
    #[error("`x-mcp-header` of {0} is the same as that of another argument")]
    Twice(String),
    #[error("`x-mcp-header` is set for {0}, which is not a string, an integer or a boolean")]
    Kind(String),
}

/// An argument of a tool that is also sent in a header.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeaderParam {
    /// The names of the properties that lead to the argument.
    path: Vec<String>,
    header: HeaderName,
}

/// Finds the arguments that `x-mcp-header` in a tool's schema marks to be sent in headers, too.
///
/// # Errors
///
/// The schema breaks the rules for `x-mcp-header`.
pub(crate) fn params_of(schema: &Object) -> Result<Vec<HeaderParam>, HeaderParamError> {
    let mut found = Vec::new();
    walk(schema, Some(&mut Vec::new()), &mut found)?;
    Ok(found)
}

/// Collects the arguments of a schema. `path`: the properties that lead to the schema. `None`: keywords other than
/// `properties` also lead to the schema, so it does not describe exactly one argument.
fn walk(
    schema: &Object,
    mut path: Option<&mut Vec<String>>,
    found: &mut Vec<HeaderParam>,
) -> Result<(), HeaderParamError> {
    for (key, value) in schema {
        match key.as_str() {
            "x-mcp-header" => {
                let path = path.as_deref().filter(|path| !path.is_empty());
                found.push(param(value, path, schema.get("type"), found)?);
            }
            "properties" => {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    let Some(schema) = schema.as_object() else { continue };
                    if let Some(path) = path.as_deref_mut() {
                        path.push(name.clone());
                    }
                    walk(schema, path.as_deref_mut(), found)?;
                    if let Some(path) = path.as_deref_mut() {
                        path.pop();
                    }
                }
            }
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                for schema in value.as_object().into_iter().flat_map(Object::values) {
                    walk_any(schema, found)?;
                }
            }
            // These contain data, not schemas.
            "const" | "default" | "enum" | "examples" => {}
            _ => walk_any(value, found)?,
        }
    }
    Ok(())
}

fn walk_any(value: &Value, found: &mut Vec<HeaderParam>) -> Result<(), HeaderParamError> {
    match value {
        Value::Object(schema) => walk(schema, None, found),
        Value::Array(schemas) => schemas.iter().try_for_each(|schema| walk_any(schema, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn param(
    name: &Value,
    path: Option<&Vec<String>>,
    kind: Option<&Value>,
    found: &[HeaderParam],
) -> Result<HeaderParam, HeaderParamError> {
    let Some(path) = path else {
        return Err(HeaderParamError::Place);
    };
    let at = path.join(".");
    let header = name
        .as_str()
        .filter(|name| !name.is_empty())
        .and_then(|name| HeaderName::try_from(format!("mcp-param-{name}")).ok())
        .ok_or_else(|| HeaderParamError::Name(at.clone()))?;
    if found.iter().any(|other| other.header == header) {
        return Err(HeaderParamError::Twice(at));
    }
    if !matches!(kind.and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return Err(HeaderParamError::Kind(at));
    }
    Ok(HeaderParam { path: path.clone(), header })
}

/// The headers that repeat the method of a request; its `name`, `uri` or `taskId`; and the arguments in `wanted`.
pub(crate) fn standard(method: &str, params: &Object, wanted: &[HeaderParam]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(METHOD, encode(method));
    let name = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => params.get("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.get("taskId"),
        _ => None,
    };
    if let Some(name) = name.and_then(Value::as_str) {
        headers.insert(NAME, encode(name));
    }
    let arguments = params.get("arguments");
    for param in wanted {
        let value = param.path.iter().try_fold(arguments, |at, name| Some(at?.get(name)));
        let text = match value.flatten() {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Bool(truth)) => truth.to_string(),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => continue,
        };
        headers.insert(param.header.clone(), encode(&text));
    }
    headers
}

/// Encodes a text as a header's value: unchanged, or in Base64 if the unchanged text would be invalid or ambiguous.
fn encode(text: &str) -> HeaderValue {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim_ascii() == text
        && !(text.starts_with(ENCODED.0) && text.ends_with(ENCODED.1));
    let encoded = match plain {
        true => HeaderValue::try_from(text),
        false => HeaderValue::try_from(format!(
            "{}{}{}",
            ENCODED.0,
            BASE64_STANDARD.encode(text),
            ENCODED.1
        )),
    };
    encoded.expect("visible ASCII is a header's value")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params(schema: Value) -> Result<Vec<HeaderParam>, HeaderParamError> {
        params_of(schema.as_object().unwrap())
    }

    #[test]
    fn arguments_for_headers_are_found() {
        let found = params(json!({"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "Region"},
            "x-mcp-header": {"type": "string"},
            "b": {"type": "object", "properties": {"c": {"type": "integer", "x-mcp-header": "N"}},
                  "default": {"x-mcp-header": 1}},
        }}))
        .unwrap();
        let arguments = json!({"name": "täst", "arguments": {"a": " x", "b": {"c": -7}}});
        let headers = standard("tools/call", arguments.as_object().unwrap(), &found);
        assert_eq!(headers["mcp-method"], "tools/call");
        assert_eq!(headers["mcp-name"], "=?base64?dMOkc3Q=?=");
        assert_eq!(headers["mcp-param-region"], "=?base64?IHg=?=");
        assert_eq!(headers["mcp-param-n"], "-7");
        let nothing = json!({"name": "t", "arguments": {"a": null, "b": []}});
        assert_eq!(standard("tools/call", nothing.as_object().unwrap(), &found).len(), 2);
    }

    #[test]
    fn schemas_that_break_the_rules_are_refused() {
        let text = |name: Value| json!({"type": "string", "x-mcp-header": name});
        for schema in [
            json!({"x-mcp-header": "A"}),
            json!({"properties": {"a": text(json!(""))}}),
            json!({"properties": {"a": text(json!("a b"))}}),
            json!({"properties": {"a": text(json!("a\n"))}}),
            json!({"properties": {"a": text(json!(1))}}),
            json!({"properties": {"a": text(json!("A")), "b": text(json!("a"))}}),
            json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "array", "items": text(json!("A"))}}}),
            json!({"anyOf": [{"properties": {"a": text(json!("A"))}}]}),
            json!({"$defs": {"a": text(json!("A"))}}),
        ] {
            assert!(params(schema.clone()).is_err(), "{schema}");
        }
    }

    #[test]
    fn values_are_encoded_only_where_they_must_be() {
        for (text, expected) in [
            ("us-west1", "us-west1"),
            ("us west 1", "us west 1"),
            ("", ""),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("\tindented", "=?base64?CWluZGVudGVk?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encode(text), expected, "{text:?}");
        }
    }
}
