//! Parses the header `WWW-Authenticate`, in which a registry says how requests are authorized.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// How a registry wants requests to be authorized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// With the user and the password.
    Basic,
    /// With a token from this address, for this service.
    Bearer {
        /// The address that gives tokens.
        realm: String,
        /// The registry's name at this address.
        service: Option<String>,
    },
}

impl Challenge {
    /// The first challenge that can be followed, `Bearer` before `Basic`.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let values =
            headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let mut found = None;
        for value in values {
            let (scheme, params) = value.split_once(' ').unwrap_or((value, ""));
            if scheme.eq_ignore_ascii_case("basic") {
                found = found.or(Some(Self::Basic));
            }
            if scheme.eq_ignore_ascii_case("bearer")
                && let Some(realm) = param(params, "realm")
            {
                return Some(Self::Bearer { realm, service: param(params, "service") });
            }
        }
        found
    }
}

/// The value of a parameter: `NAME=VALUE` or `NAME="VALUE"`, with commas between parameters.
fn param(mut rest: &str, wanted: &str) -> Option<String> {
    loop {
        let (name, after) = rest.trim_start_matches([' ', '\t', ',']).split_once('=')?;
        let after = after.trim_start();
        let (value, behind) = match after.strip_prefix('"') {
            // The values of registries are addresses, names and scopes, and contain no quotation marks.
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value.trim().to_owned());
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_in_any_order() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
            }
            Challenge::of(&headers)
        };
        let bearer = |service: Option<&str>| {
            let (realm, service) = ("https://a.example/token?x=1".into(), service.map(Into::into));
            Some(Challenge::Bearer { realm, service })
        };
        let realm = "realm=\"https://a.example/token?x=1\"";
        assert_eq!(
            of(&[&format!("Bearer {realm},service=\"a, b\",scope=\"x\"")]),
            bearer(Some("a, b"))
        );
        assert_eq!(of(&[&format!("bearer service=a , {realm}")]), bearer(Some("a")));
        assert_eq!(of(&["Basic realm=\"x\"", &format!("Bearer {realm}")]), bearer(None));
        assert_eq!(of(&["Basic realm=\"x\""]), Some(Challenge::Basic));
        for nonsense in ["", "Bearer", "Bearer realm", "Bearer realm=\"", "Negotiate abc=="] {
            assert_eq!(of(&[nonsense]), None, "{nonsense}");
        }
    }
}
