//! Checks that each statement of `docs/ARCHITECTURE.md` under "What is absent" names existing tests. The statements
//! about the text of source files are tested here.

use std::collections::BTreeSet;
use std::fs;

use syn::visit::Visit;

use super::sources::{assert_none, sources};
use crate::support::workspace;

/// The names of the functions that are tests.
#[derive(Default)]
struct Tests(BTreeSet<String>);

impl<'ast> Visit<'ast> for Tests {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().segments.last().is_some_and(|last| last.ident == "test")
        };
        if function.attrs.iter().any(is_test) {
            self.0.insert(function.sig.ident.to_string());
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        // Tests in macros, such as `proptest! { #[test] fn name(…) {…} }`.
        let text = item.mac.tokens.to_string();
        let names = text.split("# [test]").skip(1).filter_map(|after| after.split("fn ").nth(1));
        let name = |text: &str| text.split(['(', ' ']).next().map(str::to_owned);
        self.0.extend(names.filter_map(name));
    }
}

/// The cells of each row of the first table in a section of a page, without the header of the table.
fn rows(page: &str, section: &str) -> Vec<Vec<String>> {
    let section = page.split(&format!("\n## {section}\n")).nth(1).expect("there is such a section");
    let section = section.split("\n## ").next().expect("a section has an end");
    let table = section.lines().skip_while(|line| !line.starts_with('|')).skip(2);
    let cells = |line: &str| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    table.take_while(|line| line.starts_with('|')).map(cells).collect()
}

#[test]
fn each_statement_of_what_is_absent_names_tests_that_exist() {
    let page = fs::read_to_string(workspace().join("docs/ARCHITECTURE.md")).expect("the page");
    let mut tests = Tests::default();
    for source in ["host", "plugins", "tests"].into_iter().flat_map(sources) {
        tests.visit_file(&source.file);
    }
    let exists = |name: &str| {
        tests.0.contains(name)
            || workspace().join("tests/cases").join(name).join("session.jsonl").is_file()
            || (name.contains('/') && workspace().join(name).is_file())
    };
    let rows = rows(&page, "What is absent");
    let mut faults = Vec::new();
    for row in &rows {
        let [statement, held_by] = row.as_slice() else {
            faults.push(format!("a row has two cells: {row:?}"));
            continue;
        };
        let names: Vec<_> = held_by.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            faults.push(format!("no test holds: {statement}"));
        }
        let missing = names.iter().filter(|name| !exists(name));
        faults.extend(missing.map(|name| format!("there is no test `{name}`, for: {statement}")));
    }
    assert!(rows.len() > 10, "there are statements: {rows:?}");
    assert_none(&faults);
}

#[test]
fn no_capability_knows_whether_a_plugin_is_bundled() {
    let sources = sources("host/sandbox/src");
    let judging: Vec<_> = sources
        .iter()
        .filter(|source| source.shown.contains("/capabilities") || source.shown.contains("/gate"))
        .collect();
    assert!(judging.len() > 8, "the gate and the capabilities were found");
    let mut faults = Vec::new();
    for source in judging {
        if source.text.to_lowercase().contains("bundled") {
            faults.push(format!("{} speaks of bundled plugins", source.shown));
        }
    }
    assert_none(&faults);
}

/// Files of the host that write to stdout, and why.
const STDOUT: &[(&str, &str)] = &[
    ("host/portcullis/src/cli/print.rs", "the answers of commands"),
    ("host/mcp-server/src/transport/stdio.rs", "MCP"),
    ("host/engine/src/compiler.rs", "the child that compiles hands the code to the host"),
];

#[test]
fn stdout_has_few_writers() {
    let mut faults = Vec::new();
    let mut writers = BTreeSet::new();
    for source in sources("host") {
        let is_of_the_host = source.shown.contains("/src/") && !source.shown.ends_with("tests.rs");
        if !is_of_the_host || source.shown.contains("/tests/") {
            continue;
        }
        let writes = source.text.lines().find(|line| {
            let code = line.split("//").next().unwrap_or_default();
            let prints = code.contains("println!") || code.contains("print!");
            let prints = prints && !code.contains("eprint");
            prints || code.contains("stdout()") || code.contains("stdio_pipes()")
        });
        let Some(line) = writes else { continue };
        if STDOUT.iter().any(|(file, _)| *file == source.shown) {
            writers.insert(source.shown.clone());
        } else {
            faults.push(format!("{} writes to stdout: {}", source.shown, line.trim()));
        }
    }
    for (file, _) in STDOUT.iter().filter(|(file, _)| !writers.contains(*file)) {
        faults.push(format!("{file} does not write to stdout: remove it from the table"));
    }
    assert_none(&faults);
}
