//! Which actions can be granted, and whether a grant holds an ask.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::capabilities::{Capability, Grants, Named, listed};
use crate::gate::Ask;

/// Which actions are granted, by the plugin's own names for them.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionsGrant {
    /// The names of the actions, as the plugin's manifest has them.
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

/// The input of one tool call. Permits are asked for with it, and are good for no other call.
#[derive(Debug)]
pub struct ToolInput {
    name: String,
    /// A JSON object.
    arguments: Arc<Value>,
    /// The same as JSON text.
    text: String,
}

impl ToolInput {
    /// A call of the tool that the plugin calls `name`; `arguments` are a JSON object.
    pub fn new(name: &str, arguments: Arc<Value>) -> Arc<Self> {
        let text = arguments.to_string();
        Arc::new(Self { name: name.to_owned(), arguments, text })
    }

    /// The plugin's own name for the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments as JSON text.
    pub fn text(&self) -> &String {
        &self.text
    }
}

/// One action.
#[derive(Debug)]
pub struct ActionAsk {
    pub(super) action: String,
    input: Arc<ToolInput>,
    /// What is to be done, for the record.
    doing: String,
}

impl ActionAsk {
    /// An action that a tool needs for a call with this input.
    pub fn of(action: &str, input: &Arc<ToolInput>) -> Self {
        let arguments = told(&input.arguments, 0).to_string();
        let doing = format!("{} {}", input.name, portcullis_sanitize::line(&arguments, MAX_DOING));
        Self { action: action.to_owned(), input: input.clone(), doing }
    }

    /// Whether this action belongs to a call with this input.
    pub(super) fn is_of(&self, input: &Arc<ToolInput>) -> bool {
        Arc::ptr_eq(&self.input, input)
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
