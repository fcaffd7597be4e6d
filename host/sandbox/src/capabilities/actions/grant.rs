//! The grant of actions, and the check whether it covers an ask.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::capabilities::short_form::{self, Form, InvalidValue, ShortForms, Table};
use crate::capabilities::{Capability, Grants, InvalidWant, Named, listed};
use crate::gate::Ask;

/// The granted actions, by the plugin's own names.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionsGrant {
    /// The names of the actions, as the plugin's manifest has them.
    allow: Named<String>,
}

impl ActionsGrant {
    /// The names of the actions.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.allow.iter()
    }
}

impl fmt::Display for ActionsGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "take the actions {}", self.allow)
    }
}

impl ShortForms for ActionsGrant {
    const FORMS: &'static [Form] = &[("edit,save", "take the actions of these names")];

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        short_form::separated(text)
    }

    fn values(&self) -> Vec<String> {
        self.allow.iter().cloned().collect()
    }

    fn words(value: &str) -> String {
        format!("take the action {value}")
    }

    fn add(table: &mut Table, values: &[String]) {
        short_form::add_texts(table, "allow", values);
    }

    fn remove(table: &mut Table, values: &[String]) {
        short_form::remove_texts(table, "allow", values);
    }

    fn may_be_used_by(value: &str, subject: &str) -> bool {
        // `subject` cleans and shortens the name in the same way.
        let value = portcullis_sanitize::line(value, 80);
        subject
            .strip_prefix("take the action ")
            .is_none_or(|rest| rest.strip_prefix(&value).is_some_and(|rest| rest.starts_with(':')))
    }
}

/// Adds a want of the manifest to the plugin's wants.
pub(super) fn want(wants: &mut Option<ActionsGrant>, target: &str) -> Result<(), InvalidWant> {
    if target.is_empty() {
        return Err(InvalidWant::Unexpected("the target must be the name of an action"));
    }
    let allow = Named::add(wants.take().map(|wants| wants.allow), target.to_owned());
    *wants = Some(ActionsGrant { allow });
    Ok(())
}

/// Maximum length of a call's arguments in a record, in characters.
const MAX_ARGUMENTS_CHARS: usize = 800;
/// Maximum length of each text in these arguments, in characters.
const MAX_TEXT_CHARS: usize = 200;

/// The input of one tool call. A permit that is asked for with this input is valid for no other call.
#[derive(Debug)]
pub struct ToolInput {
    name: String,
    /// A JSON object.
    arguments: Arc<Value>,
    /// The arguments as JSON text.
    text: String,
}

impl ToolInput {
    /// The input of a call: the plugin's own name for the tool, and the arguments, a JSON object.
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

/// An ask to take one action.
#[derive(Debug)]
pub struct ActionAsk {
    pub(super) action: String,
    input: Arc<ToolInput>,
    /// The tool with its arguments, for the record.
    call_text: String,
}

impl ActionAsk {
    /// The ask for an action that a tool needs for a call with this input.
    pub fn of(action: &str, input: &Arc<ToolInput>) -> Self {
        let arguments = redacted(&input.arguments, 0).to_string();
        let call_text = format!(
            "{} {}",
            input.name,
            portcullis_sanitize::line(&arguments, MAX_ARGUMENTS_CHARS)
        );
        Self { action: action.to_owned(), input: input.clone(), call_text }
    }

    /// Whether the ask was made with this very input. Equal inputs of other calls do not count.
    pub(super) fn is_of(&self, input: &Arc<ToolInput>) -> bool {
        Arc::ptr_eq(&self.input, input)
    }
}

/// Arguments for a record: shortened, and without secrets. `depth` is the nesting of `value` in the arguments;
/// lists and objects at depth 4 become `…`.
fn redacted(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) => {
            let text = portcullis_sanitize::line(text, MAX_TEXT_CHARS);
            portcullis_audit::without_secrets(&text).into()
        }
        Value::Array(_) | Value::Object(_) if depth == 4 => "…".into(),
        Value::Array(items) => {
            items.iter().take(20).map(|item| redacted(item, depth + 1)).collect()
        }
        Value::Object(map) => {
            let redacted_member = |(name, value): (&String, &Value)| {
                let shown = if portcullis_audit::is_secret_name(name) {
                    "***".into()
                } else {
                    redacted(value, depth + 1)
                };
                (portcullis_sanitize::line(name, 80), shown)
            };
            map.iter().take(50).map(redacted_member).collect::<serde_json::Map<_, _>>().into()
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
        format!(
            "take the action {}: {}",
            portcullis_sanitize::line(&self.action, 80),
            self.call_text
        )
    }

    fn remedy(&self, granted: Option<&ActionsGrant>) -> String {
        let present = granted.into_iter().flat_map(|granted| granted.allow.iter());
        format!("allow = {}", listed(present, &portcullis_sanitize::line(&self.action, 80)))
    }
}
