//! Judges, and where it can repairs, HTML that a model wrote: for a frame that reaches nothing, so that what the
//! frame cannot hold back never gets there, and what cannot work there is known before it is shown.
//!
//! No analysis of JavaScript finds everything that it can do. What holds is the frame; this makes it hard, and
//! tells a model that meant well what to write instead.

mod markup;
mod script;
mod style;
mod words;

pub use words::contamination;

/// What became of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The document, repaired.
    pub html: String,
    /// What was taken out or added.
    pub repairs: Vec<String>,
    /// Why it must not be shown, and what to do instead; nothing, if it may be shown.
    pub faults: Vec<String>,
}

/// How many faults are worth reading.
const FAULTS: usize = 20;

/// Judges a document of at most that many bytes. It should use `portcullis.listen`, or it never shows a result.
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
