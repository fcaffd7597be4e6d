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

/// Prepares the engine when the component is instantiated. The host instantiates the component of the next call in
/// advance, so that the call finds the engine ready.
#[cfg(target_family = "wasm")]
extern "C" fn prepare() {
    code_mode_script::engine::prepare();
}

/// A constructor of the module: the linker collects these functions, and the module's start calls them.
#[cfg(target_family = "wasm")]
#[used]
#[expect(
    unsafe_code,
    reason = "the linker calls what is in this section, and `prepare` can be called so"
)]
#[unsafe(link_section = ".init_array")]
static PREPARE: extern "C" fn() = prepare;

#[cfg(test)]
mod tests;
