//! Shows a state tree as text: its states as a tree, each with conditions, tasks and transitions.
//!
//! Sources: `UStateTreeEditorData`, `UStateTreeState`, `FStateTreeEditorNode` and
//! `FStateTreeTransition` of the engine's module `StateTreeEditorModule`. These classes have the
//! data that the editor shows. The compiled tree in the same package is not read.

mod bindings;

use crate::{
    header::Header,
    object::{Object, Package, get},
    render::Render,
    tables::Index,
    value::{Property, Value},
    visible::visible,
};
use bindings::Bindings;
use std::{collections::HashSet, fmt::Write};

/// Maximum number of states that are shown.
const MAX_STATES: usize = 10_000;
/// Maximum depth of states.
const MAX_DEPTH: usize = 64;
/// Maximum length of each value of a task or condition, in bytes.
const MAX_VALUE_BYTES: usize = 240;
/// Members of tasks and conditions that are not shown: they do not describe the behavior, or they
/// are shown in another way.
const NOT_SHOWN: &[&str] = &[
    "Name",
    "BindingsBatch",
    "InstanceTemplateIndex",
    "InstanceDataHandle",
    "TaskClass",
    "ConditionClass",
    "EvaluatorClass",
    "TaskFlags",
    "Operand",
    "DeltaIndent",
    "bCanEditConsideredForCompletion",
];
/// Default values that are not shown. An instanced structure stores all of its members, even those
/// with default values.
const DEFAULTS_NOT_SHOWN: &[&str] = &[
    "bTaskEnabled=True",
    "bConsideredForCompletion=True",
    "bInvert=False",
    "EvaluationMode=Evaluated",
    "TransitionHandlingPriority=Normal",
    "EventHandlingPriority=Normal",
];

impl Package<'_> {
    /// The state tree of this package as text, a line for each state, task, condition, evaluator and
    /// transition. `None` if the package has no state tree with the editor's data.
    pub fn state_tree(&self, name: &str) -> Option<String> {
        let header = &self.header;
        let objects = (0..header.exports.len()).map(Index::of_export);
        let data =
            objects.into_iter().find(|index| header.class_name(*index) == "StateTreeEditorData")?;
        let owner = header.outer(data);
        let title =
            if owner.0 == 0 { name.to_owned() } else { header.object_name(owner).into_owned() };
        let data = self.object(data);
        let bindings = Bindings::of(self, &data);
        let (out, seen) = (String::new(), HashSet::new());
        let mut text = Text { package: self, name, bindings, out, seen };
        text.line(0, &format!("state tree {title}"));
        text.nodes(1, "evaluator", &data, "Evaluators");
        text.nodes(1, "global task", &data, "GlobalTasks");
        text.undecoded(1, &data);
        for state in data.get(header, "SubTrees").map_or(&[][..], Value::items) {
            text.state(1, state.object());
        }
        Some(text.out)
    }
}

/// The text so far, and the states in it.
struct Text<'p, 'a> {
    package: &'p Package<'a>,
    name: &'p str,
    bindings: Bindings,
    out: String,
    seen: HashSet<Index>,
}

impl Text<'_, '_> {
    fn line(&mut self, depth: usize, text: &str) {
        let text = visible(text, 1_024, false);
        // Writing to a string does not fail.
        let _written = writeln!(self.out, "{:width$}{text}", "", width = depth * 2);
    }

    fn state(&mut self, depth: usize, state: Option<Index>) {
        let Some(index) = state.filter(|index| index.export().is_some()) else { return };
        if depth > MAX_DEPTH || self.seen.len() >= MAX_STATES || !self.seen.insert(index) {
            self.line(depth, "... (further states are not shown)");
            return;
        }
        let header = &self.package.header;
        let state = self.package.object(index);
        let name = self.word(&state.properties, "Name");
        let name = name.unwrap_or_else(|| header.object_name(index).into_owned());
        let kind = self.word(&state.properties, "Type").filter(|kind| kind != "State");
        let mut line = format!("state {name}");
        if let Some(kind) = kind {
            line += &format!(" ({kind})");
        }
        if let Some(link) = self.link(&state.properties, "LinkedSubtree") {
            line += &format!(" = {link}");
        }
        if let Some(asset) = state.get(header, "LinkedAsset").and_then(Value::object) {
            line += &format!(" = {}", Render::new(header, self.name, usize::MAX).reference(asset));
        }
        if state.get(header, "bEnabled") == Some(&Value::Bool(false)) {
            line += ", disabled";
        }
        self.line(depth, &line);
        self.nodes(depth + 1, "enter if", &state, "EnterConditions");
        self.nodes(depth + 1, "task", &state, "Tasks");
        if let Some(task) = state.get(header, "SingleTask") {
            self.node(depth + 1, "task", task.fields());
        }
        for transition in state.get(header, "Transitions").map_or(&[][..], Value::items) {
            self.transition(depth + 1, transition.fields());
        }
        self.undecoded(depth + 1, &state);
        for child in state.get(header, "Children").map_or(&[][..], Value::items) {
            self.state(depth + 1, child.object());
        }
    }

    fn undecoded(&mut self, depth: usize, object: &Object<'_>) {
        if object.undecoded > 0 {
            self.line(depth, &format!("not decoded: {} values", object.undecoded));
        }
    }

    fn transition(&mut self, depth: usize, fields: &[Property<'_>]) {
        let header = &self.package.header;
        // A member that is not stored has its default value.
        let trigger = self.word(fields, "Trigger").unwrap_or_else(|| "OnStateCompleted".to_owned());
        let mut line = format!("on {trigger}");
        let event = get(fields, header, "RequiredEvent").map_or(fields, Value::fields);
        let tag = ["Tag", "EventTag"].iter().find_map(|key| get(event, header, key));
        if let Some(tag) = tag.and_then(|tag| self.word(tag.fields(), "TagName")) {
            line += &format!(" {tag}");
        }
        let target = self.link(fields, "State").unwrap_or_else(|| "nothing".to_owned());
        line += &format!(": go to {target}");
        if get(fields, header, "bDelayTransition") == Some(&Value::Bool(true)) {
            let seconds = get(fields, header, "DelayDuration").and_then(Value::real);
            line += &format!(" after {} s", seconds.unwrap_or_default());
        }
        if get(fields, header, "bTransitionEnabled") == Some(&Value::Bool(false)) {
            line += ", disabled";
        }
        self.line(depth, &line);
        for condition in get(fields, header, "Conditions").map_or(&[][..], Value::items) {
            self.node(depth + 1, "if", condition.fields());
        }
    }

    /// Writes the tasks, conditions or evaluators in a list of an object.
    fn nodes(&mut self, depth: usize, what: &str, object: &Object<'_>, list: &str) {
        let list = object.get(&self.package.header, list).map_or(&[][..], Value::items);
        for node in list {
            self.node(depth, what, node.fields());
        }
    }

    /// Writes one task, condition or evaluator: its type and its values.
    fn node(&mut self, depth: usize, what: &str, fields: &[Property<'_>]) {
        let header = &self.package.header;
        let part = |key: &str| get(fields, header, key).map_or(&[][..], Value::fields);
        let (node, instance) = (part("Node"), part("Instance"));
        let object = get(fields, header, "InstanceObject").and_then(Value::object);
        let Some(kind) = kind(header, fields) else { return };
        let mut line = format!("{what} {kind}");
        if self.word(fields, "ExpressionOperand").is_some_and(|operand| operand == "Or") {
            line = format!("or {line}");
        }
        let mut values = self.values(get(node, header, "Value"));
        values.extend(self.values(get(instance, header, "Value")));
        if let Some(object) = object.filter(|object| object.export().is_some()) {
            values.extend(self.shown_values(&self.package.object(object).properties));
        }
        if let Some(Value::Guid(id)) = get(fields, header, "ID") {
            self.bindings.put_into(&mut values, *id);
        }
        if !values.is_empty() {
            line += &format!(" ({})", values.join(", "));
        }
        self.line(depth, &line);
    }

    /// The members of a structure with their values. If the structure could not be decoded, its
    /// size.
    fn values(&self, value: Option<&Value<'_>>) -> Vec<String> {
        match value {
            Some(Value::Undecoded { bytes }) => vec![format!("{bytes} bytes are not decoded")],
            Some(value) => self.shown_values(value.fields()),
            None => Vec::new(),
        }
    }

    fn shown_values(&self, properties: &[Property<'_>]) -> Vec<String> {
        let header = &self.package.header;
        let written = properties.iter().filter_map(|property| {
            let mut render = Render::new(header, self.name, MAX_VALUE_BYTES);
            let key = render.label(&property.name);
            if NOT_SHOWN.contains(&key.as_str()) {
                return None;
            }
            render.value(&property.value);
            let written = format!("{key}={}", render.out);
            let is_default = DEFAULTS_NOT_SHOWN.contains(&written.as_str()) || render.out == "None";
            (!is_default).then(|| visible(&written, MAX_VALUE_BYTES, false).into_owned())
        });
        written.collect()
    }

    /// The name of the state to which a link leads, or the kind of the link, such as `Succeeded`.
    fn link(&self, fields: &[Property<'_>], key: &str) -> Option<String> {
        let link = get(fields, &self.package.header, key)?.fields();
        let kind = self.word(link, "LinkType").or_else(|| self.word(link, "Type"));
        let name = self.word(link, "Name");
        match kind {
            Some(kind) if kind != "GotoState" && kind != "None" => Some(kind),
            Some(_) | None => name,
        }
    }

    /// A name, or an entry of an enumeration without its type. There is no result if the member is missing, or if the
    /// name is "None". Only for `LinkType`, the name "None" is returned.
    fn word(&self, fields: &[Property<'_>], key: &str) -> Option<String> {
        let header = &self.package.header;
        let name = header.name(get(fields, header, key)?.name()?).into_owned();
        let word = name.rsplit("::").next().unwrap_or(&name).to_owned();
        (word != "None" || key == "LinkType").then_some(word)
    }
}

/// The type of a task, condition or evaluator. A task, condition or evaluator of a Blueprint class is stored as an
/// object of its own.
fn kind(header: &Header<'_>, node: &[Property<'_>]) -> Option<String> {
    let object = get(node, header, "InstanceObject").and_then(Value::object);
    let structure = get(node, header, "Node").map_or(&[][..], Value::fields);
    match (object, get(structure, header, "Struct").and_then(Value::object)) {
        (Some(object), _) => Some(header.class_name(object).into_owned()),
        (None, Some(structure)) => Some(header.object_name(structure).into_owned()),
        (None, None) => None,
    }
}
