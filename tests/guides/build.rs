//! Makes a Rust file of all Rust blocks of `docs/guides/write-a-plugin.md`: a module for each block with its own items,
//! a function for each block of statements, and the plugin with its tests at the end.

use std::env;
use std::fs;
use std::path::PathBuf;

/// The guide, from the folder of this crate.
const GUIDE: &str = "../../docs/guides/write-a-plugin.md";

/// What statements in the guide refer to, as arguments of the function that contains them.
const AROUND: &str =
    "request: &Request, project: &std::path::Path, manifest: String, this: &super::Named";

fn main() {
    println!("cargo::rerun-if-changed={GUIDE}");
    println!("cargo::rerun-if-changed=build.rs");
    let guide = fs::read_to_string(GUIDE).expect("there is a guide");
    let (mut modules, mut root) = (String::new(), String::new());
    for (number, block) in blocks(&guide).into_iter().enumerate() {
        let is_test = block.starts_with("#[cfg(test)]");
        if is_test || block.starts_with("plugin! {") {
            root += &block;
            continue;
        }
        // An inner comment cannot stand in a module after `use`, and a program has one plugin.
        let items = |line: &&str| !line.starts_with("//!") && !line.starts_with("plugin! {");
        // The plugin is outside of the modules.
        let shared = |line: &str| {
            let is_type = line.starts_with("struct ") || line.starts_with("enum ");
            format!("{}{line}\n", if is_type { "pub(crate) " } else { "" })
        };
        let code: String = block.lines().filter(items).map(shared).collect();
        let is_items = ["///", "#[", "fn ", "pub(crate) ", "use "]
            .iter()
            .any(|first| code.trim_start().starts_with(first));
        let code = if is_items {
            code
        } else {
            let code = code.replace("self.", "this.");
            format!("fn statements({AROUND}) -> Result<(), Failure> {{\n{code}\nOk(())\n}}\n")
        };
        modules += &format!(
            "mod block_{number} {{\n#![allow(unused_imports, reason = \"not every block needs them\")]\nuse \
             portcullis_plugin::prelude::*;\n{code}}}\n",
        );
        for line in code.lines().filter(|line| line.starts_with("impl Tool for ")) {
            let tool = line.trim_start_matches("impl Tool for ").trim_end_matches(" {");
            // Two blocks have a tool of this name. The plugin of the guide has the first one.
            let used = format!("::{tool};\n");
            if !root.contains(&used) {
                root = format!("use block_{number}{used}{root}");
            }
        }
    }
    assert!(root.contains("plugin! {") && root.contains("#[cfg(test)]"), "the guide has a plugin");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("guide.rs"), modules + &root).expect("OUT_DIR can be written");
}

/// The code of all Rust blocks.
fn blocks(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match &mut open {
            None if line == "```rust" => open = Some(String::new()),
            Some(_) if line == "```" => found.extend(open.take()),
            Some(block) => *block += &format!("{line}\n"),
            None => {}
        }
    }
    found
}
