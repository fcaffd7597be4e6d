//! Turns the scripts of a document into a program that the view's page interprets.
//!
//! The program is an ESTree: the syntax tree that JavaScript tools share
//! (<https://github.com/estree/estree>), as JSON and without positions. It has only the kinds of nodes in
//! `NODES` in `program/nodes.rs`. The page's interpreter enforces the rules: a script reaches only the
//! functions that the interpreter offers. The checks of names in this module only tell the model in advance which
//! names will not work.

mod bounds;
mod names;
mod nesting;
mod nodes;

use names::Names;
use nesting::Refusal;
use nodes::Reader;
use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;
use serde_json::{Deserializer, Value, json};
use std::collections::BTreeSet;

/// Maximum number of nodes of all scripts of a document.
const MAX_NODES: usize = 200_000;

const TOO_DEEP: &str =
    "a script is nested too deep: write it as several statements and small functions";

const SLASH: &str =
    "a script has a `/` that can be read in two ways: put parentheses around what is before it";

fn too_long() -> String {
    format!("its scripts are too long: the maximum is {MAX_NODES} nodes")
}

/// The scripts of a document, compiled.
#[derive(Debug, Default)]
pub struct Compiled {
    /// The statements of all scripts, in their order.
    body: Vec<Value>,
    /// The faults of the scripts, if possible with what to write instead.
    pub faults: Vec<String>,
    /// Whether a script calls `portcullis.listen`.
    pub listens: bool,
}

impl Compiled {
    /// The program: an ESTree `Program`.
    pub fn program(self) -> Value {
        json!({ "type": "Program", "body": self.body })
    }
}

/// Compiles the scripts of a document, which share one scope. `ids`: the ids of the document's elements.
pub fn compile(scripts: &[String], ids: &BTreeSet<String>) -> Compiled {
    let mut compiled = Compiled::default();
    let (mut names, mut nodes) = (Names::default(), 0);
    for source in scripts {
        let mut reader = Reader::new(&mut names, &mut compiled.faults);
        match tree(source) {
            Ok(tree) => compiled.body.extend(reader.program(&tree)),
            Err(fault) => reader.fault(fault),
        }
        nodes += reader.nodes;
        compiled.listens |= reader.listens;
    }
    if nodes > MAX_NODES {
        compiled.faults.push(too_long());
    }
    compiled.faults.extend(names.faults(ids));
    compiled
}

/// Parses a script. Returns its ESTree, with all fields that oxc writes.
fn tree(source: &str) -> Result<Value, String> {
    nesting::check(source).map_err(|refusal| match refusal {
        Refusal::Deep => TOO_DEEP.to_owned(),
        Refusal::Slash => SLASH.to_owned(),
    })?;
    let allocator = Allocator::default();
    let options = ParseOptions { preserve_parens: false, ..ParseOptions::default() };
    let parsed =
        Parser::new(&allocator, source, SourceType::script()).with_options(options).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        let why =
            parsed.diagnostics.iter().next().map_or_else(String::new, |one| format!(": {one}"));
        return Err(format!("a script is not JavaScript{why}"));
    }
    bounds::check(&parsed.program)?;
    let json = parsed.program.to_estree_json(false, false);
    let mut reader = Deserializer::from_str(&json);
    reader.disable_recursion_limit();
    let tree = reader.into_iter().next().expect("the parser writes a value");
    Ok(tree.expect("it is JSON: what JSON cannot hold was refused"))
}
