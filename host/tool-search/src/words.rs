//! Splits text into words and reduces them to their stems.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::stem::stem;

/// The stems of the words in a text. Words end at characters that are neither letters nor digits, and where a capital
/// letter begins a word in names such as `getUserName` and `XMLParser`.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for run in text.split(|letter: char| !letter.is_alphanumeric()) {
        let mut rest = run;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(first_word_length(rest));
            found.push(stem(word.to_lowercase()));
            rest = after;
        }
    }
    found
}

/// The length in bytes of the first word in a run of letters and digits.
fn first_word_length(run: &str) -> usize {
    let mut before = None::<char>;
    let mut letters = run.char_indices().peekable();
    while let Some((index, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let is_start = letter.is_uppercase()
            && before.is_some_and(|before| {
                // A word begins at the `U` of `getUser` and at the `P` of `XMLParser`, and not at the `L` of the
                // plural `URLs`.
                before.is_lowercase()
                    || (before.is_uppercase()
                        && next.is_some_and(|next| next.is_lowercase() && next != 's'))
            });
        if is_start {
            return index;
        }
        before = Some(letter);
    }
    run.len()
}

/// Whether a stem does not help to find a tool: the stem of a filler such as `the`, a single ASCII letter, or a number in
/// ASCII digits.
pub(crate) fn is_filler(stem: &str) -> bool {
    static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        FILLERS.iter().map(|word| crate::stem::stem((*word).to_owned())).collect()
    });
    let is_number = || stem.bytes().all(|byte| byte.is_ascii_digit());
    stem.len() == 1 || is_number() || STEMS.contains(stem)
}

/// Words that are frequent in questions and do not distinguish tools.
const FILLERS: &[&str] = &[
    "a",
    "about",
    "all",
    "already",
    "also",
    "am",
    "an",
    "and",
    "any",
    "are",
    "at",
    "be",
    "been",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "each",
    "every",
    "everything",
    "for",
    "from",
    "give",
    "had",
    "has",
    "have",
    "here",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "let",
    "like",
    "me",
    "my",
    "need",
    "now",
    "of",
    "on",
    "onto",
    "or",
    "our",
    "please",
    "shall",
    "should",
    "so",
    "some",
    "someone",
    "something",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "to",
    "tool",
    "us",
    "use",
    "using",
    "want",
    "was",
    "we",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whose",
    "why",
    "will",
    "with",
    "would",
    "you",
    "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filler_counts_as_one_where_it_is_read() {
        for filler in FILLERS {
            let read = words(filler);
            assert!(matches!(read.as_slice(), [stem] if is_filler(stem)), "{filler}: {read:?}");
        }
        assert!(!is_filler("file"));
    }

    #[test]
    fn names_of_all_styles_are_split() {
        for (name, expected) in [
            ("get_user_id", vec!["get", "user", "id"]),
            ("API-get-user", vec!["api", "get", "user"]),
            ("getUserName", vec!["get", "user", "nam"]),
            ("XMLParser", vec!["xml", "pars"]),
            ("sap.m.Table#rowMode", vec!["sap", "m", "tabl", "row", "mod"]),
            ("api3 URLs v2", vec!["api3", "url", "v2"]),
            ("", vec![]),
        ] {
            assert_eq!(words(name), expected, "{name}");
        }
    }
}
