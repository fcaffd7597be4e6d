//! The fetch server (`src/fetch` of `modelcontextprotocol/servers`): a page in pieces, by default of 5,000 characters.

use serde_json::{Value, json};

use super::{number_of, text_of};
use crate::shop::{Shop, text, tool};

/// One long page: a history of changes.
pub struct Pages;

/// The page: 900 entries of a history. Every 37th entry is a breaking change.
fn page() -> String {
    let entry = |number: usize| {
        let kind = if number.is_multiple_of(37) { "BREAKING" } else { "Fixed" };
        format!(
            "- {kind}: the option `--option-{number}` of the command `run{}` now also accepts a list of values (#{})\n",
            number % 13,
            number + 100
        )
    };
    format!("# Changes\n\n{}", (0..900).map(entry).collect::<String>())
}

impl Shop for Pages {
    fn tools(&self) -> Vec<Value> {
        vec![tool(
            "fetch",
            "Fetches a URL from the internet and optionally extracts its contents as markdown.",
            json!({
                "url": {"type": "string", "format": "uri", "minLength": 1, "description": "URL to fetch"},
                "max_length": {"type": "integer", "default": 5000, "exclusiveMinimum": 0, "exclusiveMaximum": 1_000_000, "description": "Maximum number of characters to return."},
                "start_index": {"type": "integer", "default": 0, "minimum": 0, "description": "On return output starting at this character index, useful if a previous fetch was truncated and more context is required."},
            }),
            &["url"],
        )]
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        if tool != "fetch" {
            return None;
        }
        let (first, most) =
            (number_of(arguments, "start_index", 0), number_of(arguments, "max_length", 5000));
        let page = page();
        let mut piece =
            page.get(first..page.len().min(first + most)).unwrap_or_default().to_owned();
        let next = first + piece.len();
        if piece.is_empty() {
            piece = "<error>No more content available.</error>".into();
        } else if next < page.len() {
            piece += &format!(
                "\n\n<error>Content truncated. Call the fetch tool with a start_index of {next} to get more content.</error>"
            );
        }
        Some(text(&format!("Contents of {}:\n{piece}", text_of(arguments, "url"))))
    }
}
