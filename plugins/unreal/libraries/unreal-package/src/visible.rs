//! Sanitises text from a package for display: removes characters that hide, move or reorder text.

use std::borrow::Cow;

/// The text without control and invisible characters, at most `max_chars` characters and then `…`.
/// Line ends and tabs are kept if `keep_lines` is set, and otherwise become spaces.
pub fn visible(text: &str, max_chars: usize, keep_lines: bool) -> Cow<'_, str> {
    let is_kept = |c: char| !is_hidden(c) && (keep_lines || !matches!(c, '\n' | '\t'));
    if text.len() <= max_chars && text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let mut kept = 0;
    for c in text.chars() {
        if kept == max_chars {
            shown.push('…');
            break;
        }
        match c {
            '\r' => continue,
            '\n' | '\t' if !keep_lines => shown.push(' '),
            c if is_hidden(c) => continue,
            c => shown.push(c),
        }
        kept += 1;
    }
    Cow::Owned(shown)
}

/// Control characters, bidirectional marks, and zero-width characters.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(
            c,
            '\u{00AD}'
                | '\u{061C}'
                | '\u{180E}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E0FFF}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays() {
        assert!(matches!(visible("Tür 門", 100, false), Cow::Borrowed("Tür 門")));
        assert_eq!(visible("a\nb\tc", 100, true), "a\nb\tc");
    }

    #[test]
    fn hiding_and_reordering_characters_are_removed() {
        assert_eq!(visible("a\u{202E}b\u{0}c\u{200B}d\u{1B}[31m", 100, false), "abcd[31m");
        assert_eq!(visible("a\r\nb", 100, false), "a b");
        assert_eq!(visible("\u{E0041}x", 100, true), "x");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(visible("abcdef", 3, false), "abc…");
    }
}
