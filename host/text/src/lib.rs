//! Text from outside, made fit to be shown: in a terminal, a log, a list of tools.

/// The text without what could fool a reader or a terminal: control characters (escape sequences
/// begin with one), characters that reorder or hide text, and Unicode tags. Line ends and tabs stay.
pub fn plain(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_deceptive(*c)).collect()
}

/// As [`plain`], on one line of at most `max` characters.
pub fn line(text: &str, max: usize) -> String {
    let flat = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(max) {
        None => flat,
        Some((end, _)) => format!("{}…", &flat[..end]),
    }
}

/// Whether a character could fool whoever reads it: it controls a terminal, has no width, reorders or
/// hides what is around it, or carries text unseen.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, Arabic and Mongolian marks without a width, blank letters of Hangul.
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{3164}'
            | '\u{ffa0}'
            // Zero width spaces and joiners, marks of direction.
            | '\u{200b}'..='\u{200f}'
            // Line and paragraph separators, embeddings and overrides of direction.
            | '\u{2028}'..='\u{202e}'
            // Word joiner, invisible operators, isolates.
            | '\u{2060}'..='\u{206f}'
            // Byte order mark, annotations.
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            // Tags and variation selectors of the supplement.
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_overrides_and_tags_go_and_letters_stay() {
        assert_eq!(plain("a\u{1b}[31mb\u{202e}c\u{e0041}d\r\n\tä中"), "a[31mbcd\n\tä中");
    }

    #[test]
    fn a_line_is_cut_at_characters_and_not_at_bytes() {
        assert_eq!(line("中文 \n 中文", 100), "中文 中文");
        assert_eq!(line(&"中".repeat(100), 3), "中中中…");
    }
}
