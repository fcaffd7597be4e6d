//! Reads lines of limited length. A longer line is read to its end and dropped.

use std::io;

use portcullis_json_bounds::{Outline, Scan};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Maximum length of a line in bytes.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// A line of the input, without its line feed.
pub(crate) enum InputLine {
    /// The line.
    Text(Vec<u8>),
    /// The line has more than [`MAX_LINE`] bytes. The outline has the id of the message, if the id was found.
    TooLong(Box<Outline>),
}

/// The lines of an input.
pub(crate) struct Input<R> {
    from: BufReader<R>,
    /// The beginning of the line that is being read. This text is not part of the reading future, because that
    /// future may be dropped before the end of the line.
    partial: Vec<u8>,
    /// Replaces `partial` for a line that is too long.
    skipped: Option<Scan>,
}

impl<R: AsyncRead + Unpin> Input<R> {
    pub(crate) fn new(from: R) -> Self {
        let from = BufReader::with_capacity(64 * 1024, from);
        Self { from, partial: Vec::new(), skipped: None }
    }

    /// The next line. `None`: the input has ended. A last line without a line feed is incomplete and is dropped. The
    /// future is cancel safe: after it was dropped, the next call continues with the same line.
    pub(crate) async fn next(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            let chunk = self.from.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if let Some(scan) = &mut self.skipped {
                scan.feed(part);
            } else if self.partial.len() + part.len() > MAX_LINE {
                let mut scan = Scan::default();
                scan.feed(&std::mem::take(&mut self.partial));
                scan.feed(part);
                self.skipped = Some(scan);
            } else {
                self.partial.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.from.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.partial);
                return Ok(Some(match self.skipped.take() {
                    Some(scan) => InputLine::TooLong(scan.finish().into()),
                    None => InputLine::Text(line),
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
                    let Some(InputLine::Text(line)) = line.unwrap() else { panic!("a short line") };
                    assert_eq!(line, b"{\"a\":1}");
                    return;
                }
                Err(_) => assert_ne!(piece, "}\n"),
            }
        }
        panic!("the line has ended");
    }
}
