//! Writes an outline of a package's Blueprints and graphs: the events, calls and variables, without
//! the flow of execution. The outline is a first overview of a package with long pseudo-code.

use crate::{
    blueprint::Blueprint,
    graph::{Graph, Node, NodeKind},
    object::Package,
};
use std::fmt::Write;

/// Maximum number of names in one list.
const MAX_NAMES: usize = 16;
/// Maximum number of nodes of a small graph. Small graphs within other graphs, such as states of
/// animations, share one list of names.
const MAX_SMALL_NODES: usize = 5;
/// Maximum number of graphs that are outlined.
const MAX_GRAPHS: usize = 60;

/// The kinds of nodes that have lists of their own.
const LISTS: &[(NodeKind, &str)] = &[
    (NodeKind::Event, "events"),
    (NodeKind::Input, "inputs"),
    (NodeKind::Output, "outputs"),
    (NodeKind::Parameter, "parameters"),
    (NodeKind::Call, "calls"),
    (NodeKind::Macro, "macros"),
    (NodeKind::Cast, "casts to"),
    (NodeKind::Set, "sets"),
    (NodeKind::Get, "gets"),
];

impl Package<'_> {
    /// The outline of the Blueprints and graphs of this package; `package` is its name.
    pub fn outline(&self, package: &str) -> String {
        let mut text = String::new();
        for Blueprint {
            name, parent, interfaces, variables, components, widgets, faults, ..
        } in self.blueprints(package)
        {
            let parent = parent.rsplit(['.', '/']).next().unwrap_or_default();
            push_line(&mut text, &format!("blueprint {name}: {parent}"));
            for (word, names) in [
                ("implements", interfaces),
                ("components", components.into_iter().map(|c| c.name).collect()),
                ("widgets", widgets.into_iter().map(|w| w.name).collect()),
                ("variables", variables.into_iter().map(|v| v.name).collect()),
            ] {
                push_list(&mut text, word, &counted(names.iter().map(String::as_str)));
            }
            for fault in faults {
                push_line(&mut text, &format!("  # {fault}"));
            }
        }
        let graphs = self.graphs(package);
        let is_small =
            |graph: &Graph| graph.name.contains('.') && graph.nodes.len() <= MAX_SMALL_NODES;
        let (small, large): (Vec<&Graph>, Vec<&Graph>) = graphs.iter().partition(|g| is_small(g));
        for graph in large.iter().take(MAX_GRAPHS) {
            text.push_str(&graph.outline());
        }
        if large.len() > MAX_GRAPHS {
            push_line(&mut text, &format!("and {} more graphs", large.len() - MAX_GRAPHS));
            let names = large.iter().skip(MAX_GRAPHS).map(|graph| graph.name.as_str());
            push_list(&mut text, "names", &counted(names));
        }
        if !small.is_empty() {
            push_line(&mut text, &format!("small graphs within these: {}", small.len()));
            let names = small.iter().map(|graph| graph.name.rsplit('.').next().unwrap_or_default());
            push_list(&mut text, "names", &counted(names));
        }
        text
    }
}

impl Graph {
    /// The events, calls, variables and other nodes of this graph, in a few lines.
    pub fn outline(&self) -> String {
        let mut text = String::new();
        let Self { name, class, role, nodes } = self;
        let role = if role.is_empty() { class.as_str() } else { role };
        push_line(&mut text, &format!("graph {name} ({role}), nodes: {}", nodes.len()));
        for (kind, word) in LISTS {
            let of_kind = nodes.iter().filter(|node| node.kind == *kind);
            push_list(&mut text, word, &counted(of_kind.map(subject)));
        }
        let rest = nodes.iter().filter(|node| node.kind == NodeKind::Other);
        push_list(&mut text, "other", &counted(rest.map(|node| node.title.as_str())));
        text
    }
}

/// The title of a node without the words for its kind, and without the class after the subject. Other words stay:
/// `parent Open` of `Call parent Open`.
fn subject(node: &Node) -> &str {
    let words = node.kind.words().iter();
    let subject = words.filter_map(|words| node.title.strip_prefix(words)).next();
    match subject {
        Some(rest) if rest.starts_with(&node.subject) => &node.subject,
        Some(rest) => rest,
        None => &node.title,
    }
}

/// Names in the order of their first use, each with its number of occurrences.
fn counted<'n>(names: impl Iterator<Item = &'n str>) -> Vec<(&'n str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts
}

fn push_list(text: &mut String, word: &str, names: &[(&str, usize)]) {
    if names.is_empty() {
        return;
    }
    let shown = names.iter().take(MAX_NAMES).map(|(name, count)| {
        let name: String = name.chars().take(60).collect();
        if *count > 1 { format!("{name} x{count}") } else { name }
    });
    let mut shown = shown.collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMES {
        write!(shown, " and {} more", names.len() - MAX_NAMES).expect("a String takes any text");
    }
    push_line(text, &format!("  {word}: {shown}"));
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
