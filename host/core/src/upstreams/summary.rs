//! The state of upstream servers, for the operator.

use std::sync::Arc;

use portcullis_mcp_client::{Confine, Definition, UpstreamState};
use serde::Serialize;

use super::{UpstreamOffer, UpstreamSource, Upstreams};

impl Upstreams {
    /// The state of each server. All servers are started.
    pub async fn summaries(&self) -> Vec<Summary> {
        let offered = self.fetched_offers().await;
        let summary = |source: &Arc<UpstreamSource>| {
            let offered = offered.iter().find(|other| Arc::ptr_eq(&other.source, source));
            source.summary(offered)
        };
        self.all.iter().map(summary).collect()
    }
}

impl UpstreamSource {
    fn summary(&self, offered: Option<&UpstreamOffer>) -> Summary {
        let mut summary = Summary {
            name: self.name.to_string(),
            reach: self.endpoint.clone(),
            confined: self.confined,
            state: "unreachable",
            reason: None,
            server: None,
            protocol: None,
            tools: Vec::new(),
            held: Vec::new(),
        };
        let Some(offered) = offered else {
            summary.reason = Some(match self.upstream.state() {
                UpstreamState::Resting { because, .. } => because,
                UpstreamState::Idle
                | UpstreamState::Connecting
                | UpstreamState::Ready { .. }
                | UpstreamState::Closed => "it does not answer".to_owned(),
            });
            return summary;
        };
        let peer = &offered.listing.peer;
        let info = |key: &str| peer.info.get(key).and_then(|value| value.as_str());
        summary.state = "connected";
        summary.server = Some(
            [info("name"), info("version")].into_iter().flatten().collect::<Vec<_>>().join(" "),
        );
        summary.protocol = Some(peer.version.clone());
        summary.tools = offered.tools().map(|(_, tool)| tool.name.clone()).collect();
        summary.held = offered.held.iter().map(|held| held.tool.clone()).collect();
        summary
    }
}

/// A server's state, for the operator.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The operator's name for the server.
    pub name: String,
    /// The program or the address.
    pub reach: String,
    /// Whether the server's program is confined (`confine`).
    pub confined: bool,
    /// `connected` or `unreachable`.
    pub state: &'static str,
    /// Why the server is unreachable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The server's own name and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The revision of MCP that was negotiated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The tools that are offered, by their names without a prefix.
    pub tools: Vec<String>,
    /// The tools that are held back until they are approved.
    pub held: Vec<String>,
}

/// The program or address of a server, for display. Parts that may be secret are left out: arguments, credentials, query
/// and fragment.
pub(super) fn endpoint(definition: &Definition) -> String {
    if let Some(program) = &definition.command {
        let rights = match &definition.confine {
            None => "with the rights of the host's user".to_owned(),
            Some(confine) => confined(confine),
        };
        return format!("the program {}, {rights}", program.display());
    }
    let address = definition.url.as_deref().unwrap_or_default();
    let address = address.split(['?', '#']).next().unwrap_or_default();
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("the server at {scheme}://{host}/{path}")
        }
        None => "a server".to_owned(),
    }
}

/// The access that a confined program has, for display to the operator.
fn confined(confine: &Confine) -> String {
    let mut text = "confined".to_owned();
    for (what, paths) in [("reads", &confine.reads), ("writes", &confine.writes)] {
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        if !paths.is_empty() {
            text += &format!("; {what} {}", paths.join(", "));
        }
    }
    if !confine.hosts.is_empty() {
        let hosts: Vec<_> = confine.hosts.iter().map(ToString::to_string).collect();
        return format!("{text}; hosts {}", hosts.join(", "));
    }
    text + if confine.network { "; network" } else { "; no network" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_displayed_without_secrets() {
        for (definition, expected) in [
            (
                r#"command = "/bin/a"\nargs = ["--key=1"]"#,
                "the program /bin/a, with the rights of the host's user",
            ),
            (r#"url = "https://me:pw@h:1/mcp?key=1#x""#, "the server at https://h:1/mcp"),
            (
                r#"command = "a"\nconfine = { reads = ["/x"], network = true }"#,
                "the program a, confined; reads /x; network",
            ),
            (
                r#"command = "a"\nconfine = { hosts = ["b.example", "c.example:80"] }"#,
                "the program a, confined; hosts b.example, c.example:80",
            ),
            (r#"url = "http://h""#, "the server at http://h/"),
        ] {
            let definition: Definition = toml::from_str(&definition.replace("\\n", "\n")).unwrap();
            assert_eq!(endpoint(&definition), expected);
        }
    }
}
