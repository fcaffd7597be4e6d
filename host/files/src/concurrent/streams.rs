//! Streams into and out of files, as guests of WASI 0.3 use them.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::oneshot;
use wasmtime::component::{
    Access, Destination, FutureReader, Source, StreamConsumer, StreamProducer, StreamReader,
    StreamResult,
};
use wasmtime::{AsContextMut as _, StoreContextMut};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsResult, StreamError};
use wasmtime_wasi::p3::bindings::filesystem::types::ErrorCode;

use super::super::view::FilesData;
use super::convert::io_code;
use super::{Ending, at_once, code_of};

/// Maximum number of bytes that are read or written at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// How a stream ended, for the guest.
type Ended = Option<oneshot::Sender<Result<(), ErrorCode>>>;

/// Tells the guest how the stream ended. A guest that does not want to know has closed the receiver.
fn end(ended: &mut Ended, how: Result<(), ErrorCode>) {
    if let Some(ended) = ended.take() {
        let _nobody = ended.send(how);
    }
}

/// The error code of a failed stream. A trap is returned as the error.
fn stream_code(error: StreamError) -> wasmtime::Result<ErrorCode> {
    match error {
        StreamError::Closed => Ok(ErrorCode::Io),
        StreamError::LastOperationFailed(error) => {
            Ok(error.downcast_ref::<std::io::Error>().map_or(ErrorCode::Io, io_code))
        }
        StreamError::Trap(trap) => Err(trap),
    }
}

/// Reads a file for a guest.
pub(super) struct Reading {
    stream: DynInputStream,
    ended: Ended,
}

impl Reading {
    /// Reads a stream of WASI 0.2. Also returns how reading ends.
    pub(super) fn new(stream: DynInputStream) -> (Self, oneshot::Receiver<Result<(), ErrorCode>>) {
        let (ended, ending) = oneshot::channel();
        (Self { stream, ended: Some(ended) }, ending)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        end(&mut self.ended, Ok(()));
    }
}

impl<D> StreamProducer<D> for Reading {
    type Item = u8;
    type Buffer = Bytes;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut store: StoreContextMut<'a, D>,
        mut destination: Destination<'a, u8, Bytes>,
        _: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let wanted = destination.remaining(store.as_context_mut()).unwrap_or(CHUNK_BYTES);
        if wanted == 0 {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        let read = at_once(self.stream.blocking_read(wanted.min(CHUNK_BYTES)));
        Poll::Ready(match read {
            Ok(Ok(bytes)) => {
                destination.set_buffer(bytes);
                Ok(StreamResult::Completed)
            }
            Ok(Err(StreamError::Closed)) => {
                end(&mut self.ended, Ok(()));
                Ok(StreamResult::Dropped)
            }
            Ok(Err(error)) => stream_code(error).map(|code| {
                end(&mut self.ended, Err(code));
                StreamResult::Dropped
            }),
            Err(error) => Err(error),
        })
    }
}

/// Writes to a file for a guest.
pub(super) struct Writing {
    stream: DynOutputStream,
    ended: Ended,
}

impl Writing {
    /// Writes the guest's data to a stream of WASI 0.2, if it was opened. Returns how writing ends.
    pub(super) fn begin<U>(
        mut store: Access<'_, U, FilesData>,
        mut data: StreamReader<u8>,
        opened: FsResult<DynOutputStream>,
    ) -> wasmtime::Result<Ending> {
        let (mut ended, ending) = {
            let (ended, ending) = oneshot::channel();
            (Some(ended), ending)
        };
        match opened {
            Ok(stream) => data.pipe(&mut store, Self { stream, ended })?,
            Err(failure) => {
                data.close(&mut store)?;
                end(&mut ended, Err(code_of(failure)?));
            }
        }
        FutureReader::new(&mut store, ending)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        end(&mut self.ended, Ok(()));
    }
}

impl<D> StreamConsumer<D> for Writing {
    type Item = u8;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        store: StoreContextMut<'_, D>,
        source: Source<'_, u8>,
        _: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let mut source = source.as_direct(store);
        let bytes = source.remaining();
        let bytes = Bytes::copy_from_slice(&bytes[..bytes.len().min(CHUNK_BYTES)]);
        if bytes.is_empty() {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        let length = bytes.len();
        let written = at_once(self.stream.blocking_write_and_flush(bytes));
        Poll::Ready(match written {
            Ok(Ok(())) => {
                source.mark_read(length);
                Ok(StreamResult::Completed)
            }
            Ok(Err(error)) => stream_code(error).map(|code| {
                end(&mut self.ended, Err(code));
                StreamResult::Dropped
            }),
            Err(error) => Err(error),
        })
    }
}
