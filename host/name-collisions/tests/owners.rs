//! Property tests of the ownership of URIs. An independent model computes the expected owner.

use std::ops::Range;

use portcullis_name_collisions::uris::{Owners, UriSpace, owns};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The bytes of a URI that are compared without case: its scheme and authority. `None`: the URI has no scheme.
fn without_case(uri: &str) -> Option<Range<usize>> {
    let mut end = None;
    for (at, byte) in uri.bytes().enumerate() {
        match byte {
            b':' if at > 0 => {
                end = Some(at);
                break;
            }
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            _ => return None,
        }
    }
    let mut end = end? + 1;
    if uri[end..].starts_with("//") {
        end += 2;
        while end < uri.len() && !b"/?#".contains(&uri.as_bytes()[end]) {
            end += 1;
        }
    }
    Some(0..end)
}

/// Whether a template owns a URI, by a model that compares byte by byte.
fn is_owned(template: &str, uri: &str) -> bool {
    let literal = template.split('{').next().unwrap_or_default();
    let (Some(_), Some(loose)) = (without_case(literal), without_case(uri)) else { return false };
    let is_whole = !template.contains('{');
    let fits = if is_whole { literal.len() == uri.len() } else { literal.len() <= uri.len() };
    fits && literal.bytes().zip(uri.bytes()).enumerate().all(|(at, (own, other))| {
        own == other || (loose.contains(&at) && own.eq_ignore_ascii_case(&other))
    })
}

/// Texts made of a few pieces, so that many texts have a common beginning.
fn text(pieces: Vec<&'static str>) -> impl Strategy<Value = String> {
    vec(select(pieces), 0..6).prop_map(|pieces| pieces.concat())
}

fn uri() -> impl Strategy<Value = String> {
    let rest = text(vec!["a", "A", "/", "//", "?", "#", ":", "b", "\u{e4}", "\u{c4}", "%41"]);
    (select(vec!["", "a:", "A:", "a://", "A://", "b+1://", "1:", ":", "secret://"]), rest)
        .prop_map(|(scheme, rest)| scheme.to_owned() + &rest)
}

fn template() -> impl Strategy<Value = String> {
    (uri(), select(vec!["", "{x}", "{+any}", "{x}/b", "{", "{}{"])).prop_map(|(uri, end)| uri + end)
}

#[derive(Debug, Clone)]
enum Claim {
    Template(String),
    Uri(String),
}

impl Claim {
    fn space(&self) -> Option<UriSpace> {
        match self {
            Self::Template(text) => UriSpace::of_template(text),
            Self::Uri(text) => Some(UriSpace::of_uri(text)),
        }
    }
}

fn claims() -> impl Strategy<Value = Vec<(Claim, usize)>> {
    let claim = prop_oneof![template().prop_map(Claim::Template), uri().prop_map(Claim::Uri)];
    vec((claim, 0_usize..4), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2048, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_template_owns_what_the_model_says(template in template(), uri in uri()) {
        prop_assert_eq!(owns(&template, &uri), is_owned(&template, &uri), "{} {}", template, uri);
    }

    #[test]
    fn a_template_owns_itself_filled_in_and_nothing_without_a_scheme(
        template in template(), filled in "[a-zA-Z0-9/?#:%]{0,8}",
    ) {
        let literal = template.split('{').next().unwrap_or_default();
        let fill = if template.contains('{') { &*filled } else { "" };
        let uri = literal.to_owned() + fill;
        prop_assert_eq!(owns(&template, &uri), without_case(literal).is_some());
        let any = "{+any}".to_owned() + &template;
        prop_assert!(!owns(&any, &filled));
    }

    #[test]
    fn a_later_claim_takes_nothing_from_an_earlier_one(claims in claims(), uris in vec(uri(), 1..8)) {
        let mut owners = Owners::default();
        for (claim, source) in &claims {
            let before: Vec<_> = uris.iter().map(|uri| owners.of(uri)).collect();
            let Some(space) = claim.space() else { continue };
            let claimed = owners.claim(space.clone(), *source);
            for (uri, before) in uris.iter().zip(before) {
                let after = owners.of(uri);
                match claimed {
                    // A refused claim changes nothing.
                    Err(owner) => {
                        prop_assert_ne!(owner, *source);
                        prop_assert_eq!(after, before);
                    }
                    Ok(()) if space.contains(uri) => {
                        prop_assert_eq!(after, Some(*source));
                        prop_assert!(before.is_none_or(|before| before == *source), "{}", uri);
                    }
                    Ok(()) => prop_assert_eq!(after, before),
                }
            }
        }
    }

    #[test]
    fn the_first_claim_is_given(template in template(), uri in uri(), source in 0_usize..4) {
        let mut owners = Owners::default();
        if let Some(space) = UriSpace::of_template(&template) {
            prop_assert_eq!(owners.claim(space, source), Ok(()));
        }
        prop_assert_eq!(owners.of(&uri), owns(&template, &uri).then_some(source));
    }
}
