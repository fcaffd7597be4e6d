//! Ranks pages for a question: BM25 over sections, with weights for titles and headings.

use crate::{pack::Pack, words::each_word};
use std::collections::BTreeMap;

/// The parameters of BM25: `k` for a word's frequency in a section, `b` for the section's length.
const BM25: (f32, f32) = (1.2, 0.6);

/// The part of the second best section's score that is added to the score of a page's best section.
const SECOND_PART: f32 = 0.25;

/// The part of the score that a page keeps even if it lacks words of the question.
const BASE_PART: f32 = 0.35;

/// The weight of a name of the API with dots. Other words of a question have the weight 1.
const API_NAME_WEIGHT: f32 = 1.5;
/// The weight of a synonym, as a part of the weight of the word.
const SYNONYM_PART: f32 = 0.5;

/// The bonus for a page's title, as a part of the score, if all words of the title are in the question. If
/// some of the words are, the bonus is smaller in proportion.
const TITLE_BONUS: f32 = 0.4;

/// Number of the best pages that can get a bonus for their title.
const TITLE_PAGES: usize = 60;

/// A further bonus, as a part of the score, if the title has two words or more and all of them are in the
/// question.
const WHOLE_TITLE_BONUS: f32 = 0.6;

/// Maximum number of words of a question; further ones are ignored.
const MAX_WORDS: usize = 32;

/// Words of questions, each with words of the documentation that mean the same; all in indexed form.
const SYNONYMS: [(&str, &[&str]); 18] = [
    ("a11y", &["accessibilit"]),
    ("cach", &["preload"]),
    ("csp", &["content", "security", "policy"]),
    ("delet", &["remov"]),
    ("dnd", &["drag", "drop"]),
    ("flp", &["launchpad"]),
    ("i18n", &["translat", "localizat", "text"]),
    ("internationalization", &["localizat", "translat"]),
    ("lazi", &["load", "request"]),
    ("migrat", &["upgrad"]),
    ("multilingual", &["translat", "localizat"]),
    ("p13n", &["personaliz", "personalizat"]),
    ("rtl", &["right", "left"]),
    ("screen", &["reader"]),
    ("t", &[]),
    ("translat", &["i18n", "text"]),
    ("upgrad", &["migrat"]),
    ("ux", &["design"]),
];

/// A page that fits a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The number of the pack.
    pub pack: usize,
    /// The number of the page.
    pub page: u32,
    /// The number of the page's best section.
    pub section: u32,
    /// The score. Only scores for the same question can be compared.
    pub score: f32,
}

/// The words of a question in indexed form, each with its weight.
pub fn question_words(question: &str) -> Vec<(String, f32)> {
    let mut words: Vec<(String, f32)> = Vec::new();
    each_word(question, |word| {
        let weight = if word.contains('.') { API_NAME_WEIGHT } else { 1.0 };
        if words.len() < MAX_WORDS && !words.iter().any(|(known, _)| known == word) {
            words.push((word.to_owned(), weight));
        }
    });
    words
}

/// One section while it is scored.
#[derive(Clone, Copy, Default)]
struct Score {
    value: f32,
    /// A bit for each word of the question that the section has.
    words: u32,
}

/// The pages that fit a question, best first.
pub fn rank(packs: &[Pack<'_>], words: &[(String, f32)]) -> Vec<Hit> {
    let sections: usize = packs.iter().map(Pack::section_count).sum();
    let mut scores: Vec<Vec<Score>> =
        packs.iter().map(|pack| vec![Score::default(); pack.section_count()]).collect();
    let mut rarity = Vec::new();
    for (number, (word, weight)) in words.iter().enumerate() {
        let frequency = add_word(packs, &mut scores, word, *weight, 1 << number, sections);
        let known = SYNONYMS.iter().find(|(known, _)| known == word);
        for other in known.into_iter().flat_map(|(_, others)| *others) {
            // A synonym adds to the score but sets no bit, since the section need not have the word itself.
            add_word(packs, &mut scores, other, weight * SYNONYM_PART, 0, sections);
        }
        rarity.push(frequency * weight);
    }
    let total: f32 = rarity.iter().sum();
    let known_part = |bits: u32| {
        let found = rarity.iter().enumerate().filter(|(number, _)| bits >> number & 1 == 1);
        if total > 0.0 { found.map(|(_, value)| value).sum::<f32>() / total } else { 0.0 }
    };
    let mut hits = Vec::new();
    for (number, (pack, scores)) in packs.iter().zip(&scores).enumerate() {
        hits.extend(best_sections(pack, scores).into_iter().map(|(page, best)| Hit {
            pack: number,
            page,
            section: best.section,
            score: (best.first + SECOND_PART * best.second)
                * (BASE_PART + (1.0 - BASE_PART) * known_part(best.words)),
        }));
    }
    sort(&mut hits);
    for hit in hits.iter_mut().take(TITLE_PAGES) {
        let title = packs[hit.pack].entry(hit.page).map_or("", |entry| entry.title);
        hit.score *= 1.0 + title_bonus(title, words);
    }
    sort(&mut hits);
    hits
}

fn sort(hits: &mut [Hit]) {
    hits.sort_by(|one, other| {
        other.score.total_cmp(&one.score).then((one.pack, one.page).cmp(&(other.pack, other.page)))
    });
}

/// The bonus for a title, by the part of its words that are in the question.
fn title_bonus(title: &str, words: &[(String, f32)]) -> f32 {
    let (mut found, mut all) = (0_u16, 0_u16);
    each_word(title, |word| {
        all += 1;
        found += u16::from(words.iter().any(|(known, _)| known == word));
    });
    let whole_bonus = if all >= 2 && found == all { WHOLE_TITLE_BONUS } else { 0.0 };
    whole_bonus + TITLE_BONUS * f32::from(found) / f32::from(all.max(1))
}

/// Adds a word's score to the sections that have it. Returns its inverse document frequency.
fn add_word(
    packs: &[Pack<'_>],
    scores: &mut [Vec<Score>],
    word: &str,
    weight: f32,
    bit: u32,
    sections: usize,
) -> f32 {
    let (k, b) = BM25;
    let postings: Vec<_> = packs.iter().map(|pack| pack.postings(word)).collect();
    let found: usize = postings.iter().map(Vec::len).sum();
    let rarity = (1.0 + (sections as f32 - found as f32 + 0.5) / (found as f32 + 0.5)).ln();
    for ((pack, list), scores) in packs.iter().zip(postings).zip(scores) {
        for (section, count) in list {
            let words = pack.place(section).map_or(0, |place| place.words);
            let length = 1.0 - b + b * (words as f32 / 120.0).min(8.0);
            let Some(score) = scores.get_mut(section as usize) else { continue };
            let count = count as f32;
            score.value += weight * rarity * count * (k + 1.0) / (count + k * length);
            score.words |= bit;
        }
    }
    rarity
}

/// The best two sections of a page.
#[derive(Clone, Copy, Default)]
struct Best {
    section: u32,
    first: f32,
    second: f32,
    words: u32,
}

/// The best two sections of each page.
fn best_sections(pack: &Pack<'_>, scores: &[Score]) -> BTreeMap<u32, Best> {
    let mut pages: BTreeMap<u32, Best> = BTreeMap::new();
    for (section, score) in (0_u32..).zip(scores).filter(|(_, score)| score.value > 0.0) {
        let Some(place) = pack.place(section) else { continue };
        let best = pages.entry(place.page).or_default();
        best.words |= score.words;
        if score.value > best.first {
            best.second = best.first;
            best.first = score.value;
            best.section = section;
        } else if score.value > best.second {
            best.second = score.value;
        }
    }
    pages
}
