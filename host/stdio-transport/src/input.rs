//! Reads lines of bounded length. A longer line is read to its end and dropped.

use std::io;

use portcullis_json_bounds::{Outline, Scan};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Longest line that is read, in bytes.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// A line of the input, without the line break.
pub(crate) enum Line {
    /// The whole line.
    Text(Vec<u8>),
    /// The line has more than [`MAX_LINE`] bytes. Only its outline was kept.
    TooLong(Box<Outline>),
}

/// The lines of an input.
pub(crate) struct Input<R> {
    from: BufReader<R>,
    /// The part of the current line that was read. It is kept here because the future that reads may be dropped
    /// before the line ends.
    begun: Vec<u8>,
    /// The outline of the current line, if it is too long.
    skipped: Option<Scan>,
}

impl<R: AsyncRead + Unpin> Input<R> {
    pub(crate) fn new(from: R) -> Self {
        let from = BufReader::with_capacity(64 * 1024, from);
        Self { from, begun: Vec::new(), skipped: None }
    }

    /// The next line. `None`: the input has ended. A last line without a line break was cut off, and is dropped.
    /// The future can be dropped: the next one continues where it stopped.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let chunk = self.from.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if let Some(scan) = &mut self.skipped {
                scan.feed(part);
            } else if self.begun.len() + part.len() > MAX_LINE {
                let mut scan = Scan::default();
                scan.feed(&std::mem::take(&mut self.begun));
                scan.feed(part);
                self.skipped = Some(scan);
            } else {
                self.begun.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.from.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.begun);
                return Ok(Some(match self.skipped.take() {
                    Some(scan) => Line::TooLong(scan.finish().into()),
                    None => Line::Text(line),
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn a_future_that_is_dropped_in_the_middle_of_a_line_loses_nothing() {
        let (near, mut far) = tokio::io::duplex(1024);
        let mut input = Input::new(near);
        for piece in ["{\"a\":", "1", "}\n"] {
            far.write_all(piece.as_bytes()).await.unwrap();
            let read = tokio::time::timeout(Duration::from_millis(20), input.next()).await;
            match read {
                Ok(line) => {
                    let Some(Line::Text(line)) = line.unwrap() else { panic!("it is short") };
                    assert_eq!(line, b"{\"a\":1}");
                    return;
                }
                Err(_) => assert_ne!(piece, "}\n"),
            }
        }
        panic!("the line has ended");
    }
}
