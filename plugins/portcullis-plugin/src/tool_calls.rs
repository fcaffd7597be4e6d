//! Calls of tools of other plugins and upstream servers, for plugins that combine tools.
//!
//! A plugin needs the want [`tools`](crate::Want::tools) and a grant for it. The plugin [begins](begin) a run,
//! [starts](start) calls and waits for [the next](next) call to end.
//!
//! If a call has a question to the client, the host runs the plugin again as soon as there is an answer. In
//! this next round, the plugin has to make the same calls in the same order. A call that ended in an earlier round
//! is not made again: the host returns the outcome from its journal. So calls must not depend on the clock or on
//! random numbers; use the time and the seed of the [`Beginning`].

use crate::bindings::portcullis::plugin::tool_calls as wit;
#[cfg(target_family = "wasm")]
use crate::bindings::portcullis::plugin::tool_calls as host;
#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::tool_calls as host;
use crate::tool::Hints;
use serde_json::Value;

pub use wit::{Beginning, Completion, Failure, Outcome};

/// The names of the tools that the plugin may call, each with the operator's name for its source.
///
/// The first use in a round returns the tools that are known now. A further use first waits until all plugins are
/// loaded, since the host may still be compiling the plugin of a missing tool.
pub fn names() -> Vec<(String, String)> {
    host::names()
}

/// The tools with these names, or all tools if the list is empty. If the list is empty or a name is not known, waits
/// until all plugins are loaded. Leaves out the names that are still unknown.
pub fn describe(names: &[String]) -> Vec<Callable> {
    host::describe(names).into_iter().map(Into::into).collect()
}

/// Begins a run. Call this once, before the first [`start`]. `program` is the source text of the program that decides
/// about the calls, or empty if the plugin itself decides. The run ends after `milliseconds` or at the plugin's own
/// limit, whichever comes first.
///
/// # Errors
///
/// There is no grant, or the call that is running may not call tools.
pub fn begin(program: &str, milliseconds: Option<u32>) -> Result<Beginning, String> {
    host::begin(program, milliseconds)
}

/// Starts a call and returns its number. The arguments are a JSON object.
pub fn start(name: &str, arguments: &str) -> u32 {
    host::start(name, arguments)
}

/// Waits until a call has ended. `None`: no call is under way.
pub fn next() -> Option<Completion> {
    host::next()
}

/// A tool that the plugin may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Callable {
    /// The name clients use.
    pub name: String,
    /// The operator's name for the plugin or upstream server that offers the tool.
    pub source: String,
    /// The name people see.
    pub title: Option<String>,
    /// The description by the source.
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// JSON Schema of the structured content of the result.
    pub output_schema: Option<Value>,
    /// Hints by the source; not to be relied on.
    pub hints: Hints,
}

impl From<wit::Callable> for Callable {
    fn from(tool: wit::Callable) -> Self {
        let wit::Callable { name, source, title, description, input_schema, output_schema, hints } =
            tool;
        Self {
            name,
            source,
            title,
            description,
            // The host wrote both schemas as JSON. An input schema that does not parse becomes one that allows
            // everything.
            input_schema: serde_json::from_str(&input_schema).unwrap_or(Value::Bool(true)),
            output_schema: output_schema.and_then(|schema| serde_json::from_str(&schema).ok()),
            hints: hints.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalog::Entry, rehearsal::Rehearsal};
    use serde_json::json;

    #[test]
    fn calls_end_in_the_order_in_which_they_started() {
        let _rehearsal = Rehearsal::new()
            .catalog_tool(Entry::new("double", "numbers", json!({})))
            .callable("double", |arguments| Ok(json!(arguments["n"].as_i64().unwrap_or(0) * 2)));
        assert_eq!(names(), [("double".to_owned(), "numbers".to_owned())]);
        assert_eq!(describe(&[])[0].name, "double");
        assert!(describe(&["other".to_owned()]).is_empty());
        assert_eq!(begin("", None), begin("", None), "the beginning is the same in each round");
        let (one, two) = (start("double", r#"{"n":2}"#), start("triple", "{}"));
        let first = next().unwrap();
        assert_eq!((first.call, first.outcome), (one, Outcome::Value("4".to_owned())));
        let second = next().unwrap();
        assert!(
            matches!(second.outcome, Outcome::Failed(failure) if failure.kind == "unknown" && second.call == two)
        );
        assert_eq!(next(), None);
    }
}
