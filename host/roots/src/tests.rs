//! Tests of path arguments that are opened or refused.

use std::fs;

use super::*;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir_all(at.join("root/inner")).unwrap();
    fs::create_dir_all(at.join("root2")).unwrap();
    fs::write(at.join("root/file"), "root").unwrap();
    fs::write(at.join("root/inner/file"), "inner").unwrap();
    fs::write(at.join("root2/file"), "outside").unwrap();
    folder
}

fn roots(folder: &tempfile::TempDir) -> Roots {
    let own = HostFiles::default();
    Roots::new(vec![Root::open(&folder.path().join("root"), &own).unwrap()], own)
}

fn designate(roots: &Roots, path: &str) -> Result<Designated, Refusal> {
    roots.designate(path, Kind::File, Intent::Read, &[])
}

#[test]
fn a_file_beneath_a_root_is_opened_and_nothing_beside_it() {
    let folder = folder();
    let path = folder.path().join("root/inner/file");
    let designated = designate(&roots(&folder), path.to_str().unwrap()).unwrap();
    assert_eq!(designated.directory, folder.path().join("root/inner"));
    assert!(
        matches!(designated.reach, DesignatedPart::File { name, handle: Some(_) } if name == "file")
    );
}

#[test]
fn a_directory_for_arguments_opens_named_paths_and_is_no_root() {
    let folder = folder();
    let own = HostFiles::default();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let directory = |name: &str| Root::open(&folder.path().join(name), &own).unwrap();
    let none = Roots::new(Vec::new(), HostFiles::default());
    let named = none.with_directory_for_arguments(directory("root2"));
    assert!(named.is_empty() && named.iter().next().is_none());
    assert!(designate(&named, &path("root2/file")).is_ok());
    assert!(matches!(designate(&named, &path("root/file")), Err(Refusal::Outside(_))));
    // Paths beneath the directory and beneath the root are opened. After a client has narrowed the roots, only paths
    // beneath the root are.
    let both = named.with(directory("root"));
    assert!(designate(&both, &path("root2/file")).is_ok());
    assert!(designate(&both, &path("root/file")).is_ok());
    let narrowed = both.narrowed_by(&[folder.path().to_owned()]);
    assert!(designate(&narrowed, &path("root/file")).is_ok());
    assert!(matches!(designate(&narrowed, &path("root2/file")), Err(Refusal::Outside(_))));
    assert!(matches!(designate(&both.none(), &path("root2/file")), Err(Refusal::NoRoots)));
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let folder = folder();
    let at = folder.path().display();
    for path in [
        format!("{at}/root2/file"),
        format!("{at}/root/../root2/file"),
        format!("{at}/root/inner/../../root2/file"),
        format!("{at}/rootx"),
        "/etc/hostname".to_owned(),
        "/proc/self/root/etc/hostname".to_owned(),
        "root/file".to_owned(),
        "file:///etc/hostname".to_owned(),
        String::new(),
        format!("{at}/root/file\0"),
        format!("{at}/root/{}", "x".repeat(5000)),
        format!("{at}/root/{}file", "x/".repeat(3000)),
    ] {
        assert!(designate(&roots(&folder), &path).is_err(), "{path}");
    }
}

#[test]
fn a_missing_file_is_designated_and_a_missing_folder_is_refused() {
    let folder = folder();
    let at = folder.path().display();
    let missing = designate(&roots(&folder), &format!("{at}/root/none")).unwrap();
    assert!(matches!(missing.reach, DesignatedPart::File { handle: None, .. }));
    let refusal = designate(&roots(&folder), &format!("{at}/root/none/none")).unwrap_err();
    assert!(matches!(refusal, Refusal::Missing), "{refusal}");
}

#[cfg(unix)]
#[test]
fn a_refusal_of_the_system_keeps_its_cause() {
    let folder = folder();
    let path = format!("{}/root/{}", folder.path().display(), "x".repeat(5000));
    let refusal = designate(&roots(&folder), &path).unwrap_err();
    let cause = std::error::Error::source(&refusal).expect("the system's error");
    let cause = cause.downcast_ref::<io::Error>().expect("an error of the system");
    assert_eq!(cause.raw_os_error(), Some(rustix::io::Errno::NAMETOOLONG.raw_os_error()));
    assert!(refusal.to_string().contains(&cause.to_string()), "{refusal}");
}

#[cfg(not(windows))]
#[test]
fn a_windows_path_is_refused_as_a_windows_path() {
    let folder = folder();
    for path in [r"D:\Game\Content", "d:/game", r"\\server\share", r"\\?\D:\Game"] {
        let refusal = designate(&roots(&folder), path).unwrap_err();
        assert!(
            matches!(refusal, Refusal::WindowsPath) && !refusal.is_denial(),
            "{path}: {refusal}"
        );
        assert_eq!(refusal.word(), "of-windows");
    }
    assert!(matches!(designate(&roots(&folder), "a:b"), Err(Refusal::NotAbsolute)));
}

#[test]
fn each_spelling_of_a_root_by_a_client_becomes_the_operators() {
    // Visual Studio Code names a folder on Windows like this.
    let path = uri::any_path_of_uri("file:///c%3A/Users/me");
    let expected = if cfg!(windows) { r"C:\Users\me" } else { "/c:/Users/me" };
    assert_eq!(path.as_deref(), Ok(Path::new(expected)));
    assert_eq!(windows_path::normal("/c:/Users/me").unwrap(), r"C:\Users\me");
}

#[test]
fn without_roots_nothing_is_opened() {
    let refusal = designate(&Roots::default(), "/etc/hostname").unwrap_err();
    assert!(matches!(refusal, Refusal::NoRoots), "{refusal}");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_stay_within_their_root() {
        let folder = folder();
        let at = folder.path();
        symlink(at.join("root2/file"), at.join("root/out")).unwrap();
        symlink("../root2", at.join("root/dir")).unwrap();
        symlink("inner/file", at.join("root/in")).unwrap();
        symlink("loop", at.join("root/loop")).unwrap();
        let roots = roots(&folder);
        let open = |name: &str| designate(&roots, at.join("root").join(name).to_str().unwrap());
        assert!(matches!(open("out"), Err(Refusal::EscapesRoot)));
        assert!(matches!(open("dir/file"), Err(Refusal::EscapesRoot)));
        assert!(open("loop").is_err());
        let mut text = String::new();
        let DesignatedPart::File { handle: Some(mut file), .. } = open("in").unwrap().reach else {
            panic!("a link within the root is not followed")
        };
        io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "inner");
    }

    #[test]
    fn a_root_may_be_spelled_by_its_link_or_by_its_target() {
        let folder = folder();
        let at = folder.path();
        symlink("root", at.join("link")).unwrap();
        let own = HostFiles::default();
        let roots = Roots::new(vec![Root::open(&at.join("link"), &own).unwrap()], own);
        for spelling in ["link/file", "root/file"] {
            designate(&roots, at.join(spelling).to_str().unwrap()).unwrap();
        }
    }

    #[test]
    fn special_files_are_refused_and_never_waited_for() {
        let folder = folder();
        let at = folder.path();
        let fifo = at.join("root/fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at.join("root/socket")).unwrap();
        for name in ["fifo", "socket", "inner"] {
            for intent in [Intent::Read, Intent::Write] {
                let path = at.join("root").join(name);
                let refusal = roots(&folder)
                    .designate(path.to_str().unwrap(), Kind::File, intent, &[])
                    .unwrap_err();
                assert!(matches!(refusal, Refusal::NotAFile), "{refusal}");
            }
        }
    }

    #[test]
    fn a_root_that_was_replaced_is_noticed() {
        let folder = folder();
        let at = folder.path();
        let roots = roots(&folder);
        fs::rename(at.join("root"), at.join("moved")).unwrap();
        fs::rename(at.join("root2"), at.join("root")).unwrap();
        let refusal = designate(&roots, at.join("root/file").to_str().unwrap()).unwrap_err();
        assert!(matches!(refusal, Refusal::RootReplaced(_)), "{refusal}");
    }

    #[test]
    fn nothing_is_created_through_a_link() {
        let folder = folder();
        let at = folder.path();
        symlink("../root2", at.join("root/new")).unwrap();
        let create = |name: &str| {
            roots(&folder).designate(
                at.join("root").join(name).to_str().unwrap(),
                Kind::Directory,
                Intent::Create,
                &[],
            )
        };
        assert!(create("new").is_err(), "the name is that of a link");
        assert!(create("newer").is_ok());
    }
}

#[cfg(windows)]
mod windows {
    use super::*;

    #[test]
    fn all_spellings_of_a_path_open_the_same_file_and_guests_see_one() {
        let folder = folder();
        let at = folder.path().to_str().unwrap().to_owned();
        let roots = roots(&folder);
        let expected = roots.iter().next().unwrap().path().join("file");
        let slashes = at.replace('\\', "/");
        for path in [
            format!(r"{at}\root\file"),
            format!("{slashes}/root/file"),
            format!("/{slashes}/root/file"),
            format!(r"{}\ROOT\file", at.to_uppercase()),
            format!("{}/Root//./file", slashes.to_lowercase()),
            format!(r"\\?\{at}\root\file"),
        ] {
            let located = roots.locate(&path).unwrap();
            assert_eq!(located.guest_path(), guest_path(&expected), "{path}");
            let opened = located.open(Kind::File, Intent::Read, &[]).unwrap();
            let DesignatedPart::File { handle: Some(_), .. } = opened.reach else {
                panic!("{path} is not opened")
            };
        }
        assert!(designate(&roots, &format!(r"{at}\root2\file")).unwrap_err().is_denial());
        for path in ["file::$DATA", "file.", "NUL", r"..\root2\file"] {
            let refusal = designate(&roots, &format!(r"{at}\root\{path}")).unwrap_err();
            assert!(matches!(refusal, Refusal::Malformed(_)), "{path}: {refusal}");
        }
    }

    #[test]
    fn directories_are_opened_and_a_designated_file_can_still_be_removed() {
        let folder = folder();
        let at = folder.path();
        let roots = roots(&folder);
        let open = |name: &str, kind, intent| {
            roots.designate(at.join(name).to_str().unwrap(), kind, intent, &[])
        };
        assert!(open("root/inner", Kind::Directory, Intent::Write).is_ok());
        assert!(matches!(open("root/inner", Kind::File, Intent::Read), Err(Refusal::NotAFile)));
        assert!(matches!(open("root/inner", Kind::File, Intent::Write), Err(Refusal::NotAFile)));
        assert!(matches!(
            open("root/file", Kind::Directory, Intent::Read),
            Err(Refusal::NotADirectory)
        ));
        let _opened = open("root/file", Kind::File, Intent::Read).unwrap();
        fs::remove_file(at.join("root/file")).unwrap();
    }

    #[test]
    fn clients_and_operators_may_write_one_root_in_different_case() {
        let folder = folder();
        let at = folder.path();
        let roots = roots(&folder);
        let client = PathBuf::from(at.join("root/inner").to_str().unwrap().to_uppercase());
        let narrowed = roots.narrowed_by(&[client]);
        let paths: Vec<_> = narrowed.iter().map(Root::path).collect();
        let root = roots.iter().next().unwrap().path();
        assert_eq!(paths, [root.join("INNER")]);
        let above = PathBuf::from(at.to_str().unwrap().to_lowercase());
        assert_eq!(roots.narrowed_by(&[above]).iter().count(), 1);
    }
}

#[test]
fn the_nearest_directory_with_a_marker_is_used() {
    let folder = folder();
    let at = folder.path();
    fs::create_dir_all(at.join("root/app/webapp/view")).unwrap();
    fs::write(at.join("root/app/app.yaml"), "").unwrap();
    fs::write(at.join("app.yaml"), "above the root").unwrap();
    let roots = roots(&folder);
    let open = |path: &str| {
        let path = at.join(path);
        let names = ["app.yaml".to_owned()];
        roots.designate(path.to_str().unwrap(), Kind::Directory, Intent::Read, &names)
    };
    for (path, expected) in [
        ("root/app", "root/app"),
        ("root/app/webapp/view", "root/app"),
        ("root/app/app.yaml", "root/app"),
        // No directory from the path up to the root has the marker.
        ("root/inner", "root/inner"),
        ("root/inner/file", "root/inner"),
        ("root", "root"),
    ] {
        assert_eq!(open(path).unwrap().directory, at.join(expected), "{path}");
    }
    assert!(matches!(open("root/app/none"), Err(Refusal::Missing)));
    assert!(open("root2").unwrap_err().is_denial());
}

#[test]
fn a_client_narrows_and_never_widens() {
    let folder = folder();
    let at = folder.path();
    let roots = roots(&folder);
    let paths = |narrowed: Roots| -> Vec<PathBuf> {
        narrowed.iter().map(|root| root.path().to_owned()).collect()
    };
    assert_eq!(paths(roots.narrowed_by(&[at.join("root/inner")])), [at.join("root/inner")]);
    assert_eq!(paths(roots.narrowed_by(&[at.to_owned()])), [at.join("root")]);
    assert!(roots.narrowed_by(&[at.join("root2")]).is_empty());
    assert!(roots.narrowed_by(&[at.join("root/none")]).is_empty());
    assert_eq!(paths(Roots::default().narrowed_by(&[at.join("root2")])), [at.join("root2")]);
}

#[test]
fn a_client_does_not_get_the_whole_machine() {
    let folder = folder();
    let roots = roots(&folder);
    // On Windows, the drive of the root.
    let drive = match cfg!(windows) {
        true => format!("{}/", &folder.path().to_str().unwrap()[..2]),
        false => String::new(),
    };
    let everything = ["", ".", "a/..", "%2e"].map(|end| format!("file:///{drive}{end}"));
    for uri in &everything {
        assert!(Roots::default().narrowed_by_uris([&**uri]).is_empty(), "{uri}");
        // The operator's roots are not narrowed.
        assert_eq!(roots.narrowed_by_uris([&**uri]).iter().count(), 1, "{uri}");
    }
    assert!(Roots::default().narrowed_by(&["/".into()]).is_empty());
    assert!(roots.narrowed_by_uris(["file:", "file://"]).is_empty());
    #[cfg(unix)]
    {
        let link = folder.path().join("root/everything");
        std::os::unix::fs::symlink("/", &link).unwrap();
        assert!(Roots::default().narrowed_by(&[link]).is_empty(), "by way of a link");
    }
}
