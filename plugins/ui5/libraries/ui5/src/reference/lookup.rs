//! Looks up the symbols that a query means.

use super::{near, source::Source};
use serde_json::{Map, Value};
use std::collections::HashSet;
use ui5_data::Symbol;

/// Maximum number of ancestors that are searched.
const MAX_ANCESTORS: usize = 100;

/// A symbol, or a member of a symbol.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The content from `api.json`.
    pub content: Map<String, Value>,
    /// The library of the symbol.
    pub library: String,
    /// The module of the symbol.
    pub module: Option<String>,
}

/// The result of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The symbol.
    One(Box<Hit>),
    /// No symbol, but a module with that name.
    Module {
        /// The module, in lower case and with slashes.
        module: String,
        /// The numbers of its symbols, in order.
        symbols: Vec<u32>,
    },
}

/// A query without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The reason.
    pub message: String,
    /// Similar names.
    pub near: Vec<String>,
}

impl From<String> for Miss {
    fn from(message: String) -> Self {
        Self { message, near: Vec::new() }
    }
}

/// Looks up a symbol, a member of a symbol, or a module. Ignores case; `/`, `#` and `.` are equal.
pub fn find(data: &mut Source, query: &str) -> Result<Found, Miss> {
    match look_up(data, query) {
        // A damaged index may be the reason.
        Err(_) if data.mend()? => look_up(data, query),
        found => found,
    }
}

fn look_up(data: &mut Source, query: &str) -> Result<Found, Miss> {
    let wanted = normalise(query);
    let (symbol, field) = split(data, &wanted)?;
    let Some(symbol) = symbol else {
        let near = near::suggest(data, &wanted, query)?;
        return Err(Miss { message: format!("Could not find symbol for query '{query}'"), near });
    };
    let name = name(&symbol);
    if is_private(&symbol) {
        return Err(Miss::from(format!("Symbol '{name}' is not public API")));
    }
    let Some(field) = field else {
        let module = module(&symbol);
        return Ok(Found::One(Box::new(Hit {
            content: symbol.content,
            library: symbol.library,
            module,
        })));
    };
    let (library, file) = (symbol.library.clone(), symbol.file);
    if let Some(hit) = inherited(data, symbol, &field, &mut Vec::new())? {
        return Ok(Found::One(Box::new(hit)));
    }
    let module = wanted.replace('.', "/");
    let symbols = data.module(file, &module)?;
    if !symbols.is_empty() {
        return Ok(Found::Module { module, symbols });
    }
    let near = near::suggest(data, &wanted, query)?;
    let message =
        format!("Could not find field '{field}' in symbol '{name}' of library '{library}'");
    Err(Miss { message, near })
}

/// The symbols of a [`Found::Module`].
pub fn listed(
    data: &mut Source,
    module: &str,
    numbers: &[u32],
) -> Result<impl Iterator<Item = Result<Hit, String>>, String> {
    let hit = move |Symbol { content, library, .. }| Hit {
        content,
        library,
        module: Some(module.to_owned()),
    };
    Ok(data.symbols(numbers)?.map(move |symbol| symbol.map(hit)))
}

/// Normalises a query to the form of the keys.
pub fn normalise(query: &str) -> String {
    let lower = query.trim().to_lowercase();
    let name = lower.strip_prefix("module:").unwrap_or(&lower);
    name.chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| if c == '/' || c == '#' { '.' } else { c })
        .collect()
}

/// Splits a name into the symbol with the longest matching key, and the part that follows directly. Later
/// parts are ignored.
fn split(data: &mut Source, wanted: &str) -> Result<(Option<Symbol>, Option<String>), Miss> {
    let (mut key, mut field) = (wanted, None);
    loop {
        if let Some(symbol) = data.find(key)? {
            return Ok((Some(symbol), field.filter(|field: &String| !field.is_empty())));
        }
        let Some((shorter, cut)) = key.rsplit_once('.') else { return Ok((None, field)) };
        (key, field) = (shorter, Some(cut.to_owned()));
    }
}

/// Finds a member in a symbol or its ancestors. Adds to `names` the names of the other public members on
/// the way.
pub(super) fn inherited(
    data: &mut Source,
    symbol: Symbol,
    field: &str,
    names: &mut Vec<String>,
) -> Result<Option<Hit>, Miss> {
    let (mut symbol, mut seen) = (symbol, HashSet::new());
    loop {
        if let Some(content) = part(&symbol.content, field, names) {
            let module = module(&symbol);
            return Ok(Some(Hit { content, library: symbol.library, module }));
        }
        let parent = symbol.content.get("extends").and_then(Value::as_str).unwrap_or_default();
        if parent.is_empty() || seen.len() == MAX_ANCESTORS || !seen.insert(parent.to_owned()) {
            return Ok(None);
        }
        // A parent in an unreadable file counts as missing.
        match data.find(&normalise(parent)) {
            Ok(Some(parent)) if !is_private(&parent) => symbol = parent,
            Ok(_) | Err(_) => return Ok(None),
        }
    }
}

/// The lists with the members of a symbol of that kind, in order of search, and the members' kind.
fn lists(kind: &str) -> &'static [(&'static str, &'static str)] {
    match kind {
        "class" => &[
            ("/methods", "method"),
            ("/properties", "property"),
            ("/events", "event"),
            ("/ui5-metadata/properties", "ui5-property"),
            ("/ui5-metadata/aggregations", "ui5-aggregation"),
            ("/ui5-metadata/associations", "ui5-association"),
            ("/ui5-metadata/events", "ui5-event"),
            ("/ui5-metadata/specialSettings", "ui5-specialSetting"),
            // Only web components have these.
            ("/slots", "slot"),
            ("/cssParts", "css-part"),
        ],
        "namespace" | "member" | "object" => {
            &[("/methods", "method"), ("/properties", "property"), ("/events", "event")]
        }
        "interface" => &[("/methods", "method"), ("/events", "event")],
        "enum" => &[("/properties", "enum-property")],
        "typedef" => &[("/properties", "property"), ("/parameters", "parameter")],
        "function" => &[("/parameters", "parameter")],
        _ => &[],
    }
}

fn part(
    symbol: &Map<String, Value>,
    field: &str,
    names: &mut Vec<String>,
) -> Option<Map<String, Value>> {
    let kind = symbol.get("kind").and_then(Value::as_str).unwrap_or_default();
    let with_kind = |kind: &str, part: Option<&Map<String, Value>>| {
        let mut content = Map::new();
        content.insert("kind".to_owned(), kind.into());
        content.extend(part.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        content
    };
    if kind == "class" && field == "constructor" {
        let constructor = symbol.get("constructor").and_then(Value::as_object);
        return Some(with_kind("constructor", constructor));
    }
    for (place, kind) in lists(kind) {
        let mut list = Some(symbol);
        let (path, last) = place.rsplit_once('/').expect("each place begins with a slash");
        if let Some(member) = path.strip_prefix('/') {
            list = symbol.get(member).and_then(Value::as_object);
        }
        let parts = list.and_then(|list| list.get(last)).and_then(Value::as_array);
        for part in parts.into_iter().flatten().filter_map(Value::as_object) {
            let name = part.get("name").and_then(Value::as_str).unwrap_or_default();
            if name.to_lowercase() == field {
                return Some(with_kind(kind, Some(part)));
            }
            let is_private = matches!(
                part.get("visibility").and_then(Value::as_str),
                Some("private" | "restricted")
            );
            if !is_private && !name.is_empty() {
                names.push(name.to_owned());
            }
        }
    }
    None
}

/// Whether a symbol is not public API.
pub(super) fn is_private(symbol: &Symbol) -> bool {
    matches!(
        symbol.content.get("visibility").and_then(Value::as_str),
        Some("private" | "restricted")
    )
}

fn name(symbol: &Symbol) -> String {
    symbol.content.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn module(symbol: &Symbol) -> Option<String> {
    symbol.content.get("module").and_then(Value::as_str).map(str::to_owned)
}
