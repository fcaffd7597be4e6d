//! Compares graphs: their nodes, which are matched by identity, the pins of the nodes, and the links.

use super::{Difference, Part};
use crate::{
    Guid,
    graph::{Graph, Node},
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Maximum length of a node's title in a change's place, in characters.
const MAX_TITLE_CHARS: usize = 80;

impl Difference {
    pub(super) fn graphs(&mut self, before: &[Graph], after: &[Graph]) {
        let (old, new) = (numbered(before), numbered(after));
        let new_graphs: HashMap<GraphKey<'_>, &Graph> = new.iter().copied().collect();
        let old_keys: HashSet<GraphKey<'_>> = old.iter().map(|(key, _)| *key).collect();
        for (key, graph) in old {
            match new_graphs.get(&key) {
                Some(other) => self.compare_graph(graph, other),
                None => self.only(Part::Graph, "", &graph.name, Some(&size(graph)), None),
            }
        }
        for (_, graph) in new.iter().filter(|(key, _)| !old_keys.contains(key)) {
            self.only(Part::Graph, "", &graph.name, None, Some(&size(graph)));
        }
    }

    /// Lists graphs with their nodes, pins and links.
    pub(super) fn list_graphs(&mut self, graphs: &[Graph]) {
        for graph in graphs {
            self.only(Part::Graph, "", &graph.name, None, Some(&size(graph)));
            self.compare_graph(&Graph::default(), graph);
            for node in &graph.nodes {
                let place = format!("{}: {}", graph.name, label(node));
                for (name, value) in [("comment", &node.comment), ("state", &node.state)] {
                    if !value.is_empty() {
                        self.only(Part::Node, &place, name, None, Some(value));
                    }
                }
                self.all(Part::Pin, &place, &BTreeMap::new(), &pins(node));
            }
        }
    }

    fn compare_graph(&mut self, before: &Graph, after: &Graph) {
        let copied = copied_guids([before, after]);
        let (old, new) = (Keys::of(before, &copied), Keys::of(after, &copied));
        for (key, node) in &old.nodes {
            match new.nodes.get(key) {
                Some(other) => self.compare_node(&after.name, node, other),
                None => self.only(Part::Node, &after.name, &label(node), Some(&node.class), None),
            }
        }
        for (key, node) in &new.nodes {
            if !old.nodes.contains_key(key) {
                self.only(Part::Node, &after.name, &label(node), None, Some(&node.class));
            }
        }
        self.all(Part::Link, &after.name, &old.links(&new), &new.links(&new));
    }

    fn compare_node(&mut self, graph: &str, before: &Node, after: &Node) {
        let place = format!("{graph}: {}", label(after));
        let count_before = self.changes.len();
        // The title of a comment node is its comment, which is compared anyway.
        let is_comment = after.class == "EdGraphNode_Comment";
        let title = if is_comment { &after.title } else { &before.title };
        for (name, old, new) in [
            ("class", &before.class, &after.class),
            ("title", title, &after.title),
            ("comment", &before.comment, &after.comment),
            ("state", &before.state, &after.state),
        ] {
            self.one(Part::Node, &place, name, old.clone(), new.clone());
        }
        self.all(Part::Pin, &place, &pins(before), &pins(after));
        let is_same = self.changes.len() == count_before;
        self.moved += usize::from(is_same && before.position != after.position);
    }
}

/// The name of a graph, and the number of graphs before it that have the same name.
type GraphKey<'g> = (&'g str, usize);

/// Graphs with their keys. Two Blueprints in a package may have graphs of the same name.
fn numbered(graphs: &[Graph]) -> Vec<(GraphKey<'_>, &Graph)> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    let mut keyed = Vec::with_capacity(graphs.len());
    for graph in graphs {
        let number = count.entry(&graph.name).or_default();
        keyed.push(((graph.name.as_str(), *number), graph));
        *number += 1;
    }
    keyed
}

/// The GUIDs that several nodes of the same graph have. Copies of a node may share its GUID.
fn copied_guids(graphs: [&Graph; 2]) -> HashSet<Guid> {
    let mut copied = HashSet::new();
    for graph in graphs {
        let mut seen = HashSet::new();
        copied.extend(graph.nodes.iter().map(|node| node.guid).filter(|guid| !seen.insert(*guid)));
    }
    copied
}

fn size(graph: &Graph) -> String {
    format!("{} nodes", graph.nodes.len())
}

fn label(node: &Node) -> String {
    let mut title: String = node.title.chars().take(MAX_TITLE_CHARS).collect();
    if title.len() < node.title.len() {
        title.push('…');
    }
    format!("{title} ({})", node.name)
}

/// The pins of a node with their types. The value of a pin is included only if nothing is linked to the pin.
fn pins(node: &Node) -> BTreeMap<String, String> {
    let mut pins = BTreeMap::new();
    for pin in &node.pins {
        let direction = if pin.output { "output" } else { "input" };
        let value = match pin.value.is_empty() || !pin.links.is_empty() {
            true => String::new(),
            false => format!(" = {}", pin.value),
        };
        pins.insert(format!("{direction} {}", pin.name), format!("{}{value}", pin.kind));
    }
    pins
}

/// The nodes of a graph by their key: the GUID, which stays when a node is renamed, or else the
/// name.
struct Keys<'g> {
    nodes: BTreeMap<String, &'g Node>,
    /// The key of each node, by its name.
    by_name: HashMap<&'g str, String>,
}

impl<'g> Keys<'g> {
    fn of(graph: &'g Graph, copied: &HashSet<Guid>) -> Self {
        // Nodes of old versions have no GUID.
        let key = |node: &Node| match node.guid == Guid::default() || copied.contains(&node.guid) {
            true => node.name.clone(),
            false => node.guid.to_string(),
        };
        let nodes = graph.nodes.iter().map(|node| (key(node), node)).collect();
        let by_name = graph.nodes.iter().map(|node| (node.name.as_str(), key(node))).collect();
        Self { nodes, by_name }
    }

    /// The links, from outputs to inputs, named by the nodes' titles. A node that is also in `newer` has its title from
    /// `newer`, so that a link of a renamed node counts as the same link.
    fn links(&self, newer: &Keys<'_>) -> BTreeMap<String, String> {
        let title = |key: &str| {
            let node = newer.nodes.get(key).or_else(|| self.nodes.get(key));
            node.map_or_else(|| key.to_owned(), |node| label(node))
        };
        let mut links = BTreeMap::new();
        for (key, node) in &self.nodes {
            for pin in node.pins.iter().filter(|pin| pin.output) {
                for link in &pin.links {
                    let to =
                        self.by_name.get(link.node.as_str()).map_or(link.node.as_str(), |to| to);
                    let text = format!("{}.{} → {}.{}", title(key), pin.name, title(to), link.pin);
                    links.insert(text, String::new());
                }
            }
        }
        links
    }
}
