//! Tests that call `wasi:filesystem` as a guest does, and check the asks, the effects and the refusals.

use std::fs;
use std::sync::Mutex;

use portcullis_roots::{Designated, DesignatedPart};
use wasmtime::component::Resource;
use wasmtime_wasi::ResourceTable;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};

use super::*;

mod times;

type Fd = Resource<Descriptor>;

/// A judge that allows each use that `FileUse::opened_for` allows, and remembers all uses.
#[derive(Clone, Default)]
struct Remembers(Arc<Mutex<Vec<String>>>);

/// A permit that remembers its outcome.
struct Remembered {
    judge: Remembers,
    wanted: FileUse,
}

impl Judge for Remembers {
    fn permit(&self, wanted: FileUse) -> Option<Box<dyn FilePermit>> {
        if wanted.access > wanted.opened_for {
            self.say(&wanted, "denied");
            return None;
        }
        if wanted.access == Access::Write {
            self.say(&wanted, "begun");
        }
        Some(Box::new(Remembered { judge: self.clone(), wanted }))
    }

    fn refuse(&self, wanted: FileUse, why: &'static str) {
        self.say(&wanted, &format!("{:?}", Outcome::Refused(why)));
    }
}

impl FilePermit for Remembered {
    fn record(self: Box<Self>, outcome: Outcome) -> bool {
        if (self.wanted.access, outcome) != (Access::Write, Outcome::Done) {
            self.judge.say(&self.wanted, &format!("{outcome:?}"));
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
    /// A guest with a folder that contains `file`, `other` and the directory `inner`. `preopen` sets the access.
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
        Preopen::whole(path.to_owned(), handle, Guard::default(), Origin::Root, access)
    }
}

/// A preopened folder in which the guest can access only `file`.
fn one_file(path: &Path) -> Preopen {
    let file = File::open(path.join("file")).unwrap();
    let designated = Designated {
        directory: path.to_owned(),
        handle: File::open(path).unwrap(),
        guard: Guard::default(),
        reach: DesignatedPart::File { name: "file".into(), handle: Some(file) },
        write: false,
    };
    Preopen::of_arguments(vec![designated]).remove(0)
}

fn code<T>(result: FsResult<T>) -> ErrorCode {
    match result {
        Ok(_) => panic!("it is not refused"),
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
    // The judge would allow each of these paths.
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

fn change(path: &Path, expected: Expected, contents: &str) -> Change {
    Change { path: path.to_owned(), expected, contents: contents.into() }
}

impl Guest {
    /// Changes files of the folder. Each entry of `files` is the name of a file, what must be there before, and the new
    /// content.
    async fn change(&mut self, files: &[(&str, Expected, &str)]) -> Result<(), ChangeError> {
        let folder = self.folder.path().to_owned();
        let journals = tempfile::tempdir().unwrap();
        let changes = files.iter().map(|(name, expected, contents)| {
            change(&folder.join(name), expected.clone(), contents)
        });
        let changes = changes.collect();
        self.view().change(changes, journals.path(), &|| false).await
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[tokio::test]
async fn changes_are_asked_for_one_by_one_and_made_together() {
    let mut guest = Guest::new(whole(Access::Write), Quota::new(10, 8, 3, 2));
    let new = || Expected::Nothing;
    let files = [("a", new(), "a"), ("inner/b", new(), "b"), ("file", Expected::Anything, "c")];
    guest.change(&files).await.unwrap();
    assert_eq!(guest.read("a").await.unwrap(), b"a");
    assert_eq!(guest.read("inner/b").await.unwrap(), b"b");
    assert_eq!(guest.read("file").await.unwrap(), b"c");
    let asked = guest.asked.0.lock().unwrap();
    let begun = ["write a Root begun", "write b Root begun", "write file Root begun"];
    assert_eq!(asked[..3], begun);
}

#[tokio::test]
async fn changes_that_are_refused_or_beyond_the_quota_leave_nothing() {
    let new = || Expected::Nothing;
    let whole_of = |access| Guest::new(whole(access), Quota::new(10, 8, 2, 2));
    let files = |names: &[&'static str]| -> Vec<_> {
        names.iter().map(|name| (*name, new(), "text")).collect()
    };
    for (changes, expected) in [
        (vec![("a", new(), "123456"), ("b", new(), "12345")], "file-write-bytes"),
        (vec![("a", new(), ""), ("b", new(), "123456789")], "file-bytes"),
        (vec![("a", new(), ""), ("d/b", new(), "")], "file-entries"),
        (vec![("a", new(), ""), ("d/e/f", new(), "")], "file-depth"),
    ] {
        let mut guest = whole_of(Access::Write);
        let outcome = guest.change(&changes).await;
        assert!(matches!(outcome, Err(ChangeError::Quota(limit)) if limit == expected));
        assert_eq!(guest.names(), ["file", "inner", "other"]);
        let asked = guest.asked.0.lock().unwrap();
        let not_made = |asked: &&String| asked.ends_with("Failed(\"not-made\")");
        assert_eq!(asked.iter().filter(not_made).count() * 2, asked.len(), "{asked:?}");
    }
    let mut guest = whole_of(Access::Read);
    let refused = guest.change(&files(&["a"])).await;
    assert!(matches!(refused, Err(ChangeError::Denied(_))), "{refused:?}");
    for path in ["../x", "/etc/x", "inner/../../x"] {
        let mut guest = whole_of(Access::Write);
        let refused = guest.change(&[("a", new(), ""), (path, new(), "")]).await;
        assert!(refused.is_err(), "{path}");
        assert_eq!(guest.names(), ["file", "inner", "other"], "{path}");
    }
    let mut guest = whole_of(Access::Write);
    let folder = guest.folder.path().to_owned();
    let changes = vec![change(&folder.join("a"), new(), "")];
    let journals = tempfile::tempdir().unwrap();
    let cancelled = guest.view().change(changes, journals.path(), &|| true).await;
    assert!(matches!(cancelled, Err(ChangeError::Failed(_))), "{cancelled:?}");
    assert_eq!(guest.names(), ["file", "inner", "other"]);
}

#[tokio::test]
async fn a_single_file_is_replaced_and_its_neighbours_are_not() {
    let mut guest = Guest::new(
        |path| {
            let mut preopen = one_file(path);
            preopen.reach.names[0].access = Access::Write;
            preopen
        },
        quota(),
    );
    for path in ["other", "new", "inner/new"] {
        let refused = guest.change(&[(path, Expected::Anything, "x")]).await;
        assert!(matches!(refused, Err(ChangeError::Denied(_))), "{path}: {refused:?}");
    }
    guest.change(&[("file", Expected::File(None), "new")]).await.unwrap();
    assert_eq!(guest.read("file").await.unwrap(), b"new", "the guest finds what it wrote");
    assert_eq!(fs::read(guest.folder.path().join("file")).unwrap(), b"new");
    assert_eq!(guest.names(), ["file", "inner", "other"]);
}

/// The depth of the deepest entry beneath a folder.
fn depth(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| 1 + if path.is_dir() { depth(&path) } else { 0 }).max().unwrap_or(0)
}

#[tokio::test]
async fn a_tree_is_not_made_deeper_by_moving_it() {
    let deep = || Quota::new(0, 0, 100, 6);
    let mut guest = Guest::new(whole(Access::Write), deep());
    let at = guest.folder.path().to_owned();
    fs::create_dir_all(at.join("a/b/c/d")).unwrap();
    fs::create_dir_all(at.join("x/y/z")).unwrap();
    let directory = guest.directory();
    let this = || Fd::new_borrow(directory.rep());
    let mut view = guest.view();
    for to in ["a/b/c/d/x", "a/b/../b/c/d/x", "./a/b/c/d//x"] {
        let moved = view.rename_at(this(), "x".into(), this(), to.into()).await;
        assert_eq!(code(moved), ErrorCode::Quota, "{to}");
    }
    // A longer path to the same directory does not raise the limit.
    let from = "a/../x/../a/../x/../a/../x";
    let moved = view.rename_at(this(), from.into(), this(), "a/b/c/d/x".into()).await;
    assert_eq!(code(moved), ErrorCode::Quota);
    view.rename_at(this(), "x".into(), this(), "a/b/c/x".into()).await.unwrap();
    view.rename_at(this(), "a/b/c/x/y".into(), this(), "y".into()).await.unwrap();
    view.rename_at(this(), "y".into(), this(), "a/b/c/d/y".into()).await.unwrap();
    assert_eq!(depth(&at), 6);
}

#[tokio::test]
async fn the_depth_of_a_moved_directory_is_its_present_depth() {
    let mut guest = Guest::new(whole(Access::Write), Quota::new(0, 0, 100, 6));
    let at = guest.folder.path().to_owned();
    fs::create_dir_all(at.join("a/b/c")).unwrap();
    let inner = guest.open("inner", OpenFlags::DIRECTORY, DescriptorFlags::READ).await.unwrap();
    let directory = guest.directory();
    let this = || Fd::new_borrow(directory.rep());
    let inner = || Fd::new_borrow(inner.rep());
    let mut view = guest.view();
    view.rename_at(this(), "inner".into(), this(), "a/b/c/inner".into()).await.unwrap();
    view.create_directory_at(inner(), "1".into()).await.unwrap();
    view.create_directory_at(inner(), "1/2".into()).await.unwrap();
    let made = view.create_directory_at(inner(), "1/2/3".into()).await;
    assert_eq!(code(made), ErrorCode::Quota);
    let flags = DescriptorFlags::READ | DescriptorFlags::WRITE;
    let follow = PathFlags::SYMLINK_FOLLOW;
    let made = view.open_at(inner(), follow, "1/2/3".into(), OpenFlags::CREATE, flags).await;
    assert_eq!(code(made), ErrorCode::Quota);
    assert_eq!(depth(&at), 6);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_in_file_systems_of_the_kernel_is_opened_or_inspected() {
    let mut guest = Guest::new(whole(Access::Write), quota());
    let root = Preopen::whole(
        "/".into(),
        File::open("/").unwrap(),
        Guard::default(),
        Origin::Root,
        Access::Read,
    );
    guest.files = Files::new(guest.asked.clone(), vec![root], quota());
    for path in ["proc/self/environ", "proc/self", "proc", "proc/self/fd", "proc/../proc/self/maps"]
    {
        assert_eq!(code(guest.read(path).await), ErrorCode::NotPermitted, "{path}");
    }
    let directory = guest.directory();
    let this = || Fd::new_borrow(directory.rep());
    let mut view = guest.view();
    for path in ["proc/self/environ", "proc/self/exe", "proc/1", "sys/kernel"] {
        for flags in [PathFlags::empty(), PathFlags::SYMLINK_FOLLOW] {
            let stat = view.stat_at(this(), flags, path.into()).await;
            assert_eq!(code(stat), ErrorCode::NotPermitted, "{path}");
            let hash = view.metadata_hash_at(this(), flags, path.into()).await;
            assert_eq!(code(hash), ErrorCode::NotPermitted, "{path}");
        }
        let link = view.readlink_at(this(), path.into()).await;
        assert_eq!(code(link), ErrorCode::NotPermitted, "{path}");
    }
    view.stat_at(this(), PathFlags::empty(), "etc/passwd".into()).await.unwrap();
}

#[tokio::test]
async fn a_directory_above_files_of_the_host_is_not_given_to_a_program() {
    use portcullis_roots::{HostFile, HostFiles, Root};
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for made in ["logins", "project/src", "tool"] {
        fs::create_dir_all(at.join(made)).unwrap();
    }
    fs::write(at.join("tool/portcullis.toml"), "").unwrap();
    let own =
        [HostFile::folder(at.join("logins")), HostFile::file(at.join("tool/portcullis.toml"))];
    let root = Root::open(at, &HostFiles::new(own)).unwrap();
    for (access, closed) in [(Access::Read, [true, false]), (Access::Write, [true, true])] {
        let handle = root.dir().unwrap().into_std_file();
        let guard = root.guard().clone();
        let whole = Preopen::whole(at.to_owned(), handle, guard, Origin::Root, access);
        let files = Files::new(Remembers::default(), vec![whole], quota());
        let opened = |path: &str| files.directory(&at.join(path)).is_some();
        assert!(opened("project") && opened("project/src"));
        assert!(!opened("logins") && !opened("none") && !opened("../x"));
        assert_eq!([!opened(""), !opened("tool")], closed);
    }
}
