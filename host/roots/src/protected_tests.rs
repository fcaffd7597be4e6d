//! Tests that the host's own files and the kernel's file systems cannot be accessed beneath a root that contains
//! them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A home directory with files of the host, and a project.
struct Home {
    _folder: tempfile::TempDir,
    path: PathBuf,
    root: Root,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        for made in [".config/portcullis", ".config/other", "project/inner", "logins/deep"] {
            fs::create_dir_all(path.join(made)).unwrap();
        }
        for file in [
            ".config/portcullis/portcullis.toml",
            ".config/other/file",
            "logins/deep/token",
            "project/inner/file",
            "audit.jsonl",
        ] {
            fs::write(path.join(file), "text").unwrap();
        }
        let own = HostFiles::new([
            HostFile::folder(path.join(".config/portcullis")),
            HostFile::folder(path.join("logins")),
            HostFile::folder(path.join(".cache/portcullis")),
            HostFile::series(path.join("audit.jsonl")).secret(),
        ]);
        let root = Root::open(&path, &own).unwrap();
        Self { _folder: folder, path, root }
    }

    fn open(&self, path: &str, how: OpenHow) -> io::Result<(Opened, Guard)> {
        self.root.open_beneath(Path::new(path), how)
    }

    fn read(&self, path: &str) -> io::Result<(Opened, Guard)> {
        self.open(path, OpenHow::default())
    }

    fn place(&self, path: &str) -> io::Result<NameInParent> {
        let dir = self.root.dir().unwrap().into_std_file();
        Ok(self.root.guard.place(&dir, Path::new(path), false)?.expect("it holds the host's files"))
    }

    fn change(&self, path: &str) -> io::Result<()> {
        self.place(path)?.check_change()
    }
}

fn is_own<T: fmt::Debug>(result: io::Result<T>) -> bool {
    result.is_err_and(|error| ProtectedFile::of(&error) == Some(ProtectedFile::HostFile))
}

fn making() -> OpenHow {
    OpenHow { write: true, create: true, ..OpenHow::default() }
}

#[test]
fn files_of_the_host_are_not_opened_by_any_path() {
    let home = Home::new();
    symlink(".config/portcullis", home.path.join("link")).unwrap();
    symlink("../audit.jsonl", home.path.join("project/audit")).unwrap();
    symlink("../.config", home.path.join("project/config")).unwrap();
    for path in [
        ".config/portcullis",
        ".config/portcullis/",
        ".config/portcullis/portcullis.toml",
        ".config/other/../portcullis/portcullis.toml",
        "./project/../.config/./portcullis/portcullis.toml",
        "link",
        "link/portcullis.toml",
        "project/config/portcullis/portcullis.toml",
        "project/audit",
        "audit.jsonl",
        "logins/deep/token",
        "logins/deep/..",
    ] {
        assert!(is_own(home.read(path)), "{path}");
        assert!(is_own(home.open(path, OpenHow { write: true, ..OpenHow::default() })), "{path}");
        assert!(is_own(home.open(path, OpenHow { truncate: true, ..making() })), "{path}");
    }
    assert_eq!(fs::read(home.path.join("audit.jsonl")).unwrap(), b"text", "nothing was cut");
    for path in [".config/other/file", "project/inner/file", ".config", "project/config/other"] {
        home.read(path).unwrap();
    }
    home.open("project/new", making()).unwrap();
}

#[test]
fn files_that_the_host_does_not_have_yet_are_not_created() {
    let home = Home::new();
    for path in [
        ".cache",
        ".cache/portcullis",
        ".CACHE",
        "audit.jsonl.1",
        ".tmp123",
        "Audit.jsonl",
        ".config/PORTCULLIS",
        "project/../.cache",
    ] {
        assert!(is_own(home.change(path)), "{path}");
        let opened = home.open(path, making());
        assert!(opened.is_err(), "{path}");
    }
    home.change("project/.cache").unwrap();
}

#[test]
fn directories_above_files_of_the_host_are_not_moved_or_removed() {
    let home = Home::new();
    for path in [".config", ".config/portcullis", "logins", "audit.jsonl", "project/../.config/"] {
        assert!(is_own(home.change(path)), "{path}");
    }
    assert!(is_own(home.place("logins/deep/token").and_then(|place| place.check_change())));
    for path in [".config/other", "project", "project/inner/file", "new"] {
        home.change(path).unwrap();
    }
    let is_closed = |path: &str| home.place(path).and_then(|place| place.check_access());
    assert!(is_own(is_closed("audit.jsonl")) && is_own(is_closed(".config/portcullis")));
    is_closed(".config").unwrap();
}

#[test]
fn a_hard_link_to_a_host_file_is_recognised() {
    let home = Home::new();
    fs::hard_link(home.path.join("audit.jsonl"), home.path.join("project/copy")).unwrap();
    assert!(is_own(home.read("project/copy")));
    let how = OpenHow { truncate: true, write: true, ..OpenHow::default() };
    assert!(is_own(home.open("project/copy", how)));
    // The guard decides, even if the root itself was opened without files of the host.
    let own = home.root.guard.clone();
    let project = Root { guard: own, ..Root::open(&home.path, &HostFiles::default()).unwrap() };
    assert!(is_own(project.open_beneath(Path::new("project/copy"), OpenHow::default())));
    assert_eq!(fs::read(home.path.join("audit.jsonl")).unwrap(), b"text");
}

#[test]
fn a_folder_in_the_place_of_a_host_folder_is_closed_too() {
    let home = Home::new();
    // The user can rename this folder; a plugin cannot.
    fs::rename(home.path.join(".config"), home.path.join("old")).unwrap();
    fs::create_dir_all(home.path.join(".config/portcullis")).unwrap();
    fs::write(home.path.join(".config/portcullis/portcullis.toml"), "new").unwrap();
    assert!(is_own(home.read("old/portcullis/portcullis.toml")));
    assert!(is_own(home.change("old")), "it holds the folder that was the host's");
    assert!(is_own(home.change(".config")));
}

#[test]
fn a_root_is_no_folder_of_the_host_and_knows_the_host_files_beneath_it() {
    let home = Home::new();
    let own = home.root.guard.clone();
    let (_, config) = home.read(".config").unwrap();
    let (_, project) = home.read("project").unwrap();
    for write in [false, true] {
        assert!(own.must_stay_closed_to_programs(write));
        assert!(config.must_stay_closed_to_programs(write));
        assert!(!project.must_stay_closed_to_programs(write));
    }
    let roots =
        Roots::new(Vec::new(), HostFiles::new([HostFile::folder(home.path.join("logins"))]));
    for path in ["logins", "logins/deep", "project/../logins"] {
        assert!(is_own(Root::open(&home.path.join(path), roots.host_files())), "{path}");
    }
    assert!(roots.narrowed_by(&[home.path.join("logins/deep")]).is_empty());
    let none = home_roots(&home).none();
    assert!(none.is_empty() && none.host_files().holds(&home.path.join(".cache/portcullis")));
    let project = Roots::new(
        vec![Root::open(&home.path, roots.host_files()).unwrap()],
        roots.host_files().clone(),
    );
    assert!(project.narrowed_by(&[home.path.join("logins/deep")]).is_empty());
    let token = home.path.join("logins/deep/token");
    for intent in [Intent::Read, Intent::Write, Intent::Create] {
        let designated = project.designate(token.to_str().unwrap(), Kind::File, intent, &[]);
        assert!(matches!(designated, Err(Refusal::Protected(ProtectedFile::HostFile))));
    }
    let create = |name: &str| {
        let path = home.path.join(name);
        home_roots(&home).designate(path.to_str().unwrap(), Kind::Directory, Intent::Create, &[])
    };
    assert!(matches!(create(".cache"), Err(Refusal::Protected(ProtectedFile::HostFile))));
    assert!(create("new").is_ok());
}

fn home_roots(home: &Home) -> Roots {
    let own = HostFiles::new([HostFile::folder(home.path.join(".cache/portcullis"))]);
    Roots::new(vec![Root::open(&home.path, &own).unwrap()], own)
}

#[test]
fn a_walk_and_one_system_call_open_the_same() {
    let home = Home::new();
    symlink("loop", home.path.join("project/loop")).unwrap();
    symlink("inner/file", home.path.join("project/in")).unwrap();
    symlink("../project/inner", home.path.join("project/dir")).unwrap();
    symlink("/etc", home.path.join("project/out")).unwrap();
    let clear = Root::open(&home.path, &HostFiles::default()).unwrap();
    let kind = |opened: io::Result<(Opened, Guard)>| match opened {
        Ok((Opened::File(_), _)) => "file".to_owned(),
        Ok((Opened::Directory(_), _)) => "directory".to_owned(),
        Ok((Opened::Special, _)) => "special".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    for path in [
        "project/inner/file",
        "project/inner/file/",
        "project/inner/",
        "project/inner/..",
        "project/inner/../..",
        "project/../..",
        "..",
        ".",
        "",
        "/etc/hostname",
        "project/loop",
        "project/in",
        "project/in/",
        "project/dir/file",
        "project/dir/../inner/file",
        "project/out/hostname",
        "project/none",
        "project/none/none",
        "project/inner/file/none",
        &"x".repeat(300),
        &"project/../".repeat(300),
    ] {
        for nofollow in [false, true] {
            for (write, create) in [(false, false), (true, false)] {
                let how = OpenHow { write, create, nofollow, ..OpenHow::default() };
                let walked = kind(home.open(path, how));
                let in_one_call = kind(clear.open_beneath(Path::new(path), how));
                assert_eq!(walked, in_one_call, "{path} {how:?}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn virtual_file_systems_are_refused_on_any_path() {
    let everything = Root::open(Path::new("/"), &HostFiles::default()).unwrap();
    assert!(everything.is_everything());
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    let to_proc = "../".repeat(folder.path().components().count() - 1) + "proc/self/environ";
    symlink(&to_proc, &link).unwrap();
    let link = link.strip_prefix("/").unwrap().to_str().unwrap().to_owned();
    for path in [
        "proc",
        "proc/self/environ",
        "proc/self/maps",
        "proc/self/exe",
        "proc/self/cwd",
        "proc/self/root/etc/hostname",
        "proc/../proc/self/environ",
        "etc/../proc/1/../self/environ",
        "sys/kernel",
        link.as_str(),
    ] {
        let opened = everything.open_beneath(Path::new(path), OpenHow::default());
        let error = opened.expect_err(path);
        assert!(
            matches!(ProtectedFile::of(&error), Some(ProtectedFile::Kernel(_))),
            "{path}: {error}"
        );
        let dir = everything.dir().unwrap().into_std_file();
        let place = everything.guard.place(&dir, &Path::new(path).join("x"), false);
        assert!(place.is_err(), "{path}: {place:?}");
    }
    everything.open_beneath(Path::new("etc/hostname"), OpenHow::default()).unwrap();
    for path in ["/proc", "/proc/self", "/sys", "/proc/self/fd"] {
        let error = Root::open(Path::new(path), &HostFiles::default()).unwrap_err();
        assert!(
            matches!(ProtectedFile::of(&error), Some(ProtectedFile::Kernel(_))),
            "{path}: {error}"
        );
    }
    let roots = Roots::new(vec![everything], HostFiles::default());
    let refusal = roots.designate("/proc/self/environ", Kind::File, Intent::Read, &[]).unwrap_err();
    assert!(matches!(refusal, Refusal::Protected(ProtectedFile::Kernel(_))) && refusal.is_denial());
}
