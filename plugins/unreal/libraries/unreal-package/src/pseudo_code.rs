//! Writes graphs as short pseudo-code, for models: one line for each node that is executed, with
//! its input values.
//!
//! A node is named by the first digits of its GUID, such as `@1A2B`, or by its own name if no GUID
//! identifies it. The GUID stays when other nodes are added or moved. Nodes that only compute a value
//! are written where the value is used. If the value is used more than once and its expression is not
//! short, the node follows on a line of its own. Values that are the node's own defaults are left out.

mod names;
mod values;

use crate::{
    blueprint::{Blueprint, Component},
    graph::{Graph, Node, NodeKind, NodePin},
    object::Package,
    widgets::Binding,
};
use names::ids;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt::Write,
};
use values::{last, member, shortened, value};

/// Maximum depth of nested expressions on one line.
const MAX_DEPTH: usize = 10;
/// Maximum depth of nested blocks.
const MAX_BLOCKS: usize = 12;
/// Maximum length of a line, in characters.
const MAX_LINE: usize = 2000;
/// Maximum length of a comment, in characters.
const MAX_COMMENT: usize = 240;
/// Maximum length, in bytes, of an expression that is written at each use, instead of once on a
/// line of its own.
const MAX_INLINE_BYTES: usize = 24;
/// Inputs that are left out unless they are linked.
const OMITTED_INPUTS: &[&str] = &["LatentInfo", "WorldContextObject", "__WorldContext", "self"];

/// Functions that are written as operators: the beginning of their names, and the operator.
const OPERATORS: &[(&str, &str)] = &[
    ("Add_", "+"),
    ("Subtract_", "-"),
    ("Multiply_", "*"),
    ("Divide_", "/"),
    ("LessEqual_", "<="),
    ("GreaterEqual_", ">="),
    ("Less_", "<"),
    ("Greater_", ">"),
    ("EqualEqual_", "=="),
    ("NotEqual_", "!="),
    ("BooleanAND", "and"),
    ("BooleanOR", "or"),
];

impl Package<'_> {
    /// The Blueprints of this package and its graphs as pseudo-code; `package` is its name.
    pub fn pseudo_code(&self, package: &str) -> String {
        let mut text = String::new();
        for blueprint in self.blueprints(package) {
            declarations(&blueprint, &mut text);
        }
        for graph in self.graphs(package) {
            text.push_str(&graph.pseudo_code());
        }
        text
    }
}

fn declarations(blueprint: &Blueprint, text: &mut String) {
    let Blueprint {
        name,
        class,
        parent,
        interfaces,
        variables,
        components,
        widgets,
        bindings,
        faults,
    } = blueprint;
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        text.write_fmt(arguments).expect("a String takes any text");
        text.push('\n');
    };
    let class = if class == "Blueprint" { String::new() } else { format!(" ({class})") };
    line(format_args!("blueprint {name}{class}: {}", last(parent)));
    for interface in interfaces {
        line(format_args!("  implements {}", last(interface)));
    }
    for (word, list) in [("component", components), ("widget", widgets)] {
        for Component { name, class, parent } in list {
            let preposition = if parent.is_empty() { "" } else { " in " };
            line(format_args!("  {word} {name}: {}{preposition}{parent}", last(class)));
        }
    }
    for fault in faults {
        line(format_args!("  # {fault}"));
    }
    for Binding { widget, property, source } in bindings {
        line(format_args!("  bind {widget}.{property} = {source}"));
    }
    for variable in variables {
        let value = value(&variable.value, &variable.kind);
        let separator = if value.is_empty() { "" } else { " = " };
        line(format_args!("  var {}: {}{separator}{value}", variable.name, variable.kind));
    }
    line(format_args!(""));
}

impl Graph {
    /// This graph as pseudo-code.
    pub fn pseudo_code(&self) -> String {
        let mut writer = Writer::new(self);
        writer.graph();
        writer.text
    }
}

/// Writes one graph.
struct Writer<'g> {
    graph: &'g Graph,
    ids: Vec<String>,
    positions: HashMap<&'g str, usize>,
    /// The number of inputs that use the values of each node.
    uses: Vec<usize>,
    /// The nodes that are written on lines of their own.
    written: HashSet<usize>,
    /// The nodes that are written as a part of a line.
    shown: HashSet<usize>,
    /// The expressions of nodes that are used more than once; `None` for an expression that is not
    /// short.
    short: HashMap<usize, Option<String>>,
    /// Nodes that are named in the text and have to be written on lines of their own.
    named: VecDeque<usize>,
    text: String,
}

impl<'g> Writer<'g> {
    fn new(graph: &'g Graph) -> Self {
        let nodes = &graph.nodes;
        let positions = nodes.iter().enumerate().map(|(at, node)| (node.name.as_str(), at));
        let mut writer = Self {
            graph,
            ids: ids(nodes),
            positions: positions.collect(),
            uses: vec![0; nodes.len()],
            written: HashSet::new(),
            shown: HashSet::new(),
            short: HashMap::new(),
            named: VecDeque::new(),
            text: String::new(),
        };
        for pin in nodes.iter().flat_map(|node| &node.pins).filter(|pin| is_value_input(pin)) {
            for link in &pin.links {
                if let Some(at) = writer.positions.get(link.node.as_str()) {
                    writer.uses[*at] += 1;
                }
            }
        }
        writer
    }

    fn line(&mut self, indent: usize, text: &str) {
        (0..indent).for_each(|_| self.text.push_str("  "));
        match text.char_indices().nth(MAX_LINE) {
            Some((end, _)) => {
                self.text.push_str(&text[..end]);
                self.text.push('…');
            }
            None => self.text.push_str(text.trim_end()),
        }
        self.text.push('\n');
    }

    fn graph(&mut self) {
        let Graph { name, class, role, nodes } = self.graph;
        let role = if role.is_empty() { class.as_str() } else { role };
        self.line(0, &format!("graph {name} ({role})"));
        for node in nodes.iter().filter(|node| is_comment(node)) {
            self.line(1, &format!("# {}", shortened(&node.subject, MAX_COMMENT)));
        }
        let is_start = |node: &Node| {
            let mut inputs = node.pins.iter().filter(|pin| is_exec(pin) && !pin.output);
            has_exec(node) && inputs.all(|pin| pin.links.is_empty())
        };
        let order = |choice: &dyn Fn(&Node) -> bool| -> Vec<usize> {
            let all = nodes.iter().enumerate().filter(|(_, node)| !is_comment(node));
            all.filter(|(_, node)| choice(node)).map(|(at, _)| at).collect()
        };
        // The second pass finds loops, which have no node where execution begins.
        for at in order(&is_start).into_iter().chain(order(&has_exec)) {
            self.block(at, 1, 0);
            self.named_nodes();
        }
        for at in order(&|node| !has_exec(node) && !is_reroute(node)) {
            if self.uses[at] == 0 && !self.written.contains(&at) {
                self.value_node(at);
                self.named_nodes();
            }
        }
        // The values of the remaining nodes are used only by each other, in short expressions, or by reroute nodes that
        // lead nowhere.
        for at in order(&|node| !has_exec(node) && !is_reroute(node)) {
            if !self.written.contains(&at) && !self.shown.contains(&at) {
                self.value_node(at);
                self.named_nodes();
            }
        }
        self.text.push('\n');
    }

    /// Writes the nodes that the text names, until the text names no further nodes.
    fn named_nodes(&mut self) {
        while let Some(at) = self.named.pop_front() {
            if !self.written.contains(&at) {
                if has_exec(&self.graph.nodes[at]) {
                    self.block(at, 1, 0);
                } else {
                    self.value_node(at);
                }
            }
        }
    }

    /// Writes a node that computes values, on a line of its own.
    fn value_node(&mut self, at: usize) {
        self.written.insert(at);
        let text = self.call(at, 0);
        let rest = remarks(&self.graph.nodes[at]);
        self.line(1, &format!("@{} = {text}{rest}", self.ids[at]));
    }

    /// Writes a node that is executed, and the nodes that are executed after it.
    fn block(&mut self, first: usize, indent: usize, depth: usize) {
        let mut next = Some(first);
        while let Some(at) = next.take() {
            let node = &self.graph.nodes[at];
            if !self.written.insert(at) {
                if at != first || depth > 0 {
                    self.line(indent, &format!("goto @{}", self.ids[at]));
                }
                return;
            }
            let text = self.statement(at);
            let mut rest = remarks(node);
            let mut inputs = node.pins.iter().filter(|pin| is_exec(pin) && !pin.output).peekable();
            if inputs.peek().is_some() && inputs.all(|pin| pin.links.is_empty()) {
                rest.insert_str(0, " (never executed)");
            }
            self.line(indent, &format!("@{} {text}{rest}", self.ids[at]));
            let outputs: Vec<&NodePin> =
                node.pins.iter().filter(|pin| is_exec(pin) && pin.output).collect();
            let is_branch = node.class == "K2Node_IfThenElse";
            let is_next = |pin: &NodePin| {
                outputs.len() == 1
                    || !is_branch
                        && ["then", "Completed"].iter().any(|n| pin.name.eq_ignore_ascii_case(n))
            };
            for pin in outputs.iter().filter(|pin| !pin.links.is_empty() && !is_next(pin)) {
                self.line(indent, &format!("{}:", pin.name));
                for target in self.targets(pin) {
                    if depth >= MAX_BLOCKS {
                        self.line(indent + 1, &format!("goto @{}", self.ids[target]));
                        self.named.push_back(target);
                    } else {
                        self.block(target, indent + 1, depth + 1);
                    }
                }
            }
            let mut targets =
                outputs.iter().filter(|pin| is_next(pin)).flat_map(|p| self.targets(p));
            next = targets.next();
            self.named.extend(targets.collect::<Vec<_>>());
        }
    }

    /// The nodes to which an execution output leads. Reroute nodes are replaced by the nodes after
    /// them.
    fn targets(&self, pin: &NodePin) -> Vec<usize> {
        let mut found = Vec::new();
        let mut open: Vec<usize> = self.ends(pin).collect();
        let mut seen = HashSet::new();
        while let Some(at) = open.pop() {
            let node = &self.graph.nodes[at];
            if !seen.insert(at) {
                continue;
            }
            if is_reroute(node) {
                let outputs = node.pins.iter().filter(|pin| pin.output);
                open.extend(outputs.flat_map(|pin| self.ends(pin)));
            } else {
                found.push(at);
            }
        }
        found
    }

    fn ends(&self, pin: &NodePin) -> impl Iterator<Item = usize> {
        pin.links.iter().filter_map(|link| self.positions.get(link.node.as_str()).copied())
    }

    fn statement(&mut self, at: usize) -> String {
        let node = &self.graph.nodes[at];
        if node.class == "K2Node_IfThenElse" {
            let condition = node.pins.iter().find(|pin| is_value_input(pin));
            let condition = condition.map_or_else(String::new, |pin| self.input(pin, 0));
            return format!("if {condition}");
        }
        if node.kind == NodeKind::Set {
            let mut inputs = node.pins.iter().filter(|pin| is_argument(pin));
            if let (Some(pin), None) = (inputs.next(), inputs.next()) {
                return format!("{} = {}", node.subject, self.operand(pin, 0));
            }
        }
        self.call(at, 0)
    }

    /// A node with its input values: `PrintString(InString="Hello")`.
    fn call(&mut self, at: usize, depth: usize) -> String {
        let node = &self.graph.nodes[at];
        let call = node.title.strip_prefix("Call ").filter(|_| node.kind == NodeKind::Call);
        let title = call.unwrap_or(&node.title);
        let arguments: Vec<&NodePin> = node.pins.iter().filter(|pin| is_argument(pin)).collect();
        let inputs: Vec<&NodePin> =
            node.pins.iter().filter(|pin| is_value_input(pin) && is_written(pin)).collect();
        let operator = OPERATORS.iter().find(|(begin, _)| {
            title.starts_with(begin) || begin.strip_suffix('_').is_some_and(|whole| whole == title)
        });
        if let (Some((_, operator)), [left, right]) = (operator, arguments.as_slice()) {
            let (left, right) = (self.operand(left, depth), self.operand(right, depth));
            return format!("({left} {operator} {right})");
        }
        let mut receiver = String::new();
        let mut values = Vec::new();
        for pin in &inputs {
            let value = self.input(pin, depth);
            if pin.name == "self" {
                receiver = format!("{value}.");
            } else if arguments.len() == 1 {
                values.push(value);
            } else {
                values.push(format!("{}={value}", member(&pin.name)));
            }
        }
        if values.is_empty() && (has_exec(node) || node.kind == NodeKind::Get) {
            return format!("{receiver}{title}");
        }
        format!("{receiver}{title}({})", values.join(", "))
    }

    /// The expression of an input; `default` if nothing is linked and no value is stored.
    fn operand(&mut self, pin: &NodePin, depth: usize) -> String {
        let value = self.input(pin, depth);
        if value.is_empty() { "default".to_owned() } else { value }
    }

    /// The expression of an input: the linked values, or else the input's own value.
    fn input(&mut self, pin: &NodePin, depth: usize) -> String {
        let mut texts = Vec::new();
        for link in &pin.links {
            texts.push(match self.positions.get(link.node.as_str()) {
                Some(at) => self.output(*at, &link.pin, depth),
                None => link.node.clone(),
            });
        }
        if texts.is_empty() { value(&pin.value, &pin.kind) } else { texts.join(" | ") }
    }

    /// The expression of an output.
    fn output(&mut self, mut at: usize, pin: &str, depth: usize) -> String {
        let mut pin = pin.to_owned();
        // A reroute node passes on the value of its input, so the node before it counts.
        for _ in 0..self.graph.nodes.len() {
            let node = &self.graph.nodes[at];
            let source = node.pins.iter().find(|pin| !pin.output).and_then(|pin| pin.links.first());
            let before = source.and_then(|link| self.positions.get(link.node.as_str()));
            let (true, Some(link), Some(before)) = (is_reroute(node), source, before) else {
                break;
            };
            (at, pin) = (*before, link.pin.clone());
        }
        let node = &self.graph.nodes[at];
        let values = node.pins.iter().filter(|pin| pin.output && !is_exec(pin) && !pin.hidden);
        let part = if has_exec(node) || values.count() > 1 {
            format!(".{}", member(&pin))
        } else {
            String::new()
        };
        let id = format!("@{}", self.ids[at]);
        if has_exec(node) || self.written.contains(&at) {
            return format!("{id}{part}");
        }
        if node.kind == NodeKind::Get
            && node.pins.iter().all(|pin| !is_value_input(pin) || !is_written(pin))
        {
            self.shown.insert(at);
            // If the pin is a member of a structure, the member is appended. Otherwise the pin has
            // the name of the variable.
            return match part.split_once('.').and_then(|(_, pin)| pin.split_once('.')) {
                Some((_, member)) => format!("{}.{member}", node.subject),
                None => node.subject.clone(),
            };
        }
        if depth >= MAX_DEPTH {
            self.named.push_back(at);
            return format!("{id}{part}");
        }
        if self.uses[at] < 2 {
            self.shown.insert(at);
            return format!("{}{part}", self.call(at, depth + 1));
        }
        if !self.short.contains_key(&at) {
            // The node may use itself, so it counts as not short until its expression is known.
            self.short.insert(at, None);
            let waiting = self.named.len();
            let text = self.call(at, MAX_DEPTH);
            self.named.truncate(waiting);
            self.short.insert(at, (text.len() <= MAX_INLINE_BYTES).then_some(text));
        }
        if let Some(Some(text)) = self.short.get(&at) {
            self.shown.insert(at);
            return format!("{text}{part}");
        }
        self.named.push_back(at);
        format!("{id}{part}")
    }
}

/// The comment, the state and the fault of a node.
fn remarks(node: &Node) -> String {
    let mut text = String::new();
    if !node.state.is_empty() {
        text = format!(" ({})", node.state);
    }
    if !node.comment.is_empty() {
        text = format!("{text}  # {}", shortened(&node.comment, MAX_COMMENT));
    }
    if let Some(fault) = &node.fault {
        text = format!("{text}  # not all pins could be read: {fault}");
    }
    text
}

fn is_exec(pin: &NodePin) -> bool {
    pin.kind.starts_with("exec")
}

fn is_value_input(pin: &NodePin) -> bool {
    !pin.output && !is_exec(pin)
}

/// Whether an input is an argument: it is linked, or neither hidden nor omitted.
fn is_argument(pin: &NodePin) -> bool {
    let is_seen = !pin.hidden && !OMITTED_INPUTS.contains(&pin.name.as_str());
    is_value_input(pin) && (is_seen || !pin.links.is_empty())
}

/// Whether an input is written: it is linked, or it is neither hidden nor omitted and has a value
/// that is not the node's own default.
fn is_written(pin: &NodePin) -> bool {
    let is_value = !pin.hidden && !pin.is_default && !OMITTED_INPUTS.contains(&pin.name.as_str());
    !pin.links.is_empty() || is_value && !value(&pin.value, &pin.kind).is_empty()
}

fn has_exec(node: &Node) -> bool {
    !is_reroute(node) && node.pins.iter().any(is_exec)
}

fn is_comment(node: &Node) -> bool {
    node.kind == NodeKind::Comment
}

fn is_reroute(node: &Node) -> bool {
    node.kind == NodeKind::Reroute
}
