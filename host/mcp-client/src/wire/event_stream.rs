//! Server-sent events of bounded size (WHATWG HTML, section 9.2), read as they arrive.

use std::time::Duration;

use portcullis_json_bounds::Scan;

use crate::message::UnreadMessage;

/// Maximum length of an event id that is kept, in bytes.
const ID_BYTES: usize = 1024;

/// The longest time that a server can demand before the stream is opened again.
const MAX_RETRY: Duration = Duration::from_secs(60);

const DATA: &[u8] = b"data:";

/// An item of a stream.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// An event with its type and data.
    Whole { kind: String, data: Vec<u8> },
    /// An event with too much data: the known part of its message.
    TooLong(UnreadMessage),
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Events {
    most: usize,
    /// The part of the current line that was read.
    line: Vec<u8>,
    /// Whether the last byte was a carriage return. A line feed after it belongs to the same line break.
    after_return: bool,
    data: Vec<u8>,
    kind: String,
    id: Option<String>,
    /// The outline of the current event, if it is too long.
    skipped: Option<Scan>,
    /// The last event id, to resume the stream after an interruption.
    pub(crate) last_id: Option<String>,
    /// How long to wait before the stream is opened again, as the server demands.
    pub(crate) retry: Option<Duration>,
}

impl Events {
    /// A stream whose events have at most `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            line: Vec::new(),
            after_return: false,
            data: Vec::new(),
            kind: String::new(),
            id: None,
            skipped: None,
            last_id: None,
            retry: None,
        }
    }

    /// Reads these bytes. Returns the events that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            self.keep(&bytes[..end.unwrap_or(bytes.len())]);
            let Some(end) = end else { break };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line());
        }
        events
    }

    fn keep(&mut self, part: &[u8]) {
        if self.skipped.is_none()
            && self.line.len() + self.data.len() + part.len() > self.most.saturating_add(DATA.len())
        {
            let mut scan = Scan::default();
            scan.feed(&self.data);
            scan.feed(self.line.strip_prefix(DATA).unwrap_or_default());
            self.line.truncate(DATA.len());
            self.line.shrink_to_fit();
            self.data = Vec::new();
            self.skipped = Some(scan);
        }
        let Some(scan) = &mut self.skipped else {
            self.line.extend_from_slice(part);
            return;
        };
        // Only the beginning of the line is kept. It shows whether the line is a `data` field.
        let missing = DATA.len().saturating_sub(self.line.len()).min(part.len());
        self.line.extend_from_slice(&part[..missing]);
        if self.line == DATA {
            scan.feed(&part[missing..]);
        }
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.end_event();
        }
        if self.skipped.is_some() {
            return None;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match field.strip_prefix(b"\xef\xbb\xbf").unwrap_or(field) {
            b"data" => {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.kind = text(),
            b"id" if value.len() <= ID_BYTES && !value.contains(&0) => self.id = Some(text()),
            b"retry" => {
                let milliseconds = text().parse().ok().map(Duration::from_millis);
                self.retry = milliseconds.map(|retry| retry.min(MAX_RETRY)).or(self.retry);
            }
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let kind = std::mem::take(&mut self.kind);
        let data = std::mem::take(&mut self.data);
        if let Some(id) = self.id.take() {
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        if let Some(scan) = self.skipped.take() {
            return Some(Event::TooLong(UnreadMessage::of(&scan.finish())));
        }
        let kind = if kind.is_empty() { "message".to_owned() } else { kind };
        (!data.is_empty()).then_some(Event::Whole { kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(kind: &str, data: &str) -> Event {
        Event::Whole { kind: kind.into(), data: data.into() }
    }

    #[test]
    fn a_stream_is_the_same_however_it_is_cut() {
        let text = "\u{feff}retry: 1500\r\nid: a\r\ndata: \r\n\r\n: comment\nevent: endpoint\ndata:/x\n\n\
            data: one\ndata: two\r\rdata: {\"id\":5,\"r\":\"12345678901234567890\"\ndata: more}\n\n\
            id: b\ndata: last\n\nretry: soon\ndata: cut off";
        let expected = [
            whole("endpoint", "/x"),
            whole("message", "one\ntwo"),
            Event::TooLong(UnreadMessage::Answer(Some(5))),
            whole("message", "last"),
        ];
        for cut in 0..text.len() {
            let mut events = Events::new(24);
            let mut found = events.feed(&text.as_bytes()[..cut]);
            found.extend(events.feed(&text.as_bytes()[cut..]));
            assert_eq!(found, expected, "cut at {cut}");
            assert_eq!(events.last_id.as_deref(), Some("b"));
            assert_eq!(events.retry, Some(Duration::from_millis(1500)));
        }
    }

    #[test]
    fn nothing_grows_without_bound() {
        let mut events = Events::new(100);
        for _ in 0..1000 {
            assert!(events.feed(b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx").is_empty());
            assert!(events.line.capacity() + events.data.capacity() < 1000);
        }
        assert_eq!(events.feed(b"\n\n"), [Event::TooLong(UnreadMessage::Answer(None))]);
        assert_eq!(events.feed(b"retry: 999999999999\ndata:x\n\n"), [whole("message", "x")]);
        assert_eq!(events.retry, Some(MAX_RETRY));
    }
}
