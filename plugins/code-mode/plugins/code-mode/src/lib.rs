//! Code mode: a model finds tools, reads their declarations and writes a program that calls them.

mod cut;
mod describe;
mod run;
mod search;

use portcullis_plugin::prelude::*;

plugin! {
    name: "code-mode",
    title: "Code mode",
    description: "Runs programs that call the tools of all other plugins and servers.",
    instructions: "Use search_tools to find tools, describe_tools to read their declarations, and run_code to call \
        them from one program: filter and join there, and return only what is needed.",
    tools: [search::SearchTools, describe::DescribeTools, run::RunCode],
    wants: [Want::tools("*", "to call the tools that a program names")],
}

/// Prepares the engine when the component is instantiated: instantiation calls the exported function `_initialize`.
/// The host can instantiate the component for the next call in advance. Then the engine is ready when the call arrives.
#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "the name is that of a module's start, and nothing else has it")]
#[unsafe(export_name = "_initialize")]
extern "C" fn prepare() {
    code_mode_script::engine::prepare();
}

#[cfg(test)]
mod tests;
