//! Compares the reader's results with the output of git itself, in repositories that git makes.

use git_objects::{Fault, Repository};
use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

const MAX_BYTES: u64 = 1 << 20;

/// Runs git in a folder, without the user's settings.
fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "core.autocrlf=false", "-c", "protocol.file.allow=always"]);
    git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "gc.auto=0"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.env("GIT_COMMITTER_DATE", "1700000000 +0100").env("GIT_AUTHOR_DATE", "1700000000 +0100");
    let done = git.args(arguments).output().expect("git is installed");
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

fn line(folder: &Path, arguments: &[&str]) -> String {
    String::from_utf8(git(folder, arguments)).expect("text").trim().to_owned()
}

/// Bytes that cannot be compressed. Each version differs in a few of them.
fn content(version: u32) -> Vec<u8> {
    let mut state = 7_u32;
    let mut bytes: Vec<u8> = (0..200_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    bytes[..4].copy_from_slice(&version.to_le_bytes());
    bytes[150_000..150_004].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// A repository with 12 versions of a file, a merge, a branch and tags.
fn repository(arguments: &[&str]) -> (TempDir, PathBuf) {
    let held = tempfile::tempdir().expect("a folder");
    let dir = held.path().canonicalize().expect("it exists");
    git(&dir, &[&["init", "--quiet", "--initial-branch=main"], arguments].concat());
    fs::create_dir_all(dir.join("Content/Äpfel")).expect("it can be made");
    for version in 0..12 {
        fs::write(dir.join("Content/Äpfel/A.uasset"), content(version)).expect("it can be written");
        git(&dir, &["add", "."]);
        git(&dir, &["commit", "--quiet", "-m", &format!("Version {version}\n\nMore.")]);
    }
    git(&dir, &["checkout", "--quiet", "-b", "side/line", "HEAD~3"]);
    fs::write(dir.join("B.txt"), "b").expect("it can be written");
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "--quiet", "-m", "Side"]);
    git(&dir, &["tag", "-a", "-m", "a tag", "v1"]);
    git(&dir, &["tag", "-a", "-m", "a tag of a tag", "v1again", "v1"]);
    git(&dir, &["checkout", "--quiet", "main"]);
    git(&dir, &["merge", "--quiet", "--no-ff", "-m", "Merge", "side/line"]);
    git(&dir, &["tag", "light", "HEAD~5"]);
    (held, dir)
}

/// Asserts that revisions name the same commits as in git, and that two files have the same bytes.
fn assert_same(dir: &Path) {
    let found = Repository::around(&dir.join("Content/none.uasset")).expect("a repository");
    let abbreviation = line(dir, &["rev-parse", "--short=7", "HEAD~4"]);
    let full = line(dir, &["rev-parse", "HEAD~2"]).to_uppercase();
    for revision in [
        "HEAD",
        "@",
        "@~3",
        "HEAD^2",
        "HEAD^2~1",
        "HEAD^^^~2",
        "main",
        "heads/main",
        "side/line",
        "v1",
        "refs/heads/main",
        "tags/v1",
        "v1again^{}",
        "v1^{commit}~2",
        "light",
        "HEAD^0",
        "HEAD~11",
        &abbreviation,
        &full,
    ] {
        let commit = found.commit(revision).unwrap_or_else(|fault| panic!("{revision}: {fault}"));
        let id = line(dir, &["rev-parse", &format!("{revision}^{{commit}}")]);
        assert_eq!(commit.id.to_string(), id, "{revision}");
        assert_eq!(commit.subject, line(dir, &["log", "-1", "--format=%s", &id]));
        assert_eq!(commit.seconds, 1_700_000_000);
        for path in ["Content/Äpfel/A.uasset", "B.txt"] {
            let expected = git(dir, &["ls-tree", &id, "--", path]);
            let expected = (!expected.is_empty())
                .then(|| git(dir, &["cat-file", "blob", &format!("{id}:{path}")]));
            let read = found.file(&commit, &dir.join(path), MAX_BYTES).expect("it can be read");
            let read = read.map(|blob| (blob.bytes, blob.other_name));
            assert!(read == expected.map(|bytes| (bytes, None)), "{revision}: {path}");
        }
    }
}

fn fault(dir: &Path, revision: &str) -> String {
    let found = Repository::around(&dir.join("x")).expect("a repository");
    match found.commit(revision) {
        Ok(commit) => panic!("{revision} is {commit:?}"),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn loose_objects_and_packs() {
    let (_held, dir) = repository(&[]);
    assert_same(&dir);
    // All objects in a pack, and packed references.
    git(&dir, &["repack", "-d", "--quiet"]);
    git(&dir, &["pack-refs", "--all"]);
    assert_same(&dir);
    fs::write(dir.join("C.txt"), "c").expect("it can be written");
    git(&dir, &["checkout", "--quiet", "-b", "next"]);
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "--quiet", "-m", "Next"]);
    // One pack, with chains of deltas.
    git(&dir, &["gc", "--quiet", "--aggressive"]);
    let deltas = line(&dir, &["count-objects", "-v"]);
    assert!(deltas.contains("count: 0") && deltas.contains("packs: 1"), "{deltas}");
    git(&dir, &["checkout", "--quiet", "main"]);
    assert_same(&dir);
    // Deltas refer to their base by its object name instead of its distance.
    git(&dir, &["-c", "repack.useDeltaBaseOffset=false", "repack", "-a", "-d", "-f", "--quiet"]);
    assert_same(&dir);
}

#[test]
fn object_names_of_sha_256() {
    let (_held, dir) = repository(&["--object-format=sha256"]);
    assert_same(&dir);
    git(&dir, &["gc", "--quiet"]);
    assert_same(&dir);
}

#[test]
fn another_working_tree_a_submodule_and_shared_objects() {
    let (_held, dir) = repository(&[]);
    let other = tempfile::tempdir().expect("a folder");
    let other = other.path().canonicalize().expect("it exists");
    let path = |name: &str| other.join(name).to_string_lossy().into_owned();
    git(&dir, &["worktree", "add", "--quiet", "-b", "tree", &path("tree"), "main"]);
    assert_same(&other.join("tree"));
    git(&other, &["clone", "--quiet", "--shared", &dir.to_string_lossy(), "shared"]);
    git(&other.join("shared"), &["branch", "side/line", "origin/side/line"]);
    assert_same(&other.join("shared"));
    git(&other, &["init", "--quiet", "outer"]);
    git(&other.join("outer"), &["submodule", "--quiet", "add", &dir.to_string_lossy(), "inner"]);
    git(&other.join("outer/inner"), &["branch", "side/line", "origin/side/line"]);
    assert_same(&other.join("outer/inner"));
    // The fault names the folder that cannot be read.
    fs::rename(&dir, dir.with_extension("moved")).expect("it can be moved");
    let found = Repository::around(&other.join("tree/x"));
    assert!(
        matches!(&found, Err(Fault::Elsewhere(folder, _)) if folder.ends_with(".git/worktrees/tree"))
    );
    let found = Repository::around(&other.join("shared/x"));
    assert!(matches!(&found, Err(Fault::Elsewhere(folder, _)) if folder.ends_with(".git/objects")));
    fs::rename(dir.with_extension("moved"), &dir).expect("it can be moved");
}

/// Commits files through the index, without the working tree. A file system that ignores case cannot hold two files
/// with names that differ only in case.
fn commit_of(dir: &Path, paths: &[&str]) {
    git(dir, &["read-tree", "--empty"]);
    for path in paths {
        fs::write(dir.join("new"), path).expect("it can be written");
        let id = line(dir, &["hash-object", "-w", "new"]);
        let entry = format!("100644,{id},{path}");
        git(dir, &["update-index", "--add", "--cacheinfo", &entry]);
    }
    git(dir, &["commit", "--quiet", "-m", "Names"]);
}

#[test]
fn a_path_may_differ_in_case() {
    let (_held, dir) = repository(&[]);
    let read = |path: &str| {
        let found = Repository::around(&dir.join("x")).expect("a repository");
        let head = found.commit("HEAD").expect("a commit");
        let file = found.file(&head, &dir.join(path), MAX_BYTES);
        file.map(|blob| blob.map(|blob| (blob.other_name, String::from_utf8(blob.bytes))))
    };
    let same = |path: &str, other: Option<&str>| {
        let text = other.unwrap_or(path).to_owned();
        assert_eq!(read(path).expect(path), Some((other.map(str::to_owned), Ok(text))));
    };
    // A commit may have both `Content` and `content`: git stores each path as it was added.
    commit_of(&dir, &["Content/BP_Door.uasset", "content/BP_Bell.uasset", "Content/Ärger.uasset"]);
    same("Content/BP_Door.uasset", None);
    same("content/bp_door.UASSET", Some("Content/BP_Door.uasset"));
    same("Content/BP_Bell.uasset", Some("content/BP_Bell.uasset"));
    same("CONTENT/ÄRGER.uasset", Some("Content/Ärger.uasset"));
    assert_eq!(read("Content/BP_Window.uasset").expect("it is looked for"), None);
    commit_of(&dir, &["Content/BP_Door.uasset", "content/BP_door.uasset"]);
    same("Content/BP_Door.uasset", None);
    same("content/BP_door.uasset", None);
    let fault = read("content/BP_Door.uasset").expect_err("it could be either").to_string();
    for part in ["`content/BP_Door.uasset`", "`Content/BP_Door.uasset`", "`content/BP_door.uasset`"]
    {
        assert!(fault.contains(part), "{fault}");
    }
}

#[test]
fn refusals_name_the_reason() {
    let (_held, dir) = repository(&[]);
    assert!(fault(&dir, "nothing").contains("no revision `nothing`"));
    assert!(
        fault(&dir, "config").contains("no revision `config`"),
        "a file that is not a reference"
    );
    assert!(fault(&dir, "HEAD~100").contains("has no such parent"));
    assert!(fault(&dir, "HEAD~2^2").contains("has no such parent"));
    assert!(fault(&dir, "main..v1").contains("not a supported revision"));
    assert!(fault(&dir, &line(&dir, &["rev-parse", "HEAD^{tree}"])).contains("is a tree in git"));
    assert!(fault(&dir, &"1".repeat(40)).contains("does not have object 1111"));
    let found = Repository::around(&dir.join("x")).expect("a repository");
    let head = found.commit("HEAD").expect("a commit");
    let file = |path: &str, most| found.file(&head, &dir.join(path), most);
    assert!(matches!(file("Content", MAX_BYTES), Err(Fault::NotAFile(_, "folder"))));
    assert!(matches!(file("B.txt/x", MAX_BYTES), Ok(None)));
    assert!(matches!(
        file("Content/Äpfel/A.uasset", 1000),
        Err(Fault::TooLarge { size: 200_000, .. })
    ));
    git(&dir, &["gc", "--quiet"]);
    assert!(matches!(
        file("Content/Äpfel/A.uasset", 1000),
        Err(Fault::TooLarge { .. } | Fault::Missing(_))
    ));
    let none = tempfile::tempdir().expect("a folder");
    let found = Repository::around(&none.path().join("x"));
    assert!(matches!(&found, Err(Fault::NoRepository(_))), "{:?}", found.err());
    // A history that was not fetched.
    let url = format!("file://{}", dir.display());
    git(none.path(), &["clone", "--quiet", "--depth=2", &url, "shallow"]);
    assert!(fault(&none.path().join("shallow"), "HEAD~3").contains("--unshallow"));
}

#[test]
fn content_of_git_lfs() {
    let (_held, dir) = repository(&[]);
    let oid = "0123456789abcdef".repeat(4);
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 5\n");
    fs::write(dir.join("L.uasset"), pointer).expect("it can be written");
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "--quiet", "-m", "A pointer"]);
    let found = Repository::around(&dir.join("L.uasset")).expect("a repository");
    let head = found.commit("HEAD").expect("a commit");
    let file = || found.file(&head, &dir.join("L.uasset"), MAX_BYTES);
    let fault = file().expect_err("it is not downloaded").to_string();
    assert!(fault.contains("git lfs fetch") && fault.contains(&oid), "{fault}");
    let folder = dir.join(".git/lfs/objects/01/23");
    fs::create_dir_all(&folder).expect("it can be made");
    fs::write(folder.join(&oid), "large").expect("it can be written");
    let blob = file().expect("it is there").map(|blob| blob.bytes);
    assert_eq!(blob, Some(b"large".to_vec()));
    fs::write(folder.join(&oid), "larger").expect("it can be written");
    assert!(matches!(file(), Err(Fault::Malformed(_))));
}

#[test]
fn a_damaged_repository_is_refused() {
    let (_held, dir) = repository(&[]);
    git(&dir, &["gc", "--quiet", "--aggressive"]);
    let packs = fs::read_dir(dir.join(".git/objects/pack")).expect("packs").flatten();
    let files: Vec<PathBuf> = packs
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "pack" || end == "idx"))
        .collect();
    assert_eq!(files.len(), 2);
    let read = || -> Result<(), Box<dyn Error>> {
        let found = Repository::around(&dir.join("x"))?;
        for back in 0..12 {
            let commit = found.commit(&format!("HEAD~{back}"))?;
            found.file(&commit, &dir.join("Content/Äpfel/A.uasset"), MAX_BYTES)?;
        }
        Ok(())
    };
    read().expect("it is whole");
    let mut refused = 0;
    let mut state = 1_usize;
    for file in &files {
        let whole = fs::read(file).expect("it can be read");
        // Git makes packs read-only.
        fs::remove_file(file).expect("it can be removed");
        for round in 0..60 {
            let mut bytes = whole.clone();
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 20) % bytes.len();
            if round % 6 == 0 {
                bytes.truncate(at);
            } else {
                bytes[at] ^= 1 << (round % 8);
            }
            fs::write(file, &bytes).expect("it can be written");
            refused += usize::from(read().is_err());
        }
        fs::write(file, &whole).expect("it can be written");
    }
    read().expect("it is whole again");
    assert!(refused > 20, "{refused}");
}
