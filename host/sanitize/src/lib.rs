//! Text from outside, made fit to be shown: in a terminal, a log, a list of tools.

use std::borrow::Cow;
use std::fmt::Write as _;

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

/// The text with everything that could fool a reader or a terminal written out, such as `\u{1b}` for the
/// character that begins escape sequences: nothing of it acts, and nothing of it is hidden. Line ends and
/// tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let acts = |c: char| !matches!(c, '\n' | '\t') && is_deceptive(c);
    if !text.contains(acts) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// As [`visible`], on one line of at most `max` characters of the text.
pub fn visible_line(text: &str, max: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(max) {
        None => visible(&flat).into_owned(),
        Some((end, _)) => format!("{}…", visible(&flat[..end])),
    }
}

/// JSON with everything in its strings that could fool a reader or a terminal written as an escape of JSON:
/// the same data, and fit to be shown.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let acts = |c: char| c != '\n' && is_deceptive(c);
    if !json.contains(acts) {
        return json.into();
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if acts(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string does not fail.
                let _written = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown.into()
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
    fn what_could_act_is_written_out() {
        assert_eq!(visible("plain\n\tä中"), "plain\n\tä中");
        assert_eq!(
            visible("\u{1b}]0;x\u{7}\u{9b}2J\r\u{202e}\u{e0041}\u{200b}"),
            "\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{d}\\u{202e}\\u{e0041}\\u{200b}"
        );
        assert_eq!(visible_line("a\n\u{1b}b cd", 5), "a \\u{1b}b …");
    }

    #[test]
    fn json_stays_the_same_data() {
        let json = "{\n \"a\": \"\u{9b}\u{e0041}\u{202e}ä\"\n}";
        assert_eq!(visible_json(json), "{\n \"a\": \"\\u009b\\udb40\\udc41\\u202eä\"\n}");
        assert_eq!(visible_json("{}"), "{}");
    }

    #[test]
    fn a_line_is_cut_at_characters_and_not_at_bytes() {
        assert_eq!(line("中文 \n 中文", 100), "中文 中文");
        assert_eq!(line(&"中".repeat(100), 3), "中中中…");
    }
}
