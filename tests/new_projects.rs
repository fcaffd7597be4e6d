//! Tests of `portcullis new`, which makes projects of plugins in several languages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::support::home::{Home, Ran};
use crate::support::process::Process;
use crate::support::workspace;

/// The languages, and the tool of each project.
const LANGUAGES: &[(&str, &str)] = &[
    ("rust", "find_lines"),
    ("js", "find-lines"),
    ("ts", "find-lines"),
    ("python", "find-lines"),
    ("go", "find-lines"),
];

/// Runs a command in the folder for files.
fn run(home: &Home, arguments: &[&str]) -> Ran {
    let mut command = home.command(arguments);
    command.current_dir(home.files());
    Process::start(&mut command).end()
}

/// The paths of all files beneath a folder.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it was found there");
                found.insert(name.display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_project_has_its_files_in_every_language() {
    let home = Home::new();
    for (language, tool) in LANGUAGES {
        let name = format!("lines-{language}");
        let made = run(&home, &["new", &name, "--lang", language]);
        assert_eq!(made.code, Some(0), "{made:?}");
        assert!(made.stdout.contains(&format!("cd {name}\n")), "{made:?}");
        let folder = home.files().join(&name);
        let files = files(&folder);
        for file in ["README.md", ".gitignore", "cases/finds-lines.toml"] {
            assert!(files.contains(file), "{language}: {files:?}");
        }
        let readme = fs::read_to_string(folder.join("README.md")).expect("a README");
        assert!(readme.contains(&format!("portcullis call {tool}")), "{readme}");
        for part in ["portcullis plugin add ./", &name.replace('-', "_")] {
            assert!(readme.replace('-', "_").contains(&part.replace('-', "_")), "{part}: {readme}");
        }
        // The command prints what the user has to type next: the first command of the project's README.
        let first = readme.split("```sh\n").nth(1).expect("commands");
        let first = first.lines().next().expect("a command");
        assert!(made.stdout.contains(first), "{first}: {made:?}");
    }
    let hidden = files(&home.files()).into_iter().filter(|file| file.contains(".portcullis-"));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn a_rust_project_has_the_sdk_as_it_is() {
    let home = Home::new();
    run(&home, &["new", "lines", "--lang", "rust"]);
    let sdk = home.files().join("lines/sdk");
    for part in ["plugins/portcullis-plugin", "plugins/portcullis-plugin-macros"] {
        let (copy, own) = (sdk.join(part), workspace().join(part));
        let names = files(&own);
        assert!(!names.is_empty());
        assert_eq!(files(&copy), names, "{part}");
        for name in names {
            let read = |folder: &Path| fs::read(folder.join(&name)).expect("a file");
            assert!(read(&copy) == read(&own), "{part}/{name}");
        }
    }
}

#[test]
fn a_project_without_the_sdk_has_the_contract_as_it_is() {
    let home = Home::new();
    for (language, _) in LANGUAGES.iter().filter(|(language, _)| *language != "rust") {
        let name = format!("lines-{language}");
        run(&home, &["new", &name, "--lang", language]);
        let copy = home.files().join(name).join("wit/deps/portcullis-plugin");
        let own = workspace().join("wit");
        assert_eq!(files(&copy), files(&own), "{language}");
        for name in files(&own) {
            let read = |folder: &Path| fs::read(folder.join(&name)).expect("a file");
            assert!(read(&copy) == read(&own), "{language}: {name}");
        }
    }
}

#[test]
fn the_cases_of_every_project_have_no_mistake() {
    let home = Home::new();
    for (language, _) in LANGUAGES {
        let name = format!("lines-{language}");
        run(&home, &["new", &name, "--lang", language]);
        // Nothing is built. The command reads the cases before it finds that the component is missing.
        let cases = format!("{name}/cases");
        let ran = run(&home, &["test", "lines.wasm", "--cases", &cases]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("build the plugin first"), "{language}: {ran:?}");
    }
}

#[test]
fn what_exists_is_not_overwritten() {
    let home = Home::new();
    let there = home.files();
    fs::create_dir(there.join("folder")).expect("a folder");
    fs::write(there.join("file"), "mine").expect("a file");
    std::os::unix::fs::symlink(there.join("nowhere"), there.join("link")).expect("a link");
    let before = files(&there);
    for name in ["folder", "file", "link"] {
        let ran = run(&home, &["new", name, "--lang", "js"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("exists already\n  hint: choose another name"), "{ran:?}");
    }
    assert_eq!(files(&there), before);
    assert_eq!(fs::read_to_string(there.join("file")).expect("a file"), "mine");
}

#[test]
fn a_mistake_in_the_name_or_the_language_is_said_and_nothing_is_made() {
    let home = Home::new();
    for (arguments, expected) in [
        (&["new", "lines"][..], "the language is missing: add `--lang LANGUAGE`"),
        (&["new", "lines", "--lang", "cobol"], "there is no template for the language `cobol`"),
        (&["new", "Word Count", "--lang", "rust"], "hint: write `word-count`"),
        (&["new", "../up", "--lang", "js"], "hint: write `up`"),
        (&["new", "fn", "--lang", "rust"], "`fn` is a reserved name of rust"),
        (&["new", "fs", "--lang", "js"], "`fs` is a reserved name of js"),
        (&["new", "lambda", "--lang", "python"], "`lambda` is a reserved name of python"),
        (&["new", "con", "--lang", "go"], "`con` cannot be a file on Windows"),
        (&["new", "ui", "--lang", "js"], "a plugin `ui` comes with portcullis"),
    ] {
        let ran = run(&home, arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
        if expected.contains("language") {
            for (language, _) in LANGUAGES {
                assert!(ran.stderr.contains(&format!("\n  {language} ")), "{ran:?}");
            }
        }
    }
    assert!(files(&home.files()).is_empty());
    // The operator's configuration is not read.
    home.configure("this is no configuration");
    let ran = run(&home, &["new", "lines", "--lang", "js"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_command_that_is_killed_leaves_a_whole_project_or_nothing() {
    let home = Home::new();
    let begun = Instant::now();
    run(&home, &["new", "whole", "--lang", "rust"]);
    // The kills are spread over the time that the command takes on this machine.
    let step = begun.elapsed() / 24;
    let whole = files(&home.files().join("whole"));
    fs::remove_dir_all(home.files().join("whole")).expect("it was made");
    let (mut interrupted, mut undone) = (0, 0);
    for round in 0..24_u32 {
        let mut command = home.command(&["new", "lines", "--lang", "rust"]);
        let mut process = Process::start(command.current_dir(home.files()));
        let begun = Instant::now();
        while files(&home.files()).is_empty() && begun.elapsed().as_secs() < 60 {}
        std::thread::sleep(step * round);
        let id = rustix::process::Pid::from_raw(process.id().cast_signed());
        let id = id.expect("no process has the number 0");
        // A process that has ended cannot be killed.
        let _ended = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        while process.line().is_some() {}
        drop(process);
        let project = home.files().join("lines");
        interrupted += u32::from(!project.exists());
        // The next command completes or undoes what was begun.
        let next = run(&home, &["new", "lines", "--lang", "rust"]);
        undone += u32::from(next.code == Some(0));
        assert!(next.code == Some(0) || next.stderr.contains("exists already"), "{next:?}");
        assert_eq!(files(&project), whole, "{round}");
        fs::remove_dir_all(&project).expect("it was made");
        assert!(files(&home.files()).is_empty(), "{round}: {:?}", files(&home.files()));
    }
    assert!(interrupted > 3 && undone > 0, "{interrupted} {undone}");
}
