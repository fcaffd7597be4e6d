//! Names nodes so that adding other nodes rarely changes the names, and moving nodes never changes them.

use crate::{Guid, graph::Node};
use std::collections::{HashMap, HashSet};

/// Minimum number of digits of a GUID in the name of a node.
const MIN_DIGITS: usize = 4;
/// Prefixes of class names that are left out of the nodes' names.
const PREFIXES: &[&str] = &["MaterialExpression", "K2Node_", "AnimGraphNode_"];

/// Short names for nodes: the first digits of their GUIDs, as many digits as make the names unique.
/// A node keeps its own name if it has no GUID, or if another node has the same GUID. Copies of a
/// node may share its GUID.
pub fn ids(nodes: &[Node]) -> Vec<String> {
    let mut counts: HashMap<Guid, usize> = HashMap::new();
    nodes.iter().for_each(|node| *counts.entry(node.guid).or_default() += 1);
    let has_own_guid = |node: &Node| node.guid != Guid::default() && counts[&node.guid] == 1;
    let digits: Vec<String> = nodes.iter().map(|node| node.guid.to_string()).collect();
    let is_enough = |length: usize| {
        let mut seen = HashSet::new();
        let identified = nodes.iter().zip(&digits).filter(|(node, _)| has_own_guid(node));
        identified.map(|(_, digits)| &digits[..length]).all(|begin| seen.insert(begin))
    };
    let length = (MIN_DIGITS..32).find(|length| is_enough(*length)).unwrap_or(32);
    let own_name = |node: &Node| {
        let short = PREFIXES.iter().find_map(|prefix| node.name.strip_prefix(prefix));
        short.unwrap_or(&node.name).to_owned()
    };
    nodes
        .iter()
        .zip(&digits)
        .map(|(node, digits)| match has_own_guid(node) {
            true => digits[..length].to_owned(),
            false => own_name(node),
        })
        .collect()
}
