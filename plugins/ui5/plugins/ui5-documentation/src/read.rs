//! The tool `read_docs`: a page of the documentation, in parts.

use crate::{
    credit, markdown, online,
    pack::Pack,
    pages::PREFIX,
    rank::{question_words, rank},
    snippet::cut,
    sources::Sources,
};
use portcullis_plugin::prelude::*;
use std::fmt::Write as _;

/// Maximum size of a part of a page, in bytes. With this size, the whole answer has less than 2,000 tokens.
const MAX_PART_BYTES: usize = 6_000;

/// Maximum number of headings in an answer.
const MAX_HEADINGS: usize = 30;

/// Shows a page of the UI5 documentation that `search_docs` found, a long one in parts.
#[arguments]
pub struct ReadDocs {
    /// The address of the page as `search_docs` gives it, or the target of a link in a page.
    page: String,
    /// The heading of the section to begin with.
    section: Option<String>,
    /// Where to continue in a long page, in bytes: the previous answer names it.
    #[schemars(range(min = 0, max = 1_048_576))]
    offset: Option<u32>,
}

impl Tool for ReadDocs {
    const NAME: &'static str = "read_docs";
    const TITLE: Option<&'static str> = Some("Read UI5 documentation");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true);
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let sources = Sources::read();
        let packs = sources.packs();
        let (pack, page) =
            find(&packs, &self.page).ok_or_else(|| missing(&packs, &self.page, &sources.notes))?;
        let text = text(&sources, pack, page).map_err(Failure::new)?;
        let headings: Vec<_> = markdown::sections(&text);
        let start = match (&self.section, self.offset) {
            (_, Some(offset)) => offset as usize,
            (Some(wanted), None) => {
                let wanted = wanted.trim().to_lowercase();
                let found =
                    headings.iter().find(|section| section.heading.to_lowercase() == wanted);
                let found = found.or_else(|| {
                    headings.iter().find(|section| section.heading.to_lowercase().contains(&wanted))
                });
                found.map(|section| section.start).ok_or_else(|| {
                    let known: Vec<&str> = headings.iter().map(|section| section.heading).collect();
                    Failure::new(format!(
                        "The page has no such section. Its sections: {}.",
                        cut(&known.join("; "), 2_000)
                    ))
                })?
            }
            (None, None) => 0,
        };
        if start > 0 && start >= text.len() {
            return Err(Failure::new(format!(
                "`offset` {start} is after the end of the page, which has {} bytes.",
                text.len()
            )));
        }
        Ok(answer(pack, page, &text, text.ceil_char_boundary(start)))
    }
}

/// A part of the page, and how to get the rest.
fn answer(pack: &Pack<'_>, page: u32, text: &str, start: usize) -> String {
    let end = end_of_part(text, start);
    let mut answer = text[start..end].trim().to_owned();
    answer.push_str("\n\n---");
    if end < text.len() {
        let _ = write!(
            answer,
            "\nThe page goes on: `offset` {end} ({} of {} bytes shown).",
            end - start,
            text.len()
        );
        if start == 0 {
            let later = markdown::sections(text);
            let later: Vec<&str> = later
                .iter()
                .filter(|section| section.start >= end)
                .map(|section| section.heading)
                .take(MAX_HEADINGS)
                .collect();
            if !later.is_empty() {
                let _ = write!(answer, " Sections there: {}.", cut(&later.join("; "), 1_000));
            }
        }
    }
    let entry = pack.entry(page);
    let key = entry.map(|entry| entry.key).filter(|key| !key.is_empty());
    if let Some(key) = key.filter(|_| !pack.about.address.is_empty()) {
        let address = pack.about.address.replace("{key}", key);
        let _ = write!(answer, "\nThe page itself: {address}");
    }
    let _ = write!(answer, "\n{}", credit(pack));
    answer
}

/// Where a part ends: at a heading, an empty line or a line end, if there is one in its second half.
fn end_of_part(text: &str, start: usize) -> usize {
    if text.len() - start <= MAX_PART_BYTES {
        return text.len();
    }
    let end = text.floor_char_boundary(start + MAX_PART_BYTES);
    let part = &text[start..end];
    let half = part.floor_char_boundary(MAX_PART_BYTES / 2);
    let cut = ["\n#", "\n\n", "\n"].iter().find_map(|mark| part[half..].rfind(mark));
    cut.map_or(end, |at| start + half + at + 1)
}

/// The page with that address: a URI, `source/id`, or an id in any source.
pub fn find<'p, 'b>(packs: &'p [Pack<'b>], address: &str) -> Option<(&'p Pack<'b>, u32)> {
    let address = address.trim().split('#').next().unwrap_or_default();
    let address = address.strip_prefix(PREFIX).unwrap_or(address);
    let address = address.strip_suffix(".md").unwrap_or(address);
    if let Some((source, id)) = address.split_once('/')
        && let Some(pack) = packs.iter().find(|pack| pack.about.name == source)
    {
        return pack.find(id).map(|page| (pack, page));
    }
    packs.iter().find_map(|pack| pack.find(address).map(|page| (pack, page)))
}

/// The text of a page. Fails with the reason.
pub fn text(sources: &Sources, pack: &Pack<'_>, page: u32) -> Result<String, String> {
    if sources.is_online(pack) {
        let key = pack.entry(page).map(|entry| entry.key.to_owned()).unwrap_or_default();
        return online::page(&key).map_err(|why| format!("The page cannot be shown: {why}."));
    }
    pack.text(page).ok_or_else(|| {
        format!("The page cannot be shown: the pack '{}' is damaged. Replace it.", pack.about.name)
    })
}

fn missing(packs: &[Pack<'_>], address: &str, notes: &[String]) -> Failure {
    let mut message = format!("There is no page '{}'.", cut(address, 120).escape_debug());
    let near = rank(packs, &question_words(address));
    let near: Vec<String> = near
        .iter()
        .take(3)
        .filter_map(|hit| {
            let pack = &packs[hit.pack];
            Some(format!("{PREFIX}{}/{}", pack.about.name, pack.entry(hit.page)?.id))
        })
        .collect();
    if !near.is_empty() {
        let _ = write!(message, " Similar: {}.", near.join(", "));
    }
    for note in notes {
        let _ = write!(message, " {note}");
    }
    Failure::new(message)
}
