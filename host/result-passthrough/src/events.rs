//! Unwraps results ([`PassthroughKey`]) in a stream of server-sent events.

use bytes::{Bytes, BytesMut};
use memchr::memmem;

use crate::PassthroughKey;

/// Unwraps results in the messages of one event stream, event by event.
///
/// Events without a wrapped result pass through unchanged. An incomplete event is kept until it is complete. The writer
/// of the stream has to limit the length of events.
#[derive(Debug)]
pub struct Events {
    raw: PassthroughKey,
    /// The incomplete event.
    partial: BytesMut,
}

impl Events {
    /// Begins to unwrap a new stream.
    pub fn new(raw: PassthroughKey) -> Self {
        Self { raw, partial: BytesMut::new() }
    }

    /// Takes bytes of the stream, and returns all events that are complete now.
    pub fn push(&mut self, chunk: Bytes) -> Bytes {
        let all = if self.partial.is_empty() {
            let end = end_of_events(&chunk);
            if end == chunk.len() {
                chunk
            } else {
                self.partial.extend_from_slice(&chunk[end..]);
                chunk.slice(..end)
            }
        } else {
            self.partial.extend_from_slice(&chunk);
            let end = end_of_events(&self.partial);
            self.partial.split_to(end).freeze()
        };
        if self.raw.is_in(&all) { self.rewrite(&all) } else { all }
    }

    /// Ends the stream. Returns the remaining bytes, which are not a complete event.
    pub fn finish(&mut self) -> Bytes {
        self.partial.split().freeze()
    }

    fn rewrite(&self, mut events: &[u8]) -> Bytes {
        let mut written = Vec::with_capacity(events.len());
        while let Some(end) = end_of_event(events) {
            let (event, rest) = events.split_at(end);
            match self.rewritten(event) {
                Some(event) => written.extend(event),
                None => written.extend_from_slice(event),
            }
            events = rest;
        }
        written.into()
    }

    /// The event with the unwrapped result. `None`: the event has no wrapped result.
    fn rewritten(&self, event: &[u8]) -> Option<Vec<u8>> {
        let lines = || {
            event.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        };
        let data: Vec<&[u8]> = lines()
            .filter_map(|line| line.strip_prefix(b"data:"))
            .map(|data| data.strip_prefix(b" ").unwrap_or(data))
            .collect();
        let message = self.raw.unwrap(&data.join(&b'\n'))?;
        let mut written = Vec::with_capacity(message.len() + 64);
        for line in lines().filter(|line| !line.is_empty() && !line.starts_with(b"data:")) {
            written.extend_from_slice(line);
            written.push(b'\n');
        }
        for line in message.split(|byte| *byte == b'\n') {
            written.extend_from_slice(b"data: ");
            written.extend_from_slice(line);
            written.push(b'\n');
        }
        written.push(b'\n');
        Some(written)
    }
}

/// The offset after the empty line of the last complete event. 0: no event is complete.
fn end_of_events(bytes: &[u8]) -> usize {
    let plain = memmem::rfind(bytes, b"\n\n").map_or(0, |at| at + 2);
    let with_return = memmem::rfind(bytes, b"\n\r\n").map_or(0, |at| at + 3);
    plain.max(with_return)
}

/// The offset after the empty line of the first event. `None`: the event is not complete.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let plain = memmem::find(bytes, b"\n\n").map(|at| at + 2);
    let with_return = memmem::find(bytes, b"\n\r\n").map(|at| at + 3);
    plain.into_iter().chain(with_return).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(key: &str) -> String {
        format!(
            ": a comment\n\nid: 0/1\nretry: 3000\ndata: \n\n\
             event: message\nid: 1/1\ndata: {{\"id\":1,\ndata:\"result\":{{\"_meta\":{{\"{key}\":{{\"a\":1}}}}}}}}\n\n\
             data: {{\"method\":\"x\"}}\r\n\r\nid: 2\ndata: {{\"id\":2,\"result\":{{\"_meta\":{{\"{key}\":[]}}}}}}\n\n:\n\ncut off"
        )
    }

    const EXPECTED: &str = ": a comment\n\nid: 0/1\nretry: 3000\ndata: \n\n\
        event: message\nid: 1/1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n\n\
        data: {\"method\":\"x\"}\r\n\r\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":[]}\n\n:\n\ncut off";

    #[test]
    fn events_are_rewritten_however_they_are_cut() {
        let raw = PassthroughKey::new().unwrap();
        let stream = stream(raw.key());
        for size in (1..40).chain([stream.len()]) {
            let mut events = Events::new(raw.clone());
            let mut written = Vec::new();
            for chunk in stream.as_bytes().chunks(size) {
                written.extend(events.push(Bytes::copy_from_slice(chunk)));
            }
            written.extend(events.finish());
            assert_eq!(String::from_utf8(written).unwrap(), EXPECTED, "in pieces of {size}");
        }
    }

    #[test]
    fn a_complete_event_goes_out_at_once_and_as_the_same_bytes() {
        let mut events = Events::new(PassthroughKey::new().unwrap());
        let chunk = Bytes::from_static(b"data: {\"method\":\"x\"}\n\n");
        let passed = events.push(chunk.clone());
        assert_eq!((passed.as_ptr(), passed.len()), (chunk.as_ptr(), chunk.len()));
        assert_eq!(events.push(Bytes::from_static(b"data: 1\n\ndata: 2")), "data: 1\n\n");
        assert_eq!(events.push(Bytes::from_static(b"\n\n")), "data: 2\n\n");
        assert!(events.finish().is_empty());
    }
}
