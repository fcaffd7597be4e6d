//! Reads the property bindings of a state tree. They give values to tasks, conditions and evaluators
//! while the tree runs: from parameters, from other tasks or evaluators, or from the context of the
//! tree, such as its actor.
//!
//! Sources: `FStateTreePropertyPathBinding` and `FPropertyBindingPath` of the engine, and until 5.2
//! `FStateTreeEditorPropertyBinding` and `FStateTreeEditorPropertyPath`.

use super::kind;
use crate::{
    Guid,
    object::{Object, Package, get},
    tables::Index,
    value::{Property, Value},
};
use std::collections::HashMap;

/// A property binding: a value of a task or condition, and its source.
struct Binding {
    /// The path of the value in its task or condition.
    target: String,
    /// The source of the value.
    source: String,
}

/// The bindings of a tree, by the GUID of the task or condition that gets the value.
#[derive(Default)]
pub(super) struct Bindings(HashMap<Guid, Vec<Binding>>);

impl Bindings {
    /// Reads the bindings from the editor's data of a tree.
    pub(super) fn of(package: &Package<'_>, data: &Object<'_>) -> Self {
        let header = &package.header;
        let names = names(package, data);
        let fields = |from, key: &str| get(from, header, key).map_or(&[][..], Value::fields);
        let stored = get(fields(&data.properties, "EditorBindings"), header, "PropertyBindings");
        let mut bindings: HashMap<Guid, Vec<Binding>> = HashMap::new();
        for binding in stored.map_or(&[][..], Value::items) {
            let end = |keys: [&str; 2]| {
                let path = keys.into_iter().map(|key| fields(binding.fields(), key));
                path.into_iter().find(|path| !path.is_empty()).and_then(|path| end(package, path))
            };
            let (source, target) = (
                end(["SourcePropertyPath", "SourcePath"]),
                end(["TargetPropertyPath", "TargetPath"]),
            );
            let (Some((source, from)), Some((target, to))) = (source, target) else { continue };
            let source = match names.get(&source) {
                Some(name) if from.is_empty() => name.clone(),
                Some(name) => format!("{name}.{from}"),
                // Only the schema's class knows the context, such as the actor.
                None if from.is_empty() => "context".to_owned(),
                None => from,
            };
            bindings.entry(target).or_default().push(Binding { target: to, source });
        }
        Self(bindings)
    }

    /// Puts the bindings of a task or condition before its values. Stored values that are bound are
    /// left out.
    pub(super) fn put_into(&self, values: &mut Vec<String>, owner: Guid) {
        let bound = self.0.get(&owner).map_or(&[][..], Vec::as_slice);
        for Binding { target, .. } in bound {
            values.retain(|value| value.split_once('=').is_none_or(|(key, _)| key != target));
        }
        let bound = bound.iter().map(|Binding { target, source }| format!("{target} <- {source}"));
        values.splice(0..0, bound);
    }
}

/// The GUID and the path of one end of a binding.
fn end(package: &Package<'_>, path: &[Property<'_>]) -> Option<(Guid, String)> {
    let header = &package.header;
    let Some(Value::Guid(id)) = get(path, header, "StructID") else { return None };
    let names = ["Segments", "Path"].iter().find_map(|key| get(path, header, key));
    let names = names.map_or(&[][..], Value::items).iter().filter_map(|segment| {
        let name = get(segment.fields(), header, "Name").and_then(Value::name);
        let name = name.map(|name| header.name(name).into_owned());
        name.or_else(|| segment.string().map(|text| text.clone().into_owned()))
    });
    Some((*id, names.collect::<Vec<_>>().join(".")))
}

/// The names for the sources of bindings: the types of tasks, conditions and evaluators, and `parameters`.
fn names(package: &Package<'_>, data: &Object<'_>) -> HashMap<Guid, String> {
    let header = &package.header;
    let mut names = HashMap::new();
    let mut add = |nodes: &[Value<'_>]| {
        for node in nodes {
            let id = get(node.fields(), header, "ID");
            if let (Some(Value::Guid(id)), Some(kind)) = (id, kind(header, node.fields())) {
                names.insert(*id, kind);
            }
        }
    };
    for list in ["Evaluators", "GlobalTasks"] {
        add(data.get(header, list).map_or(&[][..], Value::items));
    }
    let objects = (0..header.exports.len()).map(Index::of_export);
    for state in objects.filter(|index| header.class_name(*index) == "StateTreeState") {
        let state = package.object(state);
        for list in ["Tasks", "EnterConditions"] {
            add(state.get(header, list).map_or(&[][..], Value::items));
        }
        add(state.get(header, "SingleTask").map_or(&[][..], std::slice::from_ref));
    }
    if let Some(Value::Guid(id)) = data.get(header, "RootParametersGuid") {
        names.insert(*id, "parameters".to_owned());
    }
    names
}
