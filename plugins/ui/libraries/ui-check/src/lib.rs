//! Checks, and where possible repairs, HTML that a model wrote for display in a view.
//!
//! The model's HTML and scripts never run in a browser as they are. The page of a view rebuilds the markup
//! from lists of allowed elements and attributes. It interprets the scripts, which this crate compiles into a
//! program. The page enforces the rules. The checks in this crate tell the model which parts do not work in
//! the page, and what to write instead.

mod manipulation;
mod markup;
mod program;
mod style;

pub use manipulation::manipulation_signs;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// The repaired document.
    pub html: String,
    /// The repairs: each names a removed part.
    pub repairs: Vec<String>,
    /// Why the document must not be shown, and what to do instead; empty if it may be shown.
    pub faults: Vec<String>,
}

/// A document as the page of a view takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The markup without its scripts.
    pub markup: String,
    /// All scripts as one program: an ESTree as JSON.
    pub program: serde_json::Value,
}

/// Splits a document that [`check`] has accepted into markup and program.
///
/// # Errors
///
/// The faults that the markup, scripts or styles have by the current rules.
pub fn parts(html: &str) -> Result<Document, Vec<String>> {
    let rewritten = markup::rewrite(html).map_err(|why| vec![why])?;
    let compiled = program::compile(&rewritten.scripts, &rewritten.ids);
    let mut faults = rewritten.faults;
    faults.extend(compiled.faults.iter().cloned());
    faults.extend(rewritten.styles.iter().flat_map(|style| style::check(style)));
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Document { markup: rewritten.markup, program: compiled.program() })
}

/// Maximum number of faults that [`check`] reports.
const FAULTS: usize = 20;

/// Checks a document of at most `most_bytes` bytes. The document must call `portcullis.listen`, the only way
/// to get results.
pub fn check(text: &str, most_bytes: usize) -> CheckResult {
    let (html, mut repairs) = manipulation::unwrapped(text);
    let mut faults = Vec::new();
    if html.len() > most_bytes {
        faults.push(format!("it has {} bytes; the maximum is {most_bytes}", html.len()));
        return CheckResult { html, repairs, faults };
    }
    let rewritten = match markup::rewrite(&html) {
        Ok(rewritten) => rewritten,
        Err(why) => {
            faults.push(format!("browsers may read this HTML differently: {why}"));
            return CheckResult { html, repairs, faults };
        }
    };
    repairs.extend(rewritten.repairs);
    faults.extend(rewritten.faults);
    let compiled = program::compile(&rewritten.scripts, &rewritten.ids);
    faults.extend(compiled.faults);
    faults.extend(rewritten.scripts.iter().flat_map(|source| manipulation_signs(source)));
    for source in &rewritten.styles {
        faults.extend(style::check(source));
    }
    faults.extend(manipulation_signs(&rewritten.text));
    if !compiled.listens {
        faults.push(
            "no script calls `portcullis.listen`, so no result would ever be shown".to_owned(),
        );
    }
    let mut seen = std::collections::BTreeSet::new();
    faults.retain(|fault| seen.insert(fault.clone()));
    faults.truncate(FAULTS);
    CheckResult { html: rewritten.html, repairs, faults }
}

#[cfg(test)]
mod tests;
