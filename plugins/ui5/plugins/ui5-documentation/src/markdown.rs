//! Markdown of documentation pages: made compact for packs, and divided into sections.

/// A section of a page: a heading and the text below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'t> {
    /// The heading without its marks; empty before the first heading.
    pub heading: &'t str,
    /// Where the section starts in the page, in bytes.
    pub start: usize,
    /// The text below the heading.
    pub text: &'t str,
}

/// The sections of a page, in order; lines in code blocks are not headings.
pub fn sections(page: &str) -> Vec<Section<'_>> {
    let mut starts = vec![(0, "", 0)];
    let mut is_code = false;
    let mut offset = 0;
    for line in page.split_inclusive('\n') {
        let bare = line.trim();
        is_code ^= bare.starts_with("```");
        if let Some(heading) = heading(bare).filter(|_| !is_code) {
            starts.push((offset, heading, offset + line.len()));
        }
        offset += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, ..)| *start).chain([page.len()]);
    let sections = starts.iter().zip(ends).map(|((start, heading, text), end)| Section {
        heading,
        start: *start,
        text: page[*text..end].trim(),
    });
    sections.filter(|section| !section.heading.is_empty() || !section.text.is_empty()).collect()
}

/// The text of a heading.
pub fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let marks = line.len() - text.len();
    text.strip_prefix(' ').filter(|_| (1..=6).contains(&marks)).map(str::trim)
}

/// Markdown without images, comments, anchors and HTML; code blocks only lose white space at the ends of
/// lines. The targets of links to other pages become the ids of these pages.
pub fn compact(page: &str) -> String {
    let mut compact = String::with_capacity(page.len());
    let mut is_code = false;
    let mut empty_lines = 1;
    let mut prose = String::new();
    for line in page.lines() {
        let line = line.trim_end();
        let is_fence = line.trim_start().starts_with("```");
        if is_code || is_fence {
            flush(&mut prose, &mut compact, &mut empty_lines);
            is_code ^= is_fence;
            compact.push_str(line);
            compact.push('\n');
            empty_lines = 0;
        } else {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    flush(&mut prose, &mut compact, &mut empty_lines);
    compact.truncate(compact.trim_end().len());
    compact
}

/// Appends prose to the compact page, with at most one empty line between paragraphs.
fn flush(prose: &mut String, compact: &mut String, empty_lines: &mut usize) {
    for line in plain(prose).lines() {
        let line = line.trim_end();
        let is_empty = matches!(line.trim(), "" | "***" | ">" | "|" | "-" | "> ### Note:");
        *empty_lines = if is_empty { *empty_lines + 1 } else { 0 };
        if *empty_lines < 2 {
            compact.push_str(if is_empty { "" } else { line });
            compact.push('\n');
        }
    }
    prose.clear();
}

/// Prose without comments, tags, images, and paths in links.
fn plain(prose: &str) -> String {
    let mut text = String::with_capacity(prose.len());
    let mut rest = prose;
    while let Some(at) = rest.find(['<', '!', ']', '\\', '&', '`']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let mark = rest.chars().next().unwrap_or_default();
        let taken = match mark {
            '`' => copy_code(rest, &mut text),
            '<' => skip_tag(rest, &mut text),
            '!' => skip_image(rest),
            ']' => shorten_link(rest, &mut text),
            '&' => decode_entity(rest, &mut text),
            _ => decode_escape(rest, &mut text),
        };
        if taken == 0 {
            text.push(mark);
            rest = &rest[mark.len_utf8()..];
        } else {
            rest = &rest[taken..];
        }
    }
    text.push_str(rest);
    text
}

/// Copies code within a line unchanged. Returns how many bytes it has; 0 if there is none.
fn copy_code(rest: &str, text: &mut String) -> usize {
    let line = rest.lines().next().unwrap_or_default();
    let end = line[1..].find('`').map_or(0, |end| end + 2);
    text.push_str(&rest[..end]);
    end
}

/// Skips a comment or a tag. Adds to `text` what a tag means for lines, lists and tables. Returns
/// how many bytes the comment or tag has; 0 if there is none.
fn skip_tag(rest: &str, text: &mut String) -> usize {
    if rest.starts_with("<!--") {
        return rest.find("-->").map_or(0, |end| end + 3);
    }
    let is_tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let Some(end) = rest.find('>').filter(|end| is_tag && *end < 400) else { return 0 };
    let name: String = rest[1..end].chars().take_while(|c| !c.is_whitespace()).collect();
    match name.as_str() {
        "/td" | "/th" => {
            text.truncate(text.trim_end().len());
            text.push_str(" | ");
        }
        "p" | "/p" | "br" | "br/" => text.push(' '),
        "tr" => text.push('\n'),
        "li" => text.push_str("\n- "),
        _ => {}
    }
    let after = &rest[end + 1..];
    // In the source, each cell is on lines of its own. So white space after a tag of a table is skipped.
    let is_of_table = matches!(name.as_str(), "td" | "th" | "tr" | "/td" | "/th");
    let spaces = if is_of_table { after.len() - after.trim_start().len() } else { 0 };
    end + 1 + spaces
}

/// Skips an image. Returns how many bytes it has; 0 if there is none.
fn skip_image(rest: &str) -> usize {
    let end = rest.strip_prefix("![").and_then(|from| from.find("](").map(|end| end + 2));
    let Some(end) = end.filter(|end| !rest[..*end].contains('\n')) else { return 0 };
    rest[end..].find(')').map_or(0, |close| end + close + 1)
}

/// If `rest` starts with the end of a link to another page, such as `](folder/id.md#part)`, adds the shortened end to
/// `text`, such as `](id)`. Returns how many bytes of `rest` this replaces; 0 if there is no such link.
fn shorten_link(rest: &str, text: &mut String) -> usize {
    let Some(from) = rest.strip_prefix("](") else { return 0 };
    let Some(end) = from.find(')') else { return 0 };
    let target = &from[..end];
    let file = target.split('#').next().unwrap_or_default();
    let Some(name) = file.strip_suffix(".md").filter(|_| !target.contains("://")) else { return 0 };
    let id = name.rsplit('/').next().unwrap_or_default();
    text.push_str("](");
    text.push_str(id);
    text.push(')');
    end + 3
}

fn decode_entity(rest: &str, text: &mut String) -> usize {
    for (entity, meaning) in
        [("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&nbsp;", " "), ("&quot;", "\"")]
    {
        if rest.starts_with(entity) {
            text.push_str(meaning);
            return entity.len();
        }
    }
    0
}

fn decode_escape(rest: &str, text: &mut String) -> usize {
    match rest.chars().nth(1).filter(char::is_ascii_punctuation) {
        Some(escaped) => {
            text.push(escaped);
            2
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_divide_a_page_but_not_in_code() {
        let page = "intro\n# One\ntext\n```sh\n# no heading\n```\n## Two\n";
        let all = sections(page);
        let headings: Vec<&str> = all.iter().map(|section| section.heading).collect();
        assert_eq!(headings, ["", "One", "Two"]);
        assert_eq!(all[1].text, "text\n```sh\n# no heading\n```");
        assert!(all.iter().all(|section| page.is_char_boundary(section.start)));
        assert_eq!(sections(""), []);
        assert_eq!(sections("#hash\n")[0].heading, "", "a heading has a space");
    }

    #[test]
    fn html_images_and_anchors_are_left_out() {
        let page = "<!-- loio0123 -->\n\n# T\n\n![](images/x.png \"y\") a\\_b &lt;c&gt; `d\\_e <f>`\n\n\n\n\
             See [X](../04_Essentials/x-abc1234.md#loio) and [Y](https://example.com/a.md).\n\
             <a name=\"z\"/>\n<table>\n<tr>\n<td>\n\n1\n\n</td>\n<td>\n\n2\n\n</td>\n</tr>\n</table>\n\n\
             ```xml\n<Button   text=\"a\\_b\"/>\n```\n";
        assert_eq!(
            compact(page),
            "# T\n\n a_b <c> `d\\_e <f>`\n\nSee [X](x-abc1234) and [Y](https://example.com/a.md).\n\n\
             1 | 2 |\n\n```xml\n<Button   text=\"a\\_b\"/>\n```"
        );
    }

    #[test]
    fn broken_markdown_stays() {
        for page in
            ["<", "![", "![a](", "](", "](x.md", "\\", "&", "`", "a < b > c", "<!--", "```", "é<é"]
        {
            assert_eq!(compact(page), page, "{page}");
            sections(page);
        }
    }
}
