//! The tool `search_tools`.

use portcullis_plugin::prelude::*;
use portcullis_plugin::tool_calls::Callable;
use portcullis_tool_search::{Document, Index};
use serde_json::Value;

/// Number of tools in the answer, if the arguments set no limit.
const LIMIT: usize = 8;

/// Maximum number of tools in the answer.
const MAX_LIMIT: usize = 50;

/// Maximum length of a description in the answer, in characters.
const MAX_DESCRIPTION: usize = 160;

/// Finds tools by what they do. The names are those that run_code and describe_tools take.
#[arguments]
pub struct SearchTools {
    /// What the tools should do, in a few words.
    query: String,
    /// Maximum number of results. Default: 8.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
}

impl Tool for SearchTools {
    const NAME: &'static str = "search_tools";
    const HINTS: Hints = Hints::new().read_only(true).open_world(false);
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let tools = tool_calls::describe(&[]);
        let found = found(&tools, &self.query, self.limit.unwrap_or(LIMIT));
        if found.is_empty() {
            let sources = sources(&tools);
            return Ok(format!(
                "none of {} tools matches; there are tools of: {sources}",
                tools.len()
            ));
        }
        let mut text = format!("{} of {} tools\n", found.len(), tools.len());
        for tool in found {
            text += &line(tool);
        }
        Ok(text)
    }
}

/// The tools that fit a query, the best first.
pub fn found<'t>(tools: &'t [Callable], query: &str, limit: usize) -> Vec<&'t Callable> {
    let parameters: Vec<Vec<&str>> = tools.iter().map(parameters).collect();
    let documents = tools.iter().zip(&parameters).map(|(tool, parameters)| Document {
        name: &tool.name,
        title: tool.title.as_deref().unwrap_or_default(),
        description: tool.description.as_deref().unwrap_or_default(),
        parameters: parameters.clone(),
        source: &tool.source,
    });
    let hits = Index::new(documents).search(query, limit.clamp(1, MAX_LIMIT));
    hits.into_iter().map(|hit| &tools[hit.document]).collect()
}

fn parameters(tool: &Callable) -> Vec<&str> {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// The names of the tools' sources without duplicates, or "nothing" if there are no tools.
pub fn sources(tools: &[Callable]) -> String {
    let mut sources: Vec<&str> = tools.iter().map(|tool| tool.source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    if sources.is_empty() { "nothing".to_owned() } else { sources.join(", ") }
}

fn line(tool: &Callable) -> String {
    let Callable { name, source, description, .. } = tool;
    format!("- {name} ({source}): {}\n", summary(description.as_deref().unwrap_or_default()))
}

/// The beginning of a description, on one line.
pub fn summary(description: &str) -> String {
    let words = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_DESCRIPTION) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
