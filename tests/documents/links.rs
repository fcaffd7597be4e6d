//! Tests that links between documents have targets, and that the index of the decisions is complete.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::workspace;

/// Folders with Markdown that is content of a plugin or of a test, not a page of this repository. The summary of the book
/// names pages by their paths in the repository; `resources/book/stage.py` checks these.
const CONTENT: &[&str] =
    &["plugins/ui5/resources", "resources/book", "target", "tests/cases", "tests/guests"];

/// Every page of this repository.
fn pages() -> Vec<PathBuf> {
    fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_symlink() || name.starts_with('.') || name == "node_modules" {
                continue;
            }
            if path.is_dir() {
                let skipped = CONTENT.iter().any(|content| path == workspace().join(content));
                if !skipped {
                    collect(&path, into);
                }
            } else if path.extension().is_some_and(|extension| extension == "md") {
                into.push(path);
            }
        }
    }
    let mut pages = Vec::new();
    collect(&workspace(), &mut pages);
    pages
}

/// The text without blocks of code.
fn prose(text: &str) -> String {
    let mut code = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if !code {
            prose += line;
            prose.push('\n');
        }
    }
    prose
}

/// The targets of all links that are not URLs.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let relative = targets.filter(|target| !target.contains("://") && !target.contains(' '));
    relative.filter(|target| !target.is_empty()).map(ToOwned::to_owned).collect()
}

/// The anchors of a page: its headings as GitHub writes them, and its `id` attributes.
fn anchors(text: &str) -> Vec<String> {
    let slug = |heading: &str| -> String {
        let heading = heading.trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let of_headings = headings.map(|line| slug(line.trim_start_matches('#')));
    let ids = text.split("id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    of_headings.chain(ids.map(ToOwned::to_owned)).collect()
}

#[test]
fn every_relative_link_resolves() {
    let (mut checked, mut faults) = (0, Vec::new());
    for page in pages() {
        let text = prose(&fs::read_to_string(&page).expect("a page is text"));
        for link in links(&text) {
            checked += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a page lies in a folder").join(path),
            };
            if !target.exists() {
                faults.push(format!("{}: {link}: no such file", page.display()));
            } else if !anchor.is_empty() && target.is_file() {
                let text = prose(&fs::read_to_string(&target).expect("a page is text"));
                if !anchors(&text).iter().any(|found| found == anchor) {
                    faults.push(format!("{}: {link}: no such heading", page.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(checked > 100, "there are {checked} links");
}

#[test]
fn the_index_of_the_decisions_lists_each_with_its_title() {
    let folder = workspace().join("docs/adr");
    let index = fs::read_to_string(folder.join("README.md")).expect("there is an index");
    let (mut decisions, mut faults) = (0, Vec::new());
    for entry in fs::read_dir(&folder).expect("there are decisions") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        decisions += 1;
        let text = fs::read_to_string(folder.join(&name)).expect("a decision is text");
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let line = format!("- [{title}]({name})");
        if !index.lines().any(|found| found == line) {
            faults.push(line);
        }
    }
    assert!(faults.is_empty(), "docs/adr/README.md lacks:\n{}", faults.join("\n"));
    assert!(decisions > 40, "there are {decisions} decisions");
}
