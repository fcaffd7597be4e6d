//! The tools of Epic's server, collected from the descriptions of its toolsets.

use crate::live::{Editor, Fault, value::Reply};
use portcullis_plugin::prelude::*;
use serde_json::Value;
use std::time::Duration;

/// Maximum number of toolsets that are read.
const MAX_TOOLSETS: usize = 200;
/// Maximum number of tools of one toolset.
const MAX_TOOLS: usize = 500;
/// Maximum size of a tool's schema, in bytes; a larger one is replaced by a schema of any object.
const MAX_SCHEMA: usize = 64 << 10;
/// Maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 4_000;
/// Time for which the description of a toolset is kept.
const KEPT: Duration = Duration::from_secs(600);
/// Remaining time of the call that is kept for the answer.
const RESERVE: Duration = Duration::from_secs(3);

/// A tool of the editor.
#[data]
#[derive(Clone, Debug, PartialEq)]
pub struct EditorTool {
    /// `editor_toolset.toolsets.asset.AssetTools`
    pub toolset: String,
    /// `save_assets`
    pub name: String,
    pub description: String,
    /// The schema of its arguments
    pub arguments: Value,
}

/// The tools that could be read.
pub struct ToolsetList {
    pub tools: Vec<EditorTool>,
    /// Messages about toolsets that could not be read, with the reasons.
    pub missing: Vec<String>,
}

impl ToolsetList {
    /// Reads the toolsets whose names contain `toolset`; an empty text stands for all toolsets.
    ///
    /// # Errors
    ///
    /// When the editor does not answer, or the call is cancelled. A toolset that cannot be read is
    /// only a message.
    pub fn read(editor: &Editor<'_>, toolset: &str) -> Result<Self, Fault> {
        let mut catalogue = Self { tools: Vec::new(), missing: Vec::new() };
        let wanted = toolset.to_lowercase();
        let sets = editor.seen.toolsets.iter();
        let sets: Vec<&String> = sets.filter(|set| set.to_lowercase().contains(&wanted)).collect();
        for (number, set) in sets.iter().enumerate() {
            let is_late = editor.request.remaining().is_some_and(|left| left < RESERVE);
            if number >= MAX_TOOLSETS || is_late {
                let why = if is_late { "no time was left" } else { "there are too many" };
                catalogue
                    .missing
                    .push(format!("{} toolsets were not read: {why}", sets.len() - number));
                break;
            }
            match tools_of(editor, set) {
                Ok((tools, left_out)) => {
                    let total = tools.len() + left_out;
                    catalogue.missing.extend((left_out > 0).then(|| {
                        format!("{set}: only the first {MAX_TOOLS} of {total} tools were read")
                    }));
                    catalogue.tools.extend(tools);
                }
                Err(fault @ Fault::Misshapen(..) | fault @ Fault::Failed(_)) => {
                    catalogue.missing.push(format!("{set}: {fault}"));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(catalogue)
    }
}

/// The tools of one toolset, and the number of those that are left out. They are cached for ten
/// minutes, since a session of the editor registers its tools once.
fn tools_of(editor: &Editor<'_>, toolset: &str) -> Result<(Vec<EditorTool>, usize), Fault> {
    let session = editor.seen.session.as_deref().unwrap_or_default();
    let key = format!("toolset {toolset} of {} in {session}", editor.url);
    if let Some(kept) = cache::get(&key).and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        return Ok(kept);
    }
    let described = editor.describe_toolset(toolset)?;
    let tools = tools_in(toolset, &described)?;
    if let Ok(bytes) = serde_json::to_vec(&tools) {
        cache::set(&key, bytes, KEPT);
    }
    Ok(tools)
}

/// The tools in the description of a toolset, and the number of those that are left out. The description has the form
/// `{"tools": [{"name", "description", "inputSchema"}]}`. A tool's name there begins with the toolset's name.
fn tools_in(toolset: &str, described: &Value) -> Result<(Vec<EditorTool>, usize), Fault> {
    let tools = Reply::of("describe_toolset", described).list("tools")?;
    let of_tool = |tool: &Reply<'_>| {
        let full = tool.text("name")?;
        let name = full.strip_prefix(toolset).and_then(|rest| rest.strip_prefix('.'));
        let schema = &tool.value()["inputSchema"];
        let is_short = schema.is_object() && schema.to_string().len() <= MAX_SCHEMA;
        let description = tool.value()["description"].as_str().unwrap_or_default();
        Ok(EditorTool {
            toolset: toolset.to_owned(),
            name: name.unwrap_or(&full).to_owned(),
            description: unreal_package::visible(description, MAX_DESCRIPTION, true).into_owned(),
            arguments: if is_short { schema.clone() } else { json!({ "type": "object" }) },
        })
    };
    let read: Result<Vec<EditorTool>, Fault> = tools.iter().take(MAX_TOOLS).map(of_tool).collect();
    Ok((read?, tools.len().saturating_sub(MAX_TOOLS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_read_from_descriptions() {
        let schema = json!({ "type": "object", "properties": { "Name": { "type": "string" } } });
        let described = json!({ "name": "A.B", "tools": [
            { "name": "A.B.GetX", "description": "Gets\u{7} x.", "inputSchema": schema },
            { "name": "GetY" },
        ]});
        let (tools, _) = tools_in("A.B", &described).expect("it is a description");
        let [x, y] = tools.as_slice() else { panic!("{tools:?}") };
        assert_eq!((x.name.as_str(), x.description.as_str()), ("GetX", "Gets x."));
        assert_eq!((&x.arguments, y.name.as_str()), (&schema, "GetY"));
        let many: Vec<Value> =
            (0..503).map(|number| json!({ "name": format!("Get{number}") })).collect();
        let (tools, left_out) = tools_in("A.B", &json!({ "tools": many })).expect("it is one");
        assert_eq!((tools.len(), left_out), (500, 3));
        for lie in [json!({}), json!({ "tools": [{}] }), json!("none")] {
            assert!(matches!(tools_in("A.B", &lie), Err(Fault::Misshapen(..))), "{lie}");
        }
    }
}
