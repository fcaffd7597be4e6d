//! Parts of a guide in Markdown: a brief version without its code, and single sections.

use crate::detail::{BRIEF, Detail};

/// The note at the end of a brief version, up to an example of a heading.
const FOOTER: &str = "Shortened: all code and the last lines of long sections are left out. For one section, with its \
     code unless the section is long, call again with `section`: its number, or a heading such as";

/// Maximum length of the note with its example, in bytes.
const FOOTER_BYTES: usize = 350;

/// The answer to a call: the guide or one of its sections, in full or in brief. The answer is brief only if
/// `detail` asks for that, the text is longer than [`BRIEF`], and the text has more than one heading. If no
/// section has the name, fails with the reason and the headings of all sections.
pub fn answer(text: &str, section: Option<&str>, detail: Detail) -> Result<String, String> {
    let name = section.map(str::trim).filter(|name| !name.is_empty());
    let part = match name {
        Some(name) => find(text, name)?,
        None => text,
    };
    let is_divided = headings(part).count() > 1;
    match detail {
        Detail::Brief if is_divided && part.len() > BRIEF => Ok(brief(part, BRIEF)),
        Detail::Brief | Detail::Full => Ok(part.to_owned()),
    }
}

/// A heading: its level, its words, and where its line starts.
struct Heading<'t> {
    level: usize,
    title: &'t str,
    start: usize,
}

impl Heading<'_> {
    /// The number before the title: `7` of `7. Texts`.
    fn number(&self) -> Option<&str> {
        let (number, _) = self.title.split_once(". ")?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
    }

    fn is_called(&self, name: &str) -> bool {
        let bare = self.number().map_or(self.title, |number| &self.title[number.len() + 2..]);
        self.number() == Some(name.trim_end_matches('.'))
            || [bare, self.title].iter().any(|title| title.eq_ignore_ascii_case(name))
    }
}

/// The lines of a text with their offsets, and whether they are code.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let (mut offset, mut in_code) = (0, false);
    text.split_inclusive('\n').map(move |line| {
        let start = offset;
        offset += line.len();
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        (start, line, in_code || is_fence)
    })
}

fn headings(text: &str) -> impl Iterator<Item = Heading<'_>> {
    lines(text).filter(|(_, _, is_code)| !is_code).filter_map(|(start, line, _)| {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        let title = title.strip_prefix(' ')?.trim();
        (level > 0).then_some(Heading { level, title, start })
    })
}

/// The section with this number or heading, or else the first section whose heading contains the name. The
/// result includes its subsections. The error lists all headings below the first level.
fn find<'t>(text: &'t str, name: &str) -> Result<&'t str, String> {
    let all_headings: Vec<Heading> = headings(text).collect();
    let called = all_headings.iter().position(|heading| heading.is_called(name));
    let lower = name.to_lowercase();
    let found = called.or_else(|| {
        let near = |heading: &Heading| heading.title.to_lowercase().contains(&lower);
        all_headings.iter().position(near)
    });
    let Some(found) = found else {
        let below = all_headings.iter().filter(|heading| heading.level > 1);
        let titles: Vec<&str> = below.map(|heading| heading.title).collect();
        return Err(format!(
            "There is no section `{}`. The sections are: {}",
            name.chars().take(100).collect::<String>(),
            titles.join("; ")
        ));
    };
    let level = all_headings[found].level;
    let end = all_headings[found + 1..].iter().find(|heading| heading.level <= level);
    Ok(&text[all_headings[found].start..end.map_or(text.len(), |heading| heading.start)])
}

/// A text without its code, in at most `budget` bytes. Short sections are complete; the longest sections end
/// after the last line that still fits.
fn brief(text: &str, budget: usize) -> String {
    let mut sections: Vec<Vec<&str>> = vec![Vec::new()];
    for (_, line, is_code) in lines(text) {
        if is_code || line.trim().is_empty() {
            continue;
        }
        if line.starts_with('#') {
            sections.push(Vec::new());
        }
        sections.last_mut().expect("the list begins with one section").push(line.trim_end());
    }
    let room = budget.saturating_sub(FOOTER_BYTES);
    let (mut low, mut high) = (0, room);
    while low < high {
        let middle = (low + high).div_ceil(2);
        match shortened(&sections, middle).len() <= room {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    let example = headings(text).last().map_or("", |heading| heading.title);
    let example: String = example.chars().take(60).collect();
    format!(
        "{}\n{FOOTER} `{example}`. For everything, call again with `detail` `full`.\n",
        shortened(&sections, low)
    )
}

/// The sections, each with its heading and as many lines as fit in `max_bytes` bytes.
fn shortened(sections: &[Vec<&str>], max_bytes: usize) -> String {
    let mut text = String::new();
    for section in sections.iter().filter(|section| !section.is_empty()) {
        let mut size = 0;
        for (number, line) in section.iter().enumerate() {
            size += line.len();
            if size > max_bytes && number > 0 {
                text.push_str("- …\n");
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guide() -> String {
        let mut text = "# Guide\n\nHow it is done.\n\n## 1. First\n\nShort.\n\n".to_owned();
        text.push_str("```js a.js\n# no heading\n## 9. None\n```\n\n## 2. Long\n\n");
        (0..400).for_each(|number| text.push_str(&format!("- Rule {number} is a rule.\n")));
        text.push_str(
            "\n### Below one\n\nInside.\n\n```js b.js\ncode();\n```\n\n### Below two\n\n",
        );
        text.push_str(&"x".repeat(9_000));
        text.push_str("\n\n## 3. Done\n\nThe end.\n");
        text
    }

    #[test]
    fn brief_has_all_headings_and_short_sections_within_the_limit() {
        let brief = answer(&guide(), None, Detail::Brief).expect("it is a guide");
        assert!(brief.len() <= BRIEF, "{}", brief.len());
        for part in ["# Guide", "Short.", "## 2. Long", "- Rule 3 ", "### Below two", "The end."] {
            assert!(brief.contains(part), "{part}");
        }
        assert!(!brief.contains("no heading") && !brief.contains("code();"));
        assert!(brief.contains("- …\n") && !brief.contains("Rule 399"), "a long section is cut");
        assert!(brief.contains("a heading such as `3. Done`. For everything, call again"));
        assert_eq!(answer(&guide(), None, Detail::Full), Ok(guide()));
        let short = "# Guide\n\n## 1. First\n\n```js\ncode();\n```\n";
        assert_eq!(answer(short, None, Detail::Brief).as_deref(), Ok(short), "it fits as it is");
    }

    #[test]
    fn sections_are_found_by_number_and_heading() {
        let text = guide();
        let section = |name: &str| answer(&text, Some(name), Detail::Full).expect("it is there");
        for name in ["1", "1.", "First", "1. first", "fir"] {
            assert!(section(name).starts_with("## 1. First\n"), "{name}");
            assert!(section(name).ends_with("## 9. None\n```\n\n"), "{name}");
        }
        assert!(section("2").contains("### Below two"), "with what is below it");
        assert_eq!(
            section("below one"),
            "### Below one\n\nInside.\n\n```js b.js\ncode();\n```\n\n"
        );
        let brief = answer(&text, Some("2"), Detail::Brief).expect("it is there");
        assert!(brief.len() <= BRIEF && brief.contains("### Below one"), "{}", brief.len());
        let whole = answer(&text, Some("Below two"), Detail::Brief).expect("it is there");
        assert!(whole.len() > 9_000, "a section that is not divided is whole");
        let missing = answer(&text, Some("9"), Detail::Brief).expect_err("that is code");
        assert!(missing.contains("`9`") && missing.contains("1. First; 2. Long"), "{missing}");
        assert_eq!(answer(&text, Some(" "), Detail::Full), Ok(guide()));
    }
}
