//! Tests of the lock file: approvals, claims and their order, several processes, damaged files and old dates.
#![expect(clippy::disallowed_methods, reason = "tests make the files they need")]

use super::*;

fn changed(tool: &str) -> HeldTool {
    HeldTool { tool: tool.into(), is_new: false }
}

fn new(tool: &str) -> HeldTool {
    HeldTool { tool: tool.into(), is_new: true }
}

fn unapproved(path: &std::path::Path, server: &str, tools: &[(&str, &str)]) -> Vec<HeldTool> {
    LockFile::at(path.to_owned()).unapproved(server, tools.iter().copied(), false, |_| ())
}

#[test]
fn changed_tools_are_held_back_until_they_are_approved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state").join("portcullis.lock");
    let first = [("a", "1"), ("b", "2")];
    assert!(unapproved(&path, "one", &first).is_empty());
    let later = [("a", "1"), ("b", "3"), ("c", "4")];
    for _ in 0..2 {
        assert_eq!(unapproved(&path, "one", &later), [changed("b"), new("c")]);
    }
    assert!(unapproved(&path, "two", &later).is_empty(), "another server");
    LockFile::at(path.clone()).approve("one", later.into_iter(), "").unwrap();
    assert!(unapproved(&path, "one", &later).is_empty());
    assert_eq!(unapproved(&path, "one", &first), [changed("b")], "back again");
}

#[test]
fn a_renamed_tool_needs_an_approval() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("portcullis.lock");
    assert!(unapproved(&path, "one", &[("read", "1"), ("write", "2")]).is_empty());
    let renamed = [("read", "1"), ("write_all", "2")];
    assert_eq!(unapproved(&path, "one", &renamed), [new("write_all")]);
    // A tool that goes and comes back as it was needs no new approval.
    assert!(unapproved(&path, "one", &[("read", "1")]).is_empty());
    assert!(unapproved(&path, "one", &[("read", "1"), ("write", "2")]).is_empty());
    LockFile::at(path.clone()).approve("one", renamed.into_iter(), "").unwrap();
    assert_eq!(unapproved(&path, "one", &[("write", "2")]), [new("write")], "it was removed");
}

#[test]
fn a_server_without_tools_has_nothing_approved_yet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("portcullis.lock");
    assert!(unapproved(&path, "one", &[]).is_empty());
    assert!(!path.exists());
    assert!(unapproved(&path, "one", &[("a", "1")]).is_empty());
    assert!(unapproved(&path, "one", &[]).is_empty());
    assert_eq!(unapproved(&path, "one", &[("b", "1")]), [new("b")]);
}

#[test]
fn servers_that_are_not_used_for_a_year_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let lock = LockFile::at(folder.path().join("portcullis.lock"));
    let claim = |by: &str| Claim { kind: "tool".into(), what: "x".into(), by: by.into() };
    // The file of an earlier version, without dates.
    let old = "[upstreams.old]\na = \"1\"\n";
    std::fs::write(&lock.path, old).unwrap();
    lock.order(&[claim("upstreams.gone"), claim("upstreams.kept"), claim("plugins.gone")]);
    let on = |server: &str, day| {
        lock.unapproved_on(server, [("a", "1")].into_iter(), false, |_| (), day)
    };
    for server in ["gone", "kept"] {
        assert!(on(server, 1000).is_empty());
    }
    assert!(on("kept", 1000 + PRECISION_DAYS).is_empty());
    let dates = lock.read().unwrap().used.clone();
    assert_eq!((dates["gone"], dates["kept"], dates["old"]), (1000, 1000 + PRECISION_DAYS, 1000));
    assert!(on("kept", 1000 + PRECISION_DAYS + 1).is_empty());
    assert_eq!(lock.read().unwrap().used, dates, "no write for one day");
    assert!(on("kept", 1000 + UNUSED_DAYS).is_empty());
    assert_eq!(lock.read().unwrap().upstreams.len(), 3);
    assert!(on("new", 1001 + UNUSED_DAYS).is_empty());
    let left = lock.read().unwrap();
    assert_eq!(left.upstreams.keys().collect::<Vec<_>>(), ["kept", "new"]);
    assert_eq!(left.used.keys().collect::<Vec<_>>(), ["kept", "new"]);
    assert_eq!(left.claims, [claim("upstreams.kept"), claim("plugins.gone")]);
}

#[test]
fn the_claims_of_an_unused_server_of_wrap_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let lock = LockFile::at(folder.path().join("portcullis.lock"));
    let claim = |by: &str| Claim { kind: "tool".into(), what: "x".into(), by: by.into() };
    let on = |server: &str, day| {
        lock.unapproved_on(server, [("a", "1")].into_iter(), false, |_| (), day)
    };
    lock.order(&[claim("upstreams.gone"), claim("upstreams.shop"), claim("upstreams.shopping")]);
    // The key of a server of `wrap` has a digest of the program. Claims have only the name.
    for server in ["gone@one", "gone@two", "shop@one", "shop@two", "shopping"] {
        assert!(on(server, 1000).is_empty());
    }
    for server in ["shop@two", "shopping"] {
        assert!(on(server, 1000 + PRECISION_DAYS).is_empty());
    }
    assert!(on("shop@two", 1001 + UNUSED_DAYS).is_empty());
    let left = lock.read().unwrap();
    assert_eq!(left.upstreams.keys().collect::<Vec<_>>(), ["shop@two", "shopping"]);
    let claims = [claim("upstreams.shop"), claim("upstreams.shopping")];
    assert_eq!(left.claims, claims, "another server of this name is in use");
}

#[test]
fn a_lock_that_cannot_be_read_approves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("portcullis.lock");
    std::fs::write(&path, "nonsense").unwrap();
    assert_eq!(unapproved(&path, "one", &[("a", "1")]), [new("a")]);
}

#[test]
fn an_approval_of_another_process_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("portcullis.lock");
    for (server, tool) in [("one", "a"), ("two", "b"), ("three", "c")] {
        assert!(unapproved(&path, server, &[(tool, "1")]).is_empty());
    }
    LockFile::at(path.clone()).approve("one", [("a", "4")].into_iter(), "").unwrap();
    assert_eq!(unapproved(&path, "two", &[("b", "other")]), [changed("b")]);
    assert_eq!(unapproved(&path, "three", &[("c", "other")]), [changed("c")]);
    assert!(unapproved(&path, "one", &[("a", "4")]).is_empty());
}

#[test]
fn claims_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let lock = LockFile::at(folder.path().join("portcullis.lock"));
    let claim =
        |what: &str, by: &str| Claim { kind: "tool".into(), what: what.into(), by: by.into() };
    let (late, early) = (claim("x", "plugins.a"), claim("x", "plugins.b"));
    lock.order(std::slice::from_ref(&early));
    lock.approve_plugin("a", "1", "").unwrap();
    let order = lock.order(&[late.clone(), early.clone()]);
    assert!(order[&early] < order[&late], "{order:?}");
    let order = lock.order(&[claim("y", "plugins.a"), late.clone()]);
    assert!(order[&late] < order[&claim("y", "plugins.a")], "{order:?}");
    assert_eq!(lock.plugin("a").unwrap().as_deref(), Some("1"));

    let many: Vec<_> = (0..MAX_CLAIMS + 10).map(|n| claim(&n.to_string(), "plugins.m")).collect();
    let order = lock.order(&many);
    assert!(order.contains_key(&many[MAX_CLAIMS - 1]) && !order.contains_key(&many[MAX_CLAIMS]));
}

#[test]
fn concurrent_writers_lose_nothing_and_leave_no_file_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("portcullis.lock");
    let names: Vec<String> = (0..16).map(|number| format!("server-{number}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            let lock = LockFile::at(path.clone());
            scope.spawn(move || lock.unapproved(name, [("a", "1")].into_iter(), false, |_| ()));
        }
    });
    for name in &names {
        assert_eq!(unapproved(&path, name, &[("a", "2")]), [changed("a")]);
    }
    // The lock file, and the file beside it that processes lock.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn an_approval_has_user_time_reason_and_digest() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::to_folder(folder.path().join("audit"));
    let lock = LockFile::at(folder.path().join("portcullis.lock"));
    let key = ApprovalKey::Plugin("echo");
    assert_eq!(lock.approval(key).unwrap(), None);
    for (digest, before) in [("1", None), ("2", Some("1".to_owned()))] {
        let new = lock.approve_plugin("echo", digest, "reviewed").unwrap();
        assert_eq!(new.before, before);
        lock.finish_approval(key, &new, &json!({ "is": digest }), &audit);
        let approval = lock.approval(key).unwrap().unwrap();
        assert_eq!(approval, new.approval);
        assert_eq!((approval.digest.as_str(), approval.reason.as_str()), (digest, "reviewed"));
        assert!(!approval.user.is_empty() && approval.time.starts_with("20"), "{approval:?}");
        assert_eq!(lock.description(key, digest), Some(json!({ "is": digest })));
    }
    assert_eq!(lock.description(key, "1"), None, "only the last one is kept");
    let mut recorded = Vec::new();
    portcullis_audit::read_records(audit.folder(), |record| recorded.push(record)).unwrap();
    assert_eq!(recorded.len(), 2);
    let portcullis_audit::Event::Approval { before, reason, .. } = &recorded[1].event else {
        panic!("{recorded:?}");
    };
    assert_eq!((before.as_deref(), reason.as_str()), (Some("1"), "reviewed"));
    assert_eq!((recorded[1].plugin.as_str(), recorded[1].digest.as_str()), ("echo", "2"));
}

#[test]
fn a_server_is_approved_at_its_first_use_unless_the_host_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let lock = LockFile::at(folder.path().join("portcullis.lock"));
    let tools = [("a", "1"), ("b", "2")];
    let key = ApprovalKey::Upstream("one");
    let never = |_: &NewApproval| panic!("nothing is approved");
    let held = lock.unapproved("one", tools.into_iter(), true, never);
    assert_eq!(held, [new("a"), new("b")]);
    assert_eq!(lock.approval(key).unwrap(), None);

    let mut first = None;
    let noted = |new: &NewApproval| first = Some(new.clone());
    assert!(lock.unapproved("one", tools.into_iter(), false, noted).is_empty());
    let first = first.expect("this is the first use");
    assert_eq!(first.approval.reason, FIRST_USE);
    assert_eq!(lock.approval(key).unwrap(), Some(first.approval.clone()));
    assert!(lock.unapproved("one", tools.into_iter(), true, never).is_empty());
    // Another set of tools has another digest.
    let later = lock.approve("one", [("a", "1")].into_iter(), "").unwrap();
    assert_eq!(later.before, Some(first.approval.digest));
    assert_ne!(later.before, Some(later.approval.digest));
}

/// Two values for the same file stand for two processes.
#[test]
fn the_file_is_parsed_once_and_again_after_another_process_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("portcullis.lock");
    let (own, other) = (LockFile::at(path.clone()), LockFile::at(path.clone()));
    other.approve_plugin("weather", "1", "").unwrap();
    assert_eq!(own.plugin("weather").unwrap().as_deref(), Some("1"));
    assert!(Arc::ptr_eq(&own.read().unwrap(), &own.clone().read().unwrap()), "parsed once");
    other.approve_plugin("weather", "2", "").unwrap();
    assert_eq!(own.plugin("weather").unwrap().as_deref(), Some("2"));
    // What was parsed before does not stand in for a file that is damaged or gone.
    std::fs::write(&path, "no TOML").unwrap();
    own.plugin("weather").unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(own.plugin("weather").unwrap(), None);
}

#[test]
fn a_first_use_replaces_no_approval() {
    let folder = tempfile::tempdir().unwrap();
    let own = LockFile::at(folder.path().join("portcullis.lock"));
    let other = LockFile::at(folder.path().join("portcullis.lock"));
    let before = own.approved_plugins().unwrap();
    assert_eq!(before.digest("weather"), None);
    // Another process is faster.
    other.approve_plugin("weather", "1", "reviewed").unwrap();
    assert!(own.approve_new_plugin("weather", "2").unwrap().is_none());
    assert_eq!(own.plugin("weather").unwrap().as_deref(), Some("1"));
    assert_eq!(before.digest("weather"), None, "it is of one moment");

    let new = own.approve_new_plugin("clock", "3").unwrap().expect("it is new");
    assert_eq!((new.approval.digest.as_str(), new.approval.reason.as_str()), ("3", FIRST_USE));
    assert_eq!(own.approved_plugins().unwrap().digest("clock"), Some("3"));
}
