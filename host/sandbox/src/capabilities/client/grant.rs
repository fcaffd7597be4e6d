//! What can be granted of the client, and whether a grant holds an ask.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::bindings::types;
use crate::capabilities::{Capability, Grants, Named, listed};
use crate::gate::Ask;

/// What can be asked of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    /// Have the user fill in a form or visit a page.
    Elicitation,
    /// Have the client's model complete a prompt.
    Sampling,
    /// Be told the client's roots.
    Roots,
    /// Have the host ask the user to agree to something.
    Consent,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
            Self::Consent => "consent",
        })
    }
}

/// Which questions are granted.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientGrant {
    /// The kinds of questions that the plugin may ask.
    features: Named<Feature>,
    /// Actions to which the host agrees without a question to the user: for each of the plugin's kinds of action,
    /// patterns of its subjects, in which `*` stands for any text.
    #[serde(default)]
    agreed: BTreeMap<String, Vec<String>>,
}

impl ClientGrant {
    /// Whether the operator agreed to this beforehand.
    pub fn agrees(&self, kind: &str, subject: &str) -> bool {
        self.agreed.get(kind).is_some_and(|all| all.iter().any(|one| matches(one, subject)))
    }
}

/// Whether a text is what a pattern says, `*` being any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = text.split_once(part) else { return false };
        text = behind;
    }
    text.ends_with(last)
}

impl fmt::Display for ClientGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ask the client for {}", self.features)?;
        for (kind, patterns) in &self.agreed {
            write!(f, "; agreed beforehand: {kind} {}", patterns.join(", "))?;
        }
        Ok(())
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<ClientGrant>, target: &str) -> Result<(), String> {
    let all = [Feature::Elicitation, Feature::Sampling, Feature::Roots, Feature::Consent];
    let feature = all.into_iter().find(|feature| feature.to_string() == target);
    let feature =
        feature.ok_or("a client can be asked for elicitation, sampling, roots or consent")?;
    let features = Named::add(sum.take().map(|sum| sum.features), feature);
    *sum = Some(ClientGrant { features, agreed: BTreeMap::new() });
    Ok(())
}

/// One question.
#[derive(Debug)]
pub struct ClientAsk {
    /// Of which kind.
    pub feature: Feature,
    /// What the user is to agree to; empty for other questions.
    pub deed: String,
}

impl ClientAsk {
    /// What a plugin's question needs. `None`: a kind of question this host does not know.
    pub fn of(ask: &types::Ask) -> Option<Self> {
        let mut deed = String::new();
        let feature = match ask {
            types::Ask::Form(_) | types::Ask::Visit(_) => Feature::Elicitation,
            types::Ask::Sample(_) => Feature::Sampling,
            types::Ask::Roots => Feature::Roots,
            types::Ask::Consent(consent) => {
                deed = deed_of(consent);
                Feature::Consent
            }
            types::Ask::Other(_) => return None,
        };
        Some(Self { feature, deed })
    }
}

/// What a plugin would do, as a record has it: bounded, and without secrets.
fn deed_of(types::Consent { kind, subject, overwrites, .. }: &types::Consent) -> String {
    let clean = |text: &str, most| {
        portcullis_audit::without_secrets(&portcullis_sanitize::line(text, most))
    };
    let mut deed = format!("{} {}", portcullis_sanitize::line(kind, 80), clean(subject, 800));
    if let Some(lost) = overwrites {
        deed += &format!(" (overwrites {})", clean(lost, 300));
    }
    deed
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
        match self.deed.as_str() {
            "" => format!("ask the client for {}", self.feature),
            deed => format!("ask the client for {}: {deed}", self.feature),
        }
    }

    fn remedy(&self, granted: Option<&ClientGrant>) -> String {
        let there = granted.into_iter().flat_map(|granted| granted.features.iter());
        let mut text = format!("features = {}", listed(there, &self.feature.to_string()));
        for (kind, patterns) in granted.iter().flat_map(|granted| &granted.agreed) {
            text += &format!("\nagreed.{kind:?} = {patterns:?}");
        }
        text
    }
}
