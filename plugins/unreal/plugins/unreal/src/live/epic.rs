//! Client of the engine's own MCP server, whose tools are in toolsets behind three meta-tools.

use super::{
    fault::Fault,
    seen::Seen,
    value,
    wire::{Message, Wire},
};
use portcullis_plugin::prelude::*;
use serde_json::Value;
use std::{path::Path, time::Duration};

/// Time limit of a read-only tool.
pub const READING: Duration = Duration::from_secs(30);
/// Largest project file to compare, in bytes.
const MAX_PROJECT_FILE: u64 = 1 << 20;

/// The toolsets. Without meta-tools, toolsets are prefixes of the tools' names.
pub fn toolsets(wire: Wire<'_>, seen: &Seen) -> Result<Vec<String>, Fault> {
    let mut found: Vec<String> = if seen.tools.contains_key("call_tool") {
        let params = json!({ "name": "list_toolsets", "arguments": {} });
        let headers = seen.headers();
        let what = "looking for the editor";
        let message = Message {
            method: "tools/call",
            params,
            headers: &headers,
            limit: READING,
            what,
            number: 91,
        };
        // The answer is text for people: words in the form of a name are taken as names.
        let said = value::of_tool(&wire.ask(&message)?.result)?.to_string();
        let words = said.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')));
        words
            .map(|word| word.trim_matches('.'))
            .filter(|word| word.contains('.'))
            .map(str::to_owned)
            .collect()
    } else {
        let sets = seen.tools.keys().filter_map(|name| Some(name.rsplit_once('.')?.0.to_owned()));
        sets.collect()
    };
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The parameters of a tool call in that toolset, whatever its prefix.
pub fn call(seen: &Seen, set: &str, tool: &str, arguments: &Value) -> Result<Value, Fault> {
    let of_name = |full: &&String| full.rsplit('.').next() == Some(set);
    // The editor registers toolsets one by one while it starts.
    let full =
        seen.toolsets.iter().find(of_name).ok_or_else(|| Fault::Starting(format!("`{set}`")))?;
    Ok(if seen.tools.contains_key("call_tool") {
        let arguments = json!({ "toolset_name": full, "tool_name": tool, "arguments": arguments });
        json!({ "name": "call_tool", "arguments": arguments })
    } else {
        json!({ "name": format!("{full}.{tool}"), "arguments": arguments })
    })
}

/// The result of a tool. Many failures come as ordinary text.
pub fn returned(result: &Value) -> Result<Value, Fault> {
    let mut told = value::of_tool(result)?;
    if let Some(said) = told.as_str() {
        return Err(Fault::Failed(crate::answer::shown(said)));
    }
    let Some(object) = told.as_object_mut() else { return Ok(told) };
    match object.remove("returnValue") {
        Some(returned) => Ok(returned),
        None if object.is_empty() => Ok(Value::Null),
        None => Ok(told),
    }
}

/// Whether the editor reads the same project file as on this disk. The server does not tell the
/// folder, so that copies of one project cannot be distinguished.
pub fn has_project(
    file: &Path,
    read: impl FnOnce(&str) -> Result<Value, Fault>,
) -> Result<bool, Fault> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_small = std::fs::metadata(file).is_ok_and(|found| found.len() <= MAX_PROJECT_FILE);
    let Some(ours) = is_small.then(|| std::fs::read(file).ok()).flatten() else {
        return Ok(false);
    };
    let ours = String::from_utf8_lossy(&ours).into_owned();
    match read(&name) {
        Ok(theirs) => Ok(theirs.as_str().is_some_and(|theirs| alike(theirs, &ours))),
        Err(Fault::Failed(_)) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Whether two texts are equal, ignoring line ends and a byte order mark.
fn alike(one: &str, other: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        text.trim_start_matches('\u{FEFF}').trim_end().lines().map(str::to_owned).collect()
    };
    lines(one) == lines(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_returned() {
        let of = |text: &str| returned(&json!({ "content": [{ "type": "text", "text": text }] }));
        assert_eq!(of(r#"{"returnValue": ["/Game/A"]}"#), Ok(json!(["/Game/A"])));
        assert_eq!(of(r#"{"a": 1}"#), Ok(json!({ "a": 1 })));
        assert_eq!(of("{}"), Ok(Value::Null));
        assert_eq!(of("no such asset"), Err(Fault::Failed("no such asset".to_owned())));
    }

    #[test]
    fn the_same_text() {
        assert!(alike("\u{FEFF}{\r\n}\r\n", "{\n}") && !alike("{}", "{ }"));
    }
}
