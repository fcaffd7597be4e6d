//! Writes an API reference that a plugin carries.
//!
//! `cargo run -p ui5 --example compact -- openui5 VERSION FOLDER TARGET` reads a folder with files `LIBRARY.api.json`
//! and a file `versions`, which has lines `LIBRARY VERSION`.
//!
//! `cargo run -p ui5 --example compact -- webcomponents FOLDER TARGET` reads a folder of unpacked npm packages.

use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, HashMap},
    env,
    error::Error,
    fs,
    path::Path,
};
use ui5::{
    reference::{self, Hit, full},
    web_components,
};
use ui5_data::{Written, make_compact};

/// The compression level of deflate: the highest.
const LEVEL: u8 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (bytes, target) = match texts.as_slice() {
        ["openui5", version, folder, target] => (openui5(version, Path::new(folder))?, target),
        ["webcomponents", folder, target] => (components(Path::new(folder))?, target),
        _ => return Err("the first lines of compact.rs say how it is called".into()),
    };
    println!("{target}: {} bytes", bytes.len());
    fs::write(target, bytes)?;
    Ok(())
}

fn components(folder: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut packages = Vec::new();
    for package in web_components::PACKAGES {
        let read = |name: &str| -> Result<Value, Box<dyn Error>> {
            Ok(serde_json::from_slice(&fs::read(folder.join(package).join(name))?)?)
        };
        let version = read("package.json")?["version"].as_str().ok_or("no version")?.to_owned();
        packages.push((package.to_owned(), version, read("dist/custom-elements-internal.json")?));
    }
    Ok(web_components::pack(packages, LEVEL)?)
}

/// The index of each symbol, by the name of its file and its own name.
type SymbolIndex = HashMap<(String, String), usize>;

fn openui5(version: &str, folder: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let versions = fs::read_to_string(folder.join("versions"))?;
    let versions: BTreeMap<&str, &str> =
        versions.lines().filter_map(|line| line.split_once(' ')).collect();
    // The keys are those of the index that the UI5 MCP server would make.
    reference::index_directory(folder)?;
    let index: Map<String, Value> = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
    let (mut libraries, mut symbols, mut places) = (Vec::new(), Vec::new(), SymbolIndex::new());
    for (library, version) in versions {
        let file = format!("{library}.api.json");
        let number = u32::try_from(libraries.len())?;
        libraries.push((library.to_owned(), version.to_owned()));
        let api: Value = serde_json::from_slice(&fs::read(folder.join(&file))?)?;
        for symbol in api["symbols"].as_array().ok_or("it has no symbols")? {
            let content = symbol.as_object().ok_or("a symbol is not an object")?;
            let written = written(content, library, number);
            let place = (file.clone(), written.name.clone());
            // If several symbols have the same name, the last one counts, at the place of the first.
            match places.get(&place) {
                Some(at) => symbols[*at] = written,
                None => {
                    places.insert(place, symbols.len());
                    symbols.push(written);
                }
            }
        }
    }
    for (key, entry) in index {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let at =
            places.get(&(text("filePath"), text("name"))).ok_or("an entry without a symbol")?;
        // Some names contain `#`, which queries replace by a dot.
        symbols[*at].keys.push(key.replace('#', "."));
    }
    symbols.retain(|symbol| !symbol.keys.is_empty() || symbol.module.is_some());
    Ok(make_compact(("OpenUI5", version), &libraries, symbols, LEVEL)?)
}

/// The shown part of a symbol: only kind, name and visibility if the symbol is private or
/// restricted.
fn written(content: &Map<String, Value>, library: &str, number: u32) -> Written {
    let text = |name: &str| content.get(name).and_then(Value::as_str).map(str::to_owned);
    let (name, module) = (text("name").unwrap_or_default(), text("module"));
    let is_private = matches!(text("visibility").as_deref(), Some("private" | "restricted"));
    let kept = if is_private {
        let kept = ["kind", "name", "visibility"].into_iter();
        kept.filter_map(|name| Some((name.to_owned(), content.get(name)?.clone()))).collect()
    } else {
        let hit =
            Hit { content: content.clone(), library: library.to_owned(), module: module.clone() };
        let mut shown = full(&hit);
        shown.shift_remove("library");
        shown
    };
    let module = module.filter(|module| !module.is_empty());
    Written { name, library: number, module, keys: Vec::new(), content: kept }
}
