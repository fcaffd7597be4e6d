//! The tool `describe_tools`.

use code_mode_declarations::{Tool as Declared, declarations};
use portcullis_plugin::prelude::*;
use portcullis_plugin::tool_calls::Callable;

/// Maximum number of tools in one answer.
const MAX_NAMES: usize = 40;

/// Gives the declarations of tools in TypeScript, as run_code calls them.
#[arguments]
pub struct DescribeTools {
    /// The names, as search_tools gives them.
    #[schemars(length(min = 1, max = 40))]
    names: Vec<String>,
}

impl Tool for DescribeTools {
    const NAME: &'static str = "describe_tools";
    const HINTS: Hints = Hints::new().read_only(true).open_world(false);
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let tools = tool_calls::describe(&self.names);
        if tools.is_empty() {
            let names = self.names.join(", ");
            return Err(Failure::new(format!("there is no tool {names}: use search_tools")));
        }
        Ok(described(&self.names, &tools))
    }
}

/// The declarations of the first `MAX_NAMES` tools, a comment about the other tools, and a comment for each name
/// without a tool.
pub fn described(names: &[String], tools: &[Callable]) -> String {
    let declared = tools.iter().take(MAX_NAMES).map(|tool| Declared {
        name: &tool.name,
        source: &tool.source,
        description: tool.description.as_deref().unwrap_or_default(),
        input: &tool.input_schema,
        output: tool.output_schema.as_ref(),
    });
    let mut text = declarations(declared);
    if let Some(more @ 1..) = tools.len().checked_sub(MAX_NAMES) {
        text += &format!("// {more} more tools: ask again with their names only\n");
    }
    for name in names.iter().filter(|name| !tools.iter().any(|tool| tool.name == **name)) {
        text += &format!("// there is no tool {name}\n");
    }
    text
}
