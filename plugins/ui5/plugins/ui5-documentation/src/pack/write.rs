//! Makes documentation packs: divides pages into sections, indexes the words and compresses the text.

use super::{About, BLOCK, GROUP, MAGIC, MAX_PAGE};
use crate::{markdown, words::each_word};
use miniz_oxide::deflate::compress_to_vec;
use std::collections::BTreeMap;

/// The weights of a word: in the text of a section, in its heading, in the title of the page for
/// the page's first section, and in the title for the other sections.
const WEIGHTS: (u32, u32, u32, u32) = (1, 3, 6, 2);

/// A page to be packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The id, unique in the pack.
    pub id: String,
    /// The title.
    pub title: String,
    /// The value that replaces `{key}` in [`About::address`].
    pub key: String,
    /// The text, as Markdown.
    pub text: String,
}

/// The words and the sections of all pages.
#[derive(Default)]
struct Index {
    /// For each word, its weight in each section.
    terms: BTreeMap<String, BTreeMap<u32, u32>>,
    sections: Vec<u8>,
    count: u32,
}

/// Makes a pack. Equal pages make an equal pack.
///
/// # Panics
///
/// When a page is larger than [`MAX_PAGE`], or the pack has 4 GiB or more.
pub fn pack(about: &About, pages: &[Page]) -> Vec<u8> {
    let mut index = Index::default();
    let (mut table, mut strings, mut blocks, mut text) = (vec![], vec![], vec![], vec![]);
    let mut block = String::new();
    let mut block_number = 0;
    let mut close = |block: &mut String| {
        for value in [text.len(), block.len()] {
            put(&mut blocks, value);
        }
        text.extend(compress_to_vec(block.as_bytes(), 10));
        block.clear();
    };
    for (number, page) in pages.iter().enumerate() {
        assert!(page.text.len() <= MAX_PAGE, "{} is too large", page.id);
        index.add(to_u32(number), page);
        if !block.is_empty() && block.len() + page.text.len() > BLOCK {
            close(&mut block);
            block_number += 1;
        }
        for value in [strings.len(), block_number, block.len(), page.text.len()] {
            put(&mut table, value);
        }
        for string in [&page.id, &page.title, &page.key] {
            put_string(&mut strings, string);
        }
        block.push_str(&page.text);
    }
    close(&mut block);
    let mut about_bytes = Vec::new();
    let About { name, title, state, licence, left_out, address } = about;
    for string in [name, title, state, licence, left_out, address] {
        put_string(&mut about_bytes, string);
    }
    let (starts, terms, postings) = index.encode();
    let areas =
        [about_bytes, table, strings, index.sections, starts, terms, postings, blocks, text];
    let mut bytes = MAGIC.to_vec();
    let mut offset = MAGIC.len() + 8 * areas.len();
    for area in &areas {
        put(&mut bytes, offset);
        put(&mut bytes, area.len());
        offset += area.len();
    }
    bytes.extend(areas.concat());
    bytes
}

impl Index {
    fn add(&mut self, page: u32, Page { title, text, .. }: &Page) {
        let (in_text, in_heading, in_first, in_others) = WEIGHTS;
        let mut title_weight = in_first;
        for section in markdown::sections(text) {
            let number = self.count;
            let mut words = 0;
            let mut count = |text: &str, weight: u32| {
                each_word(text, |word| {
                    words += 1;
                    // The format stores the length of a term in one byte.
                    if word.len() < 256 {
                        let weights = self.terms.entry(word.to_owned()).or_default();
                        *weights.entry(number).or_default() += weight;
                    }
                });
            };
            count(section.text, in_text);
            if section.heading != title {
                count(section.heading, in_heading);
            }
            count(title, title_weight);
            title_weight = in_others;
            for value in [page, to_u32(section.start), words] {
                self.sections.extend(value.to_le_bytes());
            }
            self.count += 1;
        }
    }

    /// The groups of terms, the terms, and the postings.
    fn encode(&self) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let (mut starts, mut terms, mut postings) = (vec![], vec![], vec![]);
        let mut before: &[u8] = &[];
        for (number, (term, weights)) in self.terms.iter().enumerate() {
            let term = term.as_bytes();
            if number % GROUP == 0 {
                put(&mut starts, terms.len());
                put(&mut starts, postings.len());
                before = &[];
            }
            let shared = before.iter().zip(term).take_while(|(one, other)| one == other).count();
            terms.extend(
                [shared, term.len() - shared]
                    .map(|length| u8::try_from(length).expect("a term has less than 256 bytes")),
            );
            terms.extend(&term[shared..]);
            let start = postings.len();
            let mut section = 0;
            for (next, weight) in weights {
                put_leb(&mut postings, next - section);
                put_leb(&mut postings, *weight);
                section = *next;
            }
            put_leb(&mut terms, to_u32(postings.len() - start));
            before = term;
        }
        (starts, terms, postings)
    }
}

fn to_u32(value: usize) -> u32 {
    u32::try_from(value).expect("a pack has less than 4 GiB")
}

fn put(bytes: &mut Vec<u8>, value: usize) {
    bytes.extend(to_u32(value).to_le_bytes());
}

fn put_leb(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn put_string(bytes: &mut Vec<u8>, string: &str) {
    put_leb(bytes, to_u32(string.len()));
    bytes.extend(string.as_bytes());
}
