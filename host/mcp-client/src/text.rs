//! Sanitises text of an upstream server for a model, a terminal or a log.

use std::iter::Peekable;
use std::str::Chars;
use std::time::{Duration, Instant};

use portcullis_sanitize::is_deceptive;

/// The longest escape sequence that is removed as a whole, in characters. With this limit, an unterminated sequence
/// does not remove all text after it.
const MAX_SEQUENCE: usize = 256;

/// The text as a paragraph without escape sequences, control characters, and characters that hide, reorder or carry
/// text unseen. Line feeds and tabs stay. A text of more than `max` characters is cut, and `…` is added.
pub(crate) fn block(text: &str, max: usize) -> String {
    let mut plain = String::with_capacity(text.len().min(4 * max));
    let mut left = max;
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                skip_sequence(&mut chars);
                continue;
            }
            '\u{9b}' => {
                skip_control_sequence(&mut chars);
                continue;
            }
            '\n' | '\t' => {}
            '\u{200c}' | '\u{200d}' if is_joined(before, chars.peek().copied()) => {}
            _ if is_deceptive(c) => continue,
            _ => {}
        }
        if left == 0 {
            plain.push('…');
            break;
        }
        left -= 1;
        plain.push(c);
        before = Some(c);
    }
    plain
}

/// Whether a zero-width joiner or non-joiner between these characters is legitimate: between letters of scripts that
/// join letters, such as those of Persian and Hindi, and between emoji.
fn is_joined(before: Option<char>, after: Option<char>) -> bool {
    let joins = |c: char| {
        matches!(c,
            // Arabic, Syriac, N'Ko, and the scripts of India to Mongolia.
            '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
            | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
            // Symbols and emoji, with the selector of their coloured form and the tones of skin.
            | '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
            && !is_deceptive(c)
    };
    before.is_some_and(joins) && after.is_some_and(joins)
}

/// As [`block`], on one line.
pub(crate) fn line(text: &str, max: usize) -> String {
    // The end of a long text is not sanitised, because it is cut off.
    let some = block(text, max.saturating_mul(4));
    let flat = some.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(max) {
        None => flat,
        Some((end, _)) => format!("{}…", flat[..end].trim_end_matches('…')),
    }
}

/// Whether a text has no control characters, and no characters that hide, reorder or carry text unseen.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.chars().any(is_deceptive)
}

/// Skips the sequence after an escape character: a control sequence, a control string, or one character.
fn skip_sequence(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let end = chars.clone().take(MAX_SEQUENCE).position(|c| {
                // `ESC \` also ends the string. Its backslash is skipped below.
                matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}')
            });
            for _ in 0..end.map_or(1, |end| end + 1) {
                chars.next();
            }
            chars.next_if_eq(&'\\');
        }
        Some(' '..='~') => {
            chars.next();
        }
        Some(_) | None => {}
    }
}

fn skip_control_sequence(chars: &mut Peekable<Chars<'_>>) {
    for _ in 0..MAX_SEQUENCE {
        match chars.peek() {
            Some(' '..='?') => chars.next(),
            Some('@'..='~') => {
                chars.next();
                return;
            }
            Some(_) | None => return,
        };
    }
}

/// Limits the lines that an upstream can cause in the log, so that it cannot fill the disk.
pub(crate) struct LogLimiter {
    since: Instant,
    passed: u32,
    held: u32,
}

impl LogLimiter {
    const PERIOD: Duration = Duration::from_secs(10);
    const LINES: u32 = 100;

    pub(crate) fn new() -> Self {
        Self { since: Instant::now(), passed: 0, held: 0 }
    }

    /// Counts a line. `None`: it may not be logged. Otherwise the number of lines that were held back before it.
    pub(crate) fn pass(&mut self) -> Option<u32> {
        if self.since.elapsed() > Self::PERIOD {
            self.since = Instant::now();
            self.passed = 0;
        }
        if self.passed >= Self::LINES {
            self.held = self.held.saturating_add(1);
            return None;
        }
        self.passed += 1;
        Some(std::mem::take(&mut self.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deceptive_characters_are_removed_and_letters_stay() {
        for (text, expected) in [
            ("a\u{1b}[31;1mred\u{1b}[0m b", "ared b"),
            ("a\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ b", "alink b"),
            ("a\u{9b}2Jb\u{1b}cd\u{1b}", "abd"),
            ("a\u{1b}]never ends", "anever ends"),
            ("a\u{202e}b\u{200b}c\u{e0041}\u{e0042}d\u{feff}e\u{ad}f", "abcdef"),
            (
                "می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥",
                "می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥",
            ),
            ("a\u{200d}b می\u{200c} x 👩\u{200d}\u{200d}💻", "ab می x 👩\u{200d}💻"),
            ("ä 中\t🙂\r\n!", "ä 中\t🙂\n!"),
            ("\0\u{7}\u{7f}", ""),
        ] {
            assert_eq!(block(text, 100), expected, "{text:?}");
        }
        assert!(is_plain("a b") && !is_plain("a\nb") && !is_plain("a\u{200d}b"));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(block(&"中".repeat(9), 3), "中中中…");
        assert_eq!(block("中中中", 3), "中中中");
        assert_eq!(line(" a \n\n b\tc ", 9), "a b c");
        assert_eq!(line(&"ab ".repeat(1000), 4), "ab a…");
    }

    #[test]
    fn a_flood_is_held_back_and_counted() {
        let mut valve = LogLimiter::new();
        assert_eq!((0..1000).filter(|_| valve.pass().is_some()).count(), 100);
        valve.since = Instant::now().checked_sub(Duration::from_secs(11)).unwrap();
        assert_eq!(valve.pass(), Some(900));
        assert_eq!(valve.pass(), Some(0));
    }
}
