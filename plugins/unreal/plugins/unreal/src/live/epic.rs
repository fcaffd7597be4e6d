//! Client of the engine's own MCP server, whose tools are in toolsets behind three meta-tools.

use super::{
    connection::{EditorConnection, Message},
    editor_server::EditorServer,
    fault::Fault,
    place, value,
};
use portcullis_plugin::prelude::*;
use serde_json::Value;
use std::time::Duration;

/// Time limit of a read-only tool.
pub const READING: Duration = Duration::from_secs(30);

/// The full names of the server's toolsets. If the server has no meta-tools, toolsets are the
/// prefixes of its tools' names.
pub fn toolsets(
    connection: EditorConnection<'_>,
    server: &EditorServer,
) -> Result<Vec<String>, Fault> {
    let mut found: Vec<String> = if server.tools.contains_key("call_tool") {
        let params = json!({ "name": "list_toolsets", "arguments": {} });
        let headers = server.headers();
        let what = "looking for the editor";
        let message = Message {
            method: "tools/call",
            params,
            headers: &headers,
            limit: READING,
            what,
            number: 91,
        };
        let answer = value::of_tool(&connection.request(&message)?.result)?;
        let answer = answer.as_str().ok_or_else(|| {
            Fault::Misshapen("list_toolsets".to_owned(), "it is not a text".to_owned())
        })?;
        // A toolset is a line `- NAME: DESCRIPTION`.
        let names = answer.lines().filter_map(|line| line.trim().strip_prefix("- "));
        let names = names.filter_map(|line| line.split([':', ' ']).next());
        names.filter(|name| name.contains('.')).map(str::to_owned).collect()
    } else {
        let sets = server.tools.keys().filter_map(|name| Some(name.rsplit_once('.')?.0.to_owned()));
        sets.collect()
    };
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The parameters of a call to a tool; `set` is the full name of its toolset, or the last part of that name.
pub fn call(
    server: &EditorServer,
    set: &str,
    tool: &str,
    arguments: &Value,
) -> Result<Value, Fault> {
    let has_name = |full: &&String| *full == set || full.rsplit('.').next() == Some(set);
    // The editor registers toolsets one by one while it starts, so a toolset may be missing at
    // first.
    let full =
        server.toolsets.iter().find(has_name).ok_or_else(|| Fault::Starting(format!("`{set}`")))?;
    Ok(if server.tools.contains_key("call_tool") {
        let arguments = json!({ "toolset_name": full, "tool_name": tool, "arguments": arguments });
        json!({ "name": "call_tool", "arguments": arguments })
    } else {
        json!({ "name": format!("{full}.{tool}"), "arguments": arguments })
    })
}

/// The parameters of the call that describes a toolset; `None` if the server has no such tool.
pub fn describe(server: &EditorServer, toolset: &str) -> Option<Value> {
    const TOOL: &str = "describe_toolset";
    let arguments = json!({ "toolset_name": toolset });
    server.tools.contains_key(TOOL).then(|| json!({ "name": TOOL, "arguments": arguments }))
}

/// The description of a toolset in the form of `describe_toolset`, made from names and arguments in the list of tools.
pub fn described(server: &EditorServer, toolset: &str) -> Value {
    let is_in_set = |name: &str| name.rsplit_once('.').is_some_and(|(set, _)| set == toolset);
    let tools = server.tools.iter().filter(|(name, _)| is_in_set(name)).map(|(name, arguments)| {
        let properties: serde_json::Map<String, Value> =
            arguments.iter().map(|argument| (argument.clone(), json!({}))).collect();
        json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
    });
    json!({ "tools": tools.collect::<Vec<_>>() })
}

/// The `returnValue` in a tool's answer, which has the form `{"returnValue": …}`. A tool without a
/// result answers with an empty object, and the value is `null`.
pub fn returned(result: &Value, tool: &str) -> Result<Value, Fault> {
    let mut answer = value::of_tool(result)?;
    let misshapen = |why: &str| Fault::Misshapen(tool.to_owned(), why.to_owned());
    let object = answer.as_object_mut().ok_or_else(|| misshapen("it is not a JSON object"))?;
    match object.remove("returnValue") {
        Some(returned) => Ok(returned),
        None if object.is_empty() => Ok(Value::Null),
        None => Err(misshapen("it has no `returnValue`")),
    }
}

/// The absolute folder of the open project, from the refusal to read a file outside of this folder.
/// `None` if the server does not refuse, or its refusal does not name the folder.
pub fn project(
    connection: EditorConnection<'_>,
    server: &EditorServer,
) -> Result<Option<String>, Fault> {
    // A relative path begins at the engine's binaries, which the tool refuses to read.
    let arguments = json!({ "file_path": "which-project.txt" });
    let params = call(server, "AssetTools", "read_file", &arguments)?;
    let headers = server.headers();
    let message = Message {
        method: "tools/call",
        params,
        headers: &headers,
        limit: READING,
        what: "looking for the editor",
        number: 92,
    };
    match value::of_tool(&connection.request(&message)?.result) {
        Err(Fault::Failed(refusal)) => Ok(place::of_refusal(&refusal)),
        Err(fault) => Err(fault),
        Ok(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn return_values_are_extracted() {
        let of = |text: &str| {
            returned(&json!({ "content": [{ "type": "text", "text": text }] }), "exists")
        };
        assert_eq!(of(r#"{"returnValue": ["/Game/A"]}"#), Ok(json!(["/Game/A"])));
        assert_eq!(of("{}"), Ok(Value::Null));
        for text in [r#"{"a": 1}"#, "no such asset", "[]", "true"] {
            assert!(
                matches!(of(text), Err(Fault::Misshapen(tool, _)) if tool == "exists"),
                "{text}"
            );
        }
    }
}
