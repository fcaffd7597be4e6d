//! Tests that a failure leaves no part of the files.

use super::*;
use crate::test_support::Folder;

fn files(paths: &[&str]) -> Vec<File> {
    let file = |path: &&str| File { path: (*path).to_owned(), text: format!("text of {path}") };
    paths.iter().map(file).collect()
}

fn base(folder: &Folder) -> Base {
    Base::open(folder.argument()).expect("it is there")
}

#[test]
fn a_base_is_an_absolute_directory() {
    let folder = Folder::new();
    assert_eq!(Base::open("rel").expect_err("relative"), "Path must be absolute: rel");
    let missing = folder.path().join("none").display().to_string();
    assert_eq!(
        Base::open(&missing).expect_err("missing"),
        format!("ENOENT: no such file or directory, realpath '{missing}'")
    );
    fs::write(folder.path().join("file"), "").expect("it can be written");
    Base::open(&format!("{}/file", folder.argument())).expect_err("a file");
    Base::open(&format!("{}/x/..", folder.argument())).expect_err("not plain");
    let slashes = Base::open(&format!("{}/./", folder.argument())).expect("the same");
    assert_eq!(slashes.path(), folder.path());
}

#[test]
fn names_stay_beneath_the_base() {
    let folder = Folder::new();
    let base = base(&folder);
    for name in ["", ".", "..", "a/../..", "../x", "/etc", "a\\b", "a\nb", "a\u{202e}b", "a\0"] {
        base.beneath(name).expect_err(name);
    }
    for (name, path) in [("a", "a"), ("a/b", "a/b"), ("./a/../b/", "b"), ("ä b", "ä b")] {
        assert_eq!(base.beneath(name), Ok(folder.path().join(path)));
    }
}

#[test]
fn a_directory_is_created_at_once() {
    let folder = Folder::new();
    let base = base(&folder);
    let target = folder.path().join("x/y");
    base.create(&target, &files(&["a", "b/c"])).expect("there is nothing in the way");
    assert_eq!(folder.list(), ["x/", "x/y/", "x/y/a", "x/y/b/", "x/y/b/c"]);
    assert_eq!(folder.read("x/y/b/c"), "text of b/c");
    let again = base.create(&target, &files(&["a"])).expect_err("it is there");
    assert!(again.starts_with("Failed to create directory"), "{again}");
    assert_eq!(folder.list().len(), 5);
}

#[test]
fn a_failed_write_leaves_nothing() {
    let folder = Folder::new();
    let base = base(&folder);
    // The second file needs a directory where the first one is.
    let failed = base.create(&folder.path().join("x/y"), &files(&["a", "a/b"]));
    assert!(failed.expect_err("it cannot be").contains("Nothing was written"));
    assert_eq!(folder.list(), [""; 0]);
    base.add(&files(&["a", "a/b"])).expect_err("it cannot be");
    assert_eq!(folder.list(), [""; 0]);
    let long = folder.path().join("x").join("y".repeat(300));
    base.create(&long, &files(&["a"])).expect_err("no file system has such names");
    assert_eq!(folder.list(), [""; 0]);
    let unknown = is_there(&long).expect_err("nothing of that name can be there or not");
    assert!(unknown.contains("has 300 bytes, and 255 is the limit"), "{unknown}");
    assert_eq!(is_there(folder.path()), Ok(true));
    assert_eq!(is_there(&folder.path().join("x")), Ok(false));
}

#[test]
fn nothing_is_overwritten() {
    let folder = Folder::new();
    fs::write(folder.path().join("b"), "mine").expect("it can be written");
    let refused = base(&folder).add(&files(&["a", "b"])).expect_err("b is there");
    assert!(refused.contains("exist already and would be overwritten: b."), "{refused}");
    assert_eq!((folder.list(), folder.read("b")), (vec!["b".to_owned()], "mine".to_owned()));
}

#[test]
fn files_are_added_to_an_existing_directory() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path().join("d")).expect("it can be made");
    fs::write(folder.path().join("d/mine"), "mine").expect("it can be written");
    base(&folder).add(&files(&["a", "d/b", "e/f/c"])).expect("nothing is in the way");
    assert_eq!(folder.list(), ["a", "d/", "d/b", "d/mine", "e/", "e/f/", "e/f/c"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let base = base(&folder);
    symlink(elsewhere.path(), folder.path().join("link")).expect("it can be made");
    symlink("nowhere", folder.path().join("dangling")).expect("it can be made");
    let through = base.create(&folder.path().join("link/x"), &files(&["a"]));
    assert!(through.expect_err("a link").contains("a file or a link"));
    base.add(&files(&["b", "link/a"])).expect_err("a link");
    base.add(&files(&["dangling"])).expect_err("it would be overwritten");
    let onto = base.create(&folder.path().join("dangling"), &files(&["a"]));
    onto.expect_err("it is there");
    assert_eq!(elsewhere.list(), [""; 0]);
    assert_eq!(folder.list(), ["dangling", "link"]);
}
