//! The capability `actions`: what a plugin's tools may do in the world beyond what files and hosts
//! tell apart, such as to change what an editor has open. A tool without its actions does not exist.

use std::fmt;

use serde::Deserialize;

use crate::capabilities::{Capability, Grants, Named, listed};
use crate::gate::Ask;

/// Which actions are granted, by the plugin's own names for them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionsGrant {
    allow: Named<String>,
}

impl fmt::Display for ActionsGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "take the actions {}", self.allow)
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<ActionsGrant>, target: &str) -> Result<(), String> {
    if target.is_empty() {
        return Err("an action has a name".into());
    }
    let allow = Named::add(sum.take().map(|sum| sum.allow), target.to_owned());
    *sum = Some(ActionsGrant { allow });
    Ok(())
}

/// One action.
#[derive(Debug)]
pub struct ActionAsk(pub String);

impl Ask for ActionAsk {
    type Grant = ActionsGrant;
    const CAPABILITY: Capability = Capability::Actions;

    fn grant(grants: &Grants) -> Option<&ActionsGrant> {
        grants.actions.as_ref()
    }

    fn is_within(&self, grant: &ActionsGrant) -> bool {
        grant.allow.contains(&self.0)
    }

    fn subject(&self) -> String {
        format!("take the action {}", portcullis_text::line(&self.0, 80))
    }

    fn remedy(&self, granted: Option<&ActionsGrant>) -> String {
        let there = granted.into_iter().flat_map(|granted| granted.allow.iter());
        format!("allow = {}", listed(there, &portcullis_text::line(&self.0, 80)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_actions_are_within() {
        let grant: ActionsGrant = toml::from_str("allow = [\"editor-write\"]").unwrap();
        assert!(ActionAsk("editor-write".into()).is_within(&grant));
        assert!(!ActionAsk("editor-console".into()).is_within(&grant));
        assert!(toml::from_str::<ActionsGrant>("allow = []").is_err());
    }
}
