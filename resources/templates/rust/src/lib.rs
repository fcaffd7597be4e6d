//! Finds lines in files.

use portcullis_plugin::prelude::*;

/// Finds the lines of a text file that contain a pattern.
#[arguments]
struct FindLines {
    /// Path of the text file.
    #[path(file, read)]
    file: String,
    /// What to look for.
    pattern: Pattern,
}

/// A text in a line.
#[data]
struct Pattern {
    /// The text that a line must contain.
    text: String,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
}

/// The lines that were found.
#[data]
struct Found {
    lines: Vec<Line>,
}

/// A line that was found.
#[data]
struct Line {
    /// The number of the line, from 1.
    number: usize,
    /// The line, without its end.
    text: String,
}

impl Pattern {
    fn matches(&self, line: &str) -> bool {
        if self.ignore_case {
            line.to_lowercase().contains(&self.text.to_lowercase())
        } else {
            line.contains(&self.text)
        }
    }
}

impl Tool for FindLines {
    const NAME: &'static str = "find_lines";
    const HINTS: Hints = Hints::new().read_only(true);
    type Output = Json<Found>;

    fn call(self, _request: &Request) -> Result<Json<Found>, Failure> {
        if self.pattern.text.is_empty() {
            let text = "pattern.text is empty: write the text that a line must contain";
            return Err(Failure::invalid_arguments(text));
        }
        let text = std::fs::read_to_string(&self.file).or_fail(&self.file)?;
        let numbered = text.lines().enumerate();
        let found = numbered.filter(|(_, line)| self.pattern.matches(line));
        let lines = found.map(|(index, line)| Line { number: index + 1, text: line.to_owned() });
        Ok(Json(Found { lines: lines.collect() }))
    }
}

plugin! { name: "{{snake}}", tools: [FindLines] }

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;

    #[test]
    fn lines_are_found_in_any_case() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list.txt");
        std::fs::write(&file, "Water\nbread\nWATERMELON\n").unwrap();
        let pattern = json!({ "text": "water", "ignoreCase": true });
        let arguments = json!({ "file": file, "pattern": pattern });
        let reply = Rehearsal::new().call::<FindLines>(arguments).unwrap();
        assert!(reply.as_text().contains("WATERMELON"), "{}", reply.as_text());
        assert!(!reply.as_text().contains("bread"), "{}", reply.as_text());
    }

    #[test]
    fn an_empty_pattern_is_an_error() {
        let arguments = json!({ "file": "list.txt", "pattern": { "text": "" } });
        assert!(Rehearsal::new().call::<FindLines>(arguments).is_err());
    }
}
