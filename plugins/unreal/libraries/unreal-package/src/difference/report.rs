//! Writes a difference as Markdown: one line for each change, under the place where it is.

use super::{Change, Difference};

impl Difference {
    /// The changes from `offset` on, at most `max_changes`, as Markdown.
    pub fn markdown(&self, offset: usize, max_changes: usize) -> String {
        let mut out = String::new();
        let mut place = None;
        for change in self.changes.iter().skip(offset).take(max_changes) {
            if place != Some(change.place.as_str()) {
                place = Some(&change.place);
                if !change.place.is_empty() {
                    out.push_str(&format!("\n**{}**\n\n", change.place));
                }
            }
            out.push_str(&change.line());
            out.push('\n');
        }
        out.trim_start_matches('\n').to_owned()
    }
}

impl Change {
    /// The change on one line: `+` for an addition, `-` for a removal, `~` for another value.
    pub fn line(&self) -> String {
        let Self { part, name, before, after, .. } = self;
        let what = format!("{} `{name}`", part.word());
        let value = |text: &str| if text.is_empty() { String::new() } else { format!(": {text}") };
        let one_line = |text: &str| text.replace('\n', "\\n");
        match (before.as_deref().map(one_line), after.as_deref().map(one_line)) {
            (Some(before), Some(after)) => format!("- ~ {what}: {before} → {after}"),
            (Some(before), None) => format!("- - {what}{}", value(&before)),
            (None, Some(after)) => format!("- + {what}{}", value(&after)),
            (None, None) => format!("- ~ {what}"),
        }
    }
}
