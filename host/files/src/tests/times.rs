//! Tests of changing times by an open descriptor: each change is asked for as a write.

use std::time::SystemTime;

use wasmtime_wasi::p2::bindings::filesystem::types::{Datetime, NewTimestamp};

use super::*;

/// Sets the time of the last change to the epoch, by an open descriptor.
async fn touch(guest: &mut Guest, fd: Fd) -> FsResult<()> {
    let epoch = NewTimestamp::Timestamp(Datetime { seconds: 0, nanoseconds: 0 });
    guest.view().set_times(fd, NewTimestamp::NoChange, epoch).await
}

fn changed(guest: &Guest, path: &str) -> SystemTime {
    fs::metadata(guest.folder.path().join(path)).unwrap().modified().unwrap()
}

#[tokio::test]
async fn times_are_a_write_also_of_what_was_opened_for_reading() {
    let mut guest = Guest::new(whole(Access::Write), quota());
    let (read, inner) = (DescriptorFlags::READ, OpenFlags::DIRECTORY);
    let file = guest.open("file", OpenFlags::empty(), read).await.unwrap();
    touch(&mut guest, file).await.unwrap();
    let inner = guest.open("inner", inner, read).await.unwrap();
    touch(&mut guest, inner).await.unwrap();
    let made = guest.make("made").await.unwrap();
    touch(&mut guest, made).await.unwrap();
    for path in ["file", "inner", "made"] {
        assert_eq!(changed(&guest, path), SystemTime::UNIX_EPOCH, "{path}");
    }
    assert_eq!(
        *guest.asked.0.lock().unwrap(),
        [
            "read file Root Done",
            "write file Root begun",
            "read inner Root Done",
            "write inner Root begun",
            "write made Root begun",
        ]
    );
}

#[tokio::test]
async fn times_of_what_may_only_be_read_stay() {
    let mut guest = Guest::new(whole(Access::Read), quota());
    let directory = guest.directory();
    assert_eq!(code(touch(&mut guest, directory).await), ErrorCode::ReadOnly);
    let file = guest.open("file", OpenFlags::empty(), DescriptorFlags::READ).await.unwrap();
    assert_eq!(code(touch(&mut guest, file).await), ErrorCode::ReadOnly);
    let mut guest = Guest::new(one_file, quota());
    let directory = guest.directory();
    assert_eq!(code(touch(&mut guest, directory).await), ErrorCode::NotPermitted);
    assert_ne!(changed(&guest, ""), SystemTime::UNIX_EPOCH);
}
