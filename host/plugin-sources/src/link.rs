//! Parses the header `Link` (RFC 8288), in which a registry names the next page of a list.

use http::HeaderMap;
use http::header::LINK;

/// White space between the parts of a header.
const SPACE: [char; 2] = [' ', '\t'];

/// The address of the next page: the target of the first link with the relation type `next`. `None`: there is no such
/// link.
pub(crate) fn next_page(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(LINK).iter();
    values.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok()).find_map(next_of)
}

/// The next page by one header. A header may have several links, with commas between the links.
fn next_of(mut rest: &str) -> Option<&str> {
    loop {
        let link = rest.trim_start_matches([' ', '\t', ',']);
        let (target, params) = link.strip_prefix('<')?.split_once('>')?;
        let (is_next, behind) = leads_to_next(params);
        if is_next {
            return Some(target);
        }
        rest = behind;
    }
}

/// Whether the parameters of a link say that the target is the next page, and the text behind the parameters.
fn leads_to_next(mut rest: &str) -> (bool, &str) {
    let (mut relations, mut has_anchor) = (None, false);
    while let Some((name, value, behind)) = param(rest) {
        if name.eq_ignore_ascii_case("rel") {
            // Only the first `rel` counts (RFC 8288, 3.3).
            relations.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("anchor") {
            // The link says what follows another page.
            has_anchor = true;
        }
        rest = behind;
    }
    let relations = relations.unwrap_or_default();
    let mut relations = relations.split_ascii_whitespace();
    let is_next = relations.any(|relation| relation.eq_ignore_ascii_case("next")) && !has_anchor;
    (is_next, rest)
}

/// The first parameter of a text: its name, its value, and the text behind the value. `None`: the text does not begin
/// with a parameter.
fn param(text: &str) -> Option<(&str, String, &str)> {
    let text = text.trim_start_matches(SPACE).strip_prefix(';')?.trim_start_matches(SPACE);
    let (name, rest) = split_before(text, &[' ', '\t', '=', ';', ',']);
    let rest = rest.trim_start_matches(SPACE);
    let Some(value) = rest.strip_prefix('=') else { return Some((name, String::new(), rest)) };
    let value = value.trim_start_matches(SPACE);
    let (value, rest) = match value.strip_prefix('"') {
        Some(quoted) => unquoted(quoted),
        None => {
            let (token, rest) = split_before(value, &[';', ',']);
            (token.to_owned(), rest)
        }
    };
    Some((name, value, rest))
}

/// Splits a text before the first of these characters.
fn split_before<'a>(text: &'a str, ends: &[char]) -> (&'a str, &'a str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// The value of a quoted string, and the text behind the string. A string without a closing quotation mark ends with
/// the text.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => value.extend(characters.next()),
            other => value.push(other),
        }
    }
    (value, characters.as_str())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(LINK, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn the_next_page_is_the_target_of_the_relation_next() {
        for value in [
            "</b?n=2>; rel=\"next\"",
            "</b?n=2>;rel=next",
            " </b?n=2> ; REL = \"NEXT\" ",
            "</b?n=2>; rel=\"last next\"",
            "</b?n=2>; title=\"a; rel=prev, \\\"b\\\" <c>\"; rel=next",
            "</b?n=2>; title=\"é\"; rel=next",
            "</b?n=2>; bare; rel=next; rel=prev",
            ", </a>; rel=first,, </b?n=2>; rel=\"next\"",
            "</a>; title=\"next\", </b?n=2>; rel=next, </c>; rel=next",
            "</a>; anchor=\"/other\"; rel=next, </b?n=2>; rel=next",
        ] {
            assert_eq!(next_page(&headers(&[value])), Some("/b?n=2"), "{value}");
        }
        let lines = ["</a>; rel=first", "</b?n=2>; rel=next"];
        assert_eq!(next_page(&headers(&lines)), Some("/b?n=2"));
        assert_eq!(next_page(&headers(&["</a,b;c>; rel=next"])), Some("/a,b;c"));
    }

    #[test]
    fn other_uses_of_the_word_next_name_no_page() {
        for value in [
            "",
            "</a>",
            "/a; rel=next",
            "</a; rel=next",
            "</a>; rel=prev",
            "</a>; title=\"next\"",
            "</a>; title=next",
            "</a>; next",
            "</a>; rel; title=\"next\"",
            "</a>; rel=\"https://rel.example/next\"",
            "</a>; rel=\"next-archive\"",
            "</a>; rel=prev; rel=next",
            "</a>; rev=next",
            "</a>; rel*=UTF-8''next",
            "</a>; title=\"; rel=next\"",
            "</a>; title=\"\\\"; rel=next\"",
            "</a>; title=\"; rel=next",
            "</a>; anchor=\"/other\"; rel=next",
            "</next>; rel=prev",
        ] {
            assert_eq!(next_page(&headers(&[value])), None, "{value}");
        }
    }
}
