//! The capability `client`: what a plugin may ask of the connected client and its user.

use std::fmt;

use serde::Deserialize;

use crate::bindings::types;
use crate::capabilities::{Capability, Grants, Named};
use crate::gate::Ask;

/// What can be asked of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    /// Have the user fill in a form or visit a page.
    Elicitation,
    /// Have the client's model complete a prompt.
    Sampling,
    /// Be told the client's roots.
    Roots,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        })
    }
}

/// Which questions are granted.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientGrant {
    features: Named<Feature>,
}

impl fmt::Display for ClientGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ask the client for {}", self.features)
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<ClientGrant>, target: &str) -> Result<(), String> {
    let all = [Feature::Elicitation, Feature::Sampling, Feature::Roots];
    let feature = all.into_iter().find(|feature| feature.to_string() == target);
    let feature = feature.ok_or("a client can be asked for elicitation, sampling or roots")?;
    let features = Named::add(sum.take().map(|sum| sum.features), feature);
    *sum = Some(ClientGrant { features });
    Ok(())
}

/// One question.
#[derive(Debug)]
pub struct ClientAsk {
    /// Of which kind.
    pub feature: Feature,
}

impl ClientAsk {
    /// What a plugin's question needs. `None`: a kind of question this host does not know.
    pub fn of(ask: &types::Ask) -> Option<Self> {
        let feature = match ask {
            types::Ask::Form(_) | types::Ask::Visit(_) => Feature::Elicitation,
            types::Ask::Sample(_) => Feature::Sampling,
            types::Ask::Roots => Feature::Roots,
            types::Ask::Other(_) => return None,
        };
        Some(Self { feature })
    }
}

impl Ask for ClientAsk {
    type Grant = ClientGrant;
    const CAPABILITY: Capability = Capability::Client;

    fn grant(grants: &Grants) -> Option<&ClientGrant> {
        grants.client.as_ref()
    }

    fn is_within(&self, grant: &ClientGrant) -> bool {
        grant.features.contains(&self.feature)
    }

    fn subject(&self) -> String {
        format!("ask the client for {}", self.feature)
    }

    fn remedy(&self) -> String {
        format!("features = [\"{}\"]", self.feature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_granted_features_are_within() {
        let grant: ClientGrant = toml::from_str("features = [\"elicitation\"]").unwrap();
        for (feature, expected) in
            [(Feature::Elicitation, true), (Feature::Sampling, false), (Feature::Roots, false)]
        {
            assert_eq!(ClientAsk { feature }.is_within(&grant), expected, "{feature}");
        }
    }

    #[test]
    fn an_empty_list_is_refused_at_load() {
        let error = toml::from_str::<ClientGrant>("features = []").unwrap_err();
        assert!(error.to_string().contains("name at least one"), "{error}");
    }
}
