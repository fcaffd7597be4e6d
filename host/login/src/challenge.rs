//! Parses the header `WWW-Authenticate`, with which a server refuses a request (RFC 9110, RFC 6750, RFC 9728).

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use url::Url;

use crate::settings::{MAX_SCOPES, is_scope};

/// A server's demand for a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The address of the resource metadata, which names the authorization server.
    pub(crate) metadata: Option<Url>,
    /// The scopes that a token needs.
    pub(crate) scopes: Vec<String>,
    /// Whether the token is valid, but has too few scopes.
    pub(crate) insufficient: bool,
}

impl Challenge {
    /// The challenge of a response with this status. `None`: the response does not demand a token. Status 401
    /// always demands one; status 403 demands one if the token has too few scopes.
    pub fn of(status: u16, headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        let mut params = Vec::new();
        for value in values.filter_map(|value| value.to_str().ok()) {
            params.extend(bearer(value));
        }
        let param = |name: &str| {
            let found = params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.as_str())
        };
        let insufficient = status == 403;
        if insufficient && param("error") != Some("insufficient_scope") && param("scope").is_none()
        {
            return None;
        }
        let scopes = param("scope").unwrap_or_default().split(' ').filter(|scope| is_scope(scope));
        (insufficient || status == 401).then(|| Self {
            metadata: param("resource_metadata").and_then(|url| Url::parse(url).ok()),
            scopes: scopes.take(MAX_SCOPES).map(str::to_owned).collect(),
            insufficient,
        })
    }
}

/// The parameters of the challenge `Bearer` in the value of a header, if there is one.
fn bearer(value: &str) -> Vec<(String, String)> {
    let mut rest = value;
    let mut is_bearer = false;
    let mut params = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find([' ', '\t', ',', '=', '"']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() {
            // The text ends here, or what follows is not a challenge.
            return params;
        }
        match after.trim_start_matches([' ', '\t']).strip_prefix('=') {
            Some(text) => {
                let (value, behind) = param_value(text.trim_start_matches([' ', '\t']));
                if is_bearer {
                    params.push((name.to_owned(), value));
                }
                rest = behind;
            }
            None => {
                is_bearer = name.eq_ignore_ascii_case("bearer");
                rest = after;
            }
        }
    }
}

/// The value of the HTTP token or quoted string at the beginning, and the rest of the text.
fn param_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => value.push(char),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, values: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        Challenge::of(status, &headers)
    }

    #[test]
    fn parameters_are_read_in_any_order_and_notation() {
        let url = "https://a.example/.well-known/oauth-protected-resource";
        for values in [
            vec![format!("Bearer resource_metadata=\"{url}\", scope=\"a b\"")],
            vec![format!("bearer scope=\"a \\b\" ,  resource_metadata = {url}")],
            vec![
                "Basic realm=\"Bearer x, y\"".into(),
                format!("Bearer scope=\"a b\",resource_metadata={url}"),
            ],
            vec![format!(
                "Negotiate abc==, Bearer error=\"invalid_token\", scope=\"a b\", resource_metadata=\"{url}\", DPoP algs=\"ES256\""
            )],
        ] {
            let values: Vec<_> = values.iter().map(String::as_str).collect();
            let challenge = of(401, &values).unwrap();
            assert_eq!(challenge.metadata.unwrap().as_str(), url, "{values:?}");
            assert_eq!(challenge.scopes, ["a", "b"], "{values:?}");
            assert!(!challenge.insufficient);
        }
    }

    #[test]
    fn a_challenge_may_be_empty_or_malformed() {
        assert_eq!(of(401, &[]), Some(Challenge::default()));
        for nonsense in ["", "=", "\"", "Bearer", "Bearer ,,,=", "Bearer a=\"", "Bearer scope=\"\\"]
        {
            assert_eq!(of(401, &[nonsense]), Some(Challenge::default()), "{nonsense}");
        }
        let many = format!("Bearer scope=\"{}\"", "a ".repeat(1000));
        assert_eq!(of(401, &[&many]).unwrap().scopes.len(), MAX_SCOPES);
        assert_eq!(of(401, &["Bearer resource_metadata=relative"]), Some(Challenge::default()));
    }

    #[test]
    fn a_token_with_too_few_scopes_is_told_from_a_prohibition() {
        assert_eq!(of(403, &[]), None);
        assert_eq!(of(403, &["Bearer error=\"invalid_token\""]), None);
        assert_eq!(of(500, &["Bearer scope=a"]), None);
        let more = of(403, &["Bearer error=\"insufficient_scope\", scope=\"b\""]).unwrap();
        assert!(more.insufficient && more.scopes == ["b"]);
    }
}
