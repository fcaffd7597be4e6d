//! This server as an OAuth resource server: its metadata, and the issuers that it trusts (RFC 9728, RFC 6750).

use std::sync::Arc;

use http::HeaderValue;
use serde_json::{Value, json};
use url::{Host, Url};

use crate::issuer::{Fetch, Issuer};
use crate::issuer_keys::IssuerKeys;
use crate::principal::AuthError;
use crate::settings_error::InvalidSettings;

/// The path of a resource's metadata. The path of the resource follows it (RFC 9728, 3.1).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Which access tokens are accepted.
#[derive(Debug, Clone)]
pub struct Oauth {
    /// The URL of the MCP endpoint as clients know it, such as `https://host/mcp`. Tokens must have it as their
    /// audience (`aud`).
    pub resource: String,
    /// The issuers whose tokens are accepted.
    pub issuers: Vec<Issuer>,
    /// Scopes that every token must have. Clients are told to request them.
    pub scopes: Vec<String>,
    /// Fetches the issuers' keys. The HTTP server itself makes no outgoing connection.
    pub fetch: Fetch,
}

/// This server as a protected resource.
pub(crate) struct Resource {
    /// A token must have one of these audiences: the resource with a slash at its end, or without.
    pub(crate) audience: [String; 2],
    pub(crate) issuers: Vec<Arc<IssuerKeys>>,
    pub(crate) scopes: Vec<String>,
    /// The URL of the metadata.
    metadata_url: String,
    /// The paths at which the metadata is served.
    paths: [String; 2],
    metadata: Value,
}

impl Resource {
    /// Checks the settings, and makes the metadata.
    ///
    /// # Errors
    ///
    /// The resource, an issuer or a scope cannot be used, or there is no issuer.
    pub(crate) fn new(oauth: Oauth) -> Result<Self, InvalidSettings> {
        let Oauth { resource, issuers, scopes, fetch } = oauth;
        let url: Url = match resource.parse() {
            Ok(url) => url,
            Err(cause) => return Err(InvalidSettings::ResourceUrl { text: resource, cause }),
        };
        let is_secure = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
        if !is_secure || url.fragment().is_some() || url.query().is_some() {
            return Err(InvalidSettings::Resource(resource));
        }
        if issuers.is_empty() {
            return Err(InvalidSettings::NoIssuer);
        }
        scopes.iter().try_for_each(|scope| check_scope(scope))?;
        let metadata = json!({
            "resource": resource,
            "authorization_servers": issuers.iter().map(|i| &i.issuer).collect::<Vec<_>>(),
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
        });
        let path = url.path().trim_end_matches('/');
        let plain = resource.trim_end_matches('/').to_owned();
        let issuers = issuers.into_iter().map(|issuer| IssuerKeys::new(issuer, fetch.clone()));
        Ok(Self {
            audience: [format!("{plain}/"), plain],
            issuers: issuers.collect::<Result<_, _>>()?,
            scopes,
            metadata_url: format!("{}{WELL_KNOWN}{path}", url.origin().ascii_serialization()),
            paths: [WELL_KNOWN.to_owned(), format!("{WELL_KNOWN}{path}")],
            metadata,
        })
    }

    /// The metadata, if it is served at this path.
    pub(crate) fn metadata_at(&self, path: &str) -> Option<&Value> {
        self.paths.iter().any(|own| own == path).then_some(&self.metadata)
    }

    /// The value of the header `WWW-Authenticate`: the fault of the token, if there is one, the needed scopes, and the
    /// URL of the metadata (RFC 6750, 3; RFC 9728, 5.1).
    pub(crate) fn challenge(&self, error: &AuthError) -> HeaderValue {
        let mut parts = Vec::new();
        match error {
            AuthError::NoToken | AuthError::Unavailable(_) => {}
            AuthError::InvalidToken(why) => {
                parts.push("error=\"invalid_token\"".to_owned());
                parts.push(format!("error_description=\"{why}\""));
            }
            AuthError::InsufficientScope => parts.push("error=\"insufficient_scope\"".to_owned()),
        }
        if !self.scopes.is_empty() {
            parts.push(format!("scope=\"{}\"", self.scopes.join(" ")));
        }
        parts.push(format!("resource_metadata=\"{}\"", self.metadata_url));
        HeaderValue::from_str(&format!("Bearer {}", parts.join(", ")))
            .expect("addresses and scopes are ASCII without quotes")
    }
}

/// Checks the characters of a scope (RFC 6749, 3.3).
///
/// # Errors
///
/// The scope is empty, or has a character that scopes cannot have.
fn check_scope(scope: &str) -> Result<(), InvalidSettings> {
    if scope.is_empty() {
        return Err(InvalidSettings::EmptyScope);
    }
    let fits = |character: char| matches!(character, '!' | '#'..='[' | ']'..='~');
    let character = match scope.chars().find(|character| !fits(*character)) {
        None => return Ok(()),
        Some(' ') => return Err(InvalidSettings::ScopeSpace(scope.to_owned())),
        Some(graphic) if graphic.is_ascii_graphic() => format!("`{graphic}`"),
        Some(other) => format!("U+{:04X}", u32::from(other)),
    };
    Err(InvalidSettings::ScopeCharacter { scope: scope.to_owned(), character })
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oauth(resource: &str, issuer: &str, scope: &str) -> Oauth {
        Oauth {
            resource: resource.into(),
            issuers: vec![Issuer { issuer: issuer.into(), jwks_uri: None }],
            scopes: vec![scope.into()],
            fetch: Fetch::new(|_| async { Err("nothing is fetched".into()) }),
        }
    }

    #[test]
    fn the_metadata_is_served_where_clients_look_for_it() {
        let resource =
            Resource::new(oauth("https://mcp.example/a/mcp", "https://id.example", "mcp")).unwrap();
        for path in
            ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/a/mcp"]
        {
            let metadata = resource.metadata_at(path).unwrap();
            assert_eq!(metadata["resource"], "https://mcp.example/a/mcp");
            assert_eq!(metadata["authorization_servers"][0], "https://id.example");
        }
        assert!(resource.metadata_at("/.well-known/oauth-protected-resource/mcp").is_none());
        assert_eq!(
            resource.challenge(&AuthError::InsufficientScope),
            "Bearer error=\"insufficient_scope\", scope=\"mcp\", resource_metadata=\
             \"https://mcp.example/.well-known/oauth-protected-resource/a/mcp\""
        );
    }

    #[test]
    fn settings_that_are_not_safe_are_refused() {
        for (resource, issuer, scope, expected) in [
            ("mcp.example", "https://id.example", "mcp", "not a URL"),
            ("http://mcp.example", "https://id.example", "mcp", "https"),
            ("https://mcp.example/?a", "https://id.example", "mcp", "https"),
            ("https://mcp.example", "http://id.example", "mcp", "http://id.example"),
            ("https://mcp.example", "https://me@id.example", "mcp", "me@id.example"),
        ] {
            let error = Resource::new(oauth(resource, issuer, scope)).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(Resource::new(oauth("http://127.0.0.1:1/mcp", "https://id.example", "m")).is_ok());
    }

    #[test]
    fn the_error_of_a_scope_says_what_is_wrong() {
        let of = |scope| Resource::new(oauth("https://mcp.example", "https://id.example", scope));
        for (scope, expected) in [
            ("", "an entry of the OAuth `scopes` is empty"),
            ("a b", "\"a b\" has a space, which separates scopes"),
            (" a", "\" a\" has a space"),
            ("a\"", "has the character `\"`"),
            ("a\\b", "has the character `\\`"),
            ("a\tb", "\"a\\tb\" has the character U+0009"),
            ("\u{1b}[2J", "has the character U+001B"),
            ("é", "\"é\" has the character U+00E9"),
        ] {
            let error = of(scope).err().unwrap().to_string();
            assert!(error.contains(expected), "{scope:?}: {error}");
        }
        assert!(of("!#[]~:/mcp.use").is_ok());
    }
}
