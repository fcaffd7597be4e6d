//! Ranks the definitions of tools by how well they fit a question in plain words, so that a model finds a tool
//! without reading all definitions.
//!
//! The ranking is BM25 with fields (BM25F, by Robertson, Zaragoza and Taylor, 2004): a word counts more in a name
//! than in a description, and more if few tools have it. Words are compared by their stems. Synonyms, and words that
//! only begin with a word of the question, count less than the word itself. The crate knows nothing about MCP or the
//! host.

mod meanings;
mod stem;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use words::{is_filler, words};

/// The texts of a tool that are searched. Each text may be empty.
#[derive(Debug, Clone, Default)]
pub struct Document<'a> {
    /// The name, as clients know it.
    pub name: &'a str,
    /// The title for people.
    pub title: &'a str,
    /// The description.
    pub description: &'a str,
    /// The names of the parameters.
    pub parameters: Vec<&'a str>,
    /// The name of the tool's source: a plugin or an upstream server.
    pub source: &'a str,
}

/// A tool that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The position of the tool among the documents of the index.
    pub document: usize,
    /// How well the tool fits: above 0, comparable within one search only.
    pub score: f32,
}

/// The weight of one occurrence of a word, by field: name, title, description, parameters, source.
const WEIGHTS: [f32; 5] = [6.0, 2.0, 1.0, 0.8, 1.0];

/// How much the length of a field lowers the weight of its words (BM25's `b`), by field.
const LENGTH_INFLUENCE: [f32; 5] = [0.3, 0.3, 0.6, 0.5, 0.0];

/// How fast further occurrences of a word lose their value (BM25's `k1`).
const SATURATION: f32 = 4.0;

/// The factor for a synonym, relative to the word itself.
const SYNONYM_FACTOR: f32 = 0.95;

/// The factor for a word that only begins with a word of the question, relative to the word itself. The longer the
/// rest of the word, the less the word counts.
const PREFIX_FACTOR: f32 = 0.4;

/// Minimum length, in bytes, of a word of the question that also finds longer words that begin with it.
const MIN_PREFIX_BYTES: usize = 3;

/// Maximum number of words of a question that count. Further words are ignored.
const MAX_QUESTION_WORDS: usize = 64;

/// Tools that can be searched.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// For each stem, the documents that contain it, each with the weighted number of occurrences.
    postings: BTreeMap<String, Vec<(usize, f32)>>,
    /// The stems of the words of each document's name.
    names: Vec<Vec<String>>,
}

impl Index {
    /// An index of these documents.
    pub fn new<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        let fields: Vec<[Vec<String>; 5]> = documents.into_iter().map(|one| fields(&one)).collect();
        let mut averages = [0.0_f32; 5];
        for document in &fields {
            for (sum, field) in averages.iter_mut().zip(document) {
                *sum += as_float(field.len()) / as_float(fields.len());
            }
        }
        let mut postings: BTreeMap<String, Vec<(usize, f32)>> = BTreeMap::new();
        for (index, document) in fields.iter().enumerate() {
            let mut counts: BTreeMap<&str, f32> = BTreeMap::new();
            for (field, words) in document.iter().enumerate() {
                let relative = as_float(words.len()) / averages[field].max(1.0);
                let weight = WEIGHTS[field]
                    / (1.0 - LENGTH_INFLUENCE[field] + LENGTH_INFLUENCE[field] * relative);
                for word in words {
                    *counts.entry(word).or_default() += weight;
                }
            }
            for (word, count) in counts {
                postings.entry(word.to_owned()).or_default().push((index, count));
            }
        }
        let names = fields.into_iter().map(|[name, ..]| name).collect();
        Self { postings, names }
    }

    /// The number of tools.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no tool.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The tools that fit a question, the best first, at most `limit`. A tool whose name is the whole question is the
    /// first one. Tools that fit equally well keep the order of the documents. A question without a word, such as an
    /// empty one, finds nothing.
    pub fn search(&self, question: &str, limit: usize) -> Vec<Hit> {
        let all = words(question);
        let significant = all.iter().filter(|word| !is_filler(word));
        let hits = self.search_words(&significant.collect::<Vec<_>>(), &all, limit);
        if !hits.is_empty() {
            return hits;
        }
        // No other word of the question was found, so fillers such as `use` are searched for, too.
        self.search_words(&all.iter().collect::<Vec<_>>(), &all, limit)
    }

    /// The tools that fit the words in `asked`. `all`: all words of the question. A tool whose name has exactly these
    /// words comes first.
    fn search_words(&self, asked: &[&String], all: &[String], limit: usize) -> Vec<Hit> {
        let asked: BTreeSet<&String> = asked.iter().copied().take(MAX_QUESTION_WORDS).collect();
        let number = asked.len();
        let mut scores = vec![(0.0_f32, 0_usize); self.len()];
        for word in asked {
            for (index, score) in self.scores_of(word) {
                let (sum, matched) = &mut scores[index];
                *sum += score;
                *matched += 1;
            }
        }
        // A tool with several words of the question fits better than a tool that repeats a single word.
        let scores =
            scores.into_iter().map(|(sum, matched)| sum * as_float(matched) / as_float(number));
        let scores: Vec<f32> = scores.collect();
        let best = scores.iter().copied().fold(0.0, f32::max);
        let found = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0);
        let mut hits: Vec<Hit> = found
            .map(|(document, score)| {
                let is_named = self.names[document] == all;
                Hit { document, score: if is_named { score + best } else { score } }
            })
            .collect();
        // The sort is stable: tools with equal scores keep the order of the documents.
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit);
        hits
    }

    /// The score of one word of the question, for each tool that has the word, a longer word that begins with it, or a
    /// synonym. If a tool has several of these words, the highest score counts.
    fn scores_of(&self, word: &str) -> BTreeMap<usize, f32> {
        let mut best: BTreeMap<usize, f32> = BTreeMap::new();
        let mut add_scores = |postings: &[(usize, f32)], factor: f32, document_count: usize| {
            let rarity = self.inverse_document_frequency(document_count);
            for (index, weight) in postings {
                let score = factor * rarity * weight / (SATURATION + weight);
                let score_of_tool = best.entry(*index).or_default();
                *score_of_tool = score_of_tool.max(score);
            }
        };
        if let Some(postings) = self.postings.get(word) {
            add_scores(postings, 1.0, postings.len());
        }
        if word.len() >= MIN_PREFIX_BYTES {
            let longer = self.postings.range::<str, _>((Bound::Excluded(word), Bound::Unbounded));
            for (longer, postings) in longer.take_while(|(longer, _)| longer.starts_with(word)) {
                let factor = PREFIX_FACTOR * as_float(word.len()) / as_float(longer.len());
                add_scores(postings, factor, postings.len());
            }
        }
        // All synonyms of a word share one rarity, so a rare synonym counts no more than a frequent one.
        let synonyms: Vec<_> =
            meanings::of(word).iter().filter_map(|other| self.postings.get(other)).collect();
        let document_count =
            synonyms.iter().map(|postings| postings.len()).sum::<usize>().min(self.len());
        for postings in synonyms {
            add_scores(postings, SYNONYM_FACTOR, document_count);
        }
        best
    }

    /// The weight of a word that `document_count` documents have: BM25's inverse document frequency.
    fn inverse_document_frequency(&self, document_count: usize) -> f32 {
        let (all, document_count) = (as_float(self.len()), as_float(document_count));
        (1.0 + (all - document_count + 0.5) / (document_count + 0.5)).ln()
    }
}

/// The stems of the words of each field, in the order of [`WEIGHTS`].
fn fields(document: &Document<'_>) -> [Vec<String>; 5] {
    let parameters = document.parameters.iter().flat_map(|name| words(name)).collect();
    [
        words(document.name),
        words(document.title),
        words(document.description),
        parameters,
        words(document.source),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "numbers of words and tools are small")]
fn as_float(number: usize) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(names: &[&str]) -> Index {
        Index::new(names.iter().map(|name| Document { name, ..Document::default() }))
    }

    fn found(index: &Index, question: &str) -> Vec<usize> {
        index.search(question, 10).into_iter().map(|hit| hit.document).collect()
    }

    #[test]
    fn tools_that_fit_equally_well_keep_their_order() {
        let index = index(&["read_file", "file_read", "read_file_again", "read_file"]);
        assert_eq!(found(&index, "read"), [0, 1, 3, 2]);
    }

    #[test]
    fn a_tool_whose_name_is_the_question_comes_first() {
        let index = index(&["get_user_get_user", "get_users_of_all", "get_user"]);
        assert_eq!(found(&index, "getUser")[0], 2);
    }

    #[test]
    fn names_are_split_and_words_are_compared_by_their_stems() {
        let index = index(&["listAllocatedPorts", "XMLParser", "delete_row"]);
        assert_eq!(found(&index, "port"), [0]);
        assert_eq!(found(&index, "parsing xml"), [1]);
        assert_eq!(found(&index, "deleted rows"), [2]);
    }

    #[test]
    fn the_beginning_of_a_word_finds_it_and_counts_less() {
        let index = index(&["configuration_show", "conf"]);
        assert_eq!(found(&index, "conf"), [1, 0]);
        assert_eq!(found(&index, "co"), Vec::<usize>::new());
    }

    #[test]
    fn words_of_the_same_meaning_are_found_and_count_less() {
        let index = index(&["remove_row", "delete_row"]);
        assert_eq!(found(&index, "delete"), [1, 0]);
    }

    #[test]
    fn a_question_of_fillers_alone_still_finds_tools_by_them() {
        let index = index(&["how_to", "read_file"]);
        assert_eq!(found(&index, "how to"), [0]);
    }

    #[test]
    fn nothing_is_found_for_nothing_and_in_nothing() {
        assert_eq!(found(&index(&["read_file"]), " \n-- "), Vec::<usize>::new());
        assert_eq!(found(&index(&[]), "read"), Vec::<usize>::new());
        assert!(Index::new([]).is_empty());
        assert_eq!(index(&["read_file"]).search("read", 0), []);
    }

    #[test]
    fn a_very_long_question_and_text_in_other_scripts_are_searched_without_a_panic() {
        let index = index(&["lire_été", "読む_ファイル", "read"]);
        assert_eq!(found(&index, "ÉTÉ"), [0]);
        assert_eq!(found(&index, "読む"), [1]);
        assert_eq!(found(&index, &"read é読 ".repeat(100_000)).len(), 1);
    }
}
