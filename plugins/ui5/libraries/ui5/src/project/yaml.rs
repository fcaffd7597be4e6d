//! Parses YAML into JSON values, and records the position of each value in the file.

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;

/// Maximum number of values in a file, aliases included; far above real configurations.
const MAX_VALUES: usize = 20_000;

/// Maximum depth of nesting.
const DEEPEST: usize = 64;

/// A document in a file.
#[derive(Debug, PartialEq)]
pub struct Document {
    /// The content.
    pub value: Value,
    places: HashMap<String, Place>,
}

/// A position; line and column count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A syntax error in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// The position of the error.
    pub place: Place,
    /// The reason.
    pub reason: String,
}

impl Document {
    /// The position of the key or the item at that JSON Pointer.
    pub fn place(&self, pointer: &str) -> Option<Place> {
        self.places.get(pointer).copied()
    }
}

/// Parses all documents of a file. An empty document is `null`.
pub fn read(text: &str) -> Result<Vec<Document>, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        lines: text.lines().collect(),
        anchors: HashMap::new(),
        places: HashMap::new(),
        pointer: String::new(),
        left: MAX_VALUES,
        depth: 0,
    };
    let mut documents = Vec::new();
    loop {
        let (event, span) = reader.next()?;
        if event == Event::StreamEnd {
            return Ok(documents);
        }
        if matches!(event, Event::DocumentStart(_)) {
            reader.anchors.clear();
            let (event, span) = reader.next()?;
            let value = reader.value(event, &span)?;
            documents.push(Document { value, places: std::mem::take(&mut reader.places) });
        } else if event != Event::StreamStart && event != Event::DocumentEnd {
            return Err(fault(&span, "a document was to begin here"));
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    lines: Vec<&'t str>,
    anchors: HashMap<usize, Value>,
    places: HashMap<String, Place>,
    /// JSON Pointer to the current value.
    pointer: String,
    /// Number of values still allowed.
    left: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Fault> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(Fault {
                place: Place { line: error.marker().line(), column: error.marker().col() + 1 },
                reason: error.info().to_owned(),
            }),
            None => Err(Fault {
                place: Place { line: self.lines.len().max(1), column: 1 },
                reason: "unexpected end".to_owned(),
            }),
        }
    }

    /// The value that begins with the event.
    fn value(&mut self, event: Event<'t>, span: &Span) -> Result<Value, Fault> {
        self.left = self.left.checked_sub(1).ok_or_else(|| fault(span, "too many values"))?;
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (anchor, scalar(&text, style, tag.as_deref()))
            }
            Event::SequenceStart(anchor, _) => (anchor, self.deeper(span, Self::sequence)?),
            Event::MappingStart(anchor, _) => (anchor, self.deeper(span, Self::mapping)?),
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err(fault(span, "a value was to begin here")),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn alias(&mut self, anchor: usize, span: &Span) -> Result<Value, Fault> {
        let value = self.anchors.get(&anchor).ok_or_else(|| fault(span, "unidentified alias"))?;
        self.left = self
            .left
            .checked_sub(count(value))
            .ok_or_else(|| fault(span, "aliases make it too large"))?;
        Ok(value.clone())
    }

    fn deeper(
        &mut self,
        span: &Span,
        read: fn(&mut Self) -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        if self.depth == DEEPEST {
            return Err(fault(span, "nested too deeply"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn sequence(&mut self) -> Result<Value, Fault> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Value::Array(items));
            }
            let place = self.dash_before(place(&span));
            let item =
                self.within(&items.len().to_string(), place, |reader| reader.value(event, &span))?;
            items.push(item);
        }
    }

    fn mapping(&mut self) -> Result<Value, Fault> {
        let mut members = Map::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let key = if let Event::Scalar(text, ..) = event {
                text.into_owned()
            } else {
                self.value(event, &span)?.to_string()
            };
            let (event, value_span) = self.next()?;
            let value =
                self.within(&key, place(&span), |reader| reader.value(event, &value_span))?;
            if key == "<<" && (value.is_object() || value.is_array()) {
                merged.push(value);
            } else if members.insert(key, value).is_some() {
                return Err(fault(&span, "duplicated mapping key"));
            }
        }
        for value in merged {
            merge(&mut members, value);
        }
        Ok(Value::Object(members))
    }

    /// Reads the value of a key or an index, and records its position.
    fn within(
        &mut self,
        key: &str,
        place: Place,
        read: impl FnOnce(&mut Self) -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&escape(key));
        self.places.insert(self.pointer.clone(), place);
        let value = read(self);
        self.pointer.truncate(length);
        value
    }

    /// The position of an item of a list: that of the dash before the item or, without a dash, that of the item.
    fn dash_before(&self, place: Place) -> Place {
        let line = self.lines.get(place.line - 1).copied().unwrap_or_default();
        let before: String = line.chars().take(place.column - 1).collect();
        let trimmed = before.trim_end();
        match trimmed.strip_suffix('-') {
            Some(rest) => Place { column: rest.chars().count() + 1, ..place },
            None => place,
        }
    }
}

/// Escapes a key for a JSON Pointer.
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Adds the members of merged mappings (`<<`) that the mapping lacks.
fn merge(members: &mut Map<String, Value>, value: Value) {
    match value {
        Value::Object(others) => {
            for (key, value) in others {
                members.entry(key).or_insert(value);
            }
        }
        Value::Array(values) => values.into_iter().for_each(|value| merge(members, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The value of a scalar in YAML's core schema: only plain scalars can be other than strings. Some rules differ from
/// the core schema: `.inf` and `.nan` are strings, `0b` begins a number, and `0x` and `0o` may follow a sign.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    if style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str") {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let digits = text.trim_start_matches(['+', '-']);
    if text.len() - digits.len() > 1
        || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        return None;
    }
    let negative = text.starts_with('-');
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            // `from_str_radix` would also accept a sign here: `0x-1f`.
            if digits.starts_with(['+', '-']) {
                return None;
            }
            let value = i64::from_str_radix(digits, radix).ok()?;
            return Some(if negative { -value } else { value }.into());
        }
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte)) {
        return None;
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    match plain.parse::<i64>() {
        Ok(value) => Some(value.into()),
        Err(_) => Number::from_f64(plain.parse().ok()?),
    }
}

fn place(span: &Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

fn fault(span: &Span, reason: &str) -> Fault {
    Fault { place: place(span), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_of_their_types() {
        let text = "a: 1\nb: '1'\nc: [true, ~, 1.5, -2, 0x1F, -0x1f, 0x-1f, 1.2.3, 4.0e, null]\nd:\n  - e: |\n      x\n";
        let documents = read(text).expect("it is YAML");
        assert_eq!(
            documents[0].value,
            json!({
                "a": 1,
                "b": "1",
                "c": [true, null, 1.5, -2, 31, -31, "0x-1f", "1.2.3", "4.0e", null],
                "d": [{ "e": "x\n" }],
            })
        );
        assert_eq!(documents[0].place("/b"), Some(Place { line: 2, column: 1 }));
        assert_eq!(documents[0].place("/d/0"), Some(Place { line: 5, column: 3 }));
        assert_eq!(documents[0].place("/d/0/e"), Some(Place { line: 5, column: 5 }));
        assert_eq!(documents[0].place("/x"), None);
    }

    #[test]
    fn documents_anchors_and_merges() {
        let text =
            "\u{feff}---\nbase: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\nsame: *b\n---\n---\nz: 1\n";
        let documents = read(text).expect("it is YAML");
        let values: Vec<&Value> = documents.iter().map(|document| &document.value).collect();
        assert_eq!(values[0]["use"], json!({ "y": 3, "x": 1 }));
        assert_eq!(values[0]["same"], json!({ "x": 1, "y": 2 }));
        assert_eq!(values[1..], [&Value::Null, &json!({ "z": 1 })]);
        assert_eq!(documents[2].place("/z"), Some(Place { line: 7, column: 1 }));
        assert_eq!(read("").expect("it is empty").len(), 0);
    }

    #[test]
    fn syntax_errors_have_a_position() {
        for (text, line) in [("a: [1\n", 2), ("a: 1\na: 2\n", 2), ("a: *b\n", 1), ("a: b: c\n", 1)]
        {
            let fault = read(text).expect_err(text);
            assert_eq!(fault.place.line, line, "{text}: {fault:?}");
            assert!(!fault.reason.is_empty());
        }
    }

    #[test]
    fn expansion_and_nesting_are_bounded() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = level - 1;
            let aliases = vec![format!("*a{before}"); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        assert!(read(&text).is_err());
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&"- ".repeat(10_000)).is_err());
    }
}
