//! The host's side of `wasi:filesystem` of WASI 0.3. Each operation is done by the host's side of WASI 0.2, so both have
//! the same checks, permits, records and quotas.
//!
//! The host's side of WASI 0.2 waits only to leave the thread that serves clients. [`Files::leave_client_thread`] does
//! this before the guest begins. So each operation ends at once, and borrows the store for its whole time.

mod convert;
mod streams;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasmtime::component::{Access, Accessor, FutureReader, Resource, StreamReader};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::HostDescriptor;
use wasmtime_wasi::p3::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p3::filesystem::{FilesystemError, FilesystemResult};

use super::Files;
use super::view::{FilesData, FilesView};
use convert::{code, entry, error, new_time, stat};
use streams::{Reading, Writing};

/// A guest's handle of a file or directory.
type Fd = Resource<Descriptor>;

/// Tells the guest how a stream ended.
type Ending = FutureReader<Result<(), types::ErrorCode>>;

impl Files {
    /// Leaves the thread that serves clients, if the guest has files. For guests of WASI 0.3, this must be called before
    /// the guest begins.
    pub async fn leave_client_thread(&mut self) {
        // Without a directory, the guest can open no file.
        if !self.preopens.is_empty() && !self.has_left_client_thread {
            self.has_left_client_thread = true;
            tokio::task::yield_now().await;
        }
    }
}

/// The output of a future that is ready when it is polled first.
///
/// # Errors
///
/// The future is not ready: a defect of the host.
fn at_once<F: Future>(future: F) -> wasmtime::Result<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => Err(wasmtime::format_err!("an operation on a file did not end at once")),
    }
}

/// Does one operation of WASI 0.2.
fn done<F: Future<Output = FsResult<T>>, T>(operation: F) -> FilesystemResult<T> {
    at_once(operation).map_err(FilesystemError::trap)?.map_err(error)
}

/// Does one operation of WASI 0.2 with the files of the call.
macro_rules! with_files {
    ($store:ident, |$files:ident| $operation:expr) => {
        $store.with(|mut access| {
            let mut view = access.get();
            let $files = &mut view;
            done($operation)
        })
    };
}

impl types::Host for FilesView<'_> {
    fn convert_error_code(&mut self, error: FilesystemError) -> wasmtime::Result<types::ErrorCode> {
        error.downcast()
    }
}

impl types::HostDescriptor for FilesView<'_> {
    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        HostDescriptor::drop(self, fd)
    }
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        wasmtime_wasi::p2::bindings::filesystem::preopens::Host::get_directories(self)
    }
}

/// A future that is ready: how a stream ended that never began.
fn ended<U>(
    store: &mut Access<'_, U, FilesData>,
    ending: Result<(), types::ErrorCode>,
) -> wasmtime::Result<Ending> {
    FutureReader::new(store, async move { wasmtime::error::Ok(ending) })
}

/// The error code of a failure. A trap is returned as the error.
fn code_of(failure: wasmtime_wasi::p2::FsError) -> wasmtime::Result<types::ErrorCode> {
    failure.downcast().map(code)
}

impl<U> types::HostDescriptorWithStore<U> for FilesData {
    fn read_via_stream(
        mut store: Access<'_, U, Self>,
        fd: Fd,
        offset: types::Filesize,
    ) -> wasmtime::Result<(StreamReader<u8>, Ending)> {
        let mut view = store.get();
        let opened = HostDescriptor::read_via_stream(&mut view, fd, offset);
        match opened.and_then(|stream| Ok(view.table.delete(stream)?)) {
            Ok(stream) => {
                let (reading, ending) = Reading::new(stream);
                Ok((
                    StreamReader::new(&mut store, reading)?,
                    FutureReader::new(&mut store, ending)?,
                ))
            }
            Err(failure) => {
                let code = code_of(failure)?;
                Ok((
                    StreamReader::new(&mut store, Vec::<u8>::new())?,
                    ended(&mut store, Err(code))?,
                ))
            }
        }
    }

    fn write_via_stream(
        mut store: Access<'_, U, Self>,
        fd: Fd,
        data: StreamReader<u8>,
        offset: types::Filesize,
    ) -> wasmtime::Result<Ending> {
        let mut view = store.get();
        let opened = HostDescriptor::write_via_stream(&mut view, fd, offset);
        let opened = opened.and_then(|stream| Ok(view.table.delete(stream)?));
        Writing::begin(store, data, opened)
    }

    fn append_via_stream(
        mut store: Access<'_, U, Self>,
        fd: Fd,
        data: StreamReader<u8>,
    ) -> wasmtime::Result<Ending> {
        let mut view = store.get();
        let opened = HostDescriptor::append_via_stream(&mut view, fd);
        let opened = opened.and_then(|stream| Ok(view.table.delete(stream)?));
        Writing::begin(store, data, opened)
    }

    fn read_directory(
        mut store: Access<'_, U, Self>,
        fd: Fd,
    ) -> wasmtime::Result<(StreamReader<types::DirectoryEntry>, Ending)> {
        let mut view = store.get();
        let listed = at_once(HostDescriptor::read_directory(&mut view, fd))?;
        let (mut entries, mut ending) = (Vec::new(), Ok(()));
        match listed.and_then(|listing| Ok(view.table.delete(listing)?)) {
            Ok(listing) => {
                for found in listing {
                    match found {
                        Ok(found) => entries.push(entry(found)),
                        Err(failure) => {
                            ending = Err(code_of(failure)?);
                            break;
                        }
                    }
                }
            }
            Err(failure) => ending = Err(code_of(failure)?),
        }
        Ok((StreamReader::new(&mut store, entries)?, ended(&mut store, ending)?))
    }

    async fn open_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        path_flags: types::PathFlags,
        path: String,
        open_flags: types::OpenFlags,
        flags: types::DescriptorFlags,
    ) -> FilesystemResult<Fd> {
        let (path_flags, open_flags) = (convert::path(path_flags), convert::open(open_flags));
        let flags = convert::descriptor(flags);
        with_files!(store, |files| files.open_at(fd, path_flags, path, open_flags, flags))
    }

    async fn create_directory_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        path: String,
    ) -> FilesystemResult<()> {
        with_files!(store, |files| files.create_directory_at(fd, path))
    }

    async fn rename_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        old: String,
        new_fd: Fd,
        new: String,
    ) -> FilesystemResult<()> {
        with_files!(store, |files| files.rename_at(fd, old, new_fd, new))
    }

    async fn unlink_file_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        path: String,
    ) -> FilesystemResult<()> {
        with_files!(store, |files| files.unlink_file_at(fd, path))
    }

    async fn remove_directory_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        path: String,
    ) -> FilesystemResult<()> {
        with_files!(store, |files| files.remove_directory_at(fd, path))
    }

    async fn symlink_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        old: String,
        path: String,
    ) -> FilesystemResult<()> {
        with_files!(store, |files| files.symlink_at(fd, old, path))
    }

    async fn link_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        path_flags: types::PathFlags,
        old: String,
        new_fd: Fd,
        path: String,
    ) -> FilesystemResult<()> {
        let flags = convert::path(path_flags);
        with_files!(store, |files| files.link_at(fd, flags, old, new_fd, path))
    }

    async fn readlink_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        path: String,
    ) -> FilesystemResult<String> {
        with_files!(store, |files| files.readlink_at(fd, path))
    }

    async fn stat_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        path_flags: types::PathFlags,
        path: String,
    ) -> FilesystemResult<types::DescriptorStat> {
        let flags = convert::path(path_flags);
        stat(with_files!(store, |files| files.stat_at(fd, flags, path))?)
    }

    async fn metadata_hash_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        path_flags: types::PathFlags,
        path: String,
    ) -> FilesystemResult<types::MetadataHashValue> {
        let flags = convert::path(path_flags);
        let hash = with_files!(store, |files| files.metadata_hash_at(fd, flags, path))?;
        Ok(types::MetadataHashValue { lower: hash.lower, upper: hash.upper })
    }

    async fn set_times_at(
        store: &Accessor<U, Self>,
        fd: Fd,
        path_flags: types::PathFlags,
        path: String,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> FilesystemResult<()> {
        let flags = convert::path(path_flags);
        let (accessed, modified) = (new_time(accessed)?, new_time(modified)?);
        with_files!(store, |files| files.set_times_at(fd, flags, path, accessed, modified))
    }

    async fn set_times(
        store: &Accessor<U, Self>,
        fd: Fd,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> FilesystemResult<()> {
        let (accessed, modified) = (new_time(accessed)?, new_time(modified)?);
        with_files!(store, |files| files.set_times(fd, accessed, modified))
    }

    async fn set_size(
        store: &Accessor<U, Self>,
        fd: Fd,
        size: types::Filesize,
    ) -> FilesystemResult<()> {
        with_files!(store, |files| files.set_size(fd, size))
    }

    async fn advise(
        store: &Accessor<U, Self>,
        fd: Fd,
        offset: types::Filesize,
        length: types::Filesize,
        advice: types::Advice,
    ) -> FilesystemResult<()> {
        let advice = convert::advice(advice);
        with_files!(store, |files| files.advise(fd, offset, length, advice))
    }

    async fn sync_data(store: &Accessor<U, Self>, fd: Fd) -> FilesystemResult<()> {
        with_files!(store, |files| files.sync_data(fd))
    }

    async fn sync(store: &Accessor<U, Self>, fd: Fd) -> FilesystemResult<()> {
        with_files!(store, |files| files.sync(fd))
    }

    async fn get_flags(
        store: &Accessor<U, Self>,
        fd: Fd,
    ) -> FilesystemResult<types::DescriptorFlags> {
        Ok(convert::flags(with_files!(store, |files| files.get_flags(fd))?))
    }

    async fn get_type(
        store: &Accessor<U, Self>,
        fd: Fd,
    ) -> FilesystemResult<types::DescriptorType> {
        Ok(convert::kind(with_files!(store, |files| files.get_type(fd))?))
    }

    async fn stat(store: &Accessor<U, Self>, fd: Fd) -> FilesystemResult<types::DescriptorStat> {
        stat(with_files!(store, |files| HostDescriptor::stat(files, fd))?)
    }

    async fn is_same_object(store: &Accessor<U, Self>, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        store.with(|mut access| {
            let mut view = access.get();
            at_once(view.is_same_object(a, b))?
        })
    }

    async fn metadata_hash(
        store: &Accessor<U, Self>,
        fd: Fd,
    ) -> FilesystemResult<types::MetadataHashValue> {
        let hash = with_files!(store, |files| files.metadata_hash(fd))?;
        Ok(types::MetadataHashValue { lower: hash.lower, upper: hash.upper })
    }
}
