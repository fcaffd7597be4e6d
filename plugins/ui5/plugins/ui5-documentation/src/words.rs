//! Divides texts and questions into the words that the index knows.

/// Words that are ignored, since almost every page of the UI5 documentation has them.
const IGNORED: [&str; 62] = [
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "cannot", "do",
    "does", "for", "from", "get", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its",
    "like", "me", "my", "need", "no", "not", "of", "on", "openui5", "or", "our", "sap", "sapui5",
    "should", "so", "than", "that", "the", "their", "then", "there", "this", "to", "ui5", "use",
    "used", "want", "was", "we", "what", "when", "which", "why", "with",
];

/// Maximum length of a word, in bytes; longer ones are ignored.
const MAX_WORD_BYTES: usize = 80;

/// Calls `take` with each word of a text, in its indexed form: lower case, without common endings.
///
/// Names of the API count as a whole and in their parts: `sap.m.ODataTable` is `sap.m.odatatable`,
/// `odatatable`, `odata` and `tabl`. Slashes in names are dots. `opa5` is also `opa`.
pub fn each_word(text: &str, mut take: impl FnMut(&str)) {
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_');
    for chunk in text.split(|c| !belongs(c)) {
        let chunk = chunk.trim_matches(['.', '/', '_']);
        if chunk.is_empty() || chunk.len() > MAX_WORD_BYTES {
            continue;
        }
        if chunk.contains(['.', '/']) {
            take(&chunk.to_lowercase().replace('/', "."));
        }
        for part in chunk.split(['.', '/', '_']) {
            each_piece(part, &mut take);
        }
    }
}

/// Calls `take` with the words of a name without dots: the name itself, and its parts in camel case.
fn each_piece(part: &str, take: &mut impl FnMut(&str)) {
    let whole = part.to_lowercase();
    if is_ignored(&whole) {
        return;
    }
    let part = part.replace("OData", "Odata");
    let pieces = camel_pieces(&part);
    if pieces.len() > 1 {
        take(&whole);
        for piece in pieces.iter().map(|piece| piece.to_lowercase()) {
            if !is_ignored(&piece) {
                take(stem(&piece));
            }
        }
    } else {
        take(stem(&whole));
        let bare = whole.trim_end_matches(|c: char| c.is_ascii_digit());
        if bare.len() < whole.len() && bare.len() > 2 {
            take(stem(bare));
        }
    }
}

fn is_ignored(word: &str) -> bool {
    let is_letter = word.chars().nth(1).is_none() && !word.starts_with(|c: char| c.is_numeric());
    is_letter || IGNORED.binary_search(&word).is_ok()
}

/// Divides a name in camel case: `XMLViewName` into `XML`, `View` and `Name`.
fn camel_pieces(part: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let chars: Vec<(usize, char)> = part.char_indices().collect();
    for (number, (offset, here)) in chars.iter().enumerate().skip(1) {
        let before = chars[number - 1].1;
        let after = chars.get(number + 1).map(|(_, c)| *c);
        let is_start =
            here.is_uppercase() && (before.is_lowercase() || after.is_some_and(char::is_lowercase));
        if is_start {
            pieces.push(&part[start..*offset]);
            start = *offset;
        }
    }
    pieces.push(&part[start..]);
    pieces
}

/// A word without its ending, so that `loading`, `loads` and `loaded` are one word.
fn stem(word: &str) -> &str {
    if !word.is_ascii() || word.len() < 4 {
        return word;
    }
    let word = match word.strip_suffix('s') {
        Some(single) if !single.ends_with(['s', 'u', 'i']) => single,
        _ => word,
    };
    let has_vowel = |start: &str| start.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let shortened = ["ing", "ed", "er"]
        .iter()
        .find_map(|end| word.strip_suffix(end))
        .filter(|start| start.len() > 2 && has_vowel(start));
    let word = match shortened {
        Some(start) => {
            let mut ends = start.chars().rev();
            let is_doubled = ends.next() == ends.next() && !start.ends_with(['l', 's']);
            if is_doubled { &start[..start.len() - 1] } else { start }
        }
        None => match word.strip_suffix("ion") {
            Some(start) if start.len() > 3 && start.ends_with(['s', 't']) => start,
            _ => word,
        },
    };
    let word = word.strip_suffix('e').filter(|start| start.len() > 2).unwrap_or(word);
    match word.strip_suffix("ie") {
        Some(start) if start.len() > 2 => start,
        _ => word.strip_suffix(['y', 'i']).filter(|start| start.len() > 2).unwrap_or(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        each_word(text, |word| all.push(word.to_owned()));
        all
    }

    #[test]
    fn ignored_words_are_sorted() {
        assert!(IGNORED.is_sorted());
        assert_eq!(words("How do I use the SAPUI5 of it?"), <[&str; 0]>::default());
    }

    #[test]
    fn names_of_the_api_count_whole_and_in_parts() {
        assert_eq!(words("sap.m.Button"), ["sap.m.button", "button"]);
        assert_eq!(
            words("`sap/ui/core/XMLView`."),
            ["sap.ui.core.xmlview", "ui", "cor", "xmlview", "xml", "view"]
        );
        assert_eq!(words("ODataModel"), ["odatamodel", "odata", "model"]);
        assert_eq!(words("core:require"), ["cor", "requir"]);
        assert_eq!(words("OPA5 1.136"), ["opa5", "opa", "1.136", "1", "136"]);
    }

    #[test]
    fn forms_of_a_word_are_one_word() {
        for forms in [
            &["load", "loads", "loading", "loaded"][..],
            &["handle", "handling", "handler", "handles"],
            &["library", "libraries"],
            &["navigate", "navigation", "navigating"],
            &["bind", "binding", "bindings"],
            &["format", "formatter", "formatting"],
            &["route", "router", "routing"],
        ] {
            for form in forms {
                assert_eq!(words(form), words(forms[0]), "{form}");
            }
        }
        assert_ne!(words("class"), words("clas"));
    }

    #[test]
    fn unusual_texts_do_not_panic() {
        for text in
            ["", "...", "__/__", "é", "Ünïcödé.Ñame", &"x".repeat(10_000), "İstanbul", "a.b"]
        {
            words(text);
        }
        assert_eq!(words("Ölwechsel"), ["ölwechsel"]);
    }
}
