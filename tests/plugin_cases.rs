//! Tests of `portcullis test` and `portcullis plugin describe`, with test plugins.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::guests::guests;
use crate::support::home::{Home, Ran};

/// A home in which a component can be tested. The component is compiled already.
fn home(component: &str) -> Home {
    let home = Home::new();
    // Installing a plugin also copies the compiled code of all test plugins.
    home.install("echo");
    fs::remove_file(home.plugins().join("echo.wasm")).expect("it was installed");
    fs::copy(guests().component(component), home.file(&format!("{component}.wasm")))
        .expect("it was built");
    fs::create_dir(home.files().join("cases")).expect("a folder");
    home
}

fn case(home: &Home, name: &str, text: &str) {
    fs::write(home.files().join("cases").join(format!("{name}.toml")), text).expect("a file");
}

/// Tests a component with the cases of the home.
fn test(home: &Home, component: &str, more: &[&str]) -> Ran {
    let (component, cases) = (home.file(&format!("{component}.wasm")), home.file("cases"));
    home.run(&[&["test", &component, "--cases", &cases], more].concat())
}

/// The result as JSON, with each case also as a member of that name.
fn results(home: &Home, component: &str, code: i32) -> Value {
    let ran = test(home, component, &["--json"]);
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let mut whole: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let cases = whole["cases"].as_array().expect("a list").clone();
    for one in cases {
        let name = one["name"].as_str().expect("a name").to_owned();
        whole[name] = one;
    }
    whole
}

#[test]
fn cases_that_are_met_pass() {
    let home = home("echo");
    case(
        &home,
        "says",
        "tool = \"echo\"\narguments = { text = \"hi\" }\nexpect = { text = \"hi\" }",
    );
    case(
        &home,
        "adds",
        "tool = \"add\"\narguments = { a = 2, b = 3 }\n[expect.structured]\nsum = 5",
    );
    case(
        &home,
        "fails",
        "tool = \"fail\"\narguments = { way = \"told\" }\n[expect]\nis-error = true\ncontains = [\"cannot be done\"]",
    );
    case(
        &home,
        "refuses",
        "tool = \"add\"\narguments = { a = 2000 }\n[expect]\nis-error = true\ncontains = [\"invalid arguments\", \"`a`\"]",
    );
    let ran = test(&home, "echo", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for name in ["adds", "fails", "refuses", "says"] {
        assert!(ran.stdout.contains(&format!("passed {name} (")), "{ran:?}");
    }
    assert!(ran.stdout.ends_with("4 passed, 0 failed\n"), "{ran:?}");
    assert_eq!(results(&home, "echo", 0)["passed"], 4);
}

#[test]
fn a_case_that_is_not_met_fails_with_the_difference() {
    let home = home("echo");
    case(
        &home,
        "a-text",
        "tool = \"echo\"\narguments = { text = \"one\\ntwo\\nthree\" }\nexpect = { text = \"one\\n2\\nthree\" }",
    );
    case(&home, "an-error", "tool = \"echo\"\narguments = {}\nexpect = {}");
    case(&home, "good", "tool = \"count\"\nexpect = { text = \"1\" }");
    case(
        &home,
        "structured",
        "tool = \"add\"\narguments = { a = 2, b = 3 }\n[expect.structured]\nsum = 6",
    );
    case(
        &home,
        "question",
        "tool = \"meet\"\nexpect = {}\n[grants.client]\nfeatures = [\"elicitation\"]",
    );
    case(&home, "tool", "tool = \"eco\"\nexpect = {}");
    let ran = test(&home, "echo", &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let difference = "      one\n    - 2\n    + two\n      three\n";
    assert!(ran.stdout.contains(difference), "{ran:?}");
    assert!(ran.stdout.contains("cases/a-text.toml\n"), "{ran:?}");
    assert!(ran.stdout.contains("is-error") && ran.stdout.contains("`text` is missing"), "{ran:?}");
    assert!(ran.stdout.ends_with("1 passed, 5 failed\n"), "{ran:?}");
    let results = results(&home, "echo", 1);
    assert_eq!((&results["passed"], &results["failed"]), (&json!(1), &json!(5)));
    assert_eq!(results["good"]["passed"], true);
    let sum = &results["structured"]["differences"][0];
    assert_eq!(sum["key"], "structured");
    assert!(sum["found"].as_str().is_some_and(|found| found.contains("\"sum\": 5")), "{sum}");
    let reason = |name: &str| results[name]["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason("question").contains("asks its client a question (`who`)"), "{results}");
    let unknown = reason("tool");
    assert!(unknown.contains("cases/tool.toml: line 1, column 1: `tool`"), "{unknown}");
    assert!(unknown.contains("`echo`"), "{unknown}");
}

#[test]
fn files_of_a_case_are_there_and_what_is_not_granted_is_denied() {
    let home = home("stranger");
    let reads = "tool = \"read-text\"\narguments = { path = \"{root}/a/b.txt\" }\n[files]\n\"a/b.txt\" = \"bread\"\n";
    let grant = "[grants.files]\naccess = \"read\"\nscope = \"roots\"\n";
    case(&home, "granted", &format!("{reads}{grant}[expect]\ntext = \"bread\""));
    case(&home, "not-granted", &format!("{reads}[expect]\nis-error = true"));
    let outside = reads.replace("{root}/a/b.txt", &home.file("secret.txt"));
    fs::write(home.files().join("secret.txt"), "secret").expect("a file");
    case(&home, "outside", &format!("{outside}{grant}[expect]\nis-error = true"));
    let results = results(&home, "stranger", 0);
    assert_eq!(results["passed"], 3, "{results}");
}

#[test]
fn denials_are_expected_or_fail_the_case() {
    let home = home("fetcher");
    let fetch = "tool = \"fetch\"\narguments = { url = \"https://example.org/a\" }\n[settings]\nbase = \"https://example.com\"\n\
                 [grants.http]\nhosts = [\"example.com\"]\n[expect]\ncontains = [\"denied\"]\n";
    case(&home, "expected", &format!("{fetch}denied = [\"http GET https://example.org\"]"));
    case(&home, "unexpected", fetch);
    case(&home, "other", &format!("{fetch}denied = [\"http GET https://example.net\"]"));
    let results = results(&home, "fetcher", 1);
    assert_eq!(results["expected"]["passed"], true, "{results}");
    for name in ["unexpected", "other"] {
        let difference = &results[name]["differences"][0];
        assert_eq!(difference["key"], "denied", "{results}");
        let found = difference["found"].as_str().unwrap_or_default();
        assert!(found.starts_with("http GET https://example.org/a"), "{results}");
    }
}

#[test]
fn a_plugin_that_lacks_a_grant_is_refused_with_the_table_of_the_case() {
    let home = home("fetcher");
    case(
        &home,
        "a",
        "tool = \"fetch\"\nexpect = {}\nsettings = { base = \"https://example.com\" }",
    );
    let results = results(&home, "fetcher", 1);
    let reason = results["a"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("the plugin is refused"), "{reason}");
    assert!(reason.contains("[grants.http]") && !reason.contains("plugins.fetcher"), "{reason}");
}

#[test]
fn mistakes_of_cases_are_said_with_file_and_line_before_anything_runs() {
    let home = home("echo");
    case(&home, "good", "tool = \"count\"\nexpect = { text = \"1\" }");
    case(&home, "one", "tool = \"count\"\n\nexpects = { text = \"1\" }");
    case(&home, "two", "tool = \"count\"\n[expect]\nis-error = \"no\"");
    let ran = test(&home, "echo", &[]);
    assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{ran:?}");
    for expected in [
        "cases/one.toml: line 3, column 1: `expects`: there is no such key; did you mean `expect`?",
        "cases/two.toml: line 3, column 12: `expect.is-error`: write `true` or `false`",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    }
    for (arguments, expected) in [
        (["test", "echo", "--cases"], "is not a file NAME.wasm"),
        (["test", "a b.wasm", "--cases"], "cannot be the name of a plugin"),
        (["test", "missing.wasm", "--cases"], "reading the cases"),
    ] {
        let ran = home.run(&[&arguments[..], &["nowhere"]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    }
}

/// All files beneath a folder, with their contents.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).expect("a file")));
        }
    }
    found.sort();
    found
}

#[test]
fn the_operators_configuration_approvals_and_audit_are_not_touched() {
    let home = home("keeper");
    home.install("echo");
    home.run(&["call", "echo", "{\"text\": \"a\"}"]);
    // The command reads neither the invalid configuration nor the installed plugin with the same name.
    home.configure("this is no configuration");
    fs::copy(guests().component("echo"), home.plugins().join("keeper.wasm")).expect("it was built");
    let folders = [".config", ".local"].map(|folder| home.path().join(folder));
    let before = folders.each_ref().map(|folder| contents(folder));
    assert!(before.iter().all(|files| !files.is_empty()));
    // Each case has a store of its own, so the count begins at 1.
    let keep = "tool = \"increment\"\n[grants.store]\nbytes = 1000\n[expect]\ntext = \"1\"";
    case(&home, "a", keep);
    let results = results(&home, "keeper", 0);
    assert_eq!(results["passed"], 1, "{results}");
    assert!(folders.each_ref().map(|folder| contents(folder)) == before);
    // Nothing is left in the folder for temporary files, which is the home's own here.
    let temporary = home.path().join("temporary");
    fs::create_dir(&temporary).expect("a folder");
    let mut command =
        home.command(&["test", &home.file("keeper.wasm"), "--cases", &home.file("cases")]);
    let ran = command.env("TMPDIR", &temporary).output().expect("it runs");
    assert!(ran.status.success(), "{ran:?}");
    assert!(
        contents(&temporary).is_empty() && temporary.read_dir().expect("a folder").count() == 0
    );
}

#[test]
fn comments_of_wit_files_become_descriptions() {
    let home = home("plain");
    let component = home.file("plain.wasm");
    let wit = home.files().join("wit");
    fs::create_dir(&wit).expect("a folder");
    let text = "package guest:plain@1.0.0;\n\
                interface shapes {\n/// Adds what is given.\nadd: func(a: s32, b: s32) -> s32;\n}\n\
                world plain {\nexport shapes;\n/// Greets by name.\nexport greet: func(name: string) -> result<string, string>;\n}\n";
    fs::write(wit.join("plain.wit"), text).expect("a file");
    // Twice: the second time, the comments are replaced.
    for _ in 0..2 {
        let ran = home.run(&["plugin", "describe", &component, "--wit", &home.file("wit")]);
        assert!(ran.code == Some(0) && ran.stdout.ends_with("2 functions described\n"), "{ran:?}");
    }
    fs::copy(&component, home.plugins().join("plain.wasm")).expect("a plugin folder");
    let ran = home.run(&["tools", "--json"]);
    assert!(ran.stdout.contains("Greets by name."), "{ran:?}");
    assert!(ran.stdout.contains("Adds what is given."), "{ran:?}");
    case(
        &home,
        "greets",
        "tool = \"greet\"\narguments = { name = \"Ada\" }\nexpect = { text = \"Hello, Ada!\" }",
    );
    assert_eq!(results(&home, "plain", 0)["passed"], 1);
    let before = fs::read(&component).expect("a component");
    fs::write(wit.join("plain.wit"), "package a:b;\nworld w { export f: func(); }\n")
        .expect("a file");
    for (wit, expected) in [
        ("wit", "no function and no field of a record in the WIT files has a comment"),
        ("no", "cannot read the WIT files"),
    ] {
        let ran = home.run(&["plugin", "describe", &component, "--wit", &home.file(wit)]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    }
    assert!(fs::read(&component).expect("a component") == before);
    // Comments of fields are enough. The command says that functions have none.
    let fields = "package a:b;\ninterface i {\nrecord r {\n/// The name.\nname: string,\n}\nf: func(r: r);\n}\n\
                  world w { export i; }\n";
    fs::write(wit.join("plain.wit"), fields).expect("a file");
    let ran = home.run(&["plugin", "describe", &component, "--wit", &home.file("wit")]);
    assert!(ran.code == Some(0), "{ran:?}");
    let expected = "1 field described, and no function\n  hint: write `/// …` above each function";
    assert!(ran.stdout.contains(expected), "{ran:?}");
}
