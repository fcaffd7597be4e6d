//! Sorts the file names in answers: ignoring case, and numbers by their value.

use std::cmp::Ordering;

/// Compares two file names: ignores case, and compares numbers by their value. `_ - . /` come first.
pub fn by_name(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.chars().peekable(), b.chars().peekable());
    loop {
        let order = match (left.peek().copied(), right.peek().copied()) {
            (None, None) => return a.cmp(b),
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(l), Some(r)) if l.is_ascii_digit() && r.is_ascii_digit() => {
                take_number(&mut left).cmp(&take_number(&mut right))
            }
            (Some(_), Some(_)) => left.next().map(rank).cmp(&right.next().map(rank)),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn take_number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> u128 {
    let mut value = 0_u128;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        value = value.saturating_mul(10).saturating_add(u128::from(digit));
        chars.next();
    }
    value
}

fn rank(c: char) -> (usize, char) {
    match "_-./".find(c) {
        Some(place) => (place, c),
        None => (4, c.to_lowercase().next().unwrap_or(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_sorted_naturally() {
        let sorted = [
            ".editorconfig",
            ".gitignore",
            "a2",
            "a10",
            "eslint.config.mjs",
            "LICENSE",
            "package.json",
            "webapp/i18n/i18n_en.properties",
            "webapp/i18n/i18n.properties",
            "webapp/index-cdn.html",
            "webapp/index.html",
        ];
        let mut names = sorted;
        names.reverse();
        names.sort_by(|a, b| by_name(a, b));
        assert_eq!(names, sorted);
    }
}
