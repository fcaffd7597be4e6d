//! The filesystem server (`src/filesystem` of `modelcontextprotocol/servers`), with three of its tools. Answers contain
//! the texts of files, as text and as structured content. The answer to an edit is a diff of the changed lines.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::text_of;
use crate::shop::{Shop, failed, tool};

/// A folder `/srv` with sources, tables and settings, in memory.
pub struct Files(Mutex<BTreeMap<String, String>>);

/// A module of 60 lines. Some lines say what is left to do.
fn source(number: usize) -> String {
    let line = |line: usize| match (line * 7 + number) % 29 {
        0 => format!("    // LATER: handle case {line} of module {number}"),
        _ => format!(
            "    total_{line} = total_{} + lines[{line}].amount * rate({number});",
            line.saturating_sub(1)
        ),
    };
    (0..60).map(line).collect::<Vec<_>>().join("\n")
}

/// A table of 120 rows: a month, a customer, an amount.
fn table(month: usize) -> String {
    let row = |row: usize| {
        format!("2026-{month:02},customer {},{}", row * 17 % 40, (row * 31 + month * 7) % 500)
    };
    let rows: Vec<_> = (0..120).map(row).collect();
    format!("month,customer,amount\n{}\n", rows.join("\n"))
}

/// The settings of a service. Every fourth service has a time limit in the wrong unit.
fn settings(number: usize) -> String {
    let limit = if number.is_multiple_of(4) { "30" } else { "30000" };
    let routes: Vec<_> = (0..12)
        .map(|route| format!("    \"/api/{number}/{route}\": \"backend-{}\"", route % 3))
        .collect();
    format!(
        "{{\n  \"name\": \"service-{number}\",\n  \"timeoutMs\": {limit},\n  \"routes\": {{\n{}\n  }}\n}}\n",
        routes.join(",\n")
    )
}

impl Default for Files {
    fn default() -> Self {
        let sources = (0..24).map(|n| {
            (format!("/srv/src/{}/module{n}.txt", ["billing", "stock", "users"][n % 3]), source(n))
        });
        let tables = (1..=12).map(|month| (format!("/srv/tables/{month}.csv"), table(month)));
        let all_settings =
            (0..20).map(|n| (format!("/srv/settings/service-{n}.json"), settings(n)));
        Self(Mutex::new(sources.chain(tables).chain(all_settings).collect()))
    }
}

/// The result that this server returns for a text.
fn content(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "structuredContent": {"content": text}})
}

fn missing(path: &str) -> Value {
    failed(&format!("ENOENT: no such file or directory, open '{path}'"))
}

impl Shop for Files {
    fn tools(&self) -> Vec<Value> {
        let path = || json!({"type": "string"});
        let edit = json!({"type": "object", "required": ["oldText", "newText"], "properties": {
            "oldText": {"type": "string", "description": "Text to search for - must match exactly"},
            "newText": {"type": "string", "description": "Text to replace with"}}});
        let output = json!({"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]});
        let with_output = |mut tool: Value| {
            tool["outputSchema"] = output.clone();
            tool
        };
        [
            tool(
                "read_text_file",
                "Read the complete contents of a file from the file system as text. Only works within allowed directories.",
                json!({"path": path()}),
                &["path"],
            ),
            tool(
                "search_files",
                "Recursively search for files and directories matching a pattern. Returns full paths to all matching items.",
                json!({"path": path(), "pattern": {"type": "string"}}),
                &["path", "pattern"],
            ),
            tool(
                "edit_file",
                "Make line-based edits to a text file. Returns a git-style diff showing the changes made.",
                json!({"path": path(), "edits": {"type": "array", "items": edit}}),
                &["path", "edits"],
            ),
        ]
        .map(with_output)
        .into()
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        let path = text_of(arguments, "path");
        let mut files = self.0.lock();
        Some(match tool {
            "read_text_file" => files.get(path).map_or_else(|| missing(path), |text| content(text)),
            "search_files" => {
                // Patterns of the form `**/*.EXTENSION` are all that the tests use.
                let ending =
                    text_of(arguments, "pattern").trim_start_matches("**/").trim_start_matches('*');
                let found =
                    files.keys().filter(|file| file.starts_with(path) && file.ends_with(ending));
                content(&found.cloned().collect::<Vec<_>>().join("\n"))
            }
            "edit_file" => {
                let Some(text) = files.get_mut(path) else { return Some(missing(path)) };
                let mut diff = format!("```diff\nIndex: {path}\n");
                for edit in arguments["edits"].as_array().into_iter().flatten() {
                    let (old, new) = (text_of(edit, "oldText"), text_of(edit, "newText"));
                    if !text.contains(old) {
                        return Some(failed(&format!(
                            "Could not find exact match for edit:\n{old}"
                        )));
                    }
                    *text = text.replacen(old, new, 1);
                    diff += &format!("-{old}\n+{new}\n");
                }
                content(&(diff + "```\n\n"))
            }
            _ => return None,
        })
    }
}
