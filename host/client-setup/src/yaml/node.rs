//! The nodes of a YAML file, with their places in its text.

use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Value, json};

use crate::text::Unparsable;

/// Maximum depth of nodes.
const MAX_DEPTH: usize = 128;

/// One node. Its range ends with its last character that is neither white space nor a comment, or, if that character is
/// in a block scalar (`|` or `>`), at the end of the last line of this scalar, before the line break.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// The text, and whether it is a plain scalar: neither in quotes nor a block scalar.
    Scalar(String, bool),
    /// The pairs, and whether they are in braces.
    Map(Vec<(Node, Node)>, bool),
    /// The items, and whether they are in brackets.
    List(Vec<Node>, bool),
    /// A reference to another node, by number.
    Alias(usize),
}

impl Node {
    /// The node of a key in this mapping, and the node of its value.
    pub(super) fn pair(&self, key: &str) -> Option<&(Node, Node)> {
        let Kind::Map(pairs, _) = &self.kind else { return None };
        pairs.iter().find(|(name, _)| name.is_text(key))
    }

    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.pair(key).map(|(_, value)| value)
    }

    pub(super) fn is_text(&self, expected: &str) -> bool {
        matches!(&self.kind, Kind::Scalar(text, _) if text == expected)
    }

    /// Whether the node is empty, `~` or `null`.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(text, true) if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// The node as JSON. Plain scalars become texts, except `true`, `false`, `null`, `~`, decimal integers and an empty
    /// scalar. Numbers with a fraction can stay texts, because they are only compared.
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(_, true) if self.is_nothing() => Value::Null,
            Kind::Scalar(text, true) => match text.as_str() {
                "true" => json!(true),
                "false" => json!(false),
                text => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
            },
            Kind::Scalar(text, false) => json!(text),
            Kind::Map(pairs, _) => {
                let name = |key: &Node| match &key.kind {
                    Kind::Scalar(text, _) => text.clone(),
                    Kind::Map(..) | Kind::List(..) | Kind::Alias(_) => key.value().to_string(),
                };
                let pairs = pairs.iter().map(|(key, value)| (name(key), value.value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            Kind::List(items, _) => Value::Array(items.iter().map(Node::value).collect()),
            Kind::Alias(number) => json!(format!("*{number}")),
        }
    }
}

/// Parses a text with at most one document. `None`: there is no document.
pub(super) fn parse(text: &str) -> Result<Option<Node>, Unparsable> {
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let events = Parser::new_from_str(text);
    let mut reader = Reader { text, offsets, events, before: 0, end: 0 };
    let mut found = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(found),
            (Event::DocumentStart(_), span) if found.is_some() => {
                return Err(unparsable(&span.start, "the file has a second document"));
            }
            (
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing,
                _,
            ) => {}
            (event, span) => found = Some(reader.node(event, span, 0)?),
        }
    }
}

fn unparsable(at: &Marker, reason: &str) -> Unparsable {
    Unparsable { line: at.line(), column: at.col() + 1, reason: reason.to_owned() }
}

/// The offset of the indicator of the block scalar (`|` or `>`) that is the next node after `from`. Before the
/// indicator there can be `:`, `-`, `?`, a tag, an anchor, and comments. `None`: there is no indicator.
fn indicator(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        let word = rest.trim_start();
        at += rest.len() - word.len();
        let end = match word.chars().next()? {
            '|' | '>' => return Some(at),
            '#' => word.find('\n'),
            _ => word.find(char::is_whitespace),
        };
        at += end?;
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The offset in bytes of each character, and of the end of the text.
    offsets: Vec<usize>,
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// The end of the event before the last event.
    before: usize,
    /// The end of the last event.
    end: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Unparsable> {
        let end =
            || Unparsable { line: 1, column: 1, reason: "the file ends too early".to_owned() };
        let next = self.events.next().ok_or_else(end)?;
        let (event, span) =
            next.map_err(|error: ScanError| unparsable(error.marker(), error.info()))?;
        (self.before, self.end) = (self.end, self.offset(&span.end));
        Ok((event, span))
    }

    fn offset(&self, at: &Marker) -> usize {
        self.offsets.get(at.index()).copied().unwrap_or(self.text.len())
    }

    /// Whether a collection begins with its bracket.
    fn is_flow(&self, span: &Span) -> bool {
        let start = self.offset(&span.start);
        self.text.get(start..).is_some_and(|rest| rest.starts_with(['{', '[']))
            && self.offset(&span.end) > start
    }

    /// The offset at which a collection ends. The parser's span of a bracket also covers the comment after the bracket.
    fn collection_end(&self, span: &Span) -> usize {
        let start = self.offset(&span.start);
        let is_bracket = self.text.get(start..).is_some_and(|rest| rest.starts_with(['}', ']']));
        if is_bracket { start + 1 } else { self.offset(&span.end) }
    }

    /// The range of the block scalar that was read last: from its indicator to the end of its last line, before the
    /// line break. Blank lines at the end belong to the scalar only if the indicator keeps them (`|+`). The parser's
    /// span begins with the tag, the anchor or the content, and ends where the next token or comment begins. `None`:
    /// no indicator was found.
    fn block_scalar(&self, span: &Span) -> Option<Range<usize>> {
        let (start, end) = (self.offset(&span.start), self.offset(&span.end));
        let start_of_scalar = indicator(self.text, self.before).filter(|at| *at < end)?;
        let header = self.text.get(start_of_scalar..)?;
        let is_header = |letter: char| "|>+-".contains(letter) || letter.is_ascii_digit();
        let header = header.split(|letter| !is_header(letter)).next()?;
        let keeps = header.contains('+');
        let mut last = start_of_scalar + header.len();
        let mut at = self.text.get(last..end)?.find('\n').map_or(end, |found| last + found + 1);
        let first = self.text.get(at..end)?.lines().find(|line| !line.trim().is_empty());
        // `None`: there is no content.
        let indent = match first {
            _ if start > start_of_scalar && start < end => Some(span.start.col()),
            first => first.map(|line| line.len() - line.trim_start_matches(' ').len()),
        };
        while at < end {
            let line = self.text.get(at..end)?.split_inclusive('\n').next()?;
            let content = line.trim_end_matches(['\r', '\n']);
            let length = content.chars().count();
            // The last line of the span has no line break. It is the indentation of the next token, or ends the file.
            let belongs = match line.ends_with('\n') {
                true => keeps || indent.is_some_and(|indent| length > indent),
                false => end == self.text.len() && length >= indent.unwrap_or_default().max(1),
            };
            if belongs {
                last = at + content.len();
            }
            at += line.len();
        }
        Some(start_of_scalar..last)
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Unparsable> {
        if depth > MAX_DEPTH {
            return Err(unparsable(&span.start, "nodes are nested too deeply"));
        }
        let (start, end) = (self.offset(&span.start), self.offset(&span.end));
        match event {
            Event::Scalar(text, style, ..) => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let range = is_block.then(|| self.block_scalar(&span)).flatten();
                let end = start + self.text.get(start..end).unwrap_or_default().trim_end().len();
                let kind = Kind::Scalar(text.into_owned(), style == ScalarStyle::Plain);
                Ok(Node { range: range.unwrap_or(start..end), kind })
            }
            Event::Alias(number) => Ok(Node { range: start..end, kind: Kind::Alias(number) }),
            Event::SequenceStart(..) => {
                let is_flow = self.is_flow(&span);
                let mut items = Vec::new();
                let closed = loop {
                    match self.next()? {
                        (Event::SequenceEnd, span) => break self.collection_end(&span),
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                };
                let last = items.last().map_or(end, |item: &Node| item.range.end);
                let end = if is_flow { closed } else { last };
                Ok(Node { range: start..end, kind: Kind::List(items, is_flow) })
            }
            Event::MappingStart(..) => {
                let is_flow = self.is_flow(&span);
                let mut pairs: Vec<(Node, Node)> = Vec::new();
                let closed = loop {
                    match self.next()? {
                        (Event::MappingEnd, span) => break self.collection_end(&span),
                        (event, span) => {
                            let key = self.node(event, span, depth + 1)?;
                            let (event, span) = self.next()?;
                            let mut value = self.node(event, span, depth + 1)?;
                            if value.is_nothing() && value.range.is_empty() {
                                // The parser reports the place of the next token for a value that is missing in the
                                // text.
                                value.range = key.range.end..key.range.end;
                            }
                            pairs.push((key, value));
                        }
                    }
                };
                let last = pairs.last().map_or(end, |(_, value)| value.range.end);
                let first = pairs.first().map_or(start, |(key, _)| key.range.start);
                let range = if is_flow { start..closed } else { first..last };
                Ok(Node { range, kind: Kind::Map(pairs, is_flow) })
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => Err(unparsable(&span.start, "the file ends too early")),
        }
    }
}
