//! Verifies access tokens: signature, issuer, audience, scopes and time (RFC 9068, RFC 8725).

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header};
use serde::Deserialize;

use crate::oauth::Resource;
use crate::principal::{AuthError, Principal};
use crate::signatures::ALGORITHMS;

/// Maximum size of a token.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// Largest difference between the clocks of this server and of an issuer, in seconds.
const LEEWAY_SECONDS: u64 = 60;

/// The claims that this server reads beside those that jsonwebtoken checks.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    /// The scopes, separated by spaces (RFC 9068).
    scope: Option<String>,
    /// The claim that some issuers use instead of `scope`.
    scp: Option<Scopes>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scopes {
    Text(String),
    List(Vec<String>),
}

impl Claims {
    fn has_scope(&self, scope: &str) -> bool {
        let contains = |text: &String| text.split(' ').any(|given| given == scope);
        self.scope.as_ref().is_some_and(contains)
            || match &self.scp {
                Some(Scopes::Text(text)) => contains(text),
                Some(Scopes::List(list)) => list.iter().any(|given| given == scope),
                None => false,
            }
    }
}

impl Resource {
    /// Verifies a token, and returns the caller that it was issued to.
    pub(crate) async fn verify(&self, token: &str) -> Result<Principal, AuthError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(AuthError::InvalidToken("the token is too long"));
        }
        // The header of a token with `"alg": "none"` is not decoded: jsonwebtoken has no such algorithm.
        let header = decode_header(token)
            .map_err(|error| unreadable("the token is not an acceptable JWT", &error))?;
        let (algorithm, id) = check_header(&header)?;
        let issuer = insecure_decode_claims::<UnverifiedClaims>(token)
            .map_err(|error| unreadable("the token has no issuer", &error))?
            .iss;
        let keys = self.issuers.iter().find(|keys| keys.issuer == issuer);
        let keys = keys.ok_or(AuthError::InvalidToken("the issuer of the token is not known"))?;
        let mut validation = Validation::new(algorithm);
        validation.leeway = LEEWAY_SECONDS;
        validation.validate_nbf = true;
        validation.set_issuer(&[&issuer]);
        validation.set_audience(&self.audience);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let mut failed =
            AuthError::InvalidToken("the token is signed with a key that is not known");
        for key in keys.find(id, algorithm).await? {
            match decode::<Claims>(token, &key.key, &validation) {
                Ok(token) => return self.principal(issuer, token.claims),
                Err(error) if *error.kind() == ErrorKind::InvalidSignature => {
                    failed = AuthError::InvalidToken("the signature of the token is wrong");
                }
                Err(error) => return Err(AuthError::InvalidToken(reason(&error))),
            }
        }
        Err(failed)
    }

    /// The caller of a verified token, if the token has the needed scopes.
    fn principal(&self, issuer: String, claims: Claims) -> Result<Principal, AuthError> {
        if claims.sub.is_empty() {
            return Err(AuthError::InvalidToken("the token has no subject"));
        }
        if !self.scopes.iter().all(|scope| claims.has_scope(scope)) {
            return Err(AuthError::InsufficientScope);
        }
        Ok(Principal::Subject { issuer, subject: claims.sub })
    }
}

/// The claims that are read before the signature is verified, to find the issuer's keys.
#[derive(Deserialize)]
struct UnverifiedClaims {
    iss: String,
}

/// The error of a token that cannot be decoded. The cause is logged; the client gets only `why`.
fn unreadable(why: &'static str, cause: &Error) -> AuthError {
    // `Debug` escapes the parts of the token that a cause may quote.
    tracing::debug!("{why}: {cause:?}");
    AuthError::InvalidToken(why)
}

/// Checks the header of a token. Returns the algorithm and the id of the key.
fn check_header(header: &Header) -> Result<(Algorithm, Option<&str>), AuthError> {
    if !ALGORITHMS.contains(&header.alg) {
        return Err(AuthError::InvalidToken("the token is not signed with RS256, ES256 or EdDSA"));
    }
    if header.crit.is_some() {
        return Err(AuthError::InvalidToken(
            "the token has critical headers, and none are supported",
        ));
    }
    // Many issuers write only `JWT` as the type, or no type.
    let kind = header.typ.as_deref().unwrap_or("JWT");
    if !["at+jwt", "application/at+jwt", "JWT"].iter().any(|known| kind.eq_ignore_ascii_case(known))
    {
        return Err(AuthError::InvalidToken("the token is not an access token"));
    }
    Ok((header.alg, header.kid.as_deref()))
}

/// Why a token with a valid signature is not accepted, for the client.
fn reason(error: &Error) -> &'static str {
    let kind = error.kind();
    if *kind == ErrorKind::ExpiredSignature {
        "the token has expired"
    } else if *kind == ErrorKind::ImmatureSignature {
        "the token is not valid yet"
    } else if *kind == ErrorKind::InvalidAudience {
        "the token is for another server"
    } else if let ErrorKind::MissingRequiredClaim(_) = kind {
        "the token lacks one of exp, iss, aud and sub"
    } else {
        "the token has claims that cannot be understood"
    }
}
