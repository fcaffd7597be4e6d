//! The tools `search_docs` and `read_docs`: full-text search in the UI5 documentation, and reading of its
//! pages.

pub mod markdown;
mod online;
pub mod pack;
mod pages;
pub mod rank;
mod read;
pub mod snippet;
mod sources;
pub mod words;

use pack::Pack;
use portcullis_plugin::prelude::*;
use rank::{Hit, question_words, rank};
pub use sources::EMBEDDED;
use sources::Sources;
use std::fmt::Write as _;

/// Default number of pages in an answer.
const DEFAULT_PAGES: usize = 5;

/// Maximum number of pages in an answer.
const MAX_PAGES: usize = 20;

/// Maximum length of a question, in bytes.
const MAX_QUESTION_BYTES: usize = 1_000;

/// Minimum score of a page, as a part of the best score; pages with a lower score are left out.
const MIN_SCORE_PART: f32 = 0.2;

/// Searches the UI5 documentation by words: how something is done in UI5, what a concept means, which options there are. For the members of a control or a class call `get_api_reference` instead. The answer lists pages with the part that fits best; `read_docs` shows a page.
#[arguments]
struct SearchDocs {
    /// What to look for, in English: a few words or a question, such as `filter a list binding`, `sap.ui.table rowMode`. Names of controls, modules and properties help.
    query: String,
    /// How many pages to list. Default: 5.
    #[schemars(range(min = 1, max = 20))]
    limit: Option<u32>,
    /// How many pages to skip: the previous answer names the next offset.
    #[schemars(range(min = 0, max = 10_000))]
    offset: Option<u32>,
    /// The documentation to search, by its name in addresses of pages: `openui5`. Default: all.
    source: Option<String>,
}

impl Tool for SearchDocs {
    const NAME: &'static str = "search_docs";
    const TITLE: Option<&'static str> = Some("Search UI5 documentation");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true);
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        if self.query.len() > MAX_QUESTION_BYTES {
            return Err(Failure::new(format!(
                "The query has {} bytes; the maximum is {MAX_QUESTION_BYTES}. Use only its main words.",
                self.query.len()
            )));
        }
        let words = question_words(&self.query);
        if words.is_empty() {
            return Err(Failure::new(
                "The query has no word that can be searched. Name a control, a concept or a task.",
            ));
        }
        let sources = Sources::read();
        let mut packs = sources.packs();
        if let Some(wanted) = &self.source {
            let names: Vec<String> = packs.iter().map(|pack| pack.about.name.clone()).collect();
            packs.retain(|pack| pack.about.name.eq_ignore_ascii_case(wanted.trim()));
            if packs.is_empty() {
                return Err(Failure::new(format!(
                    "There is no documentation '{}'. Known: {}.",
                    snippet::cut(wanted, 60).escape_debug(),
                    names.join(", ")
                )));
            }
        }
        let hits = rank(&packs, &words);
        let min_score = hits.first().map_or(0.0, |best| best.score * MIN_SCORE_PART);
        let hits: Vec<Hit> = hits.into_iter().filter(|hit| hit.score >= min_score).collect();
        let limit = self.limit.map_or(DEFAULT_PAGES, |limit| (limit as usize).clamp(1, MAX_PAGES));
        let offset = self.offset.unwrap_or(0) as usize;
        let mut answer = listing(&packs, &hits, &words, offset, limit);
        for note in &sources.notes {
            answer.push_str("\n\n");
            answer.push_str(note);
        }
        Ok(answer)
    }
}

/// The answer: pages from `offset` on, each with its best part.
fn listing(
    packs: &[Pack<'_>],
    hits: &[Hit],
    words: &[(String, f32)],
    offset: usize,
    limit: usize,
) -> String {
    let shown: Vec<&Hit> = hits.iter().skip(offset).take(limit).collect();
    if shown.is_empty() {
        return match hits.len() {
            0 => {
                "No page has a word of the query. Try other words: those of the UI5 API, or a more \
                  general term."
                    .to_owned()
            }
            count => {
                format!(
                    "There are {count} pages for the query; `offset` {offset} is after the last one."
                )
            }
        };
    }
    let end = offset + shown.len();
    let mut answer = format!("Pages {} to {end} of {}, best first:", offset + 1, hits.len());
    for (number, hit) in shown.iter().enumerate() {
        let pack = &packs[hit.pack];
        let Some(entry) = pack.entry(hit.page) else { continue };
        let text = pack.text(hit.page).unwrap_or_default();
        let start = pack.place(hit.section).map_or(0, |place| place.start as usize);
        let section = markdown::sections(&text).into_iter().find(|section| section.start == start);
        let (heading, part) = section.map_or(("", ""), |found| (found.heading, found.text));
        let (title, heading) = (snippet::cut(entry.title, 120), snippet::cut(heading, 120));
        let place = match heading.is_empty() || heading == title {
            true => String::new(),
            false => format!(" › {heading}"),
        };
        let _ = write!(
            answer,
            "\n\n{}. **{title}**{place}\n   {}{}/{}",
            offset + number + 1,
            pages::PREFIX,
            pack.about.name,
            entry.id
        );
        let snippet = snippet::snippet(part, words);
        if !snippet.is_empty() {
            let _ = write!(answer, "\n   {snippet}");
        }
    }
    answer.push_str("\n\n`read_docs` shows a page by its address.");
    if end < hits.len() {
        let _ = write!(answer, " More pages: `offset` {end}.");
    }
    let used = packs.iter().enumerate().filter(|(at, _)| shown.iter().any(|hit| hit.pack == *at));
    for (_, pack) in used {
        let _ = write!(answer, "\n{}", credit(pack));
    }
    answer
}

/// The sentence about the source of a pack's pages, their state and their licence.
fn credit(pack: &Pack<'_>) -> String {
    let about = &pack.about;
    let without = match about.left_out.as_str() {
        "" => String::new(),
        left_out => format!(" Left out: {left_out}."),
    };
    format!("Source: {}, {}, by {}.{without}", about.title, about.state, about.licence)
}

plugin! {
    name: "ui5-documentation",
    title: "UI5 documentation",
    description: "Searches the UI5 documentation, and shows its pages.",
    tools: [SearchDocs, read::ReadDocs],
    resources: pages::Pages,
    wants: [
        Want::http(
            "raw.githubusercontent.com",
            "GET",
            "to fetch the documentation of OpenUI5, from UI5/docs, when no pack has it",
        )
        .optional(),
        Want::directory("$documentation-dir", "to read packs of documentation that were brought from elsewhere").optional(),
        Want::settings(sources::SETTING, "the absolute path of the folder with packs of documentation: NAME.pack"),
        Want::cache(8 * 1024 * 1024, "to keep the pages it has fetched"),
    ],
}

#[cfg(test)]
mod tests;
