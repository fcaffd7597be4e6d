//! Graphs of nodes, pins and links in Blueprints, rigs and materials.

mod ed_graph;
mod material;
mod rig_vm;

use crate::{Guid, header::Header, object::Package, tables::Index, visible::visible};

/// Maximum length of a pin's value, in characters.
const MAX_VALUE: usize = 2048;
/// Maximum length of a name, in characters.
const MAX_NAME: usize = 512;

/// A graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Its name, such as `EventGraph`.
    pub name: String,
    /// The name of its class, such as `EdGraph`; for a material, the class of the object that has
    /// the graph.
    pub class: String,
    /// The role: `events`, `function`, `macro`, `signature`, or empty if unknown.
    pub role: &'static str,
    /// The nodes, in stored order. A material is itself the first node of its graph.
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
    /// What the node does with its subject.
    pub kind: NodeKind,
    /// The function, variable, event or other subject, such as `PrintString`; empty if the node has none.
    pub subject: String,
    /// Comment by the author.
    pub comment: String,
    /// `Disabled` or `DevelopmentOnly`, or empty for an enabled node.
    pub state: String,
    /// The node's identity, which stays when the node is renamed; zeros if it has none.
    pub guid: Guid,
    /// Position in the graph.
    pub position: (i64, i64),
    /// The pins for values and for the flow of execution; in materials also the settings of the node.
    pub pins: Vec<NodePin>,
    /// If a part of the node, such as its pins, could not be read: the first warning about it.
    pub fault: Option<String>,
}

/// What a node does with its subject, known by the node's class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// Anything else.
    #[default]
    Other,
    /// Declares or handles an event.
    Event,
    /// Handles an input of the player, or is an input of a material function.
    Input,
    /// Is an output of a material function.
    Output,
    /// Is a parameter of a material.
    Parameter,
    /// Calls a function or an event dispatcher.
    Call,
    /// Uses a macro.
    Macro,
    /// Casts to a class.
    Cast,
    /// Writes a variable.
    Set,
    /// Reads a variable.
    Get,
    /// Is a comment; the subject is its text.
    Comment,
    /// Passes its input on.
    Reroute,
}

impl NodeKind {
    /// The usual words before the subject in titles of this kind. Some titles have further or other words, such as
    /// `Call parent Open` or `Message Open`.
    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Event => &["Event ", "Custom event "],
            Self::Input => &["Input "],
            Self::Output => &["Output "],
            Self::Parameter => &["Parameter "],
            Self::Call => &["Call "],
            Self::Macro => &["Macro "],
            Self::Cast => &["Cast to "],
            Self::Set => &["Set "],
            Self::Get => &["Get "],
            Self::Comment => &["Comment: "],
            Self::Other | Self::Reroute => &[],
        }
    }
}

/// A pin of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePin {
    /// Its name.
    pub name: String,
    /// Display name, if it differs from the name; otherwise empty.
    pub label: String,
    /// Whether this is an output pin.
    pub output: bool,
    /// Type such as `exec` or `object Actor`.
    pub kind: String,
    /// Default value, used while nothing is linked.
    pub value: String,
    /// Whether the value is known to be the node's own default.
    pub is_default: bool,
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

impl Package<'_> {
    /// The graphs of this package; `package` is its name.
    pub fn graphs(&self, package: &str) -> Vec<Graph> {
        let mut graphs = self.ed_graphs(package);
        graphs.extend(self.object_graphs(package));
        graphs
    }

    /// The graphs of rigs and materials. Their nodes store pins differently from the nodes of
    /// Blueprints.
    pub(crate) fn object_graphs(&self, package: &str) -> Vec<Graph> {
        let mut graphs = self.rig_graphs(package);
        graphs.extend(self.material_graphs(package));
        graphs
    }
}

impl Header<'_> {
    /// The name of a graph: its path within the asset.
    fn graph_name(&self, graph: Index) -> String {
        visible(&self.path_within(graph), 1024, false)
            .split_once(':')
            .map_or_else(|| self.object_name(graph).into_owned(), |(_, name)| name.to_owned())
    }
}

impl Node {
    /// The pin with this name and direction.
    fn pin_mut(&mut self, name: &str, output: bool) -> Option<&mut NodePin> {
        self.pins.iter_mut().find(|pin| pin.output == output && pin.name == name)
    }
}
