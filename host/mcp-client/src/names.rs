//! Makes legal names, which every client accepts, for items whose own names some clients reject.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

/// Maximum length of a name, in characters.
const MAX_CHARACTERS: usize = 128;

/// Whether every client accepts this name.
pub(crate) fn is_legal(name: &str) -> bool {
    (1..=MAX_CHARACTERS).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Assigned names. Each belongs to one item.
pub(crate) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Names for items with these original names. Legal originals are reserved.
    pub(crate) fn new<'a>(originals: impl Iterator<Item = &'a str>) -> Self {
        Self { taken: originals.filter(|name| is_legal(name)).map(str::to_owned).collect() }
    }

    /// A legal name for an illegal one. Each illegal character becomes `_`, a long name is cut, and `-` and the first 8
    /// digits of the name's digest are added. If another item has this result, 16 or 32 digits are added instead.
    /// `None`: all three results are taken, which does not happen by accident.
    pub(crate) fn instead_of(&mut self, original: &str) -> Option<String> {
        let digest = hex(&Sha256::digest(original));
        [8, 16, 32].into_iter().find_map(|length| {
            let legal =
                |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
            let readable: String =
                original.chars().take(MAX_CHARACTERS - 1 - length).map(legal).collect();
            let name = format!("{readable}-{}", &digest[..length]);
            self.taken.insert(name.clone()).then_some(name)
        })
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn illegal_names_become_legal_ones_that_stay_the_same() {
        for legal in ["a", "get_it", "a.b-c", &"x".repeat(128)] {
            assert!(is_legal(legal), "{legal}");
        }
        let long = "x".repeat(500);
        let originals = ["", "a b", "a/b", "näme", "a\u{202e}b", "../x", &long, "a\nb"];
        let mut names = Names::new(originals.into_iter());
        let given: Vec<_> = originals.iter().map(|name| names.instead_of(name).unwrap()).collect();
        assert!(given.iter().all(|name| is_legal(name)), "{given:?}");
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), given.len());
        let mut alone = Names::new(["a/b"].into_iter());
        assert_eq!(alone.instead_of("a/b").as_ref(), Some(&given[2]));
        assert!(given[2].starts_with("a_b-"));
    }

    #[test]
    fn a_name_that_another_item_has_is_not_made() {
        let made = Names::new(["a b"].into_iter()).instead_of("a b").unwrap();
        let mut names = Names::new(["a b", &made].into_iter());
        assert_ne!(names.instead_of("a b").unwrap(), made);
    }
}
