//! Converts between the types of `wasi:filesystem` in WASI 0.3 and those in WASI 0.2.

use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types as wasi_0_2;
use wasmtime_wasi::p3::bindings::clocks::system_clock::Instant;
use wasmtime_wasi::p3::bindings::filesystem::types as wasi_0_3;
use wasmtime_wasi::p3::filesystem::{FilesystemError, FilesystemResult};

/// Converts a value of an enum, whose cases have the same names in both versions.
macro_rules! same_case {
    ($value:expr, $from:ident, $to:ident, $($case:ident)+ $(; $other:ident => $made:expr)?) => {
        match $value {
            $($from::$case => $to::$case,)+
            $($from::$other => $made,)?
        }
    };
}

/// Converts flags, which have the same names in both versions.
macro_rules! same_flags {
    ($value:expr, $from:ty, $to:ty, $($flag:ident)+) => {{
        let mut converted = <$to>::empty();
        $(if $value.contains(<$from>::$flag) {
            converted |= <$to>::$flag;
        })+
        converted
    }};
}

/// The error of an operation.
pub(super) fn error(error: FsError) -> FilesystemError {
    match error.downcast() {
        Ok(found) => code(found).into(),
        Err(trap) => FilesystemError::trap(trap),
    }
}

/// An error code. WASI 0.3 has no `would-block`, because its operations wait.
pub(super) fn code(code: wasi_0_2::ErrorCode) -> wasi_0_3::ErrorCode {
    use wasi_0_2::ErrorCode as From;
    use wasi_0_3::ErrorCode as To;
    same_case!(code, From, To,
        Access Already BadDescriptor Busy Deadlock Quota Exist FileTooLarge IllegalByteSequence
        InProgress Interrupted Invalid Io IsDirectory Loop TooManyLinks MessageSize NameTooLong
        NoDevice NoEntry NoLock InsufficientMemory InsufficientSpace NotDirectory NotEmpty
        NotRecoverable Unsupported NoTty NoSuchDevice Overflow NotPermitted Pipe ReadOnly
        InvalidSeek TextFileBusy CrossDevice;
        WouldBlock => To::Other(Some("would-block".to_owned())))
}

/// The error code of a failed read or write.
pub(super) fn io_code(error: &std::io::Error) -> wasi_0_3::ErrorCode {
    if error.kind() == std::io::ErrorKind::QuotaExceeded {
        return wasi_0_3::ErrorCode::Quota;
    }
    code(wasi_0_2::ErrorCode::from(error))
}

/// The kind of a file.
pub(super) fn kind(kind: wasi_0_2::DescriptorType) -> wasi_0_3::DescriptorType {
    use wasi_0_2::DescriptorType as From;
    use wasi_0_3::DescriptorType as To;
    same_case!(kind, From, To,
        BlockDevice CharacterDevice Directory Fifo SymbolicLink RegularFile Socket;
        Unknown => To::Other(None))
}

/// How a file will be read.
pub(super) fn advice(advice: wasi_0_3::Advice) -> wasi_0_2::Advice {
    use wasi_0_2::Advice as To;
    use wasi_0_3::Advice as From;
    same_case!(advice, From, To, Normal Sequential Random WillNeed DontNeed NoReuse)
}

/// Whether links are followed.
pub(super) fn path(flags: wasi_0_3::PathFlags) -> wasi_0_2::PathFlags {
    same_flags!(flags, wasi_0_3::PathFlags, wasi_0_2::PathFlags, SYMLINK_FOLLOW)
}

/// How a file is opened.
pub(super) fn open(flags: wasi_0_3::OpenFlags) -> wasi_0_2::OpenFlags {
    same_flags!(flags, wasi_0_3::OpenFlags, wasi_0_2::OpenFlags,
        CREATE DIRECTORY EXCLUSIVE TRUNCATE)
}

/// What a guest wants to do with a file.
pub(super) fn descriptor(flags: wasi_0_3::DescriptorFlags) -> wasi_0_2::DescriptorFlags {
    same_flags!(flags, wasi_0_3::DescriptorFlags, wasi_0_2::DescriptorFlags,
        READ WRITE FILE_INTEGRITY_SYNC DATA_INTEGRITY_SYNC REQUESTED_WRITE_SYNC MUTATE_DIRECTORY)
}

/// What a guest can do with a file.
pub(super) fn flags(flags: wasi_0_2::DescriptorFlags) -> wasi_0_3::DescriptorFlags {
    same_flags!(flags, wasi_0_2::DescriptorFlags, wasi_0_3::DescriptorFlags,
        READ WRITE FILE_INTEGRITY_SYNC DATA_INTEGRITY_SYNC REQUESTED_WRITE_SYNC MUTATE_DIRECTORY)
}

/// An entry of a directory.
pub(super) fn entry(entry: wasi_0_2::DirectoryEntry) -> wasi_0_3::DirectoryEntry {
    wasi_0_3::DirectoryEntry { type_: kind(entry.type_), name: entry.name }
}

/// The metadata of a file.
///
/// # Errors
///
/// A time is too far in the future.
pub(super) fn stat(stat: wasi_0_2::DescriptorStat) -> FilesystemResult<wasi_0_3::DescriptorStat> {
    let instant = |time: Option<Datetime>| -> FilesystemResult<Option<Instant>> {
        let Some(Datetime { seconds, nanoseconds }) = time else { return Ok(None) };
        let seconds = i64::try_from(seconds).map_err(|_| wasi_0_3::ErrorCode::Overflow)?;
        Ok(Some(Instant { seconds, nanoseconds }))
    };
    Ok(wasi_0_3::DescriptorStat {
        type_: kind(stat.type_),
        link_count: stat.link_count,
        size: stat.size,
        data_access_timestamp: instant(stat.data_access_timestamp)?,
        data_modification_timestamp: instant(stat.data_modification_timestamp)?,
        status_change_timestamp: instant(stat.status_change_timestamp)?,
    })
}

/// A time that a guest sets.
///
/// # Errors
///
/// The time is before 1970, which WASI 0.2 cannot express.
pub(super) fn new_time(time: wasi_0_3::NewTimestamp) -> FilesystemResult<wasi_0_2::NewTimestamp> {
    use wasi_0_2::NewTimestamp as To;
    use wasi_0_3::NewTimestamp as From;
    Ok(match time {
        From::NoChange => To::NoChange,
        From::Now => To::Now,
        From::Timestamp(Instant { seconds, nanoseconds }) => {
            let seconds = u64::try_from(seconds).map_err(|_| wasi_0_3::ErrorCode::Overflow)?;
            To::Timestamp(Datetime { seconds, nanoseconds })
        }
    })
}
