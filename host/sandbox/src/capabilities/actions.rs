//! The capability `actions`: what a plugin's tools may do in the world beyond what files and hosts
//! tell apart, such as to change what an editor has open. A tool without its actions does not exist.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::capabilities::{Capability, Grants, Named, listed};
use crate::gate::{Ask, Permit};

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

/// Longest text of a call's arguments in a record, in characters, and of one of them.
const MAX_DOING: usize = 800;
const MAX_VALUE: usize = 200;

/// One action.
#[derive(Debug)]
pub struct ActionAsk {
    action: String,
    /// What is to be done, for the record.
    doing: String,
}

impl ActionAsk {
    /// The action that a tool needs for a call with these arguments.
    pub fn of(action: &str, tool: &str, arguments: &Value) -> Self {
        let arguments = told(arguments, 0).to_string();
        let doing = format!("{tool} {}", portcullis_sanitize::line(&arguments, MAX_DOING));
        Self { action: action.to_owned(), doing }
    }
}

/// A tool call whose actions are all permitted. Running the tool is the effect of these permits.
#[derive(Debug, Clone)]
pub struct PermittedTool {
    name: String,
    /// A JSON object.
    arguments: String,
}

impl PermittedTool {
    /// A call of a tool that needs these actions: `arguments` are a JSON object, as text, checked against the
    /// tool's schema. `permits` has one permit for each action. They are used up: the actions are on record,
    /// and the record of the call has the outcome.
    ///
    /// # Errors
    ///
    /// The first action for which there is no permit.
    pub fn new(
        name: String,
        arguments: String,
        needs: &[String],
        permits: Vec<Permit<ActionAsk>>,
    ) -> Result<Self, String> {
        let has = |need: &&String| permits.iter().any(|permit| permit.ask().action == **need);
        if let Some(missing) = needs.iter().find(|need| !has(need)) {
            return Err(missing.clone());
        }
        for permit in permits {
            permit.record_done("taken").map_err(|denied| denied.to_string())?;
        }
        Ok(Self { name, arguments })
    }

    /// The plugin's own name for the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its arguments: a JSON object.
    pub fn arguments(&self) -> &String {
        &self.arguments
    }
}

/// Arguments as a record may have them: bounded, and without secrets.
fn told(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) => {
            let text = portcullis_sanitize::line(text, MAX_VALUE);
            portcullis_audit::without_secrets(&text).into()
        }
        Value::Array(_) | Value::Object(_) if depth == 4 => "…".into(),
        Value::Array(items) => items.iter().take(20).map(|item| told(item, depth + 1)).collect(),
        Value::Object(map) => {
            let one = |(name, value): (&String, &Value)| {
                let shown = if portcullis_audit::is_secret_name(name) {
                    "***".into()
                } else {
                    told(value, depth + 1)
                };
                (portcullis_sanitize::line(name, 80), shown)
            };
            map.iter().take(50).map(one).collect::<serde_json::Map<_, _>>().into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

impl Ask for ActionAsk {
    type Grant = ActionsGrant;
    const CAPABILITY: Capability = Capability::Actions;

    fn grant(grants: &Grants) -> Option<&ActionsGrant> {
        grants.actions.as_ref()
    }

    fn is_within(&self, grant: &ActionsGrant) -> bool {
        grant.allow.contains(&self.action)
    }

    fn subject(&self) -> String {
        format!("take the action {}: {}", portcullis_sanitize::line(&self.action, 80), self.doing)
    }

    fn remedy(&self, granted: Option<&ActionsGrant>) -> String {
        let there = granted.into_iter().flat_map(|granted| granted.allow.iter());
        format!("allow = {}", listed(there, &portcullis_sanitize::line(&self.action, 80)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_actions_are_within() {
        let grant: ActionsGrant = toml::from_str("allow = [\"editor-write\"]").unwrap();
        let ask = |action| ActionAsk::of(action, "tool", &Value::Null);
        assert!(ask("editor-write").is_within(&grant));
        assert!(!ask("editor-console").is_within(&grant));
        assert!(toml::from_str::<ActionsGrant>("allow = []").is_err());
    }

    #[test]
    fn the_record_says_what_is_to_be_done_and_no_secret() {
        let arguments = serde_json::json!({
            "command": "open 10.0.0.1?Password=abc\u{1b}[2J\nquit",
            "apiKey": "abc",
            "options": {"token": "abc", "deep": {"er": {"and": {"deeper": {"x": "abc"}}}}},
            "text": "long ".repeat(1000),
            "times": 3,
        });
        let subject = ActionAsk::of("console", "run", &arguments).subject();
        assert!(
            subject.starts_with(
                "take the action console: run \
                 {\"command\":\"open 10.0.0.1?Password=*** quit\",\"apiKey\":\"***\",\
                 \"options\":{\"token\":\"***\",\"deep\":{\"er\":{\"and\":\"…\"}}},"
            ),
            "{subject}"
        );
        assert!(!subject.contains("abc") && subject.len() < 1000, "{subject}");
    }
}
