//! Tests of the commands of `portcullis unreal`, also as a diff driver of git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::home::{Home, Ran};
use crate::support::{BINARY, workspace};

/// Packages that the tests of the reader have generated, of several versions of the engine.
const PACKAGES: &str = "plugins/unreal/libraries/unreal-package/fuzz/corpus/read";

fn package(name: &str) -> Vec<u8> {
    fs::read(workspace().join(PACKAGES).join(name)).expect("it is in the repository")
}

fn old() -> Vec<u8> {
    package("blueprint-35")
}

fn new() -> Vec<u8> {
    package("blueprint-36")
}

/// A home without roots, and a folder for files.
fn home() -> (Home, PathBuf) {
    let home = Home::new();
    let folder = home.path().join("elsewhere");
    fs::create_dir_all(folder.join("Content")).expect("a home can be written");
    (home, folder)
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).expect("a home can be written");
}

/// Runs `portcullis unreal` in a folder.
fn unreal(home: &Home, folder: &Path, arguments: &[&str]) -> Ran {
    let ran = home.command(&["unreal"]).args(arguments).current_dir(folder).output();
    ran_of(ran.expect("the binary runs"))
}

fn ran_of(output: std::process::Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Runs git with the file `gitconfig` of the home as the only configuration outside of a repository.
fn git(home: &Home, folder: &Path, arguments: &[&str]) -> Ran {
    let mut git = Command::new("git");
    let path = std::env::var_os("PATH").expect("there is a path");
    git.env_clear().env("PATH", path).env("HOME", home.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    git.env("GIT_CONFIG_GLOBAL", home.path().join("gitconfig")).current_dir(folder);
    ran_of(git.args(["--no-pager"]).args(arguments).output().expect("git is installed"))
}

/// A repository with a first commit, and a `gitconfig` with an identity and the lines of the guide.
fn repository() -> (Home, PathBuf) {
    let (home, folder) = home();
    let config = format!(
        "[user]\nname = Ada\nemail = ada@example.org\n\
         [diff \"unreal\"]\ncommand = '{BINARY}' unreal git-diff\n\
         textconv = '{BINARY}' unreal git-text\nxfuncname = \"^\\\\*\\\\*(.*)\\\\*\\\\*$\"\n"
    );
    fs::write(home.path().join("gitconfig"), config).expect("a home can be written");
    put(&folder, ".gitattributes", b"*.uasset diff=unreal\n");
    put(&folder, "Content/BP_Door.uasset", &old());
    put(&folder, "Content/BP_Gone.uasset", &old());
    for arguments in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "One"]]
    {
        let ran = git(&home, &folder, arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    }
    (home, folder)
}

fn said(ran: &Ran) -> &str {
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    &ran.stdout
}

const CHANGE: &str = "- ~ engine `saved with`: ";
const IN_GRAPH: &str = "node `Event ReceiveBeginPlay (K2Node_Event_0)`: K2Node_Event";

#[test]
fn files_that_are_named_are_compared_and_nothing_beside_them_is_opened() {
    let (home, folder) = home();
    put(&folder, "A.uasset", &old());
    put(&folder, "Content/B.uasset", &new());
    let both = ["diff", "A.uasset", "Content/../Content/B.uasset"];
    let compared = unreal(&home, &folder, &both);
    assert!(said(&compared).contains(CHANGE), "{compared:?}");
    let inside = folder.join("Content");
    let compared = unreal(&home, &inside, &["diff", "../A.uasset", "B.uasset", "--json"]);
    let answer: Value = serde_json::from_str(said(&compared)).expect("it is JSON");
    assert_eq!(answer["structuredContent"]["changes"][0]["part"], "engine", "{answer}");
    let opened: Vec<_> = home.audit().iter().map(|record| record["subject"].to_string()).collect();
    let opened: Vec<_> = opened.into_iter().filter(|ask| ask.contains("elsewhere")).collect();
    assert!(!opened.is_empty(), "{:?}", home.audit());
    for ask in &opened {
        assert!(ask.contains("A.uasset") || ask.contains("B.uasset"), "{ask}");
    }
    // The same paths are outside of the roots for a call that a client could make.
    let arguments =
        format!(r#"{{"fileBefore":"{0}/A.uasset","fileAfter":"{0}/A.uasset"}}"#, folder.display());
    let refused = home.run(&["call", "diff_assets", &arguments]);
    assert!(refused.code == Some(2) && refused.stderr.contains("no roots"), "{refused:?}");
    // A link that leads out of its folder is refused.
    std::os::unix::fs::symlink(folder.join("A.uasset"), inside.join("Link.uasset"))
        .expect("a link");
    let refused = unreal(&home, &inside, &["diff", "Link.uasset", "B.uasset"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("leads out"), "{refused:?}");
}

#[test]
fn a_revision_is_read_from_the_repository_around_the_file() {
    let (home, folder) = repository();
    put(&folder, "Content/BP_Door.uasset", &new());
    let inside = folder.join("Content");
    let compared = unreal(&home, &inside, &["diff", "BP_Door.uasset", "--revision", "HEAD"]);
    let text = said(&compared);
    assert!(
        text.contains(": One)") && text.contains("(on disk)") && text.contains(CHANGE),
        "{text}"
    );
    assert_eq!(git(&home, &folder, &["commit", "-qam", "Two"]).code, Some(0));
    let between = ["diff", "Content/BP_Door.uasset", "--revision", "HEAD~1", "--to", "HEAD"];
    let compared = unreal(&home, &folder, &between);
    let text = said(&compared);
    assert!(text.contains(": One)") && text.contains(": Two)") && text.contains(CHANGE), "{text}");
    let none = unreal(&home, &folder, &["diff", "Content/BP_Door.uasset", "--revision", "nowhere"]);
    assert!(none.code == Some(1) && none.stdout.contains("nowhere"), "{none:?}");
    let same = unreal(&home, &folder, &["diff", "Content/BP_Door.uasset"]);
    assert!(
        same.code == Some(1) && same.stdout.contains("the two versions are the same"),
        "{same:?}"
    );
}

#[test]
fn a_repository_inside_of_another_is_the_one_that_is_read() {
    let (home, folder) = repository();
    let inside = folder.join("Content");
    put(&inside, "BP_Door.uasset", &new());
    for arguments in
        [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "Inside"]]
    {
        assert_eq!(git(&home, &inside, arguments).code, Some(0));
    }
    let root = folder.to_str().expect("UTF-8");
    let compared = unreal(
        &home,
        &folder,
        &["diff", "Content/BP_Door.uasset", "--revision", "HEAD", "--root", root],
    );
    assert!(said(&compared).contains(": Inside)"), "{compared:?}");
}

#[test]
fn new_and_removed_files_are_listed() {
    let (home, folder) = home();
    put(&folder, "A.uasset", &new());
    let added = unreal(&home, &folder, &["diff", "/dev/null", "A.uasset"]);
    let text = said(&added);
    assert!(text.starts_with("New file ") && text.contains(&format!("- + {IN_GRAPH}")), "{text}");
    let removed = unreal(&home, &folder, &["diff", "A.uasset", "/dev/null"]);
    let text = said(&removed);
    assert!(
        text.starts_with("Removed file ") && text.contains(&format!("- - {IN_GRAPH}")),
        "{text}"
    );
    let shown = unreal(&home, &folder, &["show", "A.uasset"]);
    let text = said(&shown);
    assert!(text.contains(&format!("- {IN_GRAPH}\n")) && !text.contains("A.uasset"), "{text}");
}

#[test]
fn what_is_missing_is_named_and_help_says_what_there_is() {
    let (home, folder) = home();
    put(&folder, "A.uasset", &new());
    let missing = unreal(&home, &folder, &["diff", "No.uasset", "A.uasset"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(2), ""), "{missing:?}");
    for part in ["cannot read the file No.uasset", "hint: ", folder.to_str().expect("UTF-8")] {
        assert!(missing.stderr.contains(part), "{part}: {missing:?}");
    }
    let other_case = unreal(&home, &folder, &["show", "a.UASSET"]);
    assert!(other_case.stderr.contains("hint: the folder has A.uasset"), "{other_case:?}");
    let root = folder.to_str().expect("UTF-8");
    let other_case = format!(r#"{{"fileAfter":"{root}/a.uasset","listing":"contents"}}"#);
    let other_case = home.run(&["call", "--root", root, "diff_assets", &other_case]);
    assert!(
        other_case.code == Some(1) && other_case.stdout.contains("its folder has A.uasset"),
        "{other_case:?}"
    );
    put(&folder, "Text.uasset", b"a text");
    let text = unreal(&home, &folder, &["show", "Text.uasset"]);
    assert!(text.code == Some(1) && text.stdout.contains("Text.uasset"), "{text:?}");
    let help = unreal(&home, &folder, &["--help"]);
    for command in ["diff", "show", "git-diff", "git-text"] {
        assert!(said(&help).contains(&format!("  {command} ")), "{command}: {help:?}");
    }
    let help = unreal(&home, &folder, &["diff", "--help"]);
    for part in
        ["Show what changed between two versions", "<BEFORE>", "[AFTER]", "--revision", "--json"]
    {
        assert!(said(&help).contains(part), "{part}: {help:?}");
    }
    home.configure("[plugins.unreal]\nenabled = false\n");
    let off = unreal(&home, &folder, &["show", "A.uasset"]);
    assert!(
        off.code == Some(2) && off.stderr.contains("hint: `portcullis plugin list`"),
        "{off:?}"
    );
    assert!(home.run(&["completions", "bash"]).stdout.contains("git-text"));
}

#[test]
fn git_shows_differences_of_packages() {
    let (home, folder) = repository();
    put(&folder, "Content/BP_Door.uasset", &new());
    put(&folder, "Content/BP_New.uasset", &new());
    put(&folder, "Content/Lfs.uasset", b"version https://git-lfs.github.com/spec/v1\nsize 12\n");
    fs::remove_file(folder.join("Content/BP_Gone.uasset")).expect("it is there");
    assert_eq!(git(&home, &folder, &["add", "-A"]).code, Some(0));
    let shown = git(&home, &folder, &["diff", "--no-renames", "HEAD"]);
    let text = said(&shown);
    for part in [
        "Changed file Content/BP_Door.uasset\n",
        CHANGE,
        "New file Content/BP_New.uasset",
        "Removed file Content/BP_Gone.uasset",
        "cannot compare Content/Lfs.uasset",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(git(&home, &folder, &["commit", "-qm", "Two"]).code, Some(0));
    // Without `--ext-diff`, `git log` does not run the command of the driver. It compares the texts of both versions,
    // which `textconv` makes.
    let logged =
        git(&home, &folder, &["log", "-p", "-1", "--no-renames", "--", "Content/BP_Door.uasset"]);
    let text = said(&logged);
    assert!(
        text.contains("\n-- engine `saved with`: ") && text.contains("\n+- engine `saved with`: "),
        "{text}"
    );
    assert!(text.matches("\n+").count() < 8, "one line differs: {text}");
    let logged = git(&home, &folder, &["log", "-p", "-1", "--ext-diff"]);
    assert!(said(&logged).contains("Changed file Content/BP_Door.uasset"), "{logged:?}");
    // For a renamed file, git gives the driver two more arguments.
    assert_eq!(
        git(&home, &folder, &["mv", "Content/BP_Door.uasset", "Content/BP_Gate.uasset"]).code,
        Some(0)
    );
    let renamed = git(&home, &folder, &["diff", "-M", "HEAD"]);
    assert!(said(&renamed).contains("Changed file Content/BP_Gate.uasset"), "{renamed:?}");
}

#[test]
fn git_goes_on_after_a_conflict() {
    let (home, folder) = repository();
    let changed = |branch: &str, bytes: &[u8]| {
        put(&folder, "Content/BP_Door.uasset", bytes);
        assert_eq!(git(&home, &folder, &["commit", "-qam", branch]).code, Some(0));
    };
    assert_eq!(git(&home, &folder, &["checkout", "-qb", "feature"]).code, Some(0));
    changed("feature", &new());
    assert_eq!(git(&home, &folder, &["checkout", "-q", "-"]).code, Some(0));
    changed("other", &package("blueprint-34"));
    assert_eq!(git(&home, &folder, &["merge", "-q", "feature"]).code, Some(1));
    // Git names no versions of the file that is unmerged. The next file is still shown.
    put(&folder, "Content/BP_Gone.uasset", &new());
    let shown = git(&home, &folder, &["diff", "--ours"]);
    let text = said(&shown);
    assert!(text.contains("Content/BP_Door.uasset is unmerged"), "{text}");
    assert!(text.contains("Changed file Content/BP_Gone.uasset"), "{text}");
}
