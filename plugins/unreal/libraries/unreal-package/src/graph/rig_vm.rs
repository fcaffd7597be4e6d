//! Reads graphs of Control Rig and of other systems based on RigVM. The source is the model
//! (`URigVMGraph`), not the copy of the model for the editor's view. Each node, pin and link is an
//! object; a pin of a structure has a pin for each member.

use super::{Graph, Link, MAX_NAME, MAX_VALUE, Node, NodeKind, NodePin};
use crate::{
    Guid, Render,
    object::{Object, Package, get},
    tables::Index,
    titles::Title,
    value::Value,
    visible::visible,
};
use std::collections::{HashMap, HashSet};

/// Maximum depth of nested pins.
const MAX_DEPTH: usize = 8;
/// Maximum number of outers from a node up to its graph. An injected node is within a pin.
const MAX_NESTING: usize = 16;
/// Maximum number of pins of one node, with the members of structures.
const MAX_PINS: usize = 4096;

/// The objects of all rigs in a package.
#[derive(Default)]
struct Rigs {
    graphs: Vec<Index>,
    /// The nodes of each graph.
    nodes: HashMap<Index, Vec<Index>>,
    /// The links of each graph.
    links: HashMap<Index, Vec<Index>>,
    /// The pins directly within a node or a pin.
    pins: HashMap<Index, Vec<Index>>,
}

/// The pins of a node that are read so far.
#[derive(Default)]
struct ReadPins {
    list: Vec<NodePin>,
    /// Whether the node has more pins.
    is_cut: bool,
}

impl<'a> Package<'a> {
    /// The Blueprint graphs that only show the graphs of rigs: all their nodes refer to nodes of
    /// rigs, or are comments.
    pub(crate) fn views_of_rigs(&self) -> HashSet<Index> {
        let header = &self.header;
        let all = || (0..header.exports.len()).map(Index::of_export);
        if !all().any(|object| header.class_name(object) == "RigVMGraph") {
            return HashSet::new();
        }
        let is_view = |node: &Index| {
            header.class_name(*node) == "EdGraphNode_Comment"
                || self.object(*node).get(header, "ModelNodePath").is_some()
        };
        let mut views: HashSet<Index> = all().filter(|object| header.is_graph(*object)).collect();
        for node in all().filter(|object| header.is_node(*object)) {
            if views.contains(&header.outer(node)) && !is_view(&node) {
                views.remove(&header.outer(node));
            }
        }
        views
    }

    /// The graphs of all rigs of this package; `package` is its name.
    pub(super) fn rig_graphs(&self, package: &str) -> Vec<Graph> {
        let header = &self.header;
        let rigs = self.rigs();
        let render = Render::new(header, package, usize::MAX);
        rigs.graphs
            .iter()
            .map(|graph| {
                let nodes = rigs.nodes.get(graph).map_or(&[][..], Vec::as_slice);
                let mut nodes: Vec<Node> =
                    nodes.iter().map(|node| self.rig_node(*node, &rigs, &render)).collect();
                self.add_links(&mut nodes, rigs.links.get(graph).map_or(&[][..], Vec::as_slice));
                nodes.iter_mut().for_each(|node| node.pins.retain(is_kept));
                let is_function = header.object_name(header.outer(header.outer(*graph)))
                    == "RigVMFunctionLibrary";
                Graph {
                    name: header.graph_name(*graph),
                    class: "RigVMGraph".to_owned(),
                    role: if is_function { "function" } else { "" },
                    nodes,
                }
            })
            .collect()
    }

    fn rigs(&self) -> Rigs {
        let header = &self.header;
        let mut rigs = Rigs::default();
        for index in (0..header.exports.len()).map(Index::of_export) {
            let class = header.class_name(index);
            let Some(kind) = class.strip_prefix("RigVM") else { continue };
            if kind == "Graph" {
                rigs.graphs.push(index);
            } else if kind == "Pin" {
                rigs.pins.entry(header.outer(index)).or_default().push(index);
            } else if kind == "Link" {
                rigs.links.entry(header.outer(index)).or_default().push(index);
            } else if kind.ends_with("Node")
                && let Some(graph) = self.graph_around(index)
            {
                rigs.nodes.entry(graph).or_default().push(index);
            }
        }
        rigs
    }

    /// The innermost graph that an object is in.
    fn graph_around(&self, object: Index) -> Option<Index> {
        let outers = std::iter::successors(Some(object), |at| {
            let outer = self.header.outer(*at);
            outer.export().map(|_| outer)
        });
        outers.skip(1).take(MAX_NESTING).find(|at| self.header.class_name(*at) == "RigVMGraph")
    }

    fn rig_node(&self, index: Index, rigs: &Rigs, render: &Render<'_, 'a>) -> Node {
        let header = &self.header;
        let object = self.object(index);
        let mut read = ReadPins::default();
        self.rig_pins(index, "", rigs, &mut read);
        let ReadPins { list: pins, is_cut } = read;
        let fault = is_cut.then(|| format!("the node has more than {MAX_PINS} pins"));
        let class = visible(&header.class_name(index), 256, false).into_owned();
        let position = object.get(header, "Position").map_or(&[][..], Value::fields);
        #[expect(clippy::cast_possible_truncation, reason = "a position in pixels")]
        let coordinate =
            |name| get(position, header, name).and_then(Value::real).unwrap_or_default() as i64;
        let title = self.rig_title(&class, &object, &pins, index, render);
        Node {
            name: visible(&header.object_name(index), MAX_NAME, false).into_owned(),
            title: title.text,
            kind: title.kind,
            subject: title.subject,
            comment: String::new(),
            state: String::new(),
            guid: Guid::default(),
            position: (coordinate("X"), coordinate("Y")),
            fault: object.warnings.first().map(ToString::to_string).or(fault),
            class,
            pins,
        }
    }

    /// Adds the pins within a node or a pin. Returns the values of these pins in the engine's
    /// notation for members of a structure, such as `X=1,Y=2`.
    fn rig_pins(&self, within: Index, path: &str, rigs: &Rigs, pins: &mut ReadPins) -> String {
        let header = &self.header;
        let inside = rigs.pins.get(&within).map_or(&[][..], Vec::as_slice);
        let mut values = Vec::new();
        for index in inside {
            if pins.list.len() >= MAX_PINS {
                pins.is_cut = true;
                break;
            }
            let object = self.object(*index);
            let text = |name| object.get(header, name).and_then(Value::string);
            let own_name = visible(&header.object_name(*index), MAX_NAME, false).into_owned();
            let name =
                if path.is_empty() { own_name.clone() } else { format!("{path}.{own_name}") };
            let kind = text("CPPType").map(|kind| visible(kind, MAX_NAME, false).into_owned());
            let kind = kind.unwrap_or_default();
            let direction = object.get(header, "Direction").and_then(Value::name);
            let direction = direction.map(|direction| header.name(direction)).unwrap_or_default();
            let direction = direction.rsplit("::").next().unwrap_or_default();
            let pin = NodePin {
                label: String::new(),
                name: name.clone(),
                output: direction == "Output",
                kind: if kind.ends_with("ExecuteContext") { "exec".to_owned() } else { kind },
                value: String::new(),
                is_default: false,
                hidden: direction == "Hidden",
                links: Vec::new(),
            };
            let at = pins.list.len();
            pins.list.push(pin.clone());
            if direction == "IO" {
                pins.list.push(NodePin { output: true, ..pin });
            }
            let members = if path.matches('.').count() < MAX_DEPTH {
                self.rig_pins(*index, &name, rigs, pins)
            } else {
                String::new()
            };
            let value = match text("DefaultValue") {
                _ if !members.is_empty() => format!("({members})"),
                Some(value) if value != "()" => visible(value, MAX_VALUE, true).into_owned(),
                Some(_) | None => String::new(),
            };
            if !value.is_empty() {
                values.push(format!("{own_name}={value}"));
            }
            if let Some(pin) = pins.list.get_mut(at) {
                pin.value = value.chars().take(MAX_VALUE).collect();
            }
        }
        values.join(",")
    }

    /// Adds the links to the pins at both ends.
    fn add_links(&self, nodes: &mut [Node], links: &[Index]) {
        let positions: HashMap<String, usize> = nodes
            .iter()
            .enumerate()
            .map(|(position, node)| (node.name.clone(), position))
            .collect();
        for index in links {
            let link = self.object(*index);
            let end = |name| {
                let path = link.get(&self.header, name).and_then(Value::string)?;
                let (node, pin) = split_pin_path(path)?;
                Some((*positions.get(node)?, pin.to_owned()))
            };
            let (Some((from, out)), Some((to, into))) =
                (end("SourcePinPath"), end("TargetPinPath"))
            else {
                continue;
            };
            let source = Link { node: nodes[from].name.clone(), pin: out.clone() };
            let target = Link { node: nodes[to].name.clone(), pin: into.clone() };
            if let Some(pin) = nodes[from].pin_mut(&out, true) {
                pin.links.push(target);
            }
            if let Some(pin) = nodes[to].pin_mut(&into, false) {
                pin.links.push(source);
            }
        }
    }

    /// A title such as `Call FootTrace`.
    fn rig_title(
        &self,
        class: &str,
        object: &Object<'a>,
        pins: &[NodePin],
        index: Index,
        render: &Render<'_, 'a>,
    ) -> Title {
        let header = &self.header;
        let text = |name| {
            let text = object.get(header, name).and_then(Value::string);
            text.map(|text| visible(text, MAX_VALUE, true).into_owned()).filter(|t| !t.is_empty())
        };
        let pin = |name: &str| pins.iter().find(|pin| pin.name == name);
        let own_name = || visible(&header.object_name(index), MAX_NAME, false).into_owned();
        let about = |words: &str, kind, subject: String| Title {
            text: format!("{words} {subject}"),
            kind,
            subject,
        };
        let other = |text: String| Title { text, kind: NodeKind::Other, subject: String::new() };
        match class.strip_prefix("RigVM").and_then(|c| c.strip_suffix("Node")).unwrap_or(class) {
            "Comment" => {
                about("Comment:", NodeKind::Comment, text("CommentText").unwrap_or_default())
            }
            "Variable" | "Parameter" => {
                let is_read = pin("Value").is_some_and(|pin| pin.output);
                let name = pin("Variable").or_else(|| pin("Parameter"));
                let name = name.map_or_else(String::new, |pin| pin.value.clone());
                match is_read {
                    true => about("Get", NodeKind::Get, name),
                    false => about("Set", NodeKind::Set, name),
                }
            }
            "FunctionReference" => {
                let header_name = || {
                    let inside = object.get(header, "ReferencedFunctionHeader")?.fields();
                    let name = get(inside, header, "Name")?.name()?;
                    Some(visible(&header.name(name), MAX_NAME, false).into_owned())
                };
                let path = || {
                    let Value::Path(path) = object.get(header, "ReferencedNodePtr")? else {
                        return None;
                    };
                    let path = render.soft_path(path);
                    Some(path.rsplit(['.', ':']).next().unwrap_or_default().to_owned())
                };
                about("Call", NodeKind::Call, header_name().or_else(path).unwrap_or_else(own_name))
            }
            "FunctionEntry" => other("Entry".to_owned()),
            "FunctionReturn" => other("Return".to_owned()),
            "Reroute" => Title { kind: NodeKind::Reroute, ..other("Reroute".to_owned()) },
            "Collapse" | "Aggregate" => other(format!("Graph {}", own_name())),
            "InvokeEntry" => {
                let name = pin("EntryName").map_or_else(String::new, |pin| pin.value.clone());
                about("Call", NodeKind::Call, name)
            }
            kind @ ("Branch" | "If" | "Select" | "Enum" | "Array") => other(kind.to_owned()),
            _ => {
                let title = text("NodeTitle").or_else(|| unit_function(object, header));
                other(title.unwrap_or_else(own_name))
            }
        }
    }
}

/// The function of a node that is implemented in C++: `GetTransform` of
/// `/Script/ControlRig.RigUnit_GetTransform` (until 5.0) or of `FRigUnit_GetTransform::Execute`.
fn unit_function(object: &Object<'_>, header: &crate::Header<'_>) -> Option<String> {
    let structure = object.get(header, "ScriptStruct").and_then(Value::object);
    let name = match structure {
        Some(structure) => header.object_name(structure).into_owned(),
        None => {
            let names = ["ResolvedFunctionName", "TemplateNotation"];
            let text = names.iter().find_map(|name| {
                let value = object.get(header, name)?;
                let name = || value.name().map(|name| header.name(name).into_owned());
                value.string().map(|text| text.clone().into_owned()).or_else(name)
            })?;
            let text = text.split(['(', ':']).next().unwrap_or_default();
            text.strip_prefix('F').unwrap_or(text).to_owned()
        }
    };
    let prefixes = ["RigUnit_", "RigVMFunction_", "RigVMDispatch_"];
    let short = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    (!short.is_empty()).then(|| visible(short, MAX_NAME, false).into_owned())
}

/// Splits the path of a pin into the node's name and the pin's path: `GetTransform` and `Item.Name`. The name of an
/// injected node follows the path of the pin that it is in, as `Injected` in `Node.Pin|Injected.Value`.
fn split_pin_path(path: &str) -> Option<(&str, &str)> {
    path.rsplit('|').next().unwrap_or(path).split_once('.')
}

/// Whether a pin is kept. The pin of a structure's member is kept only if it is linked, since the
/// structure's value contains the value of the member.
fn is_kept(pin: &NodePin) -> bool {
    !pin.name.contains('.') || !pin.links.is_empty()
}
