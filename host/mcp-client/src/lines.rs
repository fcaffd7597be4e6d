//! Reads lines of bounded length. A longer line is read to its end and dropped.

use std::io;

use portcullis_json_bounds::Scan;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::message::UnreadMessage;

/// A buffer that grew beyond this size, in bytes, shrinks to it before the next line is read.
const KEPT_BYTES: usize = 1024 * 1024;

/// Lines of an input.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    most: usize,
}

/// A line.
#[derive(Debug, PartialEq)]
pub(crate) enum Line<'a> {
    /// The line, without the line break.
    Text(&'a [u8]),
    /// The line was too long: the part of its message that is known.
    TooLong(UnreadMessage),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `most` bytes.
    pub(crate) fn new(input: R, most: usize) -> Self {
        let input = BufReader::with_capacity(64 * 1024, input);
        Self { input, line: Vec::new(), most }
    }

    /// The next line. `None`: the input has ended.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        let mut skipped: Option<Scan> = None;
        loop {
            let chunk = self.input.fill_buf().await?;
            let ended = chunk.is_empty();
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if let Some(scan) = &mut skipped {
                scan.feed(part);
            } else if self.line.len().saturating_add(part.len()) > self.most {
                let mut scan = Scan::default();
                scan.feed(&self.line);
                scan.feed(part);
                self.line = Vec::new();
                skipped = Some(scan);
            } else {
                self.line.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.input.consume(used);
            if ended && self.line.is_empty() && skipped.is_none() {
                return Ok(None);
            }
            if ended || end.is_some() {
                return Ok(Some(match skipped {
                    Some(scan) => Line::TooLong(UnreadMessage::of(&scan.finish())),
                    None => Line::Text(&self.line),
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_lines_are_skipped_and_those_after_them_read() {
        let long = format!("{{\"result\":\"{}\",\"id\":9}}", "x".repeat(200_000));
        let text = format!("one\n\n{long}\n{long}\nlast");
        let mut lines = Lines::new(text.as_bytes(), 100_000);
        assert_eq!(lines.next().await.unwrap(), Some(Line::Text(b"one")));
        assert_eq!(lines.next().await.unwrap(), Some(Line::Text(b"")));
        let answer = || Some(Line::TooLong(UnreadMessage::Answer(Some(9))));
        assert_eq!(lines.next().await.unwrap(), answer());
        assert_eq!(lines.next().await.unwrap(), answer());
        assert_eq!(lines.next().await.unwrap(), Some(Line::Text(b"last")));
        assert_eq!(lines.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_line_may_be_as_long_as_allowed() {
        let text = format!("{}\n{}\n", "x".repeat(10), "x".repeat(11));
        let mut lines = Lines::new(text.as_bytes(), 10);
        assert!(matches!(lines.next().await.unwrap(), Some(Line::Text(_))));
        assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong(UnreadMessage::Answer(None))));
        assert_eq!(lines.next().await.unwrap(), None);
    }
}
