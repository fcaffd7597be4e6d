//! The contract's `tool-calls`. The tools of the rehearsal's catalog are listed, and functions of the test answer calls.

use super::world::{World, catalog, here};
use crate::bindings::portcullis::plugin::tool_calls::{
    Beginning, Callable, Completion, Failure, Outcome,
};
use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, VecDeque},
    fmt,
    rc::Rc,
};

/// A function in place of a tool.
type Function = Rc<dyn Fn(&Value) -> Result<Value, Failure>>;

/// The functions, and the calls that have ended.
#[derive(Default)]
pub struct Calls {
    functions: RefCell<BTreeMap<String, Function>>,
    ended: RefCell<VecDeque<Completion>>,
    started: Cell<u32>,
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.functions.borrow().keys()).finish()
    }
}

impl World {
    pub fn put_callable(&self, name: &str, function: Function) {
        self.calls.functions.borrow_mut().insert(name.to_owned(), function);
    }
}

pub fn names() -> Vec<(String, String)> {
    catalog::tools().into_iter().map(|tool| (tool.name, tool.source)).collect()
}

pub fn describe(names: &[String]) -> Vec<Callable> {
    let is_named = |name: &String| names.is_empty() || names.contains(name);
    let tools = catalog::tools().into_iter().filter(|tool| is_named(&tool.name));
    let callable = |tool: catalog::Entry| Callable {
        name: tool.name,
        source: tool.source,
        title: tool.title,
        description: tool.description,
        input_schema: tool.input_schema,
        output_schema: tool.output_schema,
        hints: tool.hints,
    };
    tools.map(callable).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "this is the signature of the contract")]
pub fn begin(_program: &str, _milliseconds: Option<u32>) -> Result<Beginning, String> {
    // 2026-01-01.
    Ok(Beginning { milliseconds: 1_767_225_600_000, seed: 42 })
}

pub fn start(name: &str, arguments: &str) -> u32 {
    let world = here();
    let call = world.calls.started.get();
    world.calls.started.set(call + 1);
    let function = world.calls.functions.borrow().get(name).cloned();
    let arguments: Value = serde_json::from_str(arguments).expect("the arguments are JSON");
    let result = match function {
        Some(function) => function(&arguments),
        None => {
            Err(Failure { kind: "unknown".to_owned(), message: format!("unknown tool: {name}") })
        }
    };
    let outcome = match result {
        Ok(value) => Outcome::Value(value.to_string()),
        Err(failure) => Outcome::Failed(failure),
    };
    let milliseconds = 1_767_225_600_000 + u64::from(call) + 1;
    world.calls.ended.borrow_mut().push_back(Completion { call, milliseconds, outcome });
    call
}

pub fn next() -> Option<Completion> {
    here().calls.ended.borrow_mut().pop_front()
}
