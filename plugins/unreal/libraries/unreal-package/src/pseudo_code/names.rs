//! Names nodes so that the names stay when other nodes are added or moved.

use crate::{Guid, graph::Node};
use std::collections::{HashMap, HashSet};

/// Minimum number of digits of a GUID in the name of a node.
const MIN_DIGITS: usize = 4;
/// Prefixes of class names that are left out of the nodes' names.
const PREFIXES: &[&str] = &["MaterialExpression", "K2Node_", "AnimGraphNode_"];

/// Short names for nodes: the first digits of their GUIDs, as many as make the names unique. A node
/// keeps its own name if it has no GUID, or the GUID of another node, as a copy may have.
pub fn ids(nodes: &[Node]) -> Vec<String> {
    let mut counts: HashMap<Guid, usize> = HashMap::new();
    nodes.iter().for_each(|node| *counts.entry(node.guid).or_default() += 1);
    let is_told = |node: &Node| node.guid != Guid::default() && counts[&node.guid] == 1;
    let digits: Vec<String> = nodes.iter().map(|node| node.guid.to_string()).collect();
    let is_enough = |length: usize| {
        let mut seen = HashSet::new();
        let told = nodes.iter().zip(&digits).filter(|(node, _)| is_told(node));
        told.map(|(_, digits)| &digits[..length]).all(|begin| seen.insert(begin))
    };
    let length = (MIN_DIGITS..32).find(|length| is_enough(*length)).unwrap_or(32);
    let own = |node: &Node| {
        let short = PREFIXES.iter().find_map(|prefix| node.name.strip_prefix(prefix));
        short.unwrap_or(&node.name).to_owned()
    };
    nodes
        .iter()
        .zip(&digits)
        .map(|(node, digits)| if is_told(node) { digits[..length].to_owned() } else { own(node) })
        .collect()
}
