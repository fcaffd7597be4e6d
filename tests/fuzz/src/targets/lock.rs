//! Fuzzes the lock file: a file that cannot be read approves nothing, and an approval changes no other entry.

use std::cell::OnceCell;
use std::fs;

use portcullis_core::lock::{HeldTool, LockFile};
use tempfile::TempDir;

/// Texts that have a meaning for this parser.
pub const WORDS: &[&str] = &[
    "[plugins]\n",
    "[upstreams.one]\n",
    "[upstreams]\n",
    "a = \"1\"\n",
    "plugins = {}\n",
    "upstreams.one.a = \"1\"\n",
    "\"\"\"",
    "'''",
    "[[",
    "]]",
    "\\u0000",
    "1979-05-27",
    "inf",
    "= {",
    "\n",
    "#",
    ".",
];

thread_local! {
    /// The folder of the lock file: in memory (`/dev/shm`), if the system has it.
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// Uses a lock file with these bytes. Panics if a component or tool counts as approved although the bytes do not
/// approve it.
pub fn target(bytes: &[u8]) {
    FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| {
            tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
        });
        use_lock(&folder.path().join("portcullis.lock"), bytes);
    });
}

fn use_lock(path: &std::path::Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file");
    let lock = LockFile::at(path.to_owned());
    let table = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<toml::Table>().ok());
    let tools = [("a", "1"), ("b", "2")];
    let Ok(approved) = lock.plugin("a") else {
        let held = lock.unapproved("one", tools.into_iter(), false, |_| ());
        assert_eq!(names(&held), ["a", "b"], "a lock file that cannot be read approves nothing");
        assert!(
            lock.approve_plugin("a", "3", "why").is_err(),
            "a lock file that cannot be read is not replaced"
        );
        assert_eq!(fs::read(path).expect("it is there"), bytes, "the file is what it was");
        return;
    };
    let table = table.expect("what is read is TOML");
    let said = table.get("plugins").and_then(|plugins| plugins.get("a"));
    assert_eq!(approved.as_deref(), said.and_then(toml::Value::as_str));
    let before = lock.plugin("b").expect("it was read just now");
    lock.approve_plugin("a", "3", "why").expect("it was read just now");
    assert_eq!(lock.plugin("a").expect("it was written"), Some("3".to_owned()));
    assert_eq!(lock.plugin("b").expect("it was written"), before);
    let approved = table.get("upstreams").and_then(|servers| servers.get("one"));
    let is_held = |(tool, digest): &&(&str, &str)| {
        approved.is_some_and(|set| set.get(tool).and_then(toml::Value::as_str) != Some(digest))
    };
    let expected: Vec<_> = tools.iter().filter(is_held).map(|(name, _)| *name).collect();
    assert_eq!(names(&lock.unapproved("one", tools.into_iter(), false, |_| ())), expected);
}

fn names(held: &[HeldTool]) -> Vec<&str> {
    held.iter().map(|held| held.tool.as_str()).collect()
}
