//! Tests that all files change or none: after errors, beside other programs, and after a kill at any step.

use std::fs;
use std::path::Path;

use cap_std::ambient_authority;
use tempfile::TempDir;

use crate::fault::{self, Fault};
use crate::*;

/// Paths of files and directories, with contents.
type Listing = Vec<(String, String)>;

/// A folder in which files are changed, and a folder for journals.
struct Place {
    folder: TempDir,
    journals: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), journals: tempfile::tempdir().unwrap() }
    }

    fn change(&self, path: &str, expected: Expected, contents: &str) -> Change {
        let dir = Dir::open_ambient_dir(self.folder.path(), ambient_authority()).unwrap();
        Change {
            base: Arc::new(dir),
            guard: Guard::default(),
            base_path: self.folder.path().to_owned(),
            path: path.into(),
            expected,
            contents: contents.into(),
        }
    }

    fn new_file(&self, path: &str) -> Change {
        self.change(path, Expected::Nothing, &format!("text of {path}"))
    }

    fn replaced(&self, path: &str) -> Change {
        self.change(path, Expected::File(None), &format!("new {path}"))
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn stage(&self, changes: Vec<Change>) -> Result<Staged, TransactionError> {
        Plan::new(changes)?.stage(self.journals.path(), &|| false)
    }

    fn apply(&self, changes: Vec<Change>) -> Result<(), TransactionError> {
        self.stage(changes)?.commit()
    }

    /// All files with their contents, hidden ones too, and all directories.
    fn list(&self) -> Listing {
        let mut found = Vec::new();
        let mut open = vec![self.folder.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.folder.path()).unwrap().display().to_string();
                if path.symlink_metadata().unwrap().is_dir() {
                    found.push((name + "/", String::new()));
                    open.push(path);
                } else {
                    found.push((name, fs::read_to_string(path).unwrap_or_default()));
                }
            }
        }
        found.sort();
        found
    }

    fn names(&self) -> Vec<String> {
        self.list().into_iter().map(|(name, _)| name).collect()
    }

    /// The number of journals that are left.
    fn journals(&self) -> usize {
        let ending = |path: &Path| path.extension().is_some_and(|ending| ending == "journal");
        fs::read_dir(self.journals.path())
            .unwrap()
            .filter(|e| ending(&e.as_ref().unwrap().path()))
            .count()
    }
}

fn visible(list: &[(String, String)]) -> Listing {
    list.iter().filter(|(name, _)| !name.contains(HIDDEN)).cloned().collect()
}

#[test]
fn all_changes_are_made_and_nothing_else() {
    let place = Place::new();
    place.put("there/old", "old");
    place
        .apply(vec![
            place.new_file("a"),
            place.new_file("new/deep/b"),
            place.new_file("new/c"),
            place.replaced("there/old"),
            place.change("there/any", Expected::Anything, "any"),
        ])
        .unwrap();
    let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let expected = [
        text("a", "text of a"),
        text("new/", ""),
        text("new/c", "text of new/c"),
        text("new/deep/", ""),
        text("new/deep/b", "text of new/deep/b"),
        text("there/", ""),
        text("there/any", "any"),
        text("there/old", "new there/old"),
    ];
    assert_eq!(place.list(), expected);
    assert_eq!(place.journals(), 0);
}

#[test]
fn what_is_not_as_expected_prevents_everything() {
    let place = Place::new();
    place.put("there", "mine");
    place.put("d/file", "mine");
    let fresh = Expected::NewDirectory(place.folder.path().join("d"));
    let digest = portcullis_checked_files::digest(b"mine");
    let before = place.list();
    let other = Expected::File(Some(portcullis_checked_files::digest(b"other")));
    for (change, why) in [
        (place.new_file("there"), "exists already"),
        (place.replaced("missing"), "does not exist"),
        (place.replaced("missing/file"), "does not exist"),
        (place.change("there", other, ""), "was changed by another program"),
        (place.new_file("there/beneath"), "cannot open the directory"),
        (place.change("d/x", fresh, ""), "exists already"),
        (place.new_file("a/b"), "would have to be a directory"),
        (place.new_file("../x"), "not a plain path"),
        (place.new_file(""), "would have to be a directory"),
    ] {
        let refused = place.apply(vec![place.new_file("a"), change]).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
        assert_eq!(place.list(), before);
    }
    place.apply(vec![place.change("there", Expected::File(Some(digest)), "yours")]).unwrap();
    assert_eq!(fs::read_to_string(place.folder.path().join("there")).unwrap(), "yours");
}

#[test]
fn changes_that_are_cancelled_leave_nothing() {
    let place = Place::new();
    let asked = std::cell::Cell::new(0);
    let plan = Plan::new(vec![place.new_file("a"), place.new_file("d/b"), place.new_file("d/c")]);
    let stop = || asked.replace(asked.get() + 1) == 1;
    let stopped = plan.unwrap().stage(place.journals.path(), &stop).map(drop);
    assert!(matches!(stopped, Err(TransactionError::Cancelled)), "{stopped:?}");
    assert_eq!((place.list(), place.journals()), (Vec::new(), 0));
}

#[test]
fn whoever_is_faster_keeps_what_they_made() {
    for is_old in [false, true] {
        fault::set_old(is_old);
        let place = Place::new();
        place.put("r", "old");
        let changes = || {
            vec![
                place.new_file("a"),
                place.new_file("m/b"),
                place.replaced("r"),
                place.new_file("z"),
            ]
        };
        for (path, text) in [("z", "theirs"), ("m/theirs", "theirs"), ("r", "theirs")] {
            let staged = place.stage(changes()).unwrap();
            let before = visible(&place.list());
            place.put(path, text);
            let refused = staged.commit().unwrap_err();
            assert!(
                matches!(refused, TransactionError::Exists(_) | TransactionError::Unexpected(..)),
                "{path}: {refused}"
            );
            let mut expected = before;
            expected.retain(|(name, _)| name != path);
            expected.push((path.to_owned(), text.to_owned()));
            expected.extend(
                path.split_once('/').map(|(parent, _)| (format!("{parent}/"), String::new())),
            );
            expected.sort();
            assert_eq!(place.list(), expected, "{path}, {is_old}");
            if path != "r" {
                let top = path.split('/').next().unwrap();
                let _file = fs::remove_file(place.folder.path().join(top));
                let _directory = fs::remove_dir_all(place.folder.path().join(top));
            }
        }
        assert_eq!(place.journals(), 0);
    }
    fault::set_old(false);
}

#[test]
fn of_two_transactions_at_once_one_succeeds() {
    for _ in 0..20 {
        let place = Place::new();
        let files = |who: &str| {
            let file = |path: &str| place.change(path, Expected::Nothing, who);
            ["a", "b", "d/c", "d/e/f", "z"].map(file).into()
        };
        let barrier = std::sync::Barrier::new(2);
        let work = |who: &'static str| {
            let plan = Plan::new(files(who));
            barrier.wait();
            let staged = plan.and_then(|plan| plan.stage(place.journals.path(), &|| false));
            staged.and_then(Staged::commit)
        };
        let (one, two) = std::thread::scope(|scope| {
            let (one, two) = (scope.spawn(|| work("one")), scope.spawn(|| work("two")));
            (one.join().unwrap(), two.join().unwrap())
        });
        assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
        let winner = if one.is_ok() { "one" } else { "two" };
        let list = place.list();
        assert_eq!(list.len(), 7, "{list:?}");
        assert!(list.iter().all(|(name, text)| name.ends_with('/') || text == winner), "{list:?}");
    }
}

/// Applies the changes to a new place each time, with a fault at the first step, at the second step and so on, until
/// no fault occurs. Calls `check` after each time. Returns the number of steps.
fn at_each_step(
    fault: Fault,
    prepare: impl Fn(&Place),
    changes: impl Fn(&Place) -> Vec<Change>,
    check: impl Fn(&Place, u32),
) -> u32 {
    for step in 0.. {
        let place = Place::new();
        prepare(&place);
        let changes = changes(&place);
        fault::after(step, fault);
        let work = std::panic::AssertUnwindSafe(|| place.apply(changes));
        let ended = std::panic::catch_unwind(work);
        let has_happened = fault::end();
        assert!(has_happened || matches!(ended, Ok(Ok(()))), "{ended:?}");
        check(&place, step);
        if !has_happened {
            return step;
        }
    }
    unreachable!("it ends")
}

fn mixed(place: &Place) -> Vec<Change> {
    vec![
        place.new_file("a"),
        place.new_file("d/b"),
        place.new_file("d/e/c"),
        place.replaced("r1"),
        place.replaced("r2"),
        place.new_file("z"),
    ]
}

fn two_files(place: &Place) {
    place.put("r1", "old r1");
    place.put("r2", "old r2");
}

/// The files of a place before and after [`mixed`].
fn before_and_after() -> (Listing, Listing) {
    let place = Place::new();
    two_files(&place);
    let before = place.list();
    place.apply(mixed(&place)).unwrap();
    (before, place.list())
}

#[test]
fn a_transaction_killed_at_any_step_is_completed_or_undone() {
    for is_old in [false, true] {
        fault::set_old(is_old);
        let (before, after) = before_and_after();
        let outcomes = std::cell::RefCell::new((0, 0));
        let steps = at_each_step(Fault::Killed, two_files, mixed, |place, step| {
            for (name, text) in visible(&place.list()) {
                let whole =
                    |list: &[(String, String)]| list.contains(&(name.clone(), text.clone()));
                assert!(whole(&before) || whole(&after), "{step}: {name} is `{text}`");
            }
            let _remarks = recover(place.journals.path());
            let list = place.list();
            assert!(list == before || list == after, "{step}: {list:?}");
            assert_eq!(place.journals(), 0);
            let mut outcomes = outcomes.borrow_mut();
            if list == before { outcomes.0 += 1 } else { outcomes.1 += 1 }
        });
        let (undone, finished) = outcomes.into_inner();
        assert!(steps > 20 && undone > 10 && finished > 5, "{steps} {undone} {finished}");
    }
    fault::set_old(false);
}

#[test]
fn a_recovery_that_was_killed_is_completed_by_the_next_one() {
    let (before, after) = before_and_after();
    // `None`: the group can be completed. `z`: another file takes this name, so the group has to be undone.
    for in_the_way in [None, Some("z")] {
        for step in 0.. {
            let place = Place::new();
            two_files(&place);
            let staged = place.stage(mixed(&place)).unwrap();
            fault::after(4, Fault::Killed);
            let work = std::panic::AssertUnwindSafe(|| staged.commit());
            assert!(std::panic::catch_unwind(work).is_err() && fault::end());
            assert!(place.folder.path().join("a").exists(), "it had begun");
            if let Some(path) = in_the_way {
                place.put(path, "theirs");
            }
            fault::after(step, Fault::Killed);
            let _killed = std::panic::catch_unwind(|| recover(place.journals.path()));
            let has_happened = fault::end();
            let _remarks = recover(place.journals.path());
            let mut expected = if in_the_way.is_some() { before.clone() } else { after.clone() };
            expected.extend(in_the_way.map(|path| (path.to_owned(), "theirs".to_owned())));
            assert_eq!(place.list(), expected, "{step}");
            assert_eq!(place.journals(), 0);
            if !has_happened {
                assert!(step > 3, "{step}");
                break;
            }
        }
    }
}

#[test]
fn a_full_disk_leaves_all_changes_or_none() {
    let (before, after) = before_and_after();
    at_each_step(Fault::Full, two_files, mixed, |place, step| {
        let _remarks = recover(place.journals.path());
        let list = place.list();
        assert!(list == before || list == after, "{step}: {list:?}");
    });
}

#[test]
fn what_was_changed_after_an_interruption_stays() {
    let place = Place::new();
    two_files(&place);
    let staged = place.stage(mixed(&place)).unwrap();
    fault::after(5, Fault::Killed);
    let work = std::panic::AssertUnwindSafe(|| staged.commit());
    assert!(std::panic::catch_unwind(work).is_err() && fault::end());
    // The user continues to work, changes one file of the transaction, and makes other files.
    place.put("a", "mine now");
    place.put("d/mine", "mine");
    place.put("z", "mine as well");
    let remarks = recover(place.journals.path());
    assert!(remarks.len() == 1 && remarks[0].contains("changed since"), "{remarks:?}");
    let list = place.list();
    for (name, text) in
        [("a", "mine now"), ("d/mine", "mine"), ("z", "mine as well"), ("r1", "old r1")]
    {
        assert!(list.contains(&(name.to_owned(), text.to_owned())), "{name}: {list:?}");
    }
    assert!(!place.names().iter().any(|name| name.contains(HIDDEN)), "{list:?}");
}

#[test]
fn a_journal_is_left_to_the_process_that_works_on_it() {
    let place = Place::new();
    let staged = place.stage(vec![place.new_file("a")]).unwrap();
    assert_eq!(recover(place.journals.path()), Vec::<String>::new());
    staged.commit().unwrap();
    assert_eq!(place.names(), ["a"]);
}

#[test]
fn a_directory_that_was_replaced_is_left_alone() {
    let place = Place::new();
    place.put("d/x", "x");
    let staged = place.stage(vec![place.new_file("d/a"), place.new_file("d/b")]).unwrap();
    fault::after(4, Fault::Killed);
    let work = std::panic::AssertUnwindSafe(|| staged.commit());
    assert!(std::panic::catch_unwind(work).is_err() && fault::end());
    fs::rename(place.folder.path().join("d"), place.folder.path().join("elsewhere")).unwrap();
    place.put("d/a", "another");
    let remarks = recover(place.journals.path());
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert_eq!(fs::read_to_string(place.folder.path().join("d/a")).unwrap(), "another");
}

#[cfg(unix)]
#[test]
fn links_read_only_files_and_files_with_several_names_are_not_replaced() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    let path = |name: &str| place.folder.path().join(name);
    place.put("file", "old");
    symlink("file", path("link")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    place.put("two", "old");
    fs::hard_link(path("two"), path("names")).unwrap();
    place.put("locked", "old");
    fs::set_permissions(path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::create_dir(path("directory")).unwrap();
    let before = place.list();
    for (name, why) in [
        ("link", "is a link"),
        ("dangling", "is a link"),
        ("two", "several names"),
        ("locked", "read-only"),
        ("directory", "not a regular file"),
    ] {
        for expected in [Expected::File(None), Expected::Anything] {
            let change = place.change(name, expected, "new");
            let refused = place.apply(vec![place.replaced("file"), change]).unwrap_err();
            assert!(matches!(&refused, TransactionError::Unexpected(..)), "{refused}");
            assert!(refused.to_string().contains(why), "{refused}");
            assert_eq!(place.list(), before);
        }
        place.apply(vec![place.new_file(name)]).unwrap_err();
    }
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), path("out")).unwrap();
    place.apply(vec![place.new_file("out/x")]).unwrap_err();
    place.apply(vec![place.new_file("dangling/x")]).unwrap_err();
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode_and_its_attributes() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.put("script", "old\r\n");
    let path = place.folder.path().join("script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    #[cfg(target_os = "linux")]
    let has_attributes =
        rustix::fs::setxattr(&path, "user.origin", b"here", rustix::fs::XattrFlags::empty())
            .is_ok();
    place.apply(vec![place.change("script", Expected::File(None), "new\r\n")]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new\r\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    #[cfg(target_os = "linux")]
    if has_attributes {
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(&path, "user.origin", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"here");
    }
}

#[test]
fn files_of_the_host_are_neither_made_nor_replaced() {
    use portcullis_roots::{HostFile, HostFiles, Root};
    let place = Place::new();
    place.put("config/portcullis.toml", "grants");
    place.put("project/file", "old");
    let at = place.folder.path();
    let closed = ["config", "state/audit"].map(|folder| HostFile::folder(at.join(folder)));
    let own = HostFiles::new(closed);
    let root = Root::open(at, &own).unwrap();
    let change = |path: &str| Change {
        guard: root.guard().clone(),
        ..place.change(path, Expected::Anything, "new")
    };
    #[cfg(unix)]
    std::os::unix::fs::symlink("../config", at.join("project/link")).unwrap();
    let before = place.list();
    for path in [
        "config/portcullis.toml",
        "config/new",
        "config",
        "state/audit/new",
        "state/new",
        "state",
        #[cfg(unix)]
        "project/link/portcullis.toml",
        #[cfg(unix)]
        "project/link/new",
    ] {
        let refused = place.apply(vec![change("project/file"), change(path)]);
        let is_refused = matches!(
            refused,
            Err(TransactionError::NotPlain(_)
                | TransactionError::IsBase(_)
                | TransactionError::Disk { .. })
        );
        assert!(is_refused, "{path}: {refused:?}");
        assert_eq!(place.list(), before, "{path}");
    }
    place.apply(vec![change("project/file"), change("project/new")]).unwrap();
}
