//! Finds the authorization server of an MCP server, and its endpoints: RFC 9728, RFC 8414 and OpenID Connect
//! Discovery. Servers of MCP 2025-03-26 have fixed endpoints instead.

use serde_json::Value;
use thiserror::Error;
use url::Url;

use crate::requests::{OauthRequests, RequestError, shown};
use crate::settings::{SCOPES, is_scope};

/// Largest number of issuers of one server that are tried.
const ISSUERS: usize = 4;

/// Why the authorization server of an MCP server is not known. Texts of servers in it are sanitised.
#[derive(Debug, Error)]
pub enum DiscoveryError {
    /// A document could not be read.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The resource metadata is about another server.
    #[error("{address} is about {resource:?}, which is another server")]
    OtherResource {
        /// Where the metadata is.
        address: String,
        /// The server that it is about.
        resource: String,
    },
    /// The resource metadata names no authorization server.
    #[error("{address} names no authorization server")]
    NoIssuer {
        /// Where the metadata is.
        address: String,
    },
    /// The resource metadata does not name the configured issuer.
    #[error("{address} does not name {issuer}, which is the `issuer` of the configuration")]
    IssuerNotNamed {
        /// Where the metadata is.
        address: String,
        /// The configured issuer.
        issuer: Url,
    },
    /// No authorization server has metadata.
    #[error("{issuers} has no metadata that says where tokens are requested")]
    NoMetadata {
        /// The authorization servers.
        issuers: String,
    },
    /// The metadata of an authorization server is that of another one.
    #[error("{address} says that it is {found:?}, and not {issuer}: it is not used")]
    OtherIssuer {
        /// Where the metadata is.
        address: String,
        /// The name in it.
        found: String,
        /// The expected name.
        issuer: String,
    },
    /// The metadata of an authorization server has no token endpoint.
    #[error("{issuer} does not say where tokens are requested (`token_endpoint`)")]
    NoTokenEndpoint {
        /// The authorization server.
        issuer: String,
    },
}

/// What was found out about a server.
#[derive(Debug)]
pub(crate) struct Found {
    /// The server's name in token requests: the resource indicator of RFC 8707.
    pub(crate) resource: String,
    /// The scopes that the server supports.
    pub(crate) scopes: Vec<String>,
    pub(crate) issuer: Issuer,
}

/// An authorization server, by its metadata (RFC 8414).
#[derive(Debug)]
pub(crate) struct Issuer {
    /// Its `issuer` identifier.
    pub(crate) name: String,
    pub(crate) authorization: Option<Url>,
    pub(crate) token: Url,
    pub(crate) registration: Option<Url>,
    /// The client authentication methods that it supports. `None`: it does not say.
    pub(crate) methods: Option<Vec<String>>,
    pub(crate) scopes: Vec<String>,
    /// Whether it supports PKCE with S256.
    pub(crate) binds_codes: bool,
    /// Whether it supports Client ID Metadata Documents.
    pub(crate) takes_descriptions: bool,
    /// Whether its authorization responses have the parameter `iss` (RFC 9207).
    pub(crate) says_who_it_is: bool,
}

/// Finds the authorization server of the MCP server at `url`. `hint`: the address of the resource metadata, if the
/// server named one. `wanted`: the issuer that the configuration demands.
///
/// # Errors
///
/// The metadata cannot be read, contradicts itself or the configuration, or is incomplete.
pub(crate) async fn discover(
    reach: &OauthRequests,
    url: &Url,
    hint: Option<&Url>,
    wanted: Option<&Url>,
) -> Result<Found, DiscoveryError> {
    let Some((at, document)) = resource_metadata(reach, url, hint).await? else {
        return before_metadata(reach, url, wanted).await;
    };
    let resource = document.get("resource").and_then(Value::as_str).unwrap_or_default();
    if !names(resource, url) {
        let (address, resource) = (shown(&at), portcullis_sanitize::line(resource, 200));
        return Err(DiscoveryError::OtherResource { address, resource });
    }
    let names = texts(&document, "authorization_servers");
    if names.is_empty() {
        return Err(DiscoveryError::NoIssuer { address: shown(&at) });
    }
    let names = match wanted {
        Some(wanted) if !names.iter().any(|name| same(name, wanted.as_str())) => {
            let (address, issuer) = (shown(&at), wanted.clone());
            return Err(DiscoveryError::IssuerNotNamed { address, issuer });
        }
        Some(wanted) => vec![wanted.to_string()],
        None => names,
    };
    for name in names.iter().take(ISSUERS) {
        let issuer = reach.endpoint("the issuer of its tokens", name)?;
        if let Some(issuer) = issuer_metadata(reach, &issuer, name).await? {
            let (resource, scopes) = (resource.to_owned(), scopes(&document));
            return Ok(Found { resource, scopes, issuer });
        }
    }
    let issuers = portcullis_sanitize::line(&names.join(", "), 300);
    Err(DiscoveryError::NoMetadata { issuers })
}

/// The resource metadata of the server (RFC 9728), and its address.
async fn resource_metadata(
    reach: &OauthRequests,
    url: &Url,
    hint: Option<&Url>,
) -> Result<Option<(Url, Value)>, RequestError> {
    const NAME: &str = "/.well-known/oauth-protected-resource";
    let path = url.path().trim_end_matches('/');
    let mut places = Vec::new();
    if let Some(hint) = hint {
        places.push(reach.endpoint("its `resource_metadata`", hint.as_str())?);
    }
    for path in [format!("{NAME}{path}"), NAME.to_owned()] {
        let place = beside(url, &path);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for place in places {
        if let Some(document) = reach.document(&place).await? {
            return Ok(Some((place, document)));
        }
    }
    Ok(None)
}

/// Another path on the same server.
fn beside(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Whether a resource identifier means the server at this address, or something that contains the server.
fn names(resource: &str, url: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let whole = resource.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(whole);
    resource.origin() == url.origin()
        && resource.fragment().is_none()
        && resource.query().is_none_or(|query| url.query() == Some(query))
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether two issuer identifiers are the same, apart from a slash directly after the host, which is often left out.
fn same(one: &str, other: &str) -> bool {
    let bare = |name: &str| match Url::parse(name) {
        Ok(url) if url.path() == "/" => name.trim_end_matches('/').to_owned(),
        Ok(_) | Err(_) => name.to_owned(),
    };
    bare(one) == bare(other)
}

/// The metadata of an authorization server. `None`: there is none.
async fn issuer_metadata(
    reach: &OauthRequests,
    url: &Url,
    name: &str,
) -> Result<Option<Issuer>, DiscoveryError> {
    let path = url.path().trim_end_matches('/');
    let mut places = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{path}/.well-known/openid-configuration"));
    }
    for place in places {
        let place = beside(url, &place);
        let Some(document) = reach.document(&place).await? else { continue };
        let said = document.get("issuer").and_then(Value::as_str).unwrap_or_default();
        if !same(said, name) {
            return Err(DiscoveryError::OtherIssuer {
                address: shown(&place),
                found: portcullis_sanitize::line(said, 200),
                issuer: portcullis_sanitize::line(name, 200),
            });
        }
        return issuer(reach, said, &document).map(Some);
    }
    Ok(None)
}

fn issuer(reach: &OauthRequests, name: &str, document: &Value) -> Result<Issuer, DiscoveryError> {
    let endpoint = |key: &str| {
        let text = document.get(key).and_then(Value::as_str);
        text.map(|text| reach.endpoint(&format!("the `{key}` of {name}"), text)).transpose()
    };
    let says = |key: &str| document.get(key).and_then(Value::as_bool).unwrap_or(false);
    let methods = "token_endpoint_auth_methods_supported";
    Ok(Issuer {
        name: name.to_owned(),
        authorization: endpoint("authorization_endpoint")?,
        token: endpoint("token_endpoint")?.ok_or_else(|| DiscoveryError::NoTokenEndpoint {
            issuer: portcullis_sanitize::line(name, 200),
        })?,
        registration: endpoint("registration_endpoint")?,
        methods: document.get(methods).map(|_| texts(document, methods)),
        scopes: scopes(document),
        binds_codes: texts(document, "code_challenge_methods_supported").contains(&"S256".into()),
        takes_descriptions: says("client_id_metadata_document_supported"),
        says_who_it_is: says("authorization_response_iss_parameter_supported"),
    })
}

/// An MCP server without resource metadata is its own authorization server: its endpoints are those of its metadata,
/// or those that MCP 2025-03-26 prescribes.
async fn before_metadata(
    reach: &OauthRequests,
    url: &Url,
    wanted: Option<&Url>,
) -> Result<Found, DiscoveryError> {
    let root = beside(url, "/");
    let name = wanted.map_or_else(|| root.origin().ascii_serialization(), Url::to_string);
    let issuer = match issuer_metadata(reach, wanted.unwrap_or(&root), &name).await? {
        Some(issuer) => issuer,
        None if wanted.is_some() => {
            return Err(DiscoveryError::NoMetadata { issuers: name });
        }
        None => Issuer {
            name,
            authorization: Some(beside(url, "/authorize")),
            token: beside(url, "/token"),
            registration: Some(beside(url, "/register")),
            methods: None,
            scopes: Vec::new(),
            // MCP 2025-03-26 demands PKCE.
            binds_codes: true,
            takes_descriptions: false,
            says_who_it_is: false,
        },
    };
    let mut resource = url.clone();
    resource.set_fragment(None);
    Ok(Found { resource: resource.to_string(), scopes: Vec::new(), issuer })
}

/// The strings in a list of a document.
fn texts(document: &Value, key: &str) -> Vec<String> {
    let all = document.get(key).and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn scopes(document: &Value) -> Vec<String> {
    let all = texts(document, "scopes_supported").into_iter();
    all.filter(|scope| is_scope(scope)).take(SCOPES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_the_server_or_what_it_is_part_of() {
        let url: Url = "https://a.example/team/mcp".parse().unwrap();
        for resource in [
            "https://a.example/team/mcp",
            "https://a.example/team/mcp/",
            "https://A.example:443/team",
            "https://a.example",
        ] {
            assert!(names(resource, &url), "{resource}");
        }
        for resource in [
            "https://evil.example/team/mcp",
            "http://a.example/team/mcp",
            "https://a.example:444/",
            "https://a.example/tea",
            "https://a.example/team/mcp/more",
            "https://a.example/#x",
            "https://a.example/?x",
            "",
        ] {
            assert!(!names(resource, &url), "{resource}");
        }
    }

    #[test]
    fn names_of_issuers_are_compared_as_they_are_written() {
        assert!(same("https://a.example", "https://a.example/"));
        assert!(!same("https://a.example/t", "https://a.example/t/"));
        assert!(!same("https://a.example", "https://A.example"));
        assert!(!same("https://a.example", "https://a.example:443"));
        assert!(!same("", "https://a.example"));
    }
}
