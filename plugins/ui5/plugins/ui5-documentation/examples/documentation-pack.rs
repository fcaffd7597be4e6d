//! Makes a documentation pack; called by `plugins/ui5/resources/documentation.sh`.
//!
//! `cargo run -p ui5-documentation --example documentation-pack -- KIND SOURCE PACK NAME TITLE STATE LICENCE LEFT-OUT
//! ADDRESS`. For the kind `pages`, `SOURCE` is a folder of Markdown files as in the repository UI5/docs. For the kind
//! `records`, `SOURCE` is the file `records.jsonl` of the npm package `@sap-ux/fiori-docs-embeddings`. The output is
//! deterministic.

use serde_json::Value;
use std::{
    collections::HashSet,
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};
use ui5_documentation::{
    markdown::compact,
    pack::{
        About, Pack,
        write::{Page, pack},
    },
};

/// Folders of UI5/docs that are left out: release notes, which are a third of the text.
const LEFT_OUT: [&str; 1] = ["01_Whats-New"];

/// The pages that only list other pages; they are left out.
const LISTS: [&str; 1] = ["index"];

/// The categories of records about UI5 itself rather than about tools and samples.
const CATEGORIES: [&str; 4] = ["Sapui5", "Opa5 Docu", "Sap Fe Test Api", "Fiori Tools Opa Guide"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind, source, target, name, title, state, licence, left_out, address] = &arguments[..]
    else {
        return Err(
            "usage: documentation-pack pages|records SOURCE PACK NAME TITLE STATE LICENCE \
                    LEFT-OUT ADDRESS"
                .into(),
        );
    };
    let pages = match kind.as_str() {
        "pages" => read_pages(Path::new(source))?,
        "records" => read_records(Path::new(source))?,
        _ => return Err(format!("'{kind}' is neither pages nor records").into()),
    };
    let mut ids = HashSet::new();
    if let Some(duplicate) = pages.iter().find(|page| !ids.insert(&page.id)) {
        return Err(format!("{} is there twice", duplicate.id).into());
    }
    let about = About {
        name: name.clone(),
        title: title.clone(),
        state: state.clone(),
        licence: licence.clone(),
        left_out: left_out.clone(),
        address: address.clone(),
    };
    let bytes = pack(&about, &pages);
    let packed = Pack::open(&bytes)?;
    for page in &pages {
        let number = packed.find(&page.id).ok_or("a page is missing")?;
        assert_eq!(packed.text(number).as_ref(), Some(&page.text), "{} is as it was", page.id);
    }
    fs::write(target, &bytes)?;
    let text: usize = pages.iter().map(|page| page.text.len()).sum();
    println!(
        "{target}: {} pages, {} sections, {text} bytes of text, {} bytes",
        pages.len(),
        packed.section_count(),
        bytes.len()
    );
    Ok(())
}

/// The pages of a folder, in the order of their paths.
fn read_pages(folder: &Path) -> Result<Vec<Page>, Box<dyn Error>> {
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    let mut pages = Vec::new();
    for path in paths {
        let raw = fs::read_to_string(&path)?;
        let key = raw.split_once("<!-- loio").and_then(|(_, rest)| rest.split_once(" -->"));
        let key = key.map_or("", |(key, _)| key.trim());
        let text = compact(&raw);
        let title = text.lines().find_map(|line| line.strip_prefix("# "));
        let id = path.file_stem().and_then(|name| name.to_str()).ok_or("it is not UTF-8")?;
        let Some(title) = title.filter(|_| !LISTS.contains(&id)) else { continue };
        let title = title.replace('`', "");
        pages.push(Page { id: id.to_owned(), title, key: key.to_owned(), text });
    }
    Ok(pages)
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !LEFT_OUT.contains(&name) {
                collect(&path, paths)?;
            }
        } else if name.ends_with(".md") {
            paths.push(path);
        }
    }
    Ok(())
}

/// The pages of a file of records, in the order of the file.
fn read_records(file: &Path) -> Result<Vec<Page>, Box<dyn Error>> {
    let mut pages: Vec<Page> = Vec::new();
    let mut ids = HashSet::new();
    for line in fs::read_to_string(file)?.lines().filter(|line| !line.is_empty()) {
        let record: Value = serde_json::from_str(line)?;
        let text = |name: &str| record[name].as_str().ok_or(format!("a record has no {name}"));
        if !CATEGORIES.contains(&text("category")?) {
            continue;
        }
        let title = text("title")?.replace('`', "");
        let slug: String = title
            .to_lowercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let slug: Vec<&str> = slug.split('-').filter(|part| !part.is_empty()).take(10).collect();
        let mut id = slug.join("-");
        while !ids.insert(id.clone()) {
            id.push_str("-2");
        }
        let body = text("content")?;
        // The lines with the title and the tags do not belong to the text.
        let body: Vec<&str> = body
            .lines()
            .filter(|line| !line.starts_with("**TITLE**:") && !line.starts_with("**TAGS**:"))
            .collect();
        let text = format!("# {title}\n\n{}", headings(&body.join("\n")));
        pages.push(Page { id, title, key: String::new(), text: compact(&text) });
    }
    Ok(pages)
}

/// Turns the steps of a record into headings, and leaves out the labels of its parts.
fn headings(body: &str) -> String {
    let mut is_code = false;
    let lines = body.lines().map(|line| {
        is_code ^= line.starts_with("```");
        if is_code {
            return line.to_owned();
        }
        match line.split_once(": ") {
            Some(("STEP", rest)) => format!("## {rest}"),
            Some(("DESCRIPTION" | "**INTRODUCTION**", rest)) => rest.to_owned(),
            Some(("LANGUAGE", _)) => String::new(),
            _ if matches!(line, "CODE:" | "**INTRODUCTION**:") => String::new(),
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<String>>().join("\n")
}
