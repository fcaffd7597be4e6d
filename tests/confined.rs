//! Tests of programs that run for a call: a hostile folder must not make the real git run programs. And a test of a
//! host whose limit of file sizes is 0.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::home::{Home, Ran};

/// Settings of git that name a program to run. Each program leaves a mark with the name of its setting.
const SETTINGS: &[&str] = &[
    "alias.add",
    "alias.init",
    "core.editor",
    "core.fsmonitor",
    "core.pager",
    "core.sshCommand",
    "credential.helper",
    "diff.external",
    "filter.evil.clean",
    "filter.evil.process",
    "filter.evil.smudge",
    "gpg.program",
    "sequence.editor",
    "submodule.sub.update",
];

/// The hooks that git may run when something is added or committed.
const HOOKS: &[&str] = &[
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "pre-auto-gc",
    "pre-commit",
    "prepare-commit-msg",
    "reference-transaction",
];

/// The setup of a test: a home with an identity for git, and a folder `files/app`.
struct Stage {
    home: Home,
    app: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let home = Home::new();
        let identity = "[user]\n\tname = A User\n\temail = user@portcullis.example\n\
                        [init]\n\tdefaultBranch = trunk\n";
        fs::write(home.path().join(".gitconfig"), identity).expect("a home");
        let app = home.files().join("app");
        fs::create_dir(&app).expect("a home");
        Self { home, app }
    }

    /// Runs git in a folder as an attacker would.
    fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let ran = Command::new("git")
            .args(arguments)
            .current_dir(folder)
            .env("HOME", self.home.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("this test needs git");
        assert!(ran.status.success(), "git {arguments:?}: {ran:?}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    /// Makes a program that leaves marks with this name when it runs. Returns its path.
    fn trap(&self, name: &str) -> String {
        let trap = self.home.path().join("traps").join(name);
        fs::create_dir_all(trap.parent().expect("it has a folder")).expect("a home");
        // One mark in the folder that the call may write to, and one beside the program.
        let marks = [self.app.join(format!("MARK-{name}")), trap.with_extension("mark")];
        let script =
            format!("#!/bin/sh\ntouch {} {}\ncat\n", marks[0].display(), marks[1].display());
        fs::write(&trap, script).expect("a home");
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).expect("a mode");
        trap.to_str().expect("UTF-8").to_owned()
    }

    /// Makes a folder into a hostile repository.
    fn poison(&self, folder: &Path) {
        self.git(folder, &["init", "--quiet"]);
        for hook in HOOKS {
            let trap = self.trap(&format!("hook-{hook}"));
            let at = folder.join(".git/hooks").join(hook);
            fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
            fs::copy(trap, at).expect("a hook");
        }
        let include = folder.join(".git/included");
        let mut included = String::new();
        for setting in SETTINGS {
            let (section, key) = setting.rsplit_once('.').expect("a setting has a section");
            let section = match section.split_once('.') {
                Some((section, name)) => format!("{section} \"{name}\""),
                None => section.to_owned(),
            };
            let shell =
                if section == "alias" || section.starts_with("submodule") { "!" } else { "" };
            let trap = self.trap(setting);
            included += &format!("[{section}]\n\t{key} = \"{shell}{trap}\"\n");
        }
        included += "[commit]\n\tgpgsign = true\n\ttemplate = /etc/hostname\n\
                     [core]\n\tworktree = /tmp\n\thooksPath = hooks\n\
                     [extensions]\n\tworktreeConfig = true\n[maintenance]\n\tauto = true\n";
        fs::write(&include, &included).expect("a file");
        fs::write(folder.join(".git/config.worktree"), &included).expect("a file");
        let config = folder.join(".git/config");
        let text = fs::read_to_string(&config).expect("git made it");
        fs::write(&config, format!("{text}{included}[include]\n\tpath = included\n"))
            .expect("a file");
        fs::write(folder.join(".git/info/attributes"), ATTRIBUTES).expect("a file");
    }

    /// Creates an app in the folder, with a repository.
    fn create(&self) -> Ran {
        let arguments = json!({
            "appNamespace": "com.example.app",
            "basePath": self.app,
            "createAppDirectory": false,
            "framework": "OpenUI5",
            "frameworkVersion": "1.136.0",
            "initializeGitRepository": true,
            "runNpmInstall": false,
        });
        let root = self.home.files();
        let root = root.to_str().expect("UTF-8");
        let mut command =
            self.home.command(&["call", "create_ui5_app", "--root", root, &arguments.to_string()]);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let ran = command.output().expect("the binary runs");
        Ran {
            code: ran.status.code(),
            stdout: String::from_utf8_lossy(&ran.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&ran.stderr).into_owned(),
        }
    }

    /// The marks of programs that ran.
    fn marks(&self) -> Vec<PathBuf> {
        let folders = [self.app.clone(), self.home.path().join("traps")];
        let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.to_string_lossy().to_uppercase().contains("MARK")).collect()
    }
}

/// The attributes of all files in a hostile folder.
const ATTRIBUTES: &str = "* filter=evil diff=evil merge=evil working-tree-encoding=UTF-8\n";

#[test]
fn an_existing_repository_is_not_changed() {
    let stage = Stage::new();
    stage.poison(&stage.app);
    let config = stage.app.join(".git/config");
    let before = fs::read(&config).expect("git made it");
    let ran = stage.create();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("There is a git repository in"), "{ran:?}");
    assert!(ran.stdout.contains("nothing was committed"), "{ran:?}");
    assert!(stage.app.join("webapp/manifest.json").is_file(), "{ran:?}");
    assert_eq!(fs::read(&config).expect("it stays"), before);
    assert!(!stage.app.join(".git/index").exists(), "nothing was added");
    assert_eq!(stage.marks(), Vec::<PathBuf>::new());
    // The traps work: git without the host's options runs some of them.
    let here = format!("core.worktree={}", stage.app.display());
    let _whatever_comes_of_it = Command::new("git")
        .args(["-c", &here, "add", "."])
        .current_dir(&stage.app)
        .env("HOME", stage.home.path())
        .output()
        .expect("this test needs git");
    assert!(!stage.marks().is_empty(), "the traps work");
}

#[test]
fn links_to_a_repository_are_not_followed() {
    let elsewhere = |stage: &Stage| {
        let elsewhere = stage.home.files().join("elsewhere");
        fs::create_dir(&elsewhere).expect("a folder");
        stage.poison(&elsewhere);
        elsewhere.join(".git")
    };
    let named = Stage::new();
    let target = elsewhere(&named);
    fs::write(named.app.join(".git"), format!("gitdir: {}\n", target.display())).expect("a file");
    let linked = Stage::new();
    let target = elsewhere(&linked);
    symlink(target, linked.app.join(".git")).expect("a link");
    let dangling = Stage::new();
    symlink("nowhere", dangling.app.join(".git")).expect("a link");
    for stage in [named, linked, dangling] {
        let ran = stage.create();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("There is a git repository in"), "{ran:?}");
        assert_eq!(stage.marks(), Vec::<PathBuf>::new());
    }
}

#[test]
fn hostile_files_around_a_new_repository_do_not_influence_git() {
    let stage = Stage::new();
    // The folder above is a hostile repository, and so is a folder below, which has a commit. The folder itself has
    // attributes, and settings for submodules. The user's own settings must not run a program either.
    stage.poison(&stage.home.files());
    let sub = stage.app.join("sub");
    fs::create_dir(&sub).expect("a folder");
    stage.git(&sub, &["init", "--quiet"]);
    fs::write(sub.join("file"), "one").expect("a file");
    stage.git(&sub, &["add", "."]);
    stage.git(&sub, &["commit", "--quiet", "-m", "one"]);
    fs::write(sub.join("file"), "another").expect("a file");
    stage.poison(&sub);
    fs::write(stage.app.join(".gitattributes"), ATTRIBUTES).expect("a file");
    let modules = "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tupdate = !touch MARK\n";
    fs::write(stage.app.join(".gitmodules"), modules).expect("a file");
    let config = stage.home.path().join(".gitconfig");
    let mut text = fs::read_to_string(&config).expect("it was written");
    let trap = stage.trap("users-filter");
    text += &format!("[filter \"evil\"]\n\tclean = {trap}\n[commit]\n\tgpgsign = true\n");
    fs::write(&config, text).expect("a home");

    let ran = stage.create();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(stage.marks(), Vec::<PathBuf>::new(), "{ran:?}");
    let plain = ["-c", "core.fsmonitor=false", "-c", "core.pager=cat"];
    let log = [&plain[..], &["log", "--format=%an %ae %s %D"]].concat();
    let said = stage.git(&stage.app, &log);
    assert_eq!(
        said.trim(),
        "A User user@portcullis.example Initial commit HEAD -> trunk",
        "{ran:?}"
    );
    let shown = [&plain[..], &["show", "HEAD:webapp/manifest.json"]].concat();
    let manifest = fs::read_to_string(stage.app.join("webapp/manifest.json")).expect("a file");
    assert_eq!(stage.git(&stage.app, &shown), manifest, "as it is, through no filter");
    let kept = fs::read_to_string(stage.app.join(".git/config")).expect("git made it");
    assert!(kept.to_lowercase().contains("filemode = true"), "{kept}");
    assert!(!stage.app.join(".git/hooks").exists(), "no hook came from a template");
}

#[test]
fn without_an_identity_no_incomplete_repository_is_left() {
    let stage = Stage::new();
    fs::write(stage.home.path().join(".gitconfig"), "").expect("a home");
    let ran = stage.create();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("user.name"), "{ran:?}");
    assert!(!stage.app.join(".git").exists(), "{ran:?}");
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_does_not_end_the_host() {
    let home = Home::with(&["echo"], "[host]\nbundled = false\n[plugins.echo]\n");
    let warm = home.run(&["call", "echo", r#"{"text":"hello"}"#]);
    assert_eq!(warm.code, Some(0), "{warm:?}");
    let call = home.command(&["call", "echo", r#"{"text":"hello"}"#]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -f 0; exec \"$@\"", "sh"])
        .arg(call.get_program())
        .args(call.get_args())
        .env_clear()
        .env("HOME", home.path())
        .current_dir(home.path());
    let ran = limited.output().expect("the binary runs");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(2), "it ends by itself: {ran:?}");
    assert!(said.contains("audit") && said.contains("too large"), "{said}");
}
