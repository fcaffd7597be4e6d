//! Who issues tokens for a server, and how they are asked for: RFC 9728, RFC 8414 and OpenID Connect
//! Discovery; and what servers of the MCP of 2025-03-26 have instead.

use serde_json::Value;
use url::Url;

use crate::reach::{Reach, shown};
use crate::settings::{SCOPES, is_scope};

/// Most issuers of one server that are looked at.
const ISSUERS: usize = 4;

/// What was found out about a server.
#[derive(Debug)]
pub(crate) struct Found {
    /// What the server is called where tokens for it are asked for (RFC 8707).
    pub(crate) resource: String,
    /// The scopes that it knows.
    pub(crate) scopes: Vec<String>,
    pub(crate) issuer: Issuer,
}

/// Who issues tokens.
#[derive(Debug)]
pub(crate) struct Issuer {
    /// Its own name for itself.
    pub(crate) name: String,
    pub(crate) authorization: Option<Url>,
    pub(crate) token: Url,
    pub(crate) registration: Option<Url>,
    /// How it wants to see who asks. `None`: it does not say.
    pub(crate) methods: Option<Vec<String>>,
    pub(crate) scopes: Vec<String>,
    /// Whether a code is of use only to who asked for it (PKCE, S256).
    pub(crate) binds_codes: bool,
    /// Whether it takes the address of a description as a name.
    pub(crate) takes_descriptions: bool,
    /// Whether it says with each answer who it is (RFC 9207).
    pub(crate) says_who_it_is: bool,
}

/// Finds out who issues tokens for the server at `url`. `hint` is where the server said that this is
/// written; `wanted`, who it has to be.
///
/// # Errors
///
/// In words for the operator.
pub(crate) async fn discover(
    reach: &Reach,
    url: &Url,
    hint: Option<&Url>,
    wanted: Option<&Url>,
) -> Result<Found, String> {
    let Some((at, document)) = resource_metadata(reach, url, hint).await? else {
        return before_metadata(reach, url, wanted).await;
    };
    let resource = document.get("resource").and_then(Value::as_str).unwrap_or_default();
    if !names(resource, url) {
        return Err(format!(
            "{} is about {:?}, which is another server",
            shown(&at),
            portcullis_sanitize::line(resource, 200)
        ));
    }
    let names = texts(&document, "authorization_servers");
    if names.is_empty() {
        return Err(format!("{} names nobody who issues tokens", shown(&at)));
    }
    let names = match wanted {
        Some(wanted) if !names.iter().any(|name| same(name, wanted.as_str())) => {
            return Err(format!(
                "{} does not name {wanted}, which is the `issuer` of the configuration",
                shown(&at)
            ));
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
    Err(format!("{} says nothing about how tokens are asked for", names.join(", ")))
}

/// What the server says of itself, and where.
async fn resource_metadata(
    reach: &Reach,
    url: &Url,
    hint: Option<&Url>,
) -> Result<Option<(Url, Value)>, String> {
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

/// Whether this name of a resource stands for the server at an address: itself, or what it is part of.
fn names(resource: &str, url: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let whole = resource.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(whole);
    resource.origin() == url.origin()
        && resource.fragment().is_none()
        && resource.query().is_none_or(|query| url.query() == Some(query))
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether two names of issuers are one, but for a slash behind a host: addresses are written with and
/// without.
fn same(one: &str, other: &str) -> bool {
    let bare = |name: &str| match Url::parse(name) {
        Ok(url) if url.path() == "/" => name.trim_end_matches('/').to_owned(),
        Ok(_) | Err(_) => name.to_owned(),
    };
    bare(one) == bare(other)
}

/// What an issuer says of itself. `None`: nothing.
async fn issuer_metadata(reach: &Reach, url: &Url, name: &str) -> Result<Option<Issuer>, String> {
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
            return Err(format!(
                "{} says that it is {:?}, and not {name}: nothing it says is used",
                shown(&place),
                portcullis_sanitize::line(said, 200)
            ));
        }
        return issuer(reach, said, &document).map(Some);
    }
    Ok(None)
}

fn issuer(reach: &Reach, name: &str, document: &Value) -> Result<Issuer, String> {
    let endpoint = |key: &str| {
        let text = document.get(key).and_then(Value::as_str);
        text.map(|text| reach.endpoint(&format!("the `{key}` of {name}"), text)).transpose()
    };
    let says = |key: &str| document.get(key).and_then(Value::as_bool).unwrap_or(false);
    let methods = "token_endpoint_auth_methods_supported";
    Ok(Issuer {
        name: name.to_owned(),
        authorization: endpoint("authorization_endpoint")?,
        token: endpoint("token_endpoint")?
            .ok_or_else(|| format!("{name} does not say where tokens are asked for"))?,
        registration: endpoint("registration_endpoint")?,
        methods: document.get(methods).map(|_| texts(document, methods)),
        scopes: scopes(document),
        binds_codes: texts(document, "code_challenge_methods_supported").contains(&"S256".into()),
        takes_descriptions: says("client_id_metadata_document_supported"),
        says_who_it_is: says("authorization_response_iss_parameter_supported"),
    })
}

/// A server of before there was metadata issues its tokens itself: at the places that it says, or at
/// those that the MCP of 2025-03-26 prescribes.
async fn before_metadata(reach: &Reach, url: &Url, wanted: Option<&Url>) -> Result<Found, String> {
    let root = beside(url, "/");
    let name = wanted.map_or_else(|| root.origin().ascii_serialization(), Url::to_string);
    let issuer = match issuer_metadata(reach, wanted.unwrap_or(&root), &name).await? {
        Some(issuer) => issuer,
        None if wanted.is_some() => {
            return Err(format!("{name} says nothing about how tokens are asked for"));
        }
        None => Issuer {
            name,
            authorization: Some(beside(url, "/authorize")),
            token: beside(url, "/token"),
            registration: Some(beside(url, "/register")),
            methods: None,
            scopes: Vec::new(),
            // That revision demands it of everybody.
            binds_codes: true,
            takes_descriptions: false,
            says_who_it_is: false,
        },
    };
    let mut resource = url.clone();
    resource.set_fragment(None);
    Ok(Found { resource: resource.to_string(), scopes: Vec::new(), issuer })
}

/// The texts in a list.
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
