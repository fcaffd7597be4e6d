//! Decides which source owns a resource URI, by the literal text at the beginning of URI templates.
//!
//! A template (RFC 6570) owns its *space*: all URIs that begin with its literal text before the first expression, or
//! one URI if it has no expression. The text must name a scheme; a template such as `{+any}` owns nothing. No two
//! sources own overlapping spaces: the first claim counts, and an overlapping later claim is refused. So each URI
//! has at most one owner, and a later source never takes a URI from an earlier one.

use std::collections::BTreeMap;

/// The URIs that a template or a resource claims, normalised: schemes and authorities are case-insensitive (RFC 3986).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UriSpace {
    /// One URI: the URI of a resource, or a template without an expression.
    One(String),
    /// All URIs with this prefix.
    Prefix(String),
}

impl UriSpace {
    /// The space of a template. `None`: the template's literal text names no scheme, so the template owns nothing.
    pub fn of_template(template: &str) -> Option<Self> {
        let (literal, is_prefix) = match template.split_once('{') {
            Some((literal, _)) => (literal, true),
            None => (template, false),
        };
        let folded = folded(literal)?;
        Some(if is_prefix { Self::Prefix(folded) } else { Self::One(folded) })
    }

    /// The space of one resource. A URI without a scheme is compared as it is.
    pub fn of_uri(uri: &str) -> Self {
        Self::One(folded(uri).unwrap_or_else(|| uri.to_owned()))
    }

    /// Whether a URI is in this space.
    pub fn contains(&self, uri: &str) -> bool {
        let uri = folded(uri).unwrap_or_else(|| uri.to_owned());
        match self {
            Self::One(own) => *own == uri,
            Self::Prefix(own) => uri.starts_with(own),
        }
    }

    /// The normalised text.
    pub fn text(&self) -> &str {
        let (Self::One(text) | Self::Prefix(text)) = self;
        text
    }
}

/// Schemes that many sources share. The realm of such a scheme's URI is the scheme with the authority.
const SHARED: [&str; 5] = ["ui", "http", "https", "file", "data"];

/// The realm of a URI or of the beginning of a URI: the scheme. For schemes that many sources share, the realm also
/// has the authority. `None`: the text has no scheme.
pub fn realm(uri: &str) -> Option<String> {
    let folded = folded(uri)?;
    let (scheme, rest) = folded.split_once(':')?;
    if !SHARED.contains(&scheme) {
        return Some(scheme.to_owned());
    }
    let authority = rest.strip_prefix("//").unwrap_or_default();
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    Some(format!("{scheme}://{authority}"))
}

/// Whether a template owns a URI. The template's literal text before the first expression must have a scheme, and
/// the URI must begin with this text. Without an expression, the URI must be equal to the text. Schemes and
/// authorities are compared case-insensitively, all else byte by byte.
pub fn owns(template: &str, uri: &str) -> bool {
    UriSpace::of_template(template).is_some_and(|space| space.contains(uri))
}

/// The text with its scheme and authority in lower case. `None`: the text has no scheme.
///
/// If a prefix of a URI has a scheme, the folded prefix is a prefix of the folded URI.
fn folded(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    let mut bytes = scheme.bytes();
    let is_scheme = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if !is_scheme {
        return None;
    }
    let authority = rest
        .strip_prefix("//")
        .map_or(0, |behind| 2 + behind.find(['/', '?', '#']).unwrap_or(behind.len()));
    let (authority, rest) = rest.split_at(authority);
    Some(format!("{}:{}{rest}", scheme.to_ascii_lowercase(), authority.to_ascii_lowercase()))
}

/// The owners of URIs: each is the index of a source.
#[derive(Debug, Default)]
pub struct Owners {
    single: BTreeMap<String, usize>,
    prefixes: BTreeMap<String, usize>,
}

impl Owners {
    /// Gives a space to a source, unless another source owns a URI in it.
    ///
    /// # Errors
    ///
    /// The owner of an overlapping space. Nothing is changed then.
    pub fn claim(&mut self, space: UriSpace, source: usize) -> Result<(), usize> {
        if let Some(owner) = self.of_text(space.text())
            && owner != source
        {
            return Err(owner);
        }
        match space {
            UriSpace::One(uri) => {
                self.single.insert(uri, source);
            }
            UriSpace::Prefix(text) => {
                let other_owner = |all: &BTreeMap<String, usize>| {
                    let from = all.range(text.clone()..);
                    let mut overlapping = from.take_while(|(one, _)| one.starts_with(&text));
                    overlapping.find(|(_, owner)| **owner != source).map(|(_, owner)| *owner)
                };
                if let Some(owner) =
                    other_owner(&self.single).or_else(|| other_owner(&self.prefixes))
                {
                    return Err(owner);
                }
                self.prefixes.insert(text, source);
            }
        }
        Ok(())
    }

    /// The source that owns a URI.
    pub fn of(&self, uri: &str) -> Option<usize> {
        self.of_text(UriSpace::of_uri(uri).text())
    }

    fn of_text(&self, text: &str) -> Option<usize> {
        if let Some(owner) = self.single.get(text) {
            return Some(*owner);
        }
        let ends = (1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
        ends.filter_map(|end| self.prefixes.get(&text[..end])).next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_with_a_scheme_owns_what_begins_with_its_literal_text() {
        let table = [
            ("notes://{folder}/{+path}", "notes://a/b", true),
            ("notes://{folder}/{+path}", "NOTES://a/b", true),
            ("notes://Box/{path}", "notes://bOX/a", true),
            ("notes://box/A{path}", "notes://box/a", false),
            ("notes:{+rest}", "notes://a", true),
            ("notes://{folder}", "note://a", false),
            ("notes://{folder}", "notes:/a", false),
            ("notes://box/{path}", "notes://boxes/a", false),
            ("notes://one", "notes://one", true),
            ("notes://one", "notes://one/more", false),
            ("{+any}", "secret://key", false),
            ("{scheme}://key", "secret://key", false),
            ("sec{x}", "secret://key", false),
            ("{x}secret://", "secret://key", false),
            ("1a:{x}", "1a:b", false),
            (":{x}", ":b", false),
            ("", "", false),
        ];
        for (template, uri, expected) in table {
            assert_eq!(owns(template, uri), expected, "{template} {uri}");
        }
    }

    #[test]
    fn the_first_claim_counts_and_one_that_overlaps_is_refused() {
        let template = |text| UriSpace::of_template(text).unwrap();
        let mut owners = Owners::default();
        owners.claim(template("notes://docs/{x}"), 0).unwrap();
        owners.claim(UriSpace::of_uri("secret://key"), 1).unwrap();
        for text in ["notes:{+rest}", "NOTES://docs/{x}", "notes://docs/deep/{x}", "notes://docs/"]
        {
            assert_eq!(owners.claim(template(text), 2), Err(0), "{text}");
        }
        assert_eq!(owners.claim(template("secret:{x}"), 2), Err(1));
        assert_eq!(owners.claim(UriSpace::of_uri("SECRET://key"), 2), Err(1));
        assert_eq!(owners.claim(UriSpace::of_uri("notes://docs/one"), 2), Err(0));
        owners.claim(template("notes://docs/deep/{x}"), 0).unwrap();
        owners.claim(template("notes://other/{x}"), 2).unwrap();
        for (uri, owner) in [
            ("notes://docs/deep/a", Some(0)),
            ("notes://other/a", Some(2)),
            ("secret://key", Some(1)),
            ("secret://keys", None),
            ("nothing", None),
        ] {
            assert_eq!(owners.of(uri), owner, "{uri}");
        }
    }

    #[test]
    fn a_realm_is_a_scheme_and_for_shared_schemes_also_the_authority() {
        for (uri, expected) in [
            ("Notes://a/b", Some("notes")),
            ("urn:a:b", Some("urn")),
            ("ui://Faces/a.html", Some("ui://faces")),
            ("https://h:1/a?b", Some("https://h:1")),
            ("file:///a", Some("file://")),
            ("none", None),
        ] {
            assert_eq!(realm(uri).as_deref(), expected, "{uri}");
        }
    }

    #[test]
    fn a_uri_without_a_scheme_can_be_claimed() {
        let mut owners = Owners::default();
        owners.claim(UriSpace::of_uri("Readme"), 0).unwrap();
        assert_eq!(owners.claim(UriSpace::of_uri("Readme"), 1), Err(0));
        owners.claim(UriSpace::of_uri("readme"), 1).unwrap();
        assert_eq!((owners.of("Readme"), owners.of("readme")), (Some(0), Some(1)));
    }
}
