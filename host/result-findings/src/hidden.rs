//! Finds text that a person does not see and a model reads.

use crate::{Kind, Rule};

/// Minimum number of invisible characters in a row that count as hidden text. Persian text and emoji contain single
/// invisible characters.
const MIN_INVISIBLE: usize = 6;

/// Minimum number of variation selectors in a row that count as hidden text. An ordinary character is followed by at
/// most one variation selector.
const MIN_SELECTORS: usize = 3;

/// The black flag. With Unicode tags after it, the character shows the flag of a region, such as Scotland.
const BLACK_FLAG: char = '\u{1f3f4}';

/// The Unicode tag that ends the flag of a region.
const CANCEL_TAG: char = '\u{e007f}';

/// Maximum number of Unicode tags in a region's flag, including [`CANCEL_TAG`].
const MAX_FLAG: usize = 7;

/// The rules that match a text.
pub(crate) fn rules_in(text: &str) -> Vec<Rule> {
    if text.is_ascii() && !text.contains('\u{1b}') {
        return Vec::new();
    }
    let matched = [
        ("invisible-characters", has_run(text, MIN_INVISIBLE, is_invisible)),
        ("variation-selectors", has_run(text, MIN_SELECTORS, is_selector)),
        ("unicode-tags", has_tags(text)),
        ("overridden-direction", text.contains(['\u{202d}', '\u{202e}'])),
        ("concealed-by-the-terminal", conceals(text)),
    ];
    let matched = matched.into_iter().filter(|(_, is_there)| *is_there);
    matched.map(|(name, _)| Rule { kind: Kind::HiddenText, name }).collect()
}

/// Whether a character is invisible, such as a zero width space or a soft hyphen.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

pub(crate) fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn has_run(text: &str, length: usize, is_one: impl Fn(char) -> bool) -> bool {
    let mut run = 0;
    text.chars().any(|c| {
        run = if is_one(c) { run + 1 } else { 0 };
        run >= length
    })
}

/// Whether a text has Unicode tags that are not part of a flag.
fn has_tags(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if is_tag(c) {
            return true;
        }
        if c == BLACK_FLAG {
            let mut tags = Vec::new();
            while let Some(tag) = chars.next_if(|next| is_tag(*next)) {
                tags.push(tag);
            }
            let is_flag = tags.len() <= MAX_FLAG && tags.last() == Some(&CANCEL_TAG);
            if !tags.is_empty() && !is_flag {
                return true;
            }
        }
    }
    false
}

/// Whether a text has the escape sequence by which terminals conceal text (SGR 8).
fn conceals(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|rest| {
        let parameters = rest.split_once('m').map_or("", |(parameters, _)| parameters);
        // The numbers after 38 or 48 name a colour. An 8 among them conceals nothing.
        let is_colour = parameters.contains("38;") || parameters.contains("48;");
        parameters.len() < 20 && !is_colour && parameters.split(';').any(|one| one == "8")
    })
}
