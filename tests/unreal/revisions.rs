//! Test of comparing a package with a git revision: the plugin reads the repository's objects in the sandbox.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::game;
use crate::support::client::{Client, Era, text_of};

#[test]
fn a_git_revision_is_read_in_the_sandbox_and_only_inside_the_roots() {
    let home = game("");
    let project = home.files().join("MyGame");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&project).args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let done = git.args(arguments).output().expect("git is installed");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    };
    let package = project.join("Content/A.uasset");
    fs::write(&package, "no package").expect("a home can be written");
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "What was said"]);
    let mut client = Client::start(&home, Era::Modern);
    let mut compared = || {
        let arguments = json!({"fileAfter": package, "revisionBefore": "HEAD"});
        text_of(&client.call("diff_assets", arguments))
    };
    for state in ["loose objects", "a pack"] {
        let text = compared();
        assert!(
            text.contains("A.uasset (") && text.contains(": What was said)"),
            "{state}: {text}"
        );
        git(&["gc", "--quiet"]);
    }
    // The repository is moved out of the roots, and the plugin cannot read it there.
    let moved = home.files().join("repository");
    fs::rename(project.join(".git"), &moved).expect("a home can be written");
    fs::write(project.join(".git"), "gitdir: ../repository\n").expect("a home can be written");
    let text = compared();
    assert!(text.contains("add it to the session's roots"), "{text}");
    assert!(!text.contains("What was said"), "{text}");
}
