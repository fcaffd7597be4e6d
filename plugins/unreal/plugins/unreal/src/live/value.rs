//! Extracts and sanitises values from the results of an editor's tools.

use super::fault::Fault;
use crate::answer::shown;
use serde_json::Value;

/// Maximum length of a failure message that is shown, in characters.
const MAX_FAILURE_CHARS: usize = 4_000;

/// The result of a tool: its structured content, or else its text parsed as JSON, or else the text
/// itself. A result with `isError` is a fault.
pub fn of_tool(result: &Value) -> Result<Value, Fault> {
    let first = result["content"].as_array().and_then(|content| content.first());
    let text = first.and_then(|item| item["text"].as_str()).unwrap_or_default();
    if result["isError"] == true {
        return Err(Fault::Failed(
            unreal_package::visible(text, MAX_FAILURE_CHARS, true).into_owned(),
        ));
    }
    if result["structuredContent"].is_object() {
        return Ok(result["structuredContent"].clone());
    }
    Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
}

/// Reads the members of a tool's result. A member that is missing or has another form is a fault.
#[derive(Clone, Copy)]
pub struct Reply<'v> {
    tool: &'v str,
    value: &'v Value,
}

impl<'v> Reply<'v> {
    /// Reads the result `value` of `tool`.
    pub fn of(tool: &'v str, value: &'v Value) -> Self {
        Self { tool, value }
    }

    fn misshapen(self, key: &str, form: &str) -> Fault {
        let what = if key.is_empty() { "it".to_owned() } else { format!("`{key}`") };
        Fault::Misshapen(self.tool.to_owned(), format!("{what} is not {form}"))
    }

    /// A member of the result; with an empty key, the result itself.
    fn get(self, key: &str) -> &'v Value {
        if key.is_empty() { self.value } else { &self.value[key] }
    }

    /// A member that is an object, to read members of it.
    pub fn object(self, key: &str) -> Result<Self, Fault> {
        let value = self.get(key);
        match value.is_object() {
            true => Ok(Self { value, ..self }),
            false => Err(self.misshapen(key, "an object")),
        }
    }

    /// The value as it was sent.
    pub fn value(self) -> &'v Value {
        self.value
    }

    /// A flag.
    pub fn flag(self, key: &str) -> Result<bool, Fault> {
        self.get(key).as_bool().ok_or_else(|| self.misshapen(key, "true or false"))
    }

    /// A text as it was sent.
    pub fn raw(self, key: &str) -> Result<&'v str, Fault> {
        self.get(key).as_str().ok_or_else(|| self.misshapen(key, "a text"))
    }

    /// A sanitised text that is not empty.
    pub fn text(self, key: &str) -> Result<String, Fault> {
        let text = shown(self.raw(key)?);
        if text.is_empty() { Err(self.misshapen(key, "a non-empty text")) } else { Ok(text) }
    }

    /// A list of results.
    pub fn list(self, key: &str) -> Result<Vec<Self>, Fault> {
        let items = self.get(key).as_array().ok_or_else(|| self.misshapen(key, "a list"))?;
        Ok(items.iter().map(|value| Self { value, ..self }).collect())
    }

    /// A list of sanitised texts.
    pub fn texts(self, key: &str) -> Result<Vec<String>, Fault> {
        let form = "a list of texts";
        let items = self.get(key).as_array().ok_or_else(|| self.misshapen(key, form))?;
        let texts = items.iter().map(|item| item.as_str().map(shown));
        texts.collect::<Option<_>>().ok_or_else(|| self.misshapen(key, form))
    }

    /// The paths of a list of Unreal objects, which Epic's server writes as `{"refPath": …}`.
    pub fn objects(self, key: &str) -> Result<Vec<String>, Fault> {
        self.list(key)?.into_iter().map(|item| item.text("refPath")).collect()
    }

    /// A number that is not negative. The editor converts numbers to floating point, so a fraction
    /// is accepted and cut off.
    pub fn number(self, key: &str) -> Result<usize, Fault> {
        let number = self.get(key);
        let integer = number.as_u64().or_else(|| {
            number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64)
        });
        let integer = integer.ok_or_else(|| self.misshapen(key, "a number"))?;
        Ok(usize::try_from(integer).unwrap_or(usize::MAX))
    }
}

/// A sanitised short text in a result; empty if there is no such text.
pub fn text(value: &Value, key: &str) -> String {
    shown(value[key].as_str().unwrap_or_default())
}

/// The reason of a tool's failure: the `error` in its result, or the whole text.
pub fn why(message: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(message).ok();
    let error = parsed.as_ref().and_then(|value| value["error"].as_str());
    shown(error.filter(|error| !error.is_empty()).unwrap_or(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::serde_json::json;

    #[test]
    fn results_in_all_forms() {
        let item =
            |text: &str| json!([{ "data": "", "text": text, "mimetype": "", "type": "text" }]);
        let structured = json!({ "content": item("{}"), "structuredContent": { "a": 1 } });
        assert_eq!(of_tool(&structured), Ok(json!({ "a": 1 })));
        let parsed = json!({ "content": item("{\n\t\"a\": 2\n}"), "isError": false });
        assert_eq!(of_tool(&parsed), Ok(json!({ "a": 2 })));
        assert_eq!(of_tool(&json!({ "content": item("done") })), Ok(json!("done")));
        let failed = json!({ "content": item("no \u{1b}[31m"), "isError": true });
        assert_eq!(of_tool(&failed), Err(Fault::Failed("no [31m".to_owned())));
        assert_eq!(of_tool(&json!({})), Ok(json!("")));
    }

    #[test]
    fn pieces() {
        assert_eq!(text(&json!({ "t": "x\ny" }), "t"), "x y");
        assert_eq!(why(r#"{"bSuccess":false,"error":"it is gone"}"#), "it is gone");
        assert_eq!(why("Invalid parameters"), "Invalid parameters");
    }
}
