//! Checks the authorization response that a browser brought (RFC 6749, RFC 9207).

use thiserror::Error;

use crate::callback::AuthorizationResponse;
use crate::discovery::Issuer;

/// Why an authorization response is refused. Texts of servers are sanitised.
#[derive(Debug, Error)]
pub enum ResponseError {
    /// The response is from another authorization server.
    #[error("the authorization response is from {found:?}, and not from {issuer}: it is refused")]
    OtherIssuer {
        /// The `iss` of the response.
        found: String,
        /// The authorization server that was asked.
        issuer: String,
    },
    /// The response does not name its authorization server, though it should.
    #[error(
        "the authorization response has no issuer (`iss`), although the metadata of {issuer} announces it: it is refused"
    )]
    NoIssuer {
        /// The authorization server that was asked.
        issuer: String,
    },
    /// The authorization server refused the login.
    #[error("{issuer} refused the login: {text}")]
    Refused {
        /// The authorization server.
        issuer: String,
        /// The OAuth error and its description.
        text: String,
    },
    /// The response has no code.
    #[error("{issuer} sent no authorization code")]
    NoCode {
        /// The authorization server.
        issuer: String,
    },
}

/// Checks an authorization response, and returns its code.
///
/// # Errors
///
/// The response is from another issuer, does not name its issuer although it should, reports an error, or has no code.
pub(crate) fn code(
    issuer: &Issuer,
    answer: AuthorizationResponse,
) -> Result<String, ResponseError> {
    let name = || issuer.name.clone();
    let found = portcullis_sanitize::line(answer.issuer.as_deref().unwrap_or_default(), 200);
    match &answer.issuer {
        // Compared as strings (RFC 9207): a similar name may belong to another server.
        Some(named) if *named != issuer.name => {
            return Err(ResponseError::OtherIssuer { found, issuer: name() });
        }
        None if issuer.sends_iss => {
            return Err(ResponseError::NoIssuer { issuer: name() });
        }
        Some(_) | None => {}
    }
    if let Some(error) = answer.error {
        let text = portcullis_sanitize::line(&error, 300);
        return Err(ResponseError::Refused { issuer: name(), text });
    }
    answer.code.ok_or_else(|| ResponseError::NoCode { issuer: name() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer(sends_iss: bool) -> Issuer {
        Issuer {
            name: "https://as.example".into(),
            authorization: None,
            token: "https://as.example/token".parse().unwrap(),
            registration: None,
            methods: None,
            scopes: Vec::new(),
            supports_pkce: true,
            supports_metadata_documents: false,
            sends_iss,
        }
    }

    #[test]
    fn a_response_of_another_issuer_is_refused() {
        let from = |issuer: Option<&str>| AuthorizationResponse {
            code: Some("a".into()),
            issuer: issuer.map(str::to_owned),
            error: None,
        };
        let name = "https://as.example";
        assert_eq!(code(&issuer(true), from(Some(name))).unwrap(), "a");
        assert_eq!(code(&issuer(false), from(None)).unwrap(), "a");
        assert!(code(&issuer(true), from(None)).is_err());
        for other in ["https://evil.example", "https://as.example/", "https://AS.example", ""] {
            for says in [true, false] {
                assert!(code(&issuer(says), from(Some(other))).is_err(), "{other}");
            }
        }
        let refused = AuthorizationResponse {
            error: Some("access_denied\u{1b}[2J".into()),
            ..AuthorizationResponse::default()
        };
        let error = code(&issuer(false), refused).unwrap_err().to_string();
        assert!(error.contains("access_denied") && !error.contains('\u{1b}'), "{error}");
        assert!(code(&issuer(false), AuthorizationResponse::default()).is_err());
    }
}
