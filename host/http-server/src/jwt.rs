//! Checks access tokens: issuer, audience, scopes and time (RFC 9068, RFC 8725).

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Header, Validation, decode, decode_header};
use serde::Deserialize;

use crate::oauth::Resource;
use crate::principal::{Principal, Refused};
use crate::verify::ALGORITHMS;

/// Length of a token, in bytes.
const MAX_TOKEN: usize = 16 * 1024;

/// How far clocks may differ, in seconds.
const LEEWAY: u64 = 60;

#[derive(Deserialize)]
struct Claims {
    sub: String,
    /// By RFC 9068: scopes with spaces between them.
    scope: Option<String>,
    /// The same by other issuers' custom.
    scp: Option<Scopes>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scopes {
    Text(String),
    List(Vec<String>),
}

impl Claims {
    fn has(&self, scope: &str) -> bool {
        let spaced = |text: &String| text.split(' ').any(|given| given == scope);
        self.scope.as_ref().is_some_and(spaced)
            || match &self.scp {
                Some(Scopes::Text(text)) => spaced(text),
                Some(Scopes::List(list)) => list.iter().any(|given| given == scope),
                None => false,
            }
    }
}

impl Resource {
    /// Whom a token was issued to.
    pub(crate) async fn verify(&self, token: &str) -> Result<Principal, Refused> {
        if token.len() > MAX_TOKEN {
            return Err(Refused::Invalid("the token is too long"));
        }
        // Not even read where it says that it is not signed: there is no such algorithm here.
        let header = decode_header(token)
            .map_err(|_| Refused::Invalid("the token is no JWT that can be accepted"))?;
        let (algorithm, id) = accepted(&header)?;
        let issuer = insecure_decode_claims::<Issued>(token)
            .map_err(|_| Refused::Invalid("the token names no issuer"))?
            .iss;
        let keys = self.issuers.iter().find(|keys| keys.issuer == issuer);
        let keys = keys.ok_or(Refused::Invalid("the token is of an issuer that is not known"))?;
        let mut validation = Validation::new(algorithm);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_issuer(&[&issuer]);
        validation.set_audience(&self.audience);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let mut refused = Refused::Invalid("the token is signed with a key that is not known");
        for key in keys.find(id, algorithm).await.map_err(Refused::Unknown)? {
            match decode::<Claims>(token, &key.key, &validation) {
                Ok(token) => return self.principal(issuer, token.claims),
                Err(error) if *error.kind() == ErrorKind::InvalidSignature => {
                    refused = Refused::Invalid("the signature of the token is wrong");
                }
                Err(error) => return Err(Refused::Invalid(say(&error))),
            }
        }
        Err(refused)
    }

    fn principal(&self, issuer: String, claims: Claims) -> Result<Principal, Refused> {
        if claims.sub.is_empty() {
            return Err(Refused::Invalid("the token names nobody"));
        }
        if !self.scopes.iter().all(|scope| claims.has(scope)) {
            return Err(Refused::Scope);
        }
        Ok(Principal::Subject { issuer, subject: claims.sub })
    }
}

/// What is read before a token's signature is verified: only to know by whose keys.
#[derive(Deserialize)]
struct Issued {
    iss: String,
}

fn accepted(header: &Header) -> Result<(jsonwebtoken::Algorithm, Option<&str>), Refused> {
    if !ALGORITHMS.contains(&header.alg) {
        return Err(Refused::Invalid("the token is not signed with RS256, ES256 or EdDSA"));
    }
    if header.crit.is_some() {
        return Err(Refused::Invalid("the token has critical headers, which nobody here knows"));
    }
    // Many issuers say only that it is a JWT, or nothing.
    let kind = header.typ.as_deref().unwrap_or("JWT");
    if !["at+jwt", "application/at+jwt", "JWT"].iter().any(|known| kind.eq_ignore_ascii_case(known))
    {
        return Err(Refused::Invalid("the token is no access token"));
    }
    Ok((header.alg, header.kid.as_deref()))
}

fn say(error: &Error) -> &'static str {
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
