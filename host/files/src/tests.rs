//! A guest's own calls: what is asked, what is done, and what is neither.

use std::fs;
use std::sync::Mutex;

use portcullis_roots::{Designated, Reach as Designation};
use wasmtime::component::Resource;
use wasmtime_wasi::ResourceTable;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};

use super::*;

type Fd = Resource<Descriptor>;

/// Allows what may be reached, and remembers what it was asked.
#[derive(Clone, Default)]
struct Remembers(Arc<Mutex<Vec<String>>>);

impl Judge for Remembers {
    fn allows(&self, wanted: &FileUse) -> bool {
        let allowed = wanted.access <= wanted.opened_for;
        if !allowed {
            self.say(wanted, "denied");
        }
        allowed
    }

    fn begins(&self, wanted: &FileUse) -> bool {
        self.say(wanted, "begun");
        true
    }

    fn ends(&self, wanted: &FileUse, begun: bool, came: Came) -> bool {
        match (begun, came) {
            (true, Came::Done) => {}
            (_, came) => self.say(wanted, &format!("{came:?}")),
        }
        true
    }
}

impl Remembers {
    fn say(&self, FileUse { path, access, origin, .. }: &FileUse, what: &str) {
        let name: String =
            path.file_name().unwrap_or_default().to_string_lossy().chars().take(8).collect();
        self.0.lock().unwrap().push(format!("{access} {name} {origin:?} {what}"));
    }
}

struct Guest {
    folder: tempfile::TempDir,
    files: Files,
    table: ResourceTable,
    asked: Remembers,
}

impl Guest {
    /// A guest with this much of a folder in which `file`, `other` and the directory `inner` are.
    fn new(preopen: impl FnOnce(&Path) -> Preopen, quota: Quota) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "text").unwrap();
        fs::write(folder.path().join("other"), "secret").unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        let asked = Remembers::default();
        let files = Files::new(asked.clone(), vec![preopen(folder.path())], quota);
        Self { folder, files, table: ResourceTable::new(), asked }
    }

    fn view(&mut self) -> FilesView<'_> {
        FilesView::new(&mut self.files, &mut self.table)
    }

    /// The guest's only directory, as a handle for one call.
    fn directory(&mut self) -> Fd {
        let mut directories = self.view().get_directories().unwrap();
        directories.pop().unwrap().0
    }

    async fn open(&mut self, path: &str, how: OpenFlags, flags: DescriptorFlags) -> FsResult<Fd> {
        let directory = self.directory();
        let follow = PathFlags::SYMLINK_FOLLOW;
        self.view().open_at(directory, follow, path.to_owned(), how, flags).await
    }

    async fn make(&mut self, path: &str) -> FsResult<Fd> {
        self.open(path, OpenFlags::CREATE, DescriptorFlags::READ | DescriptorFlags::WRITE).await
    }

    async fn read(&mut self, path: &str) -> FsResult<Vec<u8>> {
        let fd = self.open(path, OpenFlags::empty(), DescriptorFlags::READ).await?;
        Ok(self.view().read(fd, 100, 0).await?.0)
    }
}

fn quota() -> Quota {
    Quota::new(10, 8, 1, 2)
}

fn whole(access: Access) -> impl FnOnce(&Path) -> Preopen {
    move |path| {
        let handle = File::open(path).unwrap();
        Preopen::whole(path.to_owned(), handle, Origin::Root, access)
    }
}

/// Of the folder, `file` alone.
fn one_file(path: &Path) -> Preopen {
    let file = File::open(path.join("file")).unwrap();
    let designated = Designated {
        directory: path.to_owned(),
        handle: File::open(path).unwrap(),
        reach: Designation::File { name: "file".into(), handle: Some(file) },
        write: false,
    };
    Preopen::of_arguments(vec![designated]).remove(0)
}

fn code<T>(result: FsResult<T>) -> ErrorCode {
    match result {
        Ok(_) => panic!("it is refused"),
        Err(error) => error.downcast().expect("a code for the guest"),
    }
}

#[tokio::test]
async fn each_use_is_asked_for_and_then_done() {
    let mut guest = Guest::new(whole(Access::Write), quota());
    assert_eq!(guest.read("file").await.unwrap(), b"text");
    let fd = guest.make("new").await.unwrap();
    assert_eq!(guest.view().write(fd, b"abc".to_vec(), 0).await.unwrap(), 3);
    let directory = guest.directory();
    guest.view().unlink_file_at(directory, "other".into()).await.unwrap();
    assert_eq!(fs::read_to_string(guest.folder.path().join("new")).unwrap(), "abc");
    assert!(!guest.folder.path().join("other").exists());
    let asked = guest.asked.0.lock().unwrap();
    assert_eq!(*asked, ["read file Root Done", "write new Root begun", "write other Root begun"]);
}

#[tokio::test]
async fn what_the_judge_refuses_is_not_done() {
    let mut guest = Guest::new(whole(Access::Read), quota());
    assert_eq!(code(guest.make("new").await), ErrorCode::ReadOnly);
    let directory = guest.directory();
    let removed = guest.view().unlink_file_at(directory, "file".into()).await;
    assert_eq!(code(removed), ErrorCode::ReadOnly);
    assert!(guest.folder.path().join("file").exists() && !guest.folder.path().join("new").exists());
}

#[tokio::test]
async fn a_single_entry_opens_nothing_beside_it() {
    let mut guest = Guest::new(one_file, quota());
    assert_eq!(guest.read("file").await.unwrap(), b"text");
    // The judge would allow each of these.
    for path in ["other", "inner", "./other", "inner/../other", "file/../other"] {
        assert_eq!(code(guest.read(path).await), ErrorCode::NotPermitted, "{path}");
    }
    let directory = guest.directory();
    assert_eq!(code(guest.view().read_directory(directory).await), ErrorCode::NotPermitted);
    let asked = guest.asked.0.lock().unwrap();
    let (first, rest) = asked.split_first().unwrap();
    assert_eq!(first, "read file Argument Done");
    assert_eq!(rest.len(), 6);
    let refused = |asked: &String| asked.ends_with("Beside Refused(\"not-permitted\")");
    assert!(rest.iter().all(refused), "{rest:?}");
}

#[tokio::test]
async fn what_leads_out_is_not_followed_and_links_are_not_made() {
    let mut guest = Guest::new(whole(Access::Write), quota());
    for path in ["..", "../x", "inner/../../x"] {
        assert!(guest.read(path).await.is_err(), "{path}");
    }
    let directory = guest.directory();
    let linked = guest.view().symlink_at(directory, "other".into(), "link".into()).await;
    assert_eq!(code(linked), ErrorCode::NotPermitted);
    assert!(!guest.folder.path().join("link").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn what_fails_is_not_on_record_as_done() {
    let mut guest = Guest::new(whole(Access::Write), quota());
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), guest.folder.path().join("out")).unwrap();
    let long = "n".repeat(300);
    for path in [
        "missing",
        "file/x",
        "out/x",
        "inner/../../file",
        "../file",
        "/etc/passwd",
        "a\0b",
        long.as_str(),
    ] {
        assert!(guest.read(path).await.is_err(), "{path}");
    }
    let directory = guest.directory();
    assert!(guest.view().unlink_file_at(directory, "missing".into()).await.is_err());
    let directory = guest.directory();
    let flags = PathFlags::SYMLINK_FOLLOW;
    assert!(guest.view().stat_at(directory, flags, "out/x".into()).await.is_err());
    let directory = guest.directory();
    assert!(guest.view().symlink_at(directory, "file".into(), "link".into()).await.is_err());
    assert_eq!(
        *guest.asked.0.lock().unwrap(),
        [
            "read missing Root Failed(\"no-entry\")",
            "read x Root Failed(\"not-directory\")",
            "read x Root Refused(\"leads-out\")",
            "read file Root Refused(\"leads-out\")",
            "read file Root Refused(\"leads-out\")",
            "read passwd Root Refused(\"leads-out\")",
            "read a\0b Root Refused(\"malformed\")",
            "read nnnnnnnn Root Refused(\"name-too-long\")",
            "write missing Root begun",
            "write missing Root Failed(\"no-entry\")",
            "read x Root Refused(\"not-permitted\")",
            "write link Root Refused(\"no-links-are-made\")",
        ]
    );
}

#[tokio::test]
async fn what_is_made_and_written_is_counted() {
    let mut guest = Guest::new(whole(Access::Write), quota());
    let fd = guest.make("new").await.unwrap();
    let this = || Fd::new_borrow(fd.rep());
    assert_eq!(code(guest.make("newer").await), ErrorCode::Quota, "one entry may be made");
    assert_eq!(code(guest.view().write(this(), vec![0; 9], 0).await), ErrorCode::FileTooLarge);
    assert_eq!(code(guest.view().set_size(this(), 9).await), ErrorCode::FileTooLarge);
    assert_eq!(guest.view().write(this(), vec![0; 8], 0).await.unwrap(), 8);
    assert_eq!(code(guest.view().write(this(), vec![0; 3], 0).await), ErrorCode::Quota);
    assert!(!guest.folder.path().join("newer").exists());
    let mut guest = Guest::new(whole(Access::Write), quota());
    fs::create_dir_all(guest.folder.path().join("inner/deep")).unwrap();
    assert_eq!(
        code(guest.make("inner/deep/file").await),
        ErrorCode::Quota,
        "two levels are the most"
    );
}
