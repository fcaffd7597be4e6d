//! Writes Blueprints and graphs as concise Markdown, for people and for models.

use crate::{
    blueprint::Blueprint,
    graph::{Graph, Node, NodePin},
    object::Package,
    widgets::Binding,
};
use std::collections::HashMap;
use std::fmt::Write;

impl Package<'_> {
    /// The Blueprints and all graphs of this package; `package` is its name. At most about
    /// `limit` bytes.
    pub fn markdown(&self, package: &str, limit: usize) -> String {
        let mut out = Out { text: String::new(), limit };
        for blueprint in self.blueprints(package) {
            out.blueprint(&blueprint);
        }
        for graph in self.graphs(package) {
            out.graph(&graph);
        }
        out.ended()
    }
}

impl Graph {
    /// This graph as Markdown, at most about `limit` bytes.
    pub fn markdown(&self, limit: usize) -> String {
        let mut out = Out { text: String::new(), limit };
        out.graph(self);
        out.ended()
    }
}

struct Out {
    text: String,
    limit: usize,
}

impl Out {
    fn is_full(&self) -> bool {
        self.text.len() >= self.limit
    }

    /// The text. If the limit was reached, the last line says so.
    fn ended(mut self) -> String {
        if self.is_full() {
            self.text.push_str("\n… cut here.\n");
        }
        self.text
    }

    fn line(&mut self, arguments: std::fmt::Arguments<'_>) {
        if !self.is_full() {
            self.text.write_fmt(arguments).expect("a String takes any text");
            self.text.push('\n');
        }
    }

    fn blueprint(&mut self, blueprint: &Blueprint) {
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
        self.line(format_args!("# {} ({class})\n", plain(name)));
        if !parent.is_empty() {
            self.line(format_args!("Parent: `{}`\n", code(parent)));
        }
        for interface in interfaces {
            self.line(format_args!("Implements: `{}`\n", code(interface)));
        }
        for (title, within, list) in
            [("Components", "attached to", components), ("Widgets", "in", widgets)]
        {
            if list.is_empty() {
                continue;
            }
            self.line(format_args!("## {title}\n"));
            for component in list {
                let class = component.class.rsplit('.').next().unwrap_or_default();
                let attachment = match component.parent.as_str() {
                    "" => String::new(),
                    parent => format!(", {within} `{}`", code(parent)),
                };
                self.line(format_args!(
                    "- `{}`: {}{attachment}",
                    code(&component.name),
                    plain(class)
                ));
            }
            self.line(format_args!(""));
        }
        for fault in faults {
            self.line(format_args!("({})\n", plain(fault)));
        }
        if !bindings.is_empty() {
            self.line(format_args!("## Bindings\n"));
            for Binding { widget, property, source } in bindings {
                let (widget, property, source) = (code(widget), code(property), code(source));
                self.line(format_args!("- `{widget}.{property}` ← `{source}`"));
            }
            self.line(format_args!(""));
        }
        if !variables.is_empty() {
            self.line(format_args!("## Variables\n"));
            for variable in variables {
                let value = match variable.value.as_str() {
                    "" => String::new(),
                    value => format!(" = `{}`", code(value)),
                };
                let (name, kind) = (code(&variable.name), plain(&variable.kind));
                self.line(format_args!("- `{name}`: {kind}{value}"));
            }
            self.line(format_args!(""));
        }
    }

    fn graph(&mut self, graph: &Graph) {
        let role = if graph.role.is_empty() { &graph.class } else { graph.role };
        self.line(format_args!("## Graph {} ({})\n", plain(&graph.name), plain(role)));
        let numbers: HashMap<&str, usize> =
            graph.nodes.iter().enumerate().map(|(n, node)| (node.name.as_str(), n + 1)).collect();
        for (position, node) in graph.nodes.iter().enumerate() {
            if self.is_full() {
                return;
            }
            self.node(position + 1, node, &numbers);
        }
        self.line(format_args!(""));
    }

    fn node(&mut self, number: usize, node: &Node, numbers: &HashMap<&str, usize>) {
        let comment = match node.comment.as_str() {
            "" => String::new(),
            comment if node.title.ends_with(comment) => String::new(),
            comment => format!(" — “{}”", plain(comment)),
        };
        let state = match node.state.as_str() {
            "" => String::new(),
            state => format!(" ({})", plain(state)),
        };
        self.line(format_args!("{number}. **{}**{state}{comment}", plain(&node.title)));
        for pin in node.pins.iter().filter(|pin| !pin.hidden || !pin.links.is_empty()) {
            self.pin(pin, numbers);
        }
        if let Some(fault) = &node.fault {
            self.line(format_args!("   - (not all pins could be read: {fault})"));
        }
    }

    /// Writes a pin: an input with its source or value, an output with its targets.
    fn pin(&mut self, pin: &NodePin, numbers: &HashMap<&str, usize>) {
        let links: Vec<String> = pin
            .links
            .iter()
            .map(|link| match numbers.get(link.node.as_str()) {
                Some(number) => format!("{number}.`{}`", code(&link.pin)),
                None => format!("`{}`", code(&link.node)),
            })
            .collect();
        let (name, links) = (code(&pin.name), links.join(", "));
        match (pin.output, links.is_empty()) {
            (true, false) => self.line(format_args!("   - `{name}` → {links}")),
            // Execution links are listed at their source.
            (false, false) if pin.kind.starts_with("exec") => {}
            (false, false) => self.line(format_args!("   - `{name}` ← {links}")),
            (false, true) if !pin.value.is_empty() => {
                self.line(format_args!("   - `{name}` = `{}`", code(&pin.value)));
            }
            (_, true) => {}
        }
    }
}

/// Escapes text for Markdown.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '#' | '|' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Text for a code span.
fn code(text: &str) -> String {
    text.replace('`', "'").replace(['\n', '\t'], " ")
}
