//! Reads the searchable contents of a package's Blueprints, rigs and materials: nodes with the
//! functions, variables and events that they use, declared variables, and texts.

use crate::{
    Guid, Render, Text,
    blueprint::Variable,
    graph::{Graph, Node, NodeKind},
    object::{Object, Package, get},
    pins::Pin,
    tables::Index,
    titles,
    value::{Property, Value},
    visible::visible,
};
use std::collections::{HashMap, HashSet};

/// Maximum length of a text that is kept, in characters.
const MAX_TEXT_CHARS: usize = 1024;
/// Maximum length of a name that is kept, in characters.
const MAX_NAME_CHARS: usize = 256;
/// Maximum number of texts of one package's objects outside of graphs, such as widgets.
const MAX_TEXTS: usize = 20_000;
/// Maximum depth of nested values in which texts are searched.
const MAX_DEPTH: usize = 4;
/// Maximum number of outers that are followed from an object.
const MAX_NESTING: usize = 32;

/// The searchable contents of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Variables declared by the package's Blueprints.
    pub variables: Vec<Variable>,
    /// The graphs: those of Blueprints, then of rigs, then of materials, each in stored order.
    pub graphs: Vec<GraphContents>,
    /// Texts in the class's default values, its components and its widgets.
    pub texts: Vec<Literal>,
    /// Whether `texts` is incomplete, since the package has more than 20,000, or texts in more than 4
    /// levels of structures and lists.
    pub cut: bool,
}

/// The searchable contents of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphContents {
    /// Its name, such as `EventGraph`.
    pub name: String,
    /// Its role, as in [`crate::Graph::role`].
    pub role: &'static str,
    /// Variables local to this function.
    pub variables: Vec<Variable>,
    /// The nodes, in stored order.
    pub nodes: Vec<NodeContents>,
}

/// The searchable contents of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeContents {
    /// Its name, unique in the graph.
    pub name: String,
    /// The name of its class, such as `K2Node_CallFunction`.
    pub class: String,
    /// Description such as `Call PrintString`.
    pub title: String,
    /// The action of the node on its subject.
    pub action: Action,
    /// The function, variable or event: `PrintString`; empty without an action.
    pub subject: String,
    /// The name of the class or Blueprint that declares the subject. Empty if the node does not name one, such as for a
    /// subject of the same Blueprint.
    pub owner: String,
    /// Comment by the author.
    pub comment: String,
    /// The node's identity, kept when the node is renamed; zeros if it has none.
    pub guid: Guid,
    /// Values of unlinked input pins. Values that are known to be the node's own defaults are left out.
    pub literals: Vec<Literal>,
    /// Whether a part of the node could not be read.
    pub faulty: bool,
}

/// The action of a node on a function, a variable or an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// None of the actions below.
    #[default]
    None,
    /// Calls a function, a macro or an event dispatcher, or binds a function by its name.
    Call,
    /// Reads a variable, or a parameter of a material.
    Get,
    /// Writes a variable.
    Set,
    /// Declares or handles an event, such as an input of the player.
    Event,
}

/// A text or value, and where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Literal {
    /// The name of a pin, or an object and its property, such as `Title.Text`.
    pub at: String,
    /// The text or value.
    pub value: String,
}

impl<'a> Package<'a> {
    /// The searchable contents of this package; `package` is its name. The call takes about as much
    /// time as [`Package::graphs`].
    pub fn contents(&self, package: &str) -> Contents {
        let header = &self.header;
        let render = Render::new(header, package, usize::MAX);
        let roles = self.roles();
        let mut contents = Contents::default();
        let mut places: HashMap<Index, usize> = HashMap::new();
        let objects = || (0..header.exports.len()).map(Index::of_export);
        let views = self.views_of_rigs();
        for graph in objects().filter(|object| header.is_graph(*object) && !views.contains(object))
        {
            let path = visible(&header.path_within(graph), MAX_TEXT_CHARS, false).into_owned();
            let name = path.split_once(':').map_or(path.as_str(), |(_, name)| name);
            places.insert(graph, contents.graphs.len());
            contents.graphs.push(GraphContents {
                name: name.to_owned(),
                role: roles.get(&graph).copied().unwrap_or_default(),
                ..GraphContents::default()
            });
        }
        let mut seen = HashSet::new();
        for index in objects() {
            let place = header.is_node(index).then(|| places.get(&header.outer(index))).flatten();
            if let Some(graph) = place.and_then(|place| contents.graphs.get_mut(*place)) {
                self.node_contents(index, &render, graph);
            } else if header.class_name(index).ends_with("Blueprint") {
                let object = self.object(index);
                let variables = object.get(header, "NewVariables").map_or(&[][..], Value::items);
                contents.variables.extend(variables.iter().map(|v| self.variable(v, &render)));
            } else if self.has_texts(index) {
                self.texts(index, &render, &mut seen, &mut contents);
            }
        }
        contents.graphs.extend(self.object_graphs(package).into_iter().map(GraphContents::from));
        contents
    }

    fn node_contents(&self, index: Index, render: &Render<'_, 'a>, graph: &mut GraphContents) {
        let header = &self.header;
        let mut object = self.object(index);
        let mut pins = std::mem::take(&mut object.pins);
        if pins.is_empty() {
            pins = self.pin_objects(&object);
        }
        let class = header.class_name(index);
        let locals = object.get(header, "LocalVariables").map_or(&[][..], Value::items);
        graph.variables.extend(locals.iter().map(|local| self.variable(local, render)));
        let (action, subject) = self.action(&class, &object, render);
        let guid = match object.get(header, "NodeGuid") {
            Some(Value::Guid(guid)) => *guid,
            Some(_) | None => Guid::default(),
        };
        graph.nodes.push(NodeContents {
            name: visible(&header.object_name(index), MAX_NAME_CHARS, false).into_owned(),
            class: visible(&class, MAX_NAME_CHARS, false).into_owned(),
            title: titles::Title::of(render, header, index, &object).text,
            owner: if subject.is_empty() { String::new() } else { self.owner(&object) },
            action,
            subject,
            comment: match class.as_ref() {
                // The title of a comment node is its comment.
                "EdGraphNode_Comment" => String::new(),
                _ => titles::comment(header, &object),
            },
            guid,
            literals: pins.iter().filter_map(|pin| literal(render, pin)).collect(),
            faulty: !object.warnings.is_empty(),
        });
    }

    /// The action of a node, and its subject: the name of the function, variable or event.
    fn action(
        &self,
        class: &str,
        object: &Object<'a>,
        render: &Render<'_, 'a>,
    ) -> (Action, String) {
        let header = &self.header;
        let action = match class {
            "K2Node_MacroInstance" | "K2Node_CallDelegate" | "K2Node_CreateDelegate" => {
                Action::Call
            }
            "K2Node_InputAction"
            | "K2Node_InputAxisEvent"
            | "K2Node_InputKey"
            | "K2Node_EnhancedInputAction"
            | "K2Node_ActorBoundEvent"
            | "K2Node_ComponentBoundEvent"
            | "K2Node_CustomEvent"
            | "K2Node_Event" => Action::Event,
            // The entry and the return node of a function do not call or handle the function.
            "K2Node_FunctionEntry" | "K2Node_FunctionResult" => {
                return (Action::None, String::new());
            }
            _ => Action::None,
        };
        if action != Action::None {
            let about = titles::about(render, header, class, object);
            return about.map_or((Action::None, String::new()), |title| (action, title.subject));
        }
        // Node classes of Unreal plugins derive from those of the engine and have the same
        // properties.
        let variable_action = if class.contains("Set") { Action::Set } else { Action::Get };
        for (property, action) in [
            ("FunctionReference", Action::Call),
            ("ProxyFactoryFunctionName", Action::Call),
            ("VariableReference", variable_action),
            ("EventReference", Action::Event),
            ("CustomFunctionName", Action::Event),
        ] {
            let value = object.get(header, property);
            if let Some(subject) = value.and_then(|value| titles::subject(render, header, value)) {
                return (action, subject);
            }
        }
        (Action::None, String::new())
    }

    /// The class or Blueprint that declares the subject of a node.
    fn owner(&self, object: &Object<'a>) -> String {
        let header = &self.header;
        let references = [
            ("FunctionReference", "MemberParent"),
            ("VariableReference", "MemberParent"),
            ("EventReference", "MemberParent"),
            ("DelegateReference", "MemberParent"),
            ("MacroGraphReference", "GraphBlueprint"),
        ];
        let owner = references.iter().find_map(|(property, member)| {
            let fields = object.get(header, property)?.fields();
            get(fields, header, member).and_then(Value::object)
        });
        let factory = || object.get(header, "ProxyFactoryClass").and_then(Value::object);
        let owner = owner.or_else(factory).map(|owner| header.object_name(owner));
        owner.map_or_else(String::new, |name| visible(&name, MAX_NAME_CHARS, false).into_owned())
    }

    /// Whether the texts of an object are collected: the object is a class default object, or it is within a generated
    /// class or a widget tree, as components and widgets are.
    fn has_texts(&self, index: Index) -> bool {
        let header = &self.header;
        let Some(export) = index.export().and_then(|position| header.exports.get(position)) else {
            return false;
        };
        if export.is_class_default() {
            return true;
        }
        let class = header.class_name(index);
        if export.outer.0 == 0 || class == "Function" || class.ends_with("Property") {
            return false;
        }
        let mut at = export.outer;
        for _ in 0..MAX_NESTING {
            if at.0 <= 0 {
                return false;
            }
            let class = header.class_name(at);
            if class == "WidgetTree" || class.ends_with("GeneratedClass") {
                return true;
            }
            at = header.outer(at);
        }
        false
    }

    /// Adds the texts of an object.
    fn texts(
        &self,
        index: Index,
        render: &Render<'_, 'a>,
        seen: &mut HashSet<(String, String)>,
        contents: &mut Contents,
    ) {
        let object = self.object(index);
        let mut found = FoundTexts::default();
        for property in &object.properties {
            collect(render, &property.value, 0, &mut found);
            contents.cut |= found.is_cut;
            if found.texts.is_empty() {
                continue;
            }
            let name = self.header.object_name(index);
            let place = format!("{name}.{}", render.label(&property.name));
            let place = visible(&place, MAX_NAME_CHARS, false);
            for value in found.texts.drain(..) {
                if contents.texts.len() >= MAX_TEXTS {
                    contents.cut = true;
                    return;
                }
                // Widgets are stored twice: with the Blueprint and with its class.
                if seen.insert((place.to_string(), value.clone())) {
                    contents.texts.push(Literal { at: place.to_string(), value });
                }
            }
        }
    }
}

impl From<Graph> for GraphContents {
    /// Converts a graph of a rig or a material.
    fn from(graph: Graph) -> Self {
        let nodes = graph.nodes.into_iter().map(|node| {
            let Node { name, class, title, kind, subject, comment, guid, pins, fault, .. } = node;
            let (action, subject) = match kind {
                NodeKind::Call => (Action::Call, subject),
                NodeKind::Get | NodeKind::Parameter => (Action::Get, subject),
                NodeKind::Set => (Action::Set, subject),
                NodeKind::Event
                | NodeKind::Input
                | NodeKind::Output
                | NodeKind::Macro
                | NodeKind::Cast
                | NodeKind::Comment
                | NodeKind::Reroute
                | NodeKind::Other => (Action::None, String::new()),
            };
            let pins = pins.into_iter();
            let with_value =
                pins.filter(|pin| !pin.output && pin.links.is_empty() && !pin.value.is_empty());
            NodeContents {
                action,
                subject,
                owner: String::new(),
                literals: with_value
                    .map(|pin| Literal {
                        at: pin.name,
                        value: pin.value.chars().take(MAX_TEXT_CHARS).collect(),
                    })
                    .collect(),
                faulty: fault.is_some(),
                name,
                class,
                title,
                comment,
                guid,
            }
        });
        let nodes = nodes.collect();
        Self { name: graph.name, role: graph.role, variables: Vec::new(), nodes }
    }
}

/// The value of an unlinked input pin. `None` for outputs, linked pins, empty values and the node's own default.
fn literal(render: &Render<'_, '_>, pin: &Pin<'_>) -> Option<Literal> {
    if pin.output || !pin.links.is_empty() {
        return None;
    }
    let value = if pin.default_object.0 != 0 {
        render.reference(pin.default_object)
    } else {
        let text = pin.default_text.source();
        let text = if text.is_empty() && pin.default != pin.autogenerated {
            pin.default.as_ref()
        } else {
            text
        };
        visible(text, MAX_TEXT_CHARS, true).into_owned()
    };
    (!value.is_empty()).then(|| Literal { at: render.label(&pin.name), value })
}

/// The texts in a property.
#[derive(Default)]
struct FoundTexts {
    texts: Vec<String>,
    /// Whether texts are left out, since they are nested too deep.
    is_cut: bool,
}

/// Collects the texts in a value.
fn collect(render: &Render<'_, '_>, value: &Value<'_>, depth: usize, found: &mut FoundTexts) {
    let is_too_deep = depth > MAX_DEPTH;
    // One more text than the limit tells the caller that there are more. Below the depth limit, only
    // the presence of a text matters.
    if found.texts.len() > MAX_TEXTS || is_too_deep && found.is_cut {
        return;
    }
    let mut keep = |text: &str| {
        if text.is_empty() {
            return;
        }
        if is_too_deep {
            found.is_cut = true;
        } else {
            found.texts.push(visible(text, MAX_TEXT_CHARS, true).into_owned());
        }
    };
    match value {
        Value::String(text) => keep(text),
        Value::Text(text) => match text.as_ref() {
            Text::Invariant(source) | Text::Base { source, .. } => keep(source),
            Text::Empty => {}
            text @ (Text::Entry(..) | Text::Format(..) | Text::Formed(_)) => {
                keep(&render.plain(text));
            }
        },
        Value::Struct(inside) => {
            for Property { value, .. } in &inside.fields {
                collect(render, value, depth + 1, found);
            }
        }
        Value::List(items) => {
            for item in items {
                collect(render, item, depth + 1, found);
            }
        }
        Value::Map(entries) => {
            for (key, value) in entries {
                collect(render, key, depth + 1, found);
                collect(render, value, depth + 1, found);
            }
        }
        Value::Bool(_)
        | Value::Int(_)
        | Value::Unsigned(_)
        | Value::Float(_)
        | Value::Name(_)
        | Value::Enum(_)
        | Value::Object(_)
        | Value::Path(_)
        | Value::Guid(_)
        | Value::Delegate(..)
        | Value::PinType(_)
        | Value::Undecoded { .. } => {}
    }
}
