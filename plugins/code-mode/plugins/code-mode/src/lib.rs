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

#[cfg(test)]
mod tests;
