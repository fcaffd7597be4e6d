//! Writes a difference as Markdown: one line for each change, under the place where it is.

use super::{Change, Difference};

impl Difference {
    /// The changes from `offset` on, at most `max_changes`, as Markdown.
    pub fn markdown(&self, offset: usize, max_changes: usize) -> String {
        self.lines(offset, max_changes, Change::line)
    }

    /// The parts of a [`listing`](super::listing) from `offset` on, at most `max_parts`, as Markdown.
    pub fn contents_markdown(&self, offset: usize, max_parts: usize) -> String {
        self.lines(offset, max_parts, |change| format!("- {}", change.addition()))
    }

    fn lines(&self, offset: usize, max_changes: usize, line: fn(&Change) -> String) -> String {
        let mut out = String::new();
        let mut place = "";
        for change in self.changes.iter().skip(offset).take(max_changes) {
            if place != change.place {
                place = &change.place;
                let heading = if place.is_empty() { "Package" } else { place };
                out.push_str(&format!("\n**{heading}**\n\n"));
            }
            out.push_str(&line(change));
            out.push('\n');
        }
        out.trim_start_matches('\n').to_owned()
    }
}

impl Change {
    /// The change on one line: `+` for an addition, `-` for a removal, `~` for another value.
    pub fn line(&self) -> String {
        let Self { before, after, .. } = self;
        let name = self.name();
        match (before.as_deref().map(one_line), after.as_deref().map(one_line)) {
            (Some(before), Some(after)) => format!("- ~ {name}: {before} → {after}"),
            (Some(before), None) => format!("- - {name}{}", value(&before)),
            (None, Some(after)) => format!("- + {name}{}", value(&after)),
            (None, None) => format!("- ~ {name}"),
        }
    }

    /// The thing that was added, on one line.
    fn addition(&self) -> String {
        let after = self.after.as_deref().map(one_line).unwrap_or_default();
        format!("{}{}", self.name(), value(&after))
    }

    /// The kind and the name of the thing.
    fn name(&self) -> String {
        format!("{} `{}`", self.part.word(), self.name)
    }
}

fn value(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}
