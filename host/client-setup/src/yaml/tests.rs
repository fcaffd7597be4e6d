//! Tests of entries that end with a block scalar or without a value.

use serde_json::{Value, json};

use crate::clients::Format;
use crate::document::Document;
use crate::entry::Keys;

/// Block scalars: from the indicator to the line end of the last line.
const SCALARS: &[&str] = &[
    "|\n      one\n",
    "|-\n      one\n\n      | two # no comment\n",
    ">\n      one\n      > two\n",
    ">- # a comment\n      one\n",
    "|+\n      one\n",
    "|+\n      one\n\n  \n",
    "!!str |2+\n      one\n       \n",
    "&a |\n      one\n         \n",
    "!!str &a |\n",
    "!!str |\n      one\n",
    "|2\n      one\n         \n",
    "|\n\n      one\n",
    "# a | comment\n      |\n      one\n",
    "|\n",
    "|+\n\n",
];

/// What follows the last server.
const RESTS: &[&str] = &[
    "",
    "# a comment\n",
    "  # a comment\n",
    "    # a comment\n  # another\n",
    "after: 2\n",
    "# a comment\nafter: 2\n",
    "  # a comment\n\nafter: 2 # here\n",
    "\nafter: 2\n",
    "  \n  # a comment\nafter: 2\n",
];

/// What follows an entry with another entry after it.
const SERVERS: &[(&str, &str)] = &[
    ("  last:\n    cmd: c\n", "  - name: last\n    cmd: c\n"),
    (
        "  # a comment\n  last:\n    cmd: c\nafter: 2\n",
        "  # a comment\n  - name: last\n    cmd: c\nafter: 2\n",
    ),
];

const MAP: Format = Format::YamlMap("KEY");
const LIST: Format = Format::YamlList("KEY");

fn keys(value: Value) -> Keys {
    value.as_object().cloned().unwrap()
}

/// Whether the blank lines at the beginning of `rest` would belong to the scalar.
fn joins(scalar: &str, rest: &str) -> bool {
    let header = scalar.lines().find(|line| line.contains(['|', '>']) && !line.starts_with('#'));
    header.unwrap().contains('+') && rest.trim_start_matches(' ').starts_with('\n')
}

/// Runs a check for each format, line end, block scalar and rest. The check gets the format, and as texts: what is
/// before the entry `mine`, this entry up to the block scalar, the block scalar, and the rest.
fn each(check: impl Fn(Format, [&str; 4])) {
    let map = ("  first:\n    cmd: a\n", "  mine:\n    cmd: b\n    text: ");
    let list = ("  - name: first\n    cmd: a\n", "  - name: mine\n    cmd: b\n    text: ");
    for (format, (first, entry)) in [(MAP, map), (LIST, list)] {
        let before = format!("before: 1\nKEY:\n{first}");
        let more = SERVERS.iter().map(|(map, list)| if format == MAP { *map } else { *list });
        for rest in RESTS.iter().copied().chain(more) {
            for scalar in SCALARS.iter().filter(|scalar| !joins(scalar, rest)) {
                for end in ["\n", "\r\n"] {
                    let parts = [&before, entry, scalar, rest];
                    let parts = parts.map(|part| part.replace('\n', end));
                    check(format, parts.each_ref().map(String::as_str));
                }
            }
        }
    }
}

/// Lines with the line end of `like`.
fn lines(text: &str, like: &str) -> String {
    text.replace('\n', crate::text::line_end(like))
}

#[test]
fn removing_an_entry_that_ends_with_a_block_scalar_keeps_every_other_byte() {
    each(|format, [before, entry, scalar, rest]| {
        let text = [before, entry, scalar, rest].concat();
        let after = Document::parse(format, &text).unwrap().remove("mine");
        assert_eq!(after, Some(format!("{before}{rest}")), "{text:?}");
    });
}

#[test]
fn an_entry_is_added_after_a_block_scalar() {
    each(|format, [before, entry, scalar, rest]| {
        if rest.contains("last") {
            return;
        }
        let (added, new) = if format == LIST {
            ("  - name: new\n    cmd: d\n", json!({"name": "new", "cmd": "d"}))
        } else {
            ("  new:\n    cmd: d\n", json!({"cmd": "d"}))
        };
        let text = [before, entry, scalar, rest].concat();
        let after = Document::parse(format, &text).unwrap().add("new", &keys(new));
        let expected = [before, entry, scalar, &lines(added, before), rest].concat();
        assert_eq!(after, Some(expected), "{text:?}");
    });
}

#[test]
fn correcting_a_block_scalar_or_a_key_beside_it_keeps_every_other_byte() {
    each(|format, [before, entry, scalar, rest]| {
        let text = [before, entry, scalar, rest].concat();
        let document = Document::parse(format, &text).unwrap();
        let corrected = |key: &str| document.correct("mine", &[(key.to_owned(), json!("new"))]);
        let cmd = entry.replace("cmd: b", "cmd: new");
        assert_eq!(corrected("cmd"), Some([before, &cmd, scalar, rest].concat()), "{text:?}");
        let added = lines("    other: new\n", before);
        let expected = [before, entry, scalar, &added, rest].concat();
        assert_eq!(corrected("other"), Some(expected), "{text:?}");
        // Comments, and what is between the key and the indicator, stay.
        let indicator = match scalar.starts_with('#') {
            true => scalar.rfind('|'),
            false => scalar.find(['|', '>']),
        };
        let kept = scalar.get(..indicator.unwrap()).unwrap();
        let comment = if scalar.contains(" # a comment") { " # a comment" } else { "" };
        let new = lines(&format!("new{comment}\n"), before);
        let expected = [before, entry, kept, &new, rest].concat();
        assert_eq!(corrected("text"), Some(expected), "{text:?}");
    });
}

#[test]
fn a_block_scalar_at_the_end_of_a_file_needs_no_line_end() {
    for scalar in ["|\n      one", "|-\n      one", "|+\n      one", ">\n      one\n      two", "|"]
    {
        let before = "KEY:\n  first:\n    cmd: a\n";
        let entry = "  mine:\n    cmd: b\n    text: ";
        let text = [before, entry, scalar].concat();
        let document = Document::parse(MAP, &text).unwrap();
        assert_eq!(document.remove("mine").as_deref(), Some(before), "{text:?}");
        let expected = format!("{text}\n  new:\n    cmd: d\n");
        assert_eq!(document.add("new", &keys(json!({"cmd": "d"}))), Some(expected), "{text:?}");
        let corrected = document.correct("mine", &[("text".to_owned(), json!("new"))]);
        assert_eq!(corrected, Some([before, entry, "new"].concat()), "{text:?}");
    }
}

#[test]
fn a_list_whose_items_are_block_scalars_is_corrected() {
    let text = "KEY:\n  mine:\n    args:\n      # first\n\
        \x20     - |\n        one\n      - >-\n        two\n  # last\n  other: {}\n";
    let corrected = Document::parse(MAP, text)
        .unwrap()
        .correct("mine", &[("args".to_owned(), json!(["three"]))]);
    let expected =
        "KEY:\n  mine:\n    args:\n      # first\n      - three\n  # last\n  other: {}\n";
    assert_eq!(corrected.as_deref(), Some(expected));
    let removed = Document::parse(MAP, text).unwrap().remove("mine");
    assert_eq!(removed.as_deref(), Some("KEY:\n  # last\n  other: {}\n"));
}

#[test]
fn an_entry_that_ends_with_an_empty_value_keeps_the_next_line() {
    let properties = ["", " # none", " ~", " &a", " !!str", " &a # none", " &a !!str", " \"\""];
    for (key, value) in ["    env:", "    args:\n      -", "    args:\n    -"]
        .into_iter()
        .flat_map(|key| properties.map(|value| (key, value)))
    {
        for rest in
            ["# a comment\nafter: 2\n", "  # a comment\n  last:\n    cmd: c\n", "after: 2\n"]
        {
            let before = "KEY:\n  first:\n    cmd: a\n";
            let text = format!("{before}  mine:\n    cmd: b\n{key}{value}\n{rest}");
            let removed = Document::parse(MAP, &text).unwrap().remove("mine");
            assert_eq!(removed, Some(format!("{before}{rest}")), "{text}");
        }
    }
}
