//! Finds the strings that contain a text, over all strings at once.

use crate::strings::{Id, Strings};

/// The strings that match a term.
pub struct Matching {
    /// One bit for each string.
    bits: Vec<u64>,
}

impl Matching {
    /// The strings that contain `term` or, if `exact`, are equal to it. The case of ASCII letters
    /// does not matter. A term of several words also matches without the spaces, since the editor
    /// shows `PrintString` as `Print String`.
    pub fn of(strings: &Strings, term: &str, exact: bool) -> Self {
        let mut found = Self { bits: vec![0; strings.len().div_ceil(64)] };
        let term = term.trim();
        let joined: String = term.split_whitespace().collect();
        let joined = Some(joined.as_str()).filter(|joined| *joined != term);
        for needle in [Some(term), joined].into_iter().flatten().filter(|n| !n.is_empty()) {
            if exact {
                found.add_equal(strings, needle);
            } else {
                found.add_containing(strings, needle.as_bytes());
            }
        }
        found
    }

    /// Whether a string matches.
    pub fn has(&self, id: Id) -> bool {
        let word = self.bits.get(id.0 as usize / 64).copied().unwrap_or_default();
        word >> (id.0 % 64) & 1 == 1
    }

    /// Whether no string matches.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|word| *word == 0)
    }

    fn set(&mut self, number: usize) {
        if let Some(word) = self.bits.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    fn add_equal(&mut self, strings: &Strings, needle: &str) {
        let mut start = 0;
        for (number, end) in strings.ends.iter().enumerate() {
            let end = *end as usize;
            let is_equal = end - start == needle.len()
                && strings.text.get(start..end).is_some_and(|t| t.eq_ignore_ascii_case(needle));
            if is_equal && number > 0 {
                self.set(number);
            }
            start = end;
        }
    }

    /// Searches the text of all strings at once with the algorithm of Boyer, Moore and Horspool:
    /// the last byte of each window gives the distance to the next window.
    fn add_containing(&mut self, strings: &Strings, needle: &[u8]) {
        let text = strings.text.as_bytes();
        let last = needle.len() - 1;
        let mut skips = [needle.len(); 256];
        for (position, byte) in needle.iter().enumerate().take(last) {
            for byte in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                skips[usize::from(byte)] = last - position;
            }
        }
        let (mut at, mut number) = (0, 0);
        while let Some(window) = text.get(at..at + needle.len()) {
            if window.eq_ignore_ascii_case(needle) {
                // A window that lies across the end of a string is not a match.
                let ends = strings.ends.get(number..).unwrap_or_default();
                number += ends.partition_point(|end| *end as usize <= at);
                let end = strings.ends.get(number).map_or(text.len(), |end| *end as usize);
                if at + needle.len() <= end {
                    self.set(number);
                    at = end;
                    continue;
                }
                at += 1;
                continue;
            }
            at += skips[usize::from(window[last])];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str], term: &str, exact: bool) -> Vec<String> {
        let mut strings = Strings::default();
        let ids: Vec<Id> = texts.iter().map(|text| strings.add(text)).collect();
        let matching = Matching::of(&strings, term, exact);
        assert!(!matching.has(Id(0)) && !matching.has(Id(1_000_000)));
        let ids = ids.into_iter().filter(|id| matching.has(*id));
        ids.map(|id| strings.get(id).to_owned()).collect()
    }

    #[test]
    fn matches_are_within_one_string() {
        let texts = ["PrintString", "Call PrintString", "ring", "Pri", "ntS", "bOpen", "Größe"];
        assert_eq!(found(&texts, "STRING", false), ["PrintString", "Call PrintString"]);
        assert_eq!(found(&texts, "ring", true), ["ring"]);
        assert_eq!(found(&texts, "prints", false), ["PrintString", "Call PrintString"]);
        assert_eq!(found(&texts, " print  string ", true), ["PrintString"]);
        assert_eq!(found(&texts, "call print string", false), [""; 0]);
        assert_eq!(found(&texts, "Call PrintString", true), ["Call PrintString"]);
        assert_eq!(found(&texts, "öß", false), ["Größe"]);
        assert_eq!(found(&texts, "n", false).len(), 5);
        assert_eq!(found(&texts, "  ", false), [""; 0]);
        assert_eq!(found(&[], "x", false), [""; 0]);
    }

    #[test]
    fn matches_are_those_of_a_plain_search() {
        let mut seed = 7_u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed >> 24
        };
        let texts: Vec<String> = (0..400)
            .map(|n| {
                let letters = (0..next() % 9).map(|_| char::from(b'a' + (next() % 3) as u8));
                format!("{}{n}", letters.collect::<String>())
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for term in ["a", "ab", "aba", "bb", "cab", "aaaa", "c1"] {
            let expected: Vec<&str> = texts.iter().copied().filter(|t| t.contains(term)).collect();
            assert_eq!(found(&texts, term, false), expected, "{term}");
        }
    }
}
