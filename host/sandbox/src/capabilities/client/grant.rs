//! The grant of questions to the client, and the check whether it covers a question.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::bindings::types;
use crate::capabilities::short_form::{self, Form, InvalidValue, ShortForms, Table};
use crate::capabilities::{Capability, Grants, InvalidWant, Named, listed};
use crate::gate::Ask;
use crate::pattern;

/// What can be asked of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    /// Ask the user to fill in a form or to visit a page.
    Elicitation,
    /// Ask the client's model to complete a prompt.
    Sampling,
    /// Ask for the client's roots.
    Roots,
    /// Ask the user for consent, in the host's words.
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

/// The granted questions.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientGrant {
    /// The kinds of questions that the plugin may ask.
    features: Named<Feature>,
    /// Actions to which the host agrees without asking the user. Key: a kind of action, as the plugin names it. Value:
    /// patterns of the subjects of such actions, in which `*` stands for any text.
    #[serde(default)]
    agreed: BTreeMap<String, Vec<String>>,
}

impl ClientGrant {
    /// Whether the operator agreed in the configuration to an action of this kind with this subject.
    pub fn agrees(&self, kind: &str, subject: &str) -> bool {
        self.agreed
            .get(kind)
            .is_some_and(|all| all.iter().any(|one| pattern::matches(one, subject)))
    }
}

impl fmt::Display for ClientGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ask the client for {}", self.features)?;
        for (kind, patterns) in &self.agreed {
            write!(f, "; without asking the user: {kind} {}", patterns.join(", "))?;
        }
        Ok(())
    }
}

impl ShortForms for ClientGrant {
    const FORMS: &'static [Form] = &[(
        "sampling,roots",
        "ask the client for sampling and its roots; also: elicitation, consent",
    )];

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        short_form::separated_of(text, &["elicitation", "sampling", "roots", "consent"])
    }

    fn values(&self) -> Vec<String> {
        self.features.iter().map(Feature::to_string).collect()
    }

    fn words(value: &str) -> String {
        format!("ask the client for {value}")
    }

    fn add(table: &mut Table, values: &[String]) {
        short_form::add_texts(table, "features", values);
    }

    fn remove(table: &mut Table, values: &[String]) {
        // The agreed actions are removed, too: otherwise a later grant of consent would bring them back.
        if values.iter().any(|value| *value == Feature::Consent.to_string()) {
            table.remove("agreed");
        }
        short_form::remove_texts(table, "features", values);
    }

    fn may_be_used_by(value: &str, subject: &str) -> bool {
        subject.strip_prefix("ask the client for ").is_none_or(|rest| {
            rest.strip_prefix(value).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    }
}

/// Adds a want of the manifest to the plugin's wants.
pub(super) fn want(wants: &mut Option<ClientGrant>, target: &str) -> Result<(), InvalidWant> {
    let all = [Feature::Elicitation, Feature::Sampling, Feature::Roots, Feature::Consent];
    let feature = all.into_iter().find(|feature| feature.to_string() == target);
    let feature = feature.ok_or(InvalidWant::Unexpected(
        "the target must be elicitation, sampling, roots or consent",
    ))?;
    let features = Named::add(wants.take().map(|wants| wants.features), feature);
    *wants = Some(ClientGrant { features, agreed: BTreeMap::new() });
    Ok(())
}

/// An ask to put a question to the client.
#[derive(Debug)]
pub struct ClientAsk {
    /// The kind of the question.
    pub feature: Feature,
    /// The action that needs consent. Empty for other questions.
    pub action: String,
}

impl ClientAsk {
    /// The ask for a plugin's question. `None`: this host does not know the kind of question.
    pub fn of(ask: &types::Ask) -> Option<Self> {
        let mut action = String::new();
        let feature = match ask {
            types::Ask::Form(_) | types::Ask::Visit(_) => Feature::Elicitation,
            types::Ask::Sample(_) => Feature::Sampling,
            types::Ask::Roots => Feature::Roots,
            types::Ask::Consent(consent) => {
                action = action_of(consent);
                Feature::Consent
            }
            types::Ask::Other(_) => return None,
        };
        Some(Self { feature, action })
    }
}

/// The action that needs consent, for a record: shortened, and without secrets.
fn action_of(types::Consent { kind, subject, overwrites, .. }: &types::Consent) -> String {
    let clean =
        |text: &str, max| portcullis_audit::without_secrets(&portcullis_sanitize::line(text, max));
    let mut action = format!("{} {}", clean(kind, 80), clean(subject, 800));
    if let Some(lost) = overwrites {
        action += &format!(" (overwrites {})", clean(lost, 300));
    }
    action
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
        match self.action.as_str() {
            "" => format!("ask the client for {}", self.feature),
            action => format!("ask the client for {}: {action}", self.feature),
        }
    }

    fn remedy(&self, granted: Option<&ClientGrant>) -> String {
        let present = granted.into_iter().flat_map(|granted| granted.features.iter());
        let mut text = format!("features = {}", listed(present, &self.feature.to_string()));
        for (kind, patterns) in granted.iter().flat_map(|granted| &granted.agreed) {
            text += &format!("\nagreed.{kind:?} = {patterns:?}");
        }
        text
    }
}
