//! Matches names with patterns, in which `*` stands for any text.

/// Whether a name fits a pattern. Each `*` of the pattern stands for any text, also for none.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The earliest place of each part leaves the most text for the next part.
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        let Some(place) = name.find(part) else { return false };
        name = &name[place + part.len()..];
    }
    name.len() >= end.len() && name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("read", "read", true),
            ("read", "reads", false),
            ("*", "", true),
            ("*", "anything", true),
            ("read_*", "read_file", true),
            ("read_*", "bread_file", false),
            ("*_file", "read_file", true),
            ("*_file", "file", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*b*", "abc", true),
            ("*b*b*", "abc", false),
            ("a*b*c", "a-c-b-c", true),
            ("a*b*c", "a-c", false),
            ("é*é", "éaé", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
