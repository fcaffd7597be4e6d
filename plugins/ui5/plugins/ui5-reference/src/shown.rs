//! Formats a symbol or the contents of a module for an answer, in brief or in full.

use portcullis_plugin::prelude::*;
use serde_json::{Map, Value};
use ui5::{
    Detail, embedded,
    reference::{Hit, Reference, Release, contents, full, outline, uri},
    web_components,
};

/// Maximum size of a symbol that brief answers show in full, in bytes: well below 2,000 tokens.
pub const BRIEF: usize = 6_000;

/// Room for the sentence on how to get the rest, in bytes.
const HINT_BYTES: usize = 300;

/// A formatted symbol, and the URL of its documentation.
pub struct Shown {
    uri: String,
    /// The JSON.
    pub text: String,
}

impl Shown {
    /// A symbol of the framework.
    pub fn of(hit: &Hit, release: &Release, detail: Detail) -> Self {
        let shown = full(hit);
        let uri = uri(&shown, release.framework, &release.version);
        Self { uri, text: text(shown, detail) }
    }

    /// A web component.
    pub fn of_component(hit: &Hit, detail: Detail) -> Self {
        let shown = full(hit);
        Self { uri: web_components::uri(&shown), text: text(shown, detail) }
    }

    /// Adds the symbol to a reply.
    pub fn embed(self, reply: Reply) -> Reply {
        embedded::embed(reply, self.uri, "application/json", self.text)
    }
}

/// The JSON of a formatted symbol.
fn text(shown: Map<String, Value>, detail: Detail) -> String {
    let text = Value::Object(shown.clone()).to_string();
    if detail == Detail::Full || text.len() <= BRIEF {
        return text;
    }
    let mut short = outline(&shown, BRIEF - HINT_BYTES);
    let name = shown.get("name").and_then(Value::as_str).unwrap_or_default();
    let everything = "with `detail` `full` for everything";
    let parts = ["properties", "events", "methods", "aggregations"];
    let member = parts.iter().find_map(|part| {
        let line = short.get(*part)?.as_array()?.first()?.as_str()?;
        line.split([':', '(', ' ']).next()
    });
    let hint = match member {
        Some(member) => {
            format!("Shortened. Ask for a member, such as {name}#{member}, or {everything}.")
        }
        None => format!("Shortened. Ask {everything}."),
    };
    short.insert("_summaryInfo".to_owned(), hint.into());
    Value::Object(short).to_string()
}

/// A page of the contents of a module, and the number of pages. Fails with the reason.
pub fn shown_contents(
    reference: &mut Reference,
    module: &str,
    symbols: &[u32],
    page: u32,
) -> Result<(Vec<Shown>, u32), String> {
    let release = reference.release.clone();
    let (mut library, mut names) = (String::new(), Vec::new());
    for hit in reference.listed(module, symbols)? {
        let hit = hit?;
        let text = |name: &str| hit.content.get(name).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("visibility"), "private" | "restricted") {
            let is_deprecated = hit.content.get("deprecated").is_some_and(|it| !it.is_null());
            names.push((text("kind").to_owned(), text("name").to_owned(), is_deprecated));
        }
        library = hit.library;
    }
    let pages = contents(module, &library, &names, BRIEF - HINT_BYTES);
    let count = u32::try_from(pages.len()).map_err(|_| "it has too many symbols")?;
    let wanted = page.checked_sub(1).and_then(|before| usize::try_from(before).ok());
    let shown = wanted.and_then(|at| pages.into_iter().nth(at)).map(|mut page| {
        let uri = uri(&page, release.framework, &release.version);
        let hint = "These are only the names. Ask for a symbol by its name, or with `detail` `full` for everything.";
        page.insert("_summaryInfo".to_owned(), hint.into());
        Shown { uri, text: Value::Object(page).to_string() }
    });
    Ok((shown.into_iter().collect(), count))
}
