//! The output of a connection. Lines that are ready at about the same time are written together.

use std::io;
use std::mem;

use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex as AsyncMutex;

/// The output, and lines that wait for it.
pub(crate) struct Output<W> {
    /// Whole lines, each with its line end.
    waiting: Mutex<Vec<u8>>,
    writer: AsyncMutex<W>,
}

impl<W: AsyncWrite + Unpin> Output<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self { waiting: Mutex::default(), writer: AsyncMutex::new(writer) }
    }

    /// Writes a line after all lines for which this was called earlier. Returns when the line is written, by this task or
    /// together with the line of another one. `more_may_follow`: other answers may be ready soon; tasks that can run
    /// make theirs first.
    ///
    /// # Errors
    ///
    /// The output is closed. If another task wrote the line, only that task gets the error.
    pub(crate) async fn write(&self, line: &[u8], more_may_follow: bool) -> io::Result<()> {
        {
            let mut waiting = self.waiting.lock();
            waiting.extend_from_slice(line);
            waiting.push(b'\n');
        }
        if more_may_follow {
            tokio::task::yield_now().await;
        }
        let mut writer = self.writer.lock().await;
        let lines = mem::take(&mut *self.waiting.lock());
        if lines.is_empty() {
            return Ok(());
        }
        writer.write_all(&lines).await?;
        writer.flush().await
    }

    /// Closes the output.
    ///
    /// # Errors
    ///
    /// The output cannot be closed.
    pub(crate) async fn shut_down(&self) -> io::Result<()> {
        self.writer.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use super::*;

    /// Keeps the bytes of each write.
    #[derive(Clone, Default)]
    struct Writes(Arc<Mutex<Vec<String>>>);

    impl AsyncWrite for Writes {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.0.lock().push(String::from_utf8_lossy(bytes).into_owned());
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// What is written if so many tasks have a line at the same time.
    async fn writes(more_may_follow: bool) -> Vec<String> {
        let writes = Writes::default();
        let output = Arc::new(Output::new(writes.clone()));
        let tasks = (0..4).map(|number| {
            let output = output.clone();
            tokio::spawn(async move {
                output.write(number.to_string().as_bytes(), more_may_follow).await
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap().unwrap();
        }
        writes.0.lock().clone()
    }

    #[tokio::test]
    async fn lines_that_are_ready_together_are_written_together_and_in_their_order() {
        assert_eq!(writes(true).await, ["0\n1\n2\n3\n"]);
    }

    #[tokio::test]
    async fn a_line_that_nothing_follows_is_written_at_once() {
        assert_eq!(writes(false).await, ["0\n", "1\n", "2\n", "3\n"]);
    }
}
