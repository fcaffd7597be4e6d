//! Reads Blueprint graphs (`UEdGraph`). Their nodes contain their pins; in packages up to 4.12, the pins are objects.

use super::{Graph, Link, MAX_VALUE, Node, NodePin};
use crate::{
    Guid,
    object::{Object, Package},
    pins::{Pin, PinRef},
    render::Render,
    tables::Index,
    titles::{self, Title},
    value::{Container, Label, PinType, Text, Value},
    visible::visible,
};
use std::collections::HashMap;

impl<'a> Package<'a> {
    /// The Blueprint graphs of this package; `package` is its name.
    pub(super) fn ed_graphs(&self, package: &str) -> Vec<Graph> {
        let header = &self.header;
        let roles = self.roles();
        let mut nodes: HashMap<Index, Vec<Index>> = HashMap::new();
        let all = (0..header.exports.len()).map(Index::of_export);
        for node in all.clone().filter(|object| header.is_node(*object)) {
            nodes.entry(header.outer(node)).or_default().push(node);
        }
        let views = self.views_of_rigs();
        all.filter(|object| header.is_graph(*object) && !views.contains(object))
            .map(|graph| {
                let inside = nodes.remove(&graph).unwrap_or_default();
                Graph {
                    name: header.graph_name(graph),
                    class: visible(&header.class_name(graph), 256, false).into_owned(),
                    role: roles.get(&graph).copied().unwrap_or_default(),
                    nodes: self.nodes(&inside, package),
                }
            })
            .collect()
    }

    /// The role of each graph. A Blueprint has one list of graphs for each role.
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
                let title = Title::of(&render, header, *index, object);
                Node {
                    name: visible(&header.object_name(*index), 512, false).into_owned(),
                    class: visible(&header.class_name(*index), 256, false).into_owned(),
                    title: title.text,
                    kind: title.kind,
                    subject: title.subject,
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
            is_default: pin.default_object.0 == 0
                && pin.default_text.source().is_empty()
                && pin.default == pin.autogenerated,
            value,
            hidden: pin.hidden,
            links: links.collect(),
        }
    }

    /// Reads pins that are separate objects, as packages up to 4.12 store them.
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
