//! Cuts graphs into pages: texts by lines, and JSON by nodes.

use super::{BlueprintGraph, BlueprintInfo, GraphInfo, Graphs, MAX_TEXT, NodeInfo, node};
use unreal_package::Graph;

/// Size of a page if no number of items was asked for, in bytes: about 2,000 tokens.
pub const FIRST: usize = 6_500;

/// The room that is left on a page: a number of items, and of bytes.
struct PageRoom {
    items: usize,
    bytes: usize,
}

impl PageRoom {
    fn of(asked: &BlueprintGraph) -> Self {
        match asked.max_results {
            None => Self { items: usize::MAX, bytes: FIRST },
            Some(0) => Self { items: usize::MAX, bytes: MAX_TEXT },
            Some(max_items) => Self { items: max_items as usize, bytes: MAX_TEXT },
        }
    }

    /// Takes an item of this size, if there is room. The first item is taken whatever its size.
    fn take(&mut self, bytes: usize, is_first: bool) -> bool {
        if self.items == 0 || bytes > self.bytes && !is_first {
            return false;
        }
        self.items -= 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        true
    }
}

/// Puts the lines of the requested page into the answer.
pub fn lines(asked: &BlueprintGraph, answer: &mut Graphs, text: &str) {
    let text = text.trim_end();
    let (mut room, mut page, mut taken) = (PageRoom::of(asked), String::new(), 0);
    answer.total_count = text.lines().count();
    for line in text.lines().skip(answer.offset) {
        if !room.take(line.len() + 1, page.is_empty()) {
            break;
        }
        page.push_str(line);
        page.push('\n');
        taken += 1;
    }
    answer.has_more = answer.offset.saturating_add(taken) < answer.total_count;
    answer.text = Some(unreal_package::visible(&page, MAX_TEXT, true).into_owned());
}

/// Puts the nodes of the requested page into the answer, with all graphs and, on the first page,
/// the Blueprints.
pub fn nodes(
    asked: &BlueprintGraph,
    answer: &mut Graphs,
    graphs: Vec<Graph>,
    blueprints: impl Iterator<Item = BlueprintInfo>,
) {
    let mut room = PageRoom::of(asked);
    if answer.offset == 0 {
        answer.blueprints = blueprints.collect();
        let bytes = serde_json::to_string(&answer.blueprints).map_or(0, |text| text.len());
        room.bytes = room.bytes.saturating_sub(bytes);
    }
    answer.total_count = graphs.iter().map(|graph| graph.nodes.len()).sum();
    let (mut skip, mut taken) = (answer.offset, 0);
    for graph in graphs {
        let node_count = graph.nodes.len();
        let mut nodes: Vec<NodeInfo> = Vec::new();
        for stored in graph.nodes.into_iter().skip(skip) {
            let node = node(stored);
            let bytes = serde_json::to_string(&node).map_or(0, |text| text.len());
            if !room.take(bytes, taken == 0) {
                // A node that does not fit ends the page, even if a later node would fit.
                room.items = 0;
                break;
            }
            nodes.push(node);
            taken += 1;
        }
        skip = skip.saturating_sub(node_count);
        answer.graphs.push(GraphInfo {
            name: graph.name,
            role: graph.role.to_owned(),
            class: graph.class,
            node_count,
            nodes,
        });
    }
    answer.has_more = answer.offset.saturating_add(taken) < answer.total_count;
}
