//! Sanitises untrusted text for display in a terminal, a log or a list of tools.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;

/// The text without characters that could deceive a reader or control a terminal: control characters (escape
/// sequences begin with one), characters that reorder or hide text, and Unicode tags. Line feeds and tabs stay.
pub fn plain(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_deceptive(*c)).collect()
}

/// Like [`plain`], on one line. A text of more than `max` characters is cut to `max` characters, followed by `…`.
pub fn line(text: &str, max: usize) -> String {
    let flat = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(max) {
        None => flat,
        Some((end, _)) => format!("{}…", &flat[..end]),
    }
}

/// Replaces the characters that [`plain`] removes by escapes, such as `\u{1b}`. A reader sees the escapes, and they do
/// not control the terminal. Line feeds and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let deceives = |c: char| !matches!(c, '\n' | '\t') && is_deceptive(c);
    if !text.contains(deceives) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if deceives(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// Like [`visible`], on one line. A text of more than `max` characters is cut to `max` characters, followed by `…`. An
/// escape counts as one character.
pub fn visible_line(text: &str, max: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(max) {
        None => visible(&flat).into_owned(),
        Some((end, _)) => format!("{}…", visible(&flat[..end])),
    }
}

/// Replaces tabs and the characters that [`plain`] removes by JSON escapes. The values in the JSON stay the same. Only
/// JSON with tabs or carriage returns between its tokens becomes invalid.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let deceives = |c: char| c != '\n' && is_deceptive(c);
    if !json.contains(deceives) {
        return json.into();
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if deceives(c) {
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

/// Whether a character could deceive a reader: it controls a terminal, has no width, reorders or hides the
/// characters around it, or carries invisible text.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, Arabic letter mark, Hangul fillers, Mongolian variation selectors and vowel separator.
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{3164}'
            | '\u{ffa0}'
            // Zero width space, joiner and non-joiner, directional marks.
            | '\u{200b}'..='\u{200f}'
            // Line and paragraph separators, directional embeddings and overrides.
            | '\u{2028}'..='\u{202e}'
            // Word joiner, invisible operators, directional isolates.
            | '\u{2060}'..='\u{206f}'
            // Byte order mark, interlinear annotation characters.
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            // Unicode tags, and the variation selectors supplement.
            | '\u{e0000}'..='\u{e0fff}')
}

/// An error and its causes, joined by `: `, such as `cannot open a: no such file`. A cause is left out if the text
/// before it ends with the cause. The text is not sanitised.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text += ": ";
            text += &cause_text;
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_removes_escapes_overrides_and_tags() {
        assert_eq!(plain("a\u{1b}[31mb\u{202e}c\u{e0041}d\r\n\tä中"), "a[31mbcd\n\tä中");
    }

    #[test]
    fn visible_writes_escapes_and_overrides_out() {
        assert_eq!(visible("plain\n\tä中"), "plain\n\tä中");
        assert_eq!(
            visible("\u{1b}]0;x\u{7}\u{9b}2J\r\u{202e}\u{e0041}\u{200b}"),
            "\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{d}\\u{202e}\\u{e0041}\\u{200b}"
        );
        assert_eq!(visible_line("a\n\u{1b}b cd", 5), "a \\u{1b}b …");
    }

    #[test]
    fn visible_json_keeps_the_data() {
        let json = "{\n \"a\": \"\u{9b}\u{e0041}\u{202e}ä\"\n}";
        assert_eq!(visible_json(json), "{\n \"a\": \"\\u009b\\udb40\\udc41\\u202eä\"\n}");
        assert_eq!(visible_json("{}"), "{}");
    }

    #[test]
    fn line_cuts_between_characters() {
        assert_eq!(line("中文 \n 中文", 100), "中文 中文");
        assert_eq!(line(&"中".repeat(100), 3), "中中中…");
    }

    #[test]
    fn error_chain_names_each_cause_once() {
        #[derive(Debug)]
        struct Failed(&'static str, Option<Box<Failed>>);
        impl std::fmt::Display for Failed {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0)
            }
        }
        impl Error for Failed {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                self.1.as_deref().map(|cause| cause as _)
            }
        }
        let cause = |text| Some(Box::new(Failed(text, None)));
        assert_eq!(error_chain(&Failed("cannot open a", None)), "cannot open a");
        assert_eq!(
            error_chain(&Failed("cannot open a", cause("no entry"))),
            "cannot open a: no entry"
        );
        assert_eq!(error_chain(&Failed("a: no entry", cause("no entry"))), "a: no entry");
    }
}
