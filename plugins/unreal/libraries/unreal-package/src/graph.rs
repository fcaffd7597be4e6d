//! Reads Blueprint graphs: nodes, pins and links.

use crate::{
    Guid,
    object::{Object, Package},
    pins::{Pin, PinRef},
    render::Render,
    tables::Index,
    titles,
    value::{Container, Label, PinType, Text, Value},
    visible::visible,
};
use std::collections::HashMap;

/// Longest value of a pin, in characters.
const MAX_VALUE: usize = 2048;

/// A Blueprint graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Its name, such as `EventGraph`.
    pub name: String,
    /// The name of its class, such as `EdGraph`.
    pub class: String,
    /// The role: `events`, `function`, `macro`, `signature`, or empty if unknown.
    pub role: &'static str,
    /// The nodes, in stored order.
    pub nodes: Vec<Node>,
}

/// A node of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name, unique in the graph.
    pub name: String,
    /// The name of its class, such as `K2Node_CallFunction`.
    pub class: String,
    /// Description such as `Call PrintString`.
    pub title: String,
    /// Comment by the author.
    pub comment: String,
    /// `Disabled` or `DevelopmentOnly`, or empty for an enabled node.
    pub state: String,
    /// What identifies the node also when it is renamed; zeros if it has none.
    pub guid: Guid,
    /// Position in the graph.
    pub position: (i64, i64),
    /// The pins for values and for the flow of execution.
    pub pins: Vec<NodePin>,
    /// The reason why pins are missing, if any.
    pub fault: Option<String>,
}

/// A pin of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePin {
    /// Its name.
    pub name: String,
    /// Display name, if it differs.
    pub label: String,
    /// Whether this is an output pin.
    pub output: bool,
    /// Type such as `exec` or `object Actor`.
    pub kind: String,
    /// Default value, used while nothing is linked.
    pub value: String,
    /// Whether the pin is hidden.
    pub hidden: bool,
    /// The linked pins.
    pub links: Vec<Link>,
}

/// The other end of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The name of the node.
    pub node: String,
    /// The name of the pin.
    pub pin: String,
}

impl<'a> Package<'a> {
    /// The graphs of this package; `package` is its name.
    pub fn graphs(&self, package: &str) -> Vec<Graph> {
        let header = &self.header;
        let roles = self.roles();
        let mut nodes: HashMap<Index, Vec<Index>> = HashMap::new();
        let all = (0..header.exports.len()).map(Index::of_export);
        for node in all.clone().filter(|object| header.is_node(*object)) {
            nodes.entry(header.outer(node)).or_default().push(node);
        }
        all.filter(|object| header.is_graph(*object))
            .map(|graph| {
                let inside = nodes.remove(&graph).unwrap_or_default();
                Graph {
                    name: visible(&header.path_within(graph), 1024, false)
                        .split_once(':')
                        .map_or_else(
                            || header.object_name(graph).into_owned(),
                            |(_, name)| name.to_owned(),
                        ),
                    class: visible(&header.class_name(graph), 256, false).into_owned(),
                    role: roles.get(&graph).copied().unwrap_or_default(),
                    nodes: self.nodes(&inside, package),
                }
            })
            .collect()
    }

    /// The role of each graph, by the Blueprint's lists.
    pub(crate) fn roles(&self) -> HashMap<Index, &'static str> {
        let header = &self.header;
        let mut roles = HashMap::new();
        let tops = header
            .exports
            .iter()
            .enumerate()
            .filter(|(_, export)| header.object_name(export.class).ends_with("Blueprint"));
        for (position, _) in tops {
            let blueprint = self.object(Index::of_export(position));
            for (list, role) in [
                ("UbergraphPages", "events"),
                ("FunctionGraphs", "function"),
                ("MacroGraphs", "macro"),
                ("DelegateSignatureGraphs", "signature"),
            ] {
                let graphs = blueprint.get(header, list).map_or(&[][..], Value::items);
                roles.extend(graphs.iter().filter_map(Value::object).map(|graph| (graph, role)));
            }
        }
        roles
    }

    fn nodes(&self, inside: &[Index], package: &str) -> Vec<Node> {
        let header = &self.header;
        let read: Vec<(Index, Object<'a>, Vec<Pin<'a>>)> = inside
            .iter()
            .map(|index| {
                let mut object = self.object(*index);
                let mut pins = std::mem::take(&mut object.pins);
                if pins.is_empty() {
                    pins = self.pin_objects(&object);
                }
                (*index, object, pins)
            })
            .collect();
        let render = Render::new(header, package, usize::MAX);
        let mut names: HashMap<PinRef, String> = HashMap::new();
        for (node, _, pins) in &read {
            for pin in pins {
                names.insert(PinRef { node: *node, pin: pin.id }, render.label(&pin.name));
            }
        }
        read.iter()
            .map(|(index, object, pins)| {
                let number =
                    |name| object.get(header, name).and_then(Value::number).unwrap_or_default();
                Node {
                    name: visible(&header.object_name(*index), 512, false).into_owned(),
                    class: visible(&header.class_name(*index), 256, false).into_owned(),
                    title: titles::title(&render, header, *index, object),
                    comment: titles::comment(header, object),
                    state: titles::state(header, object),
                    guid: match object.get(header, "NodeGuid") {
                        Some(Value::Guid(guid)) => *guid,
                        Some(_) | None => Guid::default(),
                    },
                    position: (number("NodePosX"), number("NodePosY")),
                    pins: pins.iter().map(|pin| self.node_pin(&render, pin, &names)).collect(),
                    fault: object.warnings.first().map(ToString::to_string),
                }
            })
            .collect()
    }

    fn node_pin(
        &self,
        render: &Render<'_, '_>,
        pin: &Pin<'_>,
        names: &HashMap<PinRef, String>,
    ) -> NodePin {
        let header = &self.header;
        let name = render.label(&pin.name);
        let label = visible(pin.friendly.source(), 512, false).into_owned();
        let value = if pin.default_object.0 != 0 {
            render.reference(pin.default_object)
        } else {
            let text = pin.default_text.source();
            let text = if text.is_empty() { &pin.default } else { text };
            visible(text, MAX_VALUE, true).into_owned()
        };
        let links = pin.links.iter().map(|link| Link {
            node: visible(&header.object_name(link.node), 512, false).into_owned(),
            pin: names.get(link).cloned().unwrap_or_default(),
        });
        NodePin {
            label: if label == name { String::new() } else { label },
            name,
            output: pin.output,
            kind: render.pin_type(&pin.kind),
            value,
            hidden: pin.hidden,
            links: links.collect(),
        }
    }

    /// Pins stored as separate objects, as they were until 4.12.
    pub(crate) fn pin_objects(&self, node: &Object<'a>) -> Vec<Pin<'a>> {
        let pins = node.get(&self.header, "Pins").map_or(&[][..], Value::items);
        let pins = pins.iter().filter_map(Value::object);
        let pins = pins.filter(|pin| self.header.class_name(*pin) == "EdGraphPin");
        pins.map(|pin| self.pin_object(pin)).collect()
    }

    fn pin_object(&self, index: Index) -> Pin<'a> {
        let header = &self.header;
        let object = self.object(index);
        let string =
            |name| object.get(header, name).and_then(Value::string).cloned().unwrap_or_default();
        let is_true = |name| object.get(header, name) == Some(&Value::Bool(true));
        let reference = |pin: Index| PinRef { node: header.outer(pin), pin: id(pin) };
        let references = |name| {
            let pins = object.get(header, name).map_or(&[][..], Value::items);
            pins.iter().filter_map(Value::object).map(reference).collect()
        };
        let text = |name| object.get(header, name).and_then(Value::text).cloned();
        let one = |name| object.get(header, name).and_then(Value::object);
        let way = object.get(header, "Direction").and_then(Value::name);
        let kind = object.get(header, "PinType").and_then(Value::pin_type);
        Pin {
            id: id(index),
            name: Label::Text(string("PinName")),
            friendly: text("PinFriendlyName").unwrap_or(Text::Empty),
            output: way.is_some_and(|way| header.name(way) == "EGPD_Output"),
            kind: kind.cloned().unwrap_or_else(no_type),
            default: string("DefaultValue"),
            autogenerated: string("AutogeneratedDefaultValue"),
            default_object: one("DefaultObject").unwrap_or_default(),
            default_text: text("DefaultTextValue").unwrap_or(Text::Empty),
            links: references("LinkedTo"),
            parts: references("SubPins"),
            whole: one("ParentPin").map(reference),
            hidden: is_true("bHidden"),
            closed: is_true("bNotConnectable"),
            orphaned: false,
        }
    }
}

/// An artificial id for a pin that is an object.
fn id(pin: Index) -> Guid {
    Guid([0, 0, 0, pin.0.unsigned_abs()])
}

fn no_type<'a>() -> PinType<'a> {
    PinType {
        category: Label::fixed(""),
        subcategory: Label::fixed(""),
        object: Index(0),
        container: Container::None,
        values: None,
        reference: false,
        constant: false,
    }
}
