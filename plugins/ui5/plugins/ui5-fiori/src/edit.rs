//! Writes a manifest with the indentation, the line ends and the byte order mark that it had when it was read.

use crate::app::Manifest;
use serde::Serialize as _;
use serde_json::{Value, ser::PrettyFormatter};

/// The text of changed content, in the format of the manifest.
pub fn text(manifest: &Manifest, content: &Value) -> String {
    let old = &manifest.text;
    let mut bytes = Vec::new();
    let indent = indentation(old);
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    content.serialize(&mut serializer).expect("JSON can be written to memory");
    let mut text = String::from_utf8(bytes).expect("JSON is UTF-8");
    if old.ends_with('\n') {
        text.push('\n');
    }
    if old.contains("\r\n") {
        text = text.replace('\n', "\r\n");
    }
    if manifest.has_mark {
        text.insert(0, '\u{feff}');
    }
    text
}

/// Whether an edit leaves the format of all other parts of the manifest unchanged.
pub fn keeps_format(manifest: &Manifest) -> bool {
    let text = text(manifest, &manifest.content);
    text.trim_start_matches('\u{feff}') == manifest.text
}

/// The indentation of the first indented line; a tab if no line is indented.
fn indentation(text: &str) -> &str {
    let line = text.lines().find(|line| line.starts_with([' ', '\t']));
    line.map_or("\t", |line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(text: &str, has_mark: bool) -> Manifest {
        let content = text.parse().expect("it is JSON");
        Manifest { text: text.to_owned(), has_mark, content }
    }

    #[test]
    fn the_format_is_kept() {
        for (text, has_mark) in [
            ("{\n  \"b\": {\n    \"a\": [\n      1.5\n    ]\n  }\n}", false),
            ("{\n\t\"b\": {}\n}\n", true),
            ("{\r\n    \"b\": []\r\n}\r\n", false),
        ] {
            let manifest = manifest(text, has_mark);
            let written = super::text(&manifest, &manifest.content);
            assert_eq!(written, format!("{}{text}", if has_mark { "\u{feff}" } else { "" }));
            assert!(keeps_format(&manifest));
        }
        assert!(!keeps_format(&manifest("{\"b\": [1, 2]}", false)));
    }
}
