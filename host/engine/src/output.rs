//! The output of a guest, kept up to a limit. Bytes beyond the limit are dropped and counted. The guest gets no
//! error.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// The receiver of stdout and stderr of one guest. Cheap to clone.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Kept>>);

struct Kept {
    bytes: Vec<u8>,
    limit: usize,
    dropped: u64,
}

impl Output {
    /// Keeps up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(Kept { bytes: Vec::new(), limit, dropped: 0 })))
    }

    /// Keeps these bytes up to the limit, and counts the rest.
    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        let room = kept.limit.saturating_sub(kept.bytes.len()).min(bytes.len());
        kept.bytes.extend_from_slice(&bytes[..room]);
        kept.dropped += (bytes.len() - room) as u64;
    }

    /// Removes and returns the kept output, sanitised for a terminal. Also returns the number of dropped bytes.
    pub fn take(&self) -> (String, u64) {
        let mut kept = self.0.lock();
        let bytes = std::mem::take(&mut kept.bytes);
        (portcullis_sanitize::plain(&String::from_utf8_lossy(&bytes)), kept.dropped)
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

/// The output of guests of WASI 0.3.
impl AsyncWrite for Output {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.keep(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.keep(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 * 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_over_the_limit_is_counted_without_an_error() {
        let mut output = Output::new(4);
        for _ in 0..3 {
            output.write(Bytes::from_static(b"abc")).unwrap();
        }
        assert_eq!(output.take(), ("abca".to_owned(), 5));
    }

    #[tokio::test]
    async fn output_of_wasi_0_3_has_the_same_limit() {
        use tokio::io::AsyncWriteExt as _;
        let output = Output::new(4);
        let mut stream = Box::into_pin(output.async_stream());
        stream.write_all(b"abcabc").await.unwrap();
        assert_eq!(output.take(), ("abca".to_owned(), 2));
    }
}
