//! The host's side of `wasi:filesystem`: checks paths, asks for permits and takes from the quota. Then wasmtime-wasi
//! does the operation on the handle. Files and directories are opened by `portcullis_roots::Guard`, not by
//! wasmtime-wasi.

use portcullis_roots::{OpenHow, Opened};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{
    Descriptor, Dir as DirDescriptor, File as FileDescriptor, FsPerms, OpenMode,
};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream,
    ErrorCode, Filesize, Host, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::Access;
use super::view::{ALLOW_BLOCKING, FilesView, ReachedEntry, perms};

/// A guest's handle of a file or directory.
type Fd = Resource<Descriptor>;

/// Whether a link at the end of a path is followed.
fn follows(flags: PathFlags) -> bool {
    flags.contains(PathFlags::SYMLINK_FOLLOW)
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        self.files.are_directories_known = true;
        let mut directories = Vec::with_capacity(self.files.preopens.len());
        for index in 0..self.files.preopens.len() {
            let (handle, node) = &self.files.preopens[index];
            let (handle, node) = (handle.try_clone()?, node.clone());
            let name = portcullis_roots::guest_path(&node.path);
            let perms = perms(node.reach.widest());
            let dir = DirDescriptor::new(handle, perms, OpenMode::READ, ALLOW_BLOCKING);
            let fd = self.table.push(Descriptor::Dir(dir))?;
            self.files.nodes.insert(fd.rep(), node);
            directories.push((fd, name));
        }
        Ok(directories)
    }
}

impl Host for FilesView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.wasi().convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.wasi().filesystem_error_code(error)
    }
}

impl HostDescriptor for FilesView<'_> {
    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let syncs = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if flags.intersects(syncs) {
            return Err(ErrorCode::Unsupported.into());
        }
        let how = OpenHow {
            create: open_flags.contains(OpenFlags::CREATE),
            exclusive: open_flags.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE),
            truncate: open_flags.contains(OpenFlags::TRUNCATE),
            write: flags.contains(DescriptorFlags::WRITE)
                || open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE),
            nofollow: !path_flags.contains(PathFlags::SYMLINK_FOLLOW),
        };
        let only_directory = open_flags.contains(OpenFlags::DIRECTORY);
        if only_directory && (how.create || how.truncate) {
            return Err(ErrorCode::Invalid.into());
        }
        let target = self.target(&fd, &path)?;
        let access = if how.write { Access::Write } else { Access::Read };
        let permit = self.ask(&target, access)?;
        let (opened, guard) = self.open(permit, &fd, path, &target, how, only_directory).await?;
        let node = target.node(self.node(&fd)?, guard);
        let perms = perms(node.reach.widest());
        let descriptor = match opened {
            Opened::File(file) => {
                let mode =
                    if how.write { OpenMode::READ | OpenMode::WRITE } else { OpenMode::READ };
                Descriptor::File(FileDescriptor::new(file, perms, mode, ALLOW_BLOCKING))
            }
            Opened::Directory(dir) => {
                Descriptor::Dir(DirDescriptor::new(dir, perms, OpenMode::READ, ALLOW_BLOCKING))
            }
            Opened::Special => return Err(ErrorCode::NotPermitted.into()),
        };
        self.push(descriptor, node)
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let (target, permit) = self.permitted_target(&fd, &path, Access::Write)?;
        self.make_directory(permit, &fd, path, &target).await
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        let (source, from) = self.permitted_target(&fd, &old, Access::Write)?;
        let (target, to) = match self.permitted_target(&new_fd, &new, Access::Write) {
            Ok(permitted) => permitted,
            Err(error) => return from.record_wasi(Err(error)),
        };
        self.rename((from, &fd, old, &source), (to, &new_fd, new, &target)).await
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let (_, permit) = self.permitted_target(&fd, &path, Access::Write)?;
        self.remove_file(permit, &fd, path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let (_, permit) = self.permitted_target(&fd, &path, Access::Write)?;
        self.remove_directory(permit, &fd, path).await
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let (_, permit) = self.permitted_target(&fd, &path, Access::Write)?;
        let follow = follows(path_flags);
        self.set_times_of(permit, &fd, follow, path, (accessed, modified)).await
    }

    /// Refused, because a later call could leave its directories by a link that an earlier call created.
    async fn symlink_at(&mut self, fd: Fd, _: String, path: String) -> FsResult<()> {
        self.refuse(&fd, &path, "no-links-are-made");
        Err(ErrorCode::NotPermitted.into())
    }

    /// Refused for the same reason as `symlink_at`.
    async fn link_at(
        &mut self,
        _: Fd,
        _: PathFlags,
        _: String,
        fd: Fd,
        path: String,
    ) -> FsResult<()> {
        self.refuse(&fd, &path, "no-links-are-made");
        Err(ErrorCode::NotPermitted.into())
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        self.listable(&fd)?;
        self.blocking().await.read_directory(fd).await
    }

    async fn stat_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let target = self.target_to_inspect(&fd, &path)?;
        if let Some(ReachedEntry::File(file)) = target.reached {
            let file = file.ok_or(ErrorCode::NoEntry)?;
            let descriptor =
                FileDescriptor::new(file, FsPerms::ReadOnly, OpenMode::READ, ALLOW_BLOCKING);
            let fd = self.table.push(Descriptor::File(descriptor))?;
            let stat = self.blocking().await.stat(Resource::new_borrow(fd.rep())).await;
            self.table.delete(fd)?;
            return stat;
        }
        let stat = self.stat_of(&fd, follows(path_flags), path).await;
        self.record_escape(&target, stat)
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let target = self.target_to_inspect(&fd, &path)?;
        if matches!(target.reached, Some(ReachedEntry::File(None))) {
            return Err(ErrorCode::NoEntry.into());
        }
        let hash = self.hash_of(&fd, follows(path_flags), path).await;
        self.record_escape(&target, hash)
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        let target = self.target_to_inspect(&fd, &path)?;
        if !matches!(target.reached, Some(ReachedEntry::Beneath)) {
            // The target is not a link: links to a designated file were followed when the file was designated.
            return Err(ErrorCode::Invalid.into());
        }
        let leads_to = self.link_of(&fd, path).await;
        self.record_escape(&target, leads_to)
    }

    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let quota = &self.files.quota;
        if !quota.allows_size(offset.checked_add(bytes.len() as u64)) {
            return Err(ErrorCode::FileTooLarge.into());
        }
        if !quota.take_bytes(bytes.len() as u64) {
            return Err(ErrorCode::Quota.into());
        }
        self.blocking().await.write(fd, bytes, offset).await
    }

    async fn set_times(
        &mut self,
        fd: Fd,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        // The system sets the times of any open file or directory, even if it was opened for reading only. Therefore
        // the judge is asked for a write, unless the descriptor was opened for writing.
        let is_open_for_writing = match self.table.get(&fd)? {
            Descriptor::File(file) => file.open_mode.contains(OpenMode::WRITE),
            Descriptor::Dir(_) => false,
        };
        if is_open_for_writing {
            return self.blocking().await.set_times(fd, accessed, modified).await;
        }
        let permit = self.ask_for_open_entry(&fd, Access::Write)?;
        permit.record_wasi(self.blocking().await.set_times(fd, accessed, modified).await)
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        if self.node(&fd)?.reach.widest() == Access::Read {
            return Err(ErrorCode::ReadOnly.into());
        }
        if !self.files.quota.allows_size(Some(size)) {
            return Err(ErrorCode::FileTooLarge.into());
        }
        // A sparse file counts with its whole size.
        if !self.files.quota.take_bytes(size) {
            return Err(ErrorCode::Quota.into());
        }
        self.blocking().await.set_size(fd, size).await
    }

    fn write_via_stream(
        &mut self,
        fd: Fd,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.wasi().write_via_stream(fd, offset)?;
        self.meter(stream, offset)
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        let size = match self.table.get(&fd)? {
            Descriptor::File(file) => file.file.metadata().map_or(0, |metadata| metadata.len()),
            Descriptor::Dir(_) => return Err(ErrorCode::BadDescriptor.into()),
        };
        let stream = self.wasi().append_via_stream(fd)?;
        self.meter(stream, size)
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        self.files.nodes.remove(&fd.rep());
        HostDescriptor::drop(&mut self.wasi(), fd)
    }

    // The following operations change nothing and need no permit. The judge was asked when the descriptor was opened,
    // except for preopened directories.

    async fn advise(
        &mut self,
        fd: Fd,
        offset: Filesize,
        len: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        self.blocking().await.advise(fd, offset, len, advice).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.blocking().await.sync_data(fd).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.blocking().await.sync(fd).await
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        self.blocking().await.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        self.blocking().await.get_type(fd).await
    }

    async fn read(&mut self, fd: Fd, len: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        self.blocking().await.read(fd, len, offset).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        self.blocking().await.stat(fd).await
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.wasi().read_via_stream(fd, offset)
    }

    async fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        self.blocking().await.is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        self.blocking().await.metadata_hash(fd).await
    }
}

impl HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        self.blocking().await.read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        HostDirectoryEntryStream::drop(&mut self.wasi(), stream)
    }
}
