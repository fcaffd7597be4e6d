//! Extracts and sanitises values from the results of an editor's tools.

use super::fault::Fault;
use crate::answer::shown;
use serde_json::Value;

/// Longest failure message shown, in characters.
const MAX_FAILURE: usize = 4_000;

/// The result of a tool: its structured content, or its text parsed as JSON, or the text itself.
pub fn of_tool(result: &Value) -> Result<Value, Fault> {
    let first = result["content"].as_array().and_then(|content| content.first());
    let text = first.and_then(|item| item["text"].as_str()).unwrap_or_default();
    if result["isError"] == true {
        return Err(Fault::Failed(unreal_package::visible(text, MAX_FAILURE, true).into_owned()));
    }
    if result["structuredContent"].is_object() {
        return Ok(result["structuredContent"].clone());
    }
    Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
}

/// A sanitised short text in a result.
pub fn text(value: &Value, key: &str) -> String {
    shown(value[key].as_str().unwrap_or_default())
}

/// The texts in a list of a result.
pub fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_str().or_else(|| item["refPath"].as_str()).map(shown)).collect()
}

/// A number in a result; 0 if there is none.
pub fn number(value: &Value, key: &str) -> usize {
    // The editor converts numbers to floating point, and may write them so.
    let number = &value[key];
    let whole = number.as_u64().or_else(|| number.as_f64().map(|n| n.max(0.0) as u64));
    usize::try_from(whole.unwrap_or_default()).unwrap_or(usize::MAX)
}

/// The reason of a tool's failure: the `error` in its result, or the whole text.
pub fn why(said: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(said).ok();
    let error = parsed.as_ref().and_then(|value| value["error"].as_str());
    shown(error.filter(|error| !error.is_empty()).unwrap_or(said))
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
        let value = json!({ "n": 2.0, "m": 3, "list": ["a", { "refPath": "b" }, 3], "t": "x\ny" });
        assert_eq!((number(&value, "n"), number(&value, "m"), number(&value, "o")), (2, 3, 0));
        assert_eq!(texts(&value["list"]), ["a", "b"]);
        assert_eq!(text(&value, "t"), "x y");
        assert_eq!(why(r#"{"bSuccess":false,"error":"it is gone"}"#), "it is gone");
        assert_eq!(why("Invalid parameters"), "Invalid parameters");
    }
}
