//! Finds the authorization server of an MCP server, and its endpoints: RFC 9728, RFC 8414 and OpenID Connect
//! Discovery. Servers of MCP 2025-03-26 that have no metadata have fixed endpoints.

use serde_json::Value;
use thiserror::Error;
use url::Url;

use crate::requests::{OauthRequests, RequestError, shown};
use crate::settings::{MAX_SCOPES, is_scope};

/// Maximum number of authorization servers of one MCP server that are tried. The next one is tried only if the one
/// before has no metadata; any other error ends the search.
const MAX_ISSUERS: usize = 4;

/// Why the authorization server of an MCP server is not known. Texts of servers are sanitised.
#[derive(Debug, Error)]
pub enum DiscoveryError {
    /// A request failed, or a URL that a server or the configuration names may not be used.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The resource metadata is about another server.
    #[error("the resource metadata at {address} is for {resource:?}, which is another server")]
    OtherResource {
        /// Where the metadata is.
        address: String,
        /// The server that it is about.
        resource: String,
    },
    /// The resource metadata names no authorization server.
    #[error("the resource metadata at {address} names no authorization server")]
    NoIssuer {
        /// Where the metadata is.
        address: String,
    },
    /// The resource metadata does not name the configured issuer.
    #[error(
        "the resource metadata at {address} does not name {issuer}, the `issuer` of the configuration"
    )]
    IssuerNotNamed {
        /// Where the metadata is.
        address: String,
        /// The configured issuer.
        issuer: Url,
    },
    /// No authorization server that was tried has metadata.
    #[error("no metadata of an authorization server was found at {issuers}")]
    NoMetadata {
        /// The authorization servers that were tried.
        issuers: String,
    },
    /// The metadata of an authorization server names another issuer.
    #[error(
        "the metadata at {address} has the issuer {found:?} instead of {issuer}, so it is not used"
    )]
    OtherIssuer {
        /// Where the metadata is.
        address: String,
        /// The issuer that the metadata names.
        found: String,
        /// The expected issuer.
        issuer: String,
    },
    /// The metadata of an authorization server has no token endpoint.
    #[error("the metadata of {issuer} has no `token_endpoint`")]
    NoTokenEndpoint {
        /// The authorization server.
        issuer: String,
    },
}

/// The result of discovery for an MCP server.
#[derive(Debug)]
pub(crate) struct DiscoveryResult {
    /// The server's name in token requests: the resource indicator of RFC 8707.
    pub(crate) resource: String,
    /// The scopes that the resource metadata lists.
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
    /// The client authentication methods that it supports. `None`: its metadata does not list them.
    pub(crate) methods: Option<Vec<String>>,
    /// The scopes that its metadata lists.
    pub(crate) scopes: Vec<String>,
    /// Whether it supports PKCE with S256.
    pub(crate) supports_pkce: bool,
    /// Whether it supports Client ID Metadata Documents.
    pub(crate) supports_metadata_documents: bool,
    /// Whether its authorization responses have the parameter `iss` (RFC 9207).
    pub(crate) sends_iss: bool,
}

/// Finds the authorization server of the MCP server at `url`. `hint`: the address of the resource metadata, if the
/// server named one. `required`: the issuer of the configuration, if it names one.
///
/// # Errors
///
/// The metadata cannot be read, contradicts itself or the configuration, or is incomplete.
pub(crate) async fn discover(
    requests: &OauthRequests,
    url: &Url,
    hint: Option<&Url>,
    required: Option<&Url>,
) -> Result<DiscoveryResult, DiscoveryError> {
    let Some((at, document)) = resource_metadata(requests, url, hint).await? else {
        return without_resource_metadata(requests, url, required).await;
    };
    let resource = document.get("resource").and_then(Value::as_str).unwrap_or_default();
    if !covers(resource, url) {
        let (address, resource) = (shown(&at), portcullis_sanitize::line(resource, 200));
        return Err(DiscoveryError::OtherResource { address, resource });
    }
    let names = texts(&document, "authorization_servers");
    if names.is_empty() {
        return Err(DiscoveryError::NoIssuer { address: shown(&at) });
    }
    let names = match required {
        Some(required) if !names.iter().any(|name| is_same_issuer(name, required.as_str())) => {
            let (address, issuer) = (shown(&at), required.clone());
            return Err(DiscoveryError::IssuerNotNamed { address, issuer });
        }
        Some(required) => vec![required.to_string()],
        None => names,
    };
    for name in names.iter().take(MAX_ISSUERS) {
        let issuer = requests.endpoint("the issuer that the MCP server names", name)?;
        if let Some(issuer) = issuer_metadata(requests, &issuer, name).await? {
            let (resource, scopes) = (resource.to_owned(), scopes(&document));
            return Ok(DiscoveryResult { resource, scopes, issuer });
        }
    }
    let tried = names.iter().take(MAX_ISSUERS).map(String::as_str).collect::<Vec<_>>().join(", ");
    let issuers = portcullis_sanitize::line(&tried, 300);
    Err(DiscoveryError::NoMetadata { issuers })
}

/// The resource metadata of the MCP server (RFC 9728), and the URL where it was found. `None`: the server has none.
async fn resource_metadata(
    requests: &OauthRequests,
    url: &Url,
    hint: Option<&Url>,
) -> Result<Option<(Url, Value)>, RequestError> {
    const NAME: &str = "/.well-known/oauth-protected-resource";
    let path = url.path().trim_end_matches('/');
    let mut places = Vec::new();
    if let Some(hint) = hint {
        places.push(
            requests
                .endpoint("the `resource_metadata` that the MCP server names", hint.as_str())?,
        );
    }
    for path in [format!("{NAME}{path}"), NAME.to_owned()] {
        let place = on_same_server(url, &path);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for place in places {
        if let Some(document) = requests.document(&place).await? {
            return Ok(Some((place, document)));
        }
    }
    Ok(None)
}

/// Another path on the same server.
fn on_same_server(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Whether a resource identifier names the server at this address, or a resource that contains the server.
fn covers(resource: &str, url: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let whole = resource.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(whole);
    resource.origin() == url.origin()
        && resource.fragment().is_none()
        && resource.query().is_none_or(|query| url.query() == Some(query))
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether two issuer identifiers are the same, apart from a slash directly after the host, which is often left out.
fn is_same_issuer(one: &str, other: &str) -> bool {
    let bare = |name: &str| match Url::parse(name) {
        Ok(url) if url.path() == "/" => name.trim_end_matches('/').to_owned(),
        Ok(_) | Err(_) => name.to_owned(),
    };
    bare(one) == bare(other)
}

/// The metadata of an authorization server. `None`: there is none.
async fn issuer_metadata(
    requests: &OauthRequests,
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
        let place = on_same_server(url, &place);
        let Some(document) = requests.document(&place).await? else { continue };
        let stated = document.get("issuer").and_then(Value::as_str).unwrap_or_default();
        if !is_same_issuer(stated, name) {
            return Err(DiscoveryError::OtherIssuer {
                address: shown(&place),
                found: portcullis_sanitize::line(stated, 200),
                issuer: portcullis_sanitize::line(name, 200),
            });
        }
        return read_issuer(requests, stated, &document).map(Some);
    }
    Ok(None)
}

fn read_issuer(
    requests: &OauthRequests,
    name: &str,
    document: &Value,
) -> Result<Issuer, DiscoveryError> {
    let shown_name = portcullis_sanitize::line(name, 200);
    let endpoint = |key: &str| {
        let text = document.get(key).and_then(Value::as_str);
        text.map(|text| requests.endpoint(&format!("the `{key}` of {shown_name}"), text))
            .transpose()
    };
    let is_true = |key: &str| document.get(key).and_then(Value::as_bool).unwrap_or(false);
    let methods = "token_endpoint_auth_methods_supported";
    Ok(Issuer {
        name: name.to_owned(),
        authorization: endpoint("authorization_endpoint")?,
        token: endpoint("token_endpoint")?
            .ok_or_else(|| DiscoveryError::NoTokenEndpoint { issuer: shown_name.clone() })?,
        registration: endpoint("registration_endpoint")?,
        methods: document.get(methods).map(|_| texts(document, methods)),
        scopes: scopes(document),
        supports_pkce: texts(document, "code_challenge_methods_supported").contains(&"S256".into()),
        supports_metadata_documents: is_true("client_id_metadata_document_supported"),
        sends_iss: is_true("authorization_response_iss_parameter_supported"),
    })
}

/// Finds the authorization server of an MCP server without resource metadata. If an issuer is configured, it is the
/// authorization server, and must have metadata. Otherwise, the MCP server itself is the authorization server. If it
/// has no metadata, its endpoints are those that MCP 2025-03-26 prescribes.
async fn without_resource_metadata(
    requests: &OauthRequests,
    url: &Url,
    required: Option<&Url>,
) -> Result<DiscoveryResult, DiscoveryError> {
    let root = on_same_server(url, "/");
    let name = required.map_or_else(|| root.origin().ascii_serialization(), Url::to_string);
    let issuer = match issuer_metadata(requests, required.unwrap_or(&root), &name).await? {
        Some(issuer) => issuer,
        None if required.is_some() => {
            return Err(DiscoveryError::NoMetadata { issuers: name });
        }
        None => Issuer {
            name,
            authorization: Some(on_same_server(url, "/authorize")),
            token: on_same_server(url, "/token"),
            registration: Some(on_same_server(url, "/register")),
            methods: None,
            scopes: Vec::new(),
            // MCP 2025-03-26 demands PKCE.
            supports_pkce: true,
            supports_metadata_documents: false,
            sends_iss: false,
        },
    };
    let mut resource = url.clone();
    resource.set_fragment(None);
    Ok(DiscoveryResult { resource: resource.to_string(), scopes: Vec::new(), issuer })
}

/// The strings in a list of a document.
fn texts(document: &Value, key: &str) -> Vec<String> {
    let all = document.get(key).and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn scopes(document: &Value) -> Vec<String> {
    let all = texts(document, "scopes_supported").into_iter();
    all.filter(|scope| is_scope(scope)).take(MAX_SCOPES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_the_server_or_contains_the_server() {
        let url: Url = "https://a.example/team/mcp".parse().unwrap();
        for resource in [
            "https://a.example/team/mcp",
            "https://a.example/team/mcp/",
            "https://A.example:443/team",
            "https://a.example",
        ] {
            assert!(covers(resource, &url), "{resource}");
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
            assert!(!covers(resource, &url), "{resource}");
        }
    }

    #[test]
    fn issuers_are_compared_as_text() {
        assert!(is_same_issuer("https://a.example", "https://a.example/"));
        assert!(!is_same_issuer("https://a.example/t", "https://a.example/t/"));
        assert!(!is_same_issuer("https://a.example", "https://A.example"));
        assert!(!is_same_issuer("https://a.example", "https://a.example:443"));
        assert!(!is_same_issuer("", "https://a.example"));
    }
}
