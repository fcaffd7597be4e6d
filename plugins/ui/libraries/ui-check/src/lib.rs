//! Checks, and where possible repairs, HTML that a model wrote for display in a sandboxed frame.
//!
//! The frame is the real barrier, since no analysis of JavaScript finds everything. This check
//! keeps out what the frame cannot block, and tells a well-meaning model what will not work there
//! and what to write instead.

mod markup;
mod script;
mod style;
mod words;

pub use words::contamination;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The repaired document.
    pub html: String,
    /// What was removed or added.
    pub repairs: Vec<String>,
    /// Why the document must not be shown, and what to do instead; empty if it may be shown.
    pub faults: Vec<String>,
}

/// Most faults that are reported.
const FAULTS: usize = 20;

/// Checks a document of at most `most_bytes` bytes. Only `portcullis.listen` brings it results.
pub fn check(text: &str, most_bytes: usize) -> Judged {
    let (html, mut repairs) = words::unwrapped(text);
    let mut faults = Vec::new();
    if html.len() > most_bytes {
        faults.push(format!("it has {} bytes; {most_bytes} is the most", html.len()));
        return Judged { html, repairs, faults };
    }
    let rewritten = match markup::rewrite(&html) {
        Ok(rewritten) => rewritten,
        Err(why) => {
            faults.push(format!("it is not HTML that every browser reads alike: {why}"));
            return Judged { html, repairs, faults };
        }
    };
    repairs.extend(rewritten.repairs);
    faults.extend(rewritten.faults);
    let mut listens = false;
    for source in &rewritten.scripts {
        let found = script::check(source);
        listens |= found.listens;
        faults.extend(found.faults);
        faults.extend(contamination(source));
    }
    for source in &rewritten.styles {
        faults.extend(style::check(source));
    }
    faults.extend(contamination(&rewritten.text));
    if !listens {
        faults.push(
            "no script of it calls `portcullis.listen`, so that it never shows a result".to_owned(),
        );
    }
    let mut seen = std::collections::BTreeSet::new();
    faults.retain(|fault| seen.insert(fault.clone()));
    faults.truncate(FAULTS);
    Judged { html: rewritten.html, repairs, faults }
}

#[cfg(test)]
mod tests;
