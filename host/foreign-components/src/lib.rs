//! Components that know nothing of any host: each function they export is a tool, its schema made from
//! its WIT types.

mod docs;
mod schema;
mod value;

use serde_json::{Map, Value, json};
use wasmtime::component::types::{ComponentFunc, ComponentItem, Type};
use wasmtime::component::{Component, Instance, Val};
use wasmtime::{AsContextMut, Engine, Result, bail};

pub use docs::Docs;

/// A function that a component exports.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// As clients call it: the function's name; with its interface's before it, where several
    /// interfaces have one of that name.
    pub name: String,
    /// What the component's own documentation says of it.
    pub description: Option<String>,
    /// JSON Schema of its arguments: an object.
    pub input: Value,
    /// JSON Schema of its result: an object whose `result` it is. `None`: it has no result.
    pub output: Option<Value>,
    /// The interface that exports it; `None`: the component itself.
    pub interface: Option<String>,
    /// Its name there.
    pub function: String,
}

/// What a function answered.
#[derive(Debug, Clone, PartialEq)]
pub enum FunctionResult {
    /// It went well, and this is its result, if it has one.
    Done(Option<Value>),
    /// It answered with the error of its `result`.
    Failed(Option<Value>),
}

/// The tools of a component, in the order of its exports, and what is none: functions whose types
/// cannot be said in JSON, with the reason.
pub fn tools(engine: &Engine, component: &Component, docs: &Docs) -> (Vec<Tool>, Vec<String>) {
    let (mut tools, mut others) = (Vec::new(), Vec::new());
    for (name, item) in component.component_type().exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(function) => {
                add(&mut tools, &mut others, docs, None, name, &function);
            }
            ComponentItem::ComponentInstance(instance) => {
                for (function, item) in instance.exports(engine) {
                    if let ComponentItem::ComponentFunc(ty) = item.ty {
                        add(&mut tools, &mut others, docs, Some(name), function, &ty);
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
    tell_apart(&mut tools);
    (tools, others)
}

fn add(
    tools: &mut Vec<Tool>,
    others: &mut Vec<String>,
    docs: &Docs,
    interface: Option<&str>,
    function: &str,
    ty: &ComponentFunc,
) {
    let place =
        interface.map_or(function.to_owned(), |interface| format!("{interface}.{function}"));
    match described(docs, interface, function, ty) {
        Ok(tool) => tools.push(tool),
        Err(why) => others.push(format!("{place}: {why}")),
    }
}

fn described(
    docs: &Docs,
    interface: Option<&str>,
    function: &str,
    ty: &ComponentFunc,
) -> std::result::Result<Tool, String> {
    // Methods belong to a resource, which no JSON can hold.
    if function.starts_with('[') {
        return Err("it belongs to a resource, which JSON cannot hold".into());
    }
    let output = match ty.results().next() {
        Some(Type::Result(result)) => result.ok().map(|ok| schema::of(&ok)).transpose()?,
        Some(result) => Some(schema::of(&result)?),
        None => None,
    };
    let result = |schema| json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
    Ok(Tool {
        name: function.to_owned(),
        description: docs.of(interface, function),
        input: schema::object(ty.params())?,
        output: output.map(result),
        interface: interface.map(str::to_owned),
        function: function.to_owned(),
    })
}

/// Where two functions have one name, their interfaces' names tell them apart.
fn tell_apart(tools: &mut [Tool]) {
    let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    for tool in &mut *tools {
        let shared = names.iter().filter(|name| **name == tool.name).count() > 1;
        if let Some(interface) = tool.interface.as_deref().filter(|_| shared) {
            let plain = interface.split('@').next().unwrap_or(interface);
            let short = plain.rsplit(['/', ':']).next().unwrap_or(plain);
            tool.name = format!("{short}_{}", tool.function);
        }
    }
}

/// Calls a function of an instance.
///
/// # Errors
///
/// Where the guest fails; within: what is wrong with the arguments, by name.
pub async fn call<T: Send + 'static>(
    mut store: impl AsContextMut<Data = T>,
    instance: &Instance,
    tool: &Tool,
    arguments: &Map<String, Value>,
) -> Result<std::result::Result<FunctionResult, String>> {
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
        match value::read(&ty, arguments.get(name).unwrap_or(&Value::Null)) {
            Ok(value) => parameters.push(value),
            Err(why) => return Ok(Err(format!("argument `{name}`: {why}"))),
        }
    }
    let mut results = vec![Val::Bool(false); ty.results().len()];
    function.call_async(&mut store, &parameters, &mut results).await?;
    let (ty, value) = (ty.results().next(), results.pop());
    let held = |ty: Option<Type>, value: Option<Box<Val>>| {
        ty.is_some().then(|| value::payload(ty, value.as_deref()))
    };
    Ok(Ok(match (ty, value) {
        (Some(Type::Result(ty)), Some(Val::Result(Ok(value)))) => {
            FunctionResult::Done(held(ty.ok(), value))
        }
        (Some(Type::Result(ty)), Some(Val::Result(Err(error)))) => {
            FunctionResult::Failed(held(ty.err(), error))
        }
        (Some(ty), Some(value)) => FunctionResult::Done(Some(value::write(&ty, &value))),
        (Some(_) | None, _) => FunctionResult::Done(None),
    }))
}
