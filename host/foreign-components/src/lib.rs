//! Offers the exported functions of a foreign component as tools. The schemas of the tools are made from WIT types.

mod collector;
mod describe;
mod docs;
mod named_types;
mod schema;
mod streams;
mod value;

use serde_json::{Map, Value, json};
use wasmtime::component::types::{ComponentFunc, ComponentItem, Type};
use wasmtime::component::{Component, Instance, Val};
use wasmtime::{AsContextMut, Engine, Result, bail};

pub use collector::{NoValue, TooMuchData};
pub use describe::{Commented, DescribeError, Described, describe};
pub use docs::Docs;
pub use schema::SchemaError;
pub use value::ValueError;

use collector::Collector;
use named_types::NamedTypes;
use streams::InStore;

/// An exported function that is not a tool, because it has no JSON Schema.
#[derive(Debug, thiserror::Error)]
#[error("{function}")]
pub struct NoTool {
    /// The name of the function. In an interface: `INTERFACE.FUNCTION`.
    pub function: String,
    /// Why the function has no schema.
    #[source]
    pub cause: SchemaError,
}

/// An argument does not fit its type.
#[derive(Debug, thiserror::Error)]
#[error("argument `{name}`")]
pub struct ArgumentError {
    /// The name of the parameter.
    pub name: String,
    /// What is wrong with the value.
    #[source]
    pub cause: ValueError,
}

/// A function that a component exports, as a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name of the tool, which is the name of the function. If several functions have this name, the tool of a
    /// function in an interface is called `INTERFACE_FUNCTION`.
    pub name: String,
    /// The documentation of the function in the component.
    pub description: Option<String>,
    /// JSON Schema of the arguments, which are an object.
    pub input: Value,
    /// JSON Schema of an object with the member `result`. `None`: a call that succeeds has no value.
    pub output: Option<Value>,
    /// The interface that exports the function. `None`: the component itself.
    pub interface: Option<String>,
    /// The name of the function.
    pub function: String,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum FunctionResult {
    /// The function succeeded, with this value if it has one.
    Done(Option<Value>),
    /// The function returned the error case of its `result`.
    Failed(Option<Value>),
}

/// The tools of a component, in the order of its exports, and the functions that are not tools.
pub fn tools(engine: &Engine, component: &Component, docs: &Docs) -> (Vec<Tool>, Vec<NoTool>) {
    let (mut tools, mut others) = (Vec::new(), Vec::new());
    for (name, item) in component.component_type().exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(function) => {
                let types = NamedTypes::default();
                add_function(&mut tools, &mut others, (docs, &types), None, (name, &function));
            }
            ComponentItem::ComponentInstance(instance) => {
                let types = NamedTypes::of(engine, &instance, docs, name);
                for (function, item) in instance.exports(engine) {
                    if let ComponentItem::ComponentFunc(ty) = item.ty
                        && !is_start_of_python(name, function, ty.params().map(|(name, _)| name))
                    {
                        let (docs, ty) = ((docs, &types), (function, &ty));
                        add_function(&mut tools, &mut others, docs, Some(name), ty);
                    }
                }
            }
            ComponentItem::CoreFunc(_)
            | ComponentItem::Module(_)
            | ComponentItem::Component(_)
            | ComponentItem::Type(_)
            | ComponentItem::Resource(_) => {}
        }
    }
    keep_newest(&mut tools);
    tell_apart(&mut tools);
    (tools, others)
}

/// Whether this is the function with which `componentize-py` starts Python while it makes the component. The component
/// still exports the function, although nobody can use it.
fn is_start_of_python<'a>(
    interface: &str,
    function: &str,
    parameters: impl Iterator<Item = &'a str>,
) -> bool {
    (interface, function) == ("exports", "init")
        && parameters.eq(["app-name", "symbols", "stub-wasi"])
}

/// Adds a function to `tools`, or to `others` if it cannot be a tool.
fn add_function(
    tools: &mut Vec<Tool>,
    others: &mut Vec<NoTool>,
    docs: (&Docs, &NamedTypes),
    interface: Option<&str>,
    (function, ty): (&str, &ComponentFunc),
) {
    match tool_of(docs, interface, function, ty) {
        Ok(tool) => tools.push(tool),
        Err(cause) => {
            let place = |interface| format!("{interface}.{function}");
            let function = interface.map_or(function.to_owned(), place);
            others.push(NoTool { function, cause });
        }
    }
}

/// Describes a function as a tool.
fn tool_of(
    (docs, types): (&Docs, &NamedTypes),
    interface: Option<&str>,
    function: &str,
    ty: &ComponentFunc,
) -> std::result::Result<Tool, SchemaError> {
    if function.starts_with('[') {
        return Err(SchemaError::Method);
    }
    let output = match ty.results().next() {
        Some(Type::Result(result)) => result.ok().map(|ok| schema::of(&ok, types)).transpose()?,
        Some(result) => Some(schema::of(&result, types)?),
        None => None,
    };
    let result = |schema| json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
    Ok(Tool {
        name: function.to_owned(),
        description: docs.of(interface, function),
        input: schema::object(ty.params(), types)?,
        output: output.map(result),
        interface: interface.map(str::to_owned),
        function: function.to_owned(),
    })
}

/// Removes the functions of an interface that the component also exports in a newer version. A program for WASI 0.3 that
/// is built for WASI 0.2, for example, has `wasi:cli/run` of both.
fn keep_newest(tools: &mut Vec<Tool>) {
    let split = |tool: &Tool| {
        let (name, version) = tool.interface.as_deref()?.split_once('@')?;
        let numbers = version.split('.').map(|part| part.parse().unwrap_or(0)).collect();
        Some((name.to_owned(), tool.function.clone(), numbers))
    };
    let all: Vec<(String, String, Vec<u64>)> = tools.iter().filter_map(split).collect();
    tools.retain(|tool| match split(tool) {
        Some((name, function, version)) => {
            !all.iter().any(|other| other.0 == name && other.1 == function && other.2 > version)
        }
        None => true,
    });
}

/// Puts the name of the interface before the names of tools that would otherwise be the same.
fn tell_apart(tools: &mut [Tool]) {
    let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    for tool in &mut *tools {
        let is_shared = names.iter().filter(|name| **name == tool.name).count() > 1;
        if let Some(interface) = tool.interface.as_deref().filter(|_| is_shared) {
            let plain = interface.split('@').next().unwrap_or(interface);
            let short = plain.rsplit(['/', ':']).next().unwrap_or(plain);
            tool.name = format!("{short}_{}", tool.function);
        }
    }
}

/// Calls a function of an instance, and reads the streams and futures of its result to their ends. They may have
/// `most_bytes` together.
///
/// # Errors
///
/// The outer error: the guest failed, or does not export the function; [`TooMuchData`] and [`NoValue`] are among the
/// reasons. The inner error: an argument does not fit its type.
pub async fn call<T: Send + 'static>(
    mut store: impl AsContextMut<Data = T>,
    instance: &Instance,
    tool: &Tool,
    arguments: &Map<String, Value>,
    most_bytes: usize,
) -> Result<std::result::Result<FunctionResult, ArgumentError>> {
    let mut store = store.as_context_mut();
    let parent = match &tool.interface {
        Some(interface) => {
            let Some(index) = instance.get_export_index(&mut store, None, interface) else {
                bail!("it does not export {interface} any more");
            };
            Some(index)
        }
        None => None,
    };
    let index = instance.get_export_index(&mut store, parent.as_ref(), &tool.function);
    let function = index.and_then(|index| instance.get_func(&mut store, index));
    let Some(function) = function else { bail!("it does not export {} any more", tool.function) };
    let ty = function.ty(&store);
    let mut parameters = Vec::new();
    for (name, ty) in ty.params() {
        let value = arguments.get(name).unwrap_or(&Value::Null);
        match value::read(&ty, value, &mut InStore(store.as_context_mut())) {
            Ok(value) => parameters.push(value),
            Err(cause) => return Ok(Err(ArgumentError { name: name.to_owned(), cause })),
        }
    }
    let mut results = vec![Val::Bool(false); ty.results().len()];
    function.call_async(&mut store, &parameters, &mut results).await?;
    let (ty, mut value) = (ty.results().next(), results.pop());
    let mut collector = Collector::new(most_bytes);
    if let (Some(ty), Some(value)) = (&ty, &mut value) {
        collector.begin(&mut store, ty, value)?;
    }
    let mut collected = if collector.is_empty() {
        Vec::new()
    } else {
        store.as_context_mut().run_concurrent(async |_| collector.collect().await).await??
    };
    let mut payload = |ty: Option<Type>, value: Option<Box<Val>>| {
        ty.is_some().then(|| value::payload(ty, value.as_deref(), &mut collected))
    };
    Ok(Ok(match (ty, value) {
        (Some(Type::Result(ty)), Some(Val::Result(Ok(value)))) => {
            FunctionResult::Done(payload(ty.ok(), value))
        }
        (Some(Type::Result(ty)), Some(Val::Result(Err(error)))) => {
            FunctionResult::Failed(payload(ty.err(), error))
        }
        (Some(ty), Some(value)) => {
            FunctionResult::Done(Some(value::write(&ty, &value, &mut collected)))
        }
        (Some(_) | None, _) => FunctionResult::Done(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_versions_of_an_interface_the_newer_one_is_offered() {
        let tool = |interface: Option<&str>, function: &str| Tool {
            name: function.to_owned(),
            description: None,
            input: Value::Null,
            output: None,
            interface: interface.map(str::to_owned),
            function: function.to_owned(),
        };
        let mut tools = vec![
            tool(Some("wasi:cli/run@0.2.10"), "run"),
            tool(Some("wasi:cli/run@0.3.0"), "run"),
            tool(Some("wasi:cli/run@0.2.9"), "run"),
            tool(Some("wasi:cli/run@0.2.9"), "stop"),
            tool(Some("other:cli/run"), "run"),
            tool(None, "run"),
        ];
        keep_newest(&mut tools);
        let kept: Vec<_> = tools.iter().map(|tool| tool.interface.as_deref()).collect();
        assert_eq!(
            kept,
            [Some("wasi:cli/run@0.3.0"), Some("wasi:cli/run@0.2.9"), Some("other:cli/run"), None]
        );
    }

    #[test]
    fn only_the_function_that_starts_python_is_left_out() {
        let own = ["app-name", "symbols", "stub-wasi"];
        for (interface, function, parameters, expected) in [
            ("exports", "init", &own[..], true),
            ("exports", "init", &own[..2], false),
            ("exports", "init", &[], false),
            ("exports", "start", &own, false),
            ("local:plugin/lines", "init", &own, false),
        ] {
            let found = is_start_of_python(interface, function, parameters.iter().copied());
            assert_eq!(found, expected, "{interface} {function} {parameters:?}");
        }
    }
}
