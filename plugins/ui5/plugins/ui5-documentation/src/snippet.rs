//! Selects the part of a section that fits a question best.

use crate::words::each_word;

/// Maximum length of a snippet, in bytes, without the ` …` at its end.
const MAX_SNIPPET_BYTES: usize = 240;

/// The line of a text in which the words found have the greatest total weight. If this line is short, the lines after
/// it follow.
pub fn snippet(text: &str, words: &[(String, f32)]) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim_start_matches(['-', '>', '|', '#', ' ', '\t']).trim())
        .filter(|line| !line.is_empty() && !line.starts_with("```"))
        .collect();
    let (mut best_line, mut best_score) = (0, 0.0);
    for (number, line) in lines.iter().enumerate() {
        let mut found: Vec<bool> = vec![false; words.len()];
        each_word(line, |word| {
            if let Some(at) = words.iter().position(|(known, _)| known == word) {
                found[at] = true;
            }
        });
        let score =
            found.iter().zip(words).map(|(has, (_, weight))| if *has { *weight } else { 0.0 });
        let score = score.sum::<f32>();
        if score > best_score {
            (best_line, best_score) = (number, score);
        }
    }
    let mut snippet = String::new();
    for line in lines.iter().skip(best_line) {
        if snippet.len() >= MAX_SNIPPET_BYTES / 2 {
            break;
        }
        if !snippet.is_empty() {
            snippet.push(' ');
        }
        snippet.push_str(line);
    }
    cut(&snippet, MAX_SNIPPET_BYTES)
}

/// A text as it is, or the first `max_bytes` bytes of a longer one, cut at a word and followed by ` …`.
pub fn cut(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let start = &text[..text.floor_char_boundary(max_bytes)];
    let end = start.rfind(' ').filter(|end| *end > max_bytes / 2).unwrap_or(start.len());
    format!("{} …", start[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, question: &str) -> String {
        snippet(text, &crate::rank::question_words(question))
    }

    #[test]
    fn the_line_with_most_words_is_shown() {
        let text =
            "First line.\n\n- Buttons press.\n- The handler of a button press gets an event.\n";
        assert_eq!(
            of(text, "event of a button press"),
            "The handler of a button press gets an event."
        );
        assert_eq!(
            of(text, "unknown"),
            "First line. Buttons press. The handler of a button press gets an event."
        );
        assert_eq!(of("", "x"), "");
    }

    #[test]
    fn a_long_line_is_cut_at_a_word() {
        let text = "wörter ".repeat(100);
        let short = of(&text, "nothing");
        assert!(short.len() < MAX_SNIPPET_BYTES + 5 && short.ends_with("wörter …"), "{short}");
        assert_eq!(cut(&"ö".repeat(200), 99), format!("{} …", "ö".repeat(49)));
    }
}
