//! Finds many byte strings (needles) in one pass over a text (Aho and Corasick, 1975).

use std::collections::VecDeque;

/// A state: the number of a node. Node 0 is the root: no part of a needle has been read.
pub(crate) type State = u32;

/// A node of the trie of needles. The children of a node are a linked list: `child` is the first child of this node,
/// and `next` is the next child of the same parent.
#[derive(Clone, Copy, Default)]
struct Node {
    byte: u8,
    child: State,
    next: State,
    /// The failure link: the node of the longest proper suffix of this node's text that is a prefix of a needle.
    shorter: State,
    depth: u32,
    /// Length of the longest needle that ends here. 0: no needle ends here.
    ends: u32,
}

/// The automaton of Aho and Corasick for the needles. Bytes that [`fold`] maps to the same byte count as equal.
pub(crate) struct Automaton {
    nodes: Vec<Node>,
    /// The children of the root, as a table by their byte, because most bytes of a text are looked up at the root.
    root_children: Box<[State; 256]>,
}

impl Default for Automaton {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Automaton {
    /// An automaton that finds these needles. A needle must not be empty.
    pub(crate) fn new(needles: Vec<Vec<u8>>) -> Self {
        let mut this = Self { nodes: vec![Node::default()], root_children: Box::new([0; 256]) };
        for needle in needles {
            let mut state = 0;
            for byte in needle {
                state = this.grow(state, fold(byte));
            }
            let node = &mut this.nodes[state as usize];
            node.ends = node.depth;
        }
        this.link();
        this
    }

    fn grow(&mut self, state: State, byte: u8) -> State {
        if let Some(child) = self.child(state, byte) {
            return child;
        }
        let new = State::try_from(self.nodes.len()).expect("secrets have less than 4 GiB");
        let parent = &mut self.nodes[state as usize];
        let next = std::mem::replace(&mut parent.child, new);
        let depth = parent.depth + 1;
        self.nodes.push(Node { byte, next, depth, ..Node::default() });
        if state == 0 {
            self.root_children[usize::from(byte)] = new;
        }
        new
    }

    fn child(&self, state: State, byte: u8) -> Option<State> {
        if state == 0 {
            return Some(self.root_children[usize::from(byte)]).filter(|child| *child != 0);
        }
        let mut child = self.nodes[state as usize].child;
        while child != 0 {
            let node = &self.nodes[child as usize];
            if node.byte == byte {
                return Some(child);
            }
            child = node.next;
        }
        None
    }

    /// Computes `shorter` and completes `ends` for each node, in breadth-first order.
    fn link(&mut self) {
        let mut queue = VecDeque::from([0]);
        while let Some(parent) = queue.pop_front() {
            let mut child = self.nodes[parent as usize].child;
            while child != 0 {
                let Node { byte, next, .. } = self.nodes[child as usize];
                let shorter = match parent {
                    0 => 0,
                    _ => self.step(self.nodes[parent as usize].shorter, byte),
                };
                let ends = self.nodes[shorter as usize].ends;
                let node = &mut self.nodes[child as usize];
                node.shorter = shorter;
                node.ends = node.ends.max(ends);
                queue.push_back(child);
                child = next;
            }
        }
    }

    /// The state after one more byte. The byte must be [folded](fold).
    pub(crate) fn step(&self, mut state: State, byte: u8) -> State {
        loop {
            if let Some(next) = self.child(state, byte) {
                return next;
            }
            if state == 0 {
                return 0;
            }
            state = self.nodes[state as usize].shorter;
        }
    }

    /// How many of the last bytes are a prefix of a needle.
    pub(crate) fn depth(&self, state: State) -> usize {
        self.nodes[state as usize].depth as usize
    }

    /// The length of the longest needle that ends at the last byte. `None`: no needle ends there.
    pub(crate) fn found(&self, state: State) -> Option<usize> {
        Some(self.nodes[state as usize].ends as usize).filter(|length| *length > 0)
    }
}

/// Maps all bytes that count as equal to one byte. Letters become lower case. `-` and `_` of base64url become `+` and
/// `/` of base64. A space becomes `+`, because HTML forms encode a space as `+`.
pub(crate) fn fold(byte: u8) -> u8 {
    match byte {
        b'-' | b' ' => b'+',
        b'_' => b'/',
        _ => byte.to_ascii_lowercase(),
    }
}
