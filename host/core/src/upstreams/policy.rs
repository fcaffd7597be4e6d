//! The operator's policies for single tools of an upstream server: how clients see a tool, and which arguments a
//! call may have.

use std::collections::BTreeMap;

use portcullis_mcp_client::UpstreamTool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::schema::{Schema, SchemaError};

/// The policy for one tool. The last part of the table's name is the server's own name for the tool.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ToolConfig {
    /// The name of the tool for clients. Default: the server's name for it.
    #[schemars(regex(pattern = "^[A-Za-z0-9_.-]{1,128}$"))]
    pub name: Option<String>,
    /// The description of the tool for clients. Default: the server's description.
    pub description: Option<String>,
    /// Arguments that each call has, whatever the client sends. Clients do not see them.
    #[serde(default)]
    pub fixed: Map<String, Value>,
    /// Arguments that a call has if the client leaves them out.
    #[serde(default)]
    pub defaults: Map<String, Value>,
    /// A JSON Schema: arguments that do not match it are refused. The check includes the values of `defaults`, and
    /// leaves out the arguments in `fixed`. Default: all arguments are accepted.
    pub allow: Option<Map<String, Value>>,
    /// A JSON Schema: arguments that match it are refused. Default: no arguments are refused.
    pub deny: Option<Map<String, Value>>,
    /// Whether the user has to agree to each call. A client that cannot ask its user cannot call the tool.
    #[serde(default)]
    pub consent: bool,
}

/// A policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidPolicy {
    /// A name that some clients would reject.
    #[error("`tools.{0}.name` is not made of 1 to 128 letters, digits, `_`, `.` and `-`")]
    Name(String),
    /// A schema is invalid.
    #[error("`tools.{tool}.{key}` is not a JSON Schema")]
    Schema {
        /// The server's name for the tool.
        tool: String,
        /// `allow` or `deny`.
        key: &'static str,
        /// What is wrong with the schema.
        #[source]
        cause: SchemaError,
    },
}

/// Why the arguments of a call are refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the operator does not allow these arguments: {0}")]
    NotAllowed(String),
    #[error("the operator does not allow these arguments")]
    Denied,
}

/// The policies of one server's tools, checked.
#[derive(Default)]
pub(crate) struct Policies(BTreeMap<String, ToolPolicy>);

/// The policy of one tool.
pub(crate) struct ToolPolicy {
    config: ToolConfig,
    allow: Option<Schema>,
    deny: Option<Schema>,
}

impl Policies {
    /// The policies, by the server's names for its tools.
    ///
    /// # Errors
    ///
    /// A name or a JSON Schema in a policy is invalid: [`InvalidPolicy`].
    pub(crate) fn new(all: &BTreeMap<String, ToolConfig>) -> Result<Self, InvalidPolicy> {
        let checked = |(tool, config): (&String, &ToolConfig)| {
            let is_legal = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            let name = config.name.as_deref().unwrap_or("a");
            if !(1..=128).contains(&name.len()) || !name.chars().all(is_legal) {
                return Err(InvalidPolicy::Name(tool.clone()));
            }
            let schema = |key, schema: Option<&Map<String, Value>>| {
                let text = schema.map(|schema| Value::Object(schema.clone()).to_string());
                let parsed = text.as_deref().map(Schema::parse).transpose();
                parsed.map_err(|cause| InvalidPolicy::Schema { tool: tool.clone(), key, cause })
            };
            let allow = schema("allow", config.allow.as_ref())?;
            let deny = schema("deny", config.deny.as_ref())?;
            Ok((tool.clone(), ToolPolicy { config: config.clone(), allow, deny }))
        };
        all.iter().map(checked).collect::<Result<_, _>>().map(Self)
    }

    /// The policy for a tool. `None`: the operator set none.
    pub(crate) fn of(&self, tool: &UpstreamTool) -> Option<&ToolPolicy> {
        self.0.get(&tool.wire_name)
    }

    /// A tool as clients see it.
    pub(crate) fn presented(&self, tool: &UpstreamTool) -> UpstreamTool {
        let mut tool = tool.clone();
        if let Some(policy) = self.0.get(&tool.wire_name) {
            policy.present(&mut tool);
        }
        tool
    }

    /// The tools that have a policy, by the server's names for them.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl ToolPolicy {
    fn present(&self, tool: &mut UpstreamTool) {
        let ToolConfig { name, description, fixed, defaults, .. } = &self.config;
        if let Some(name) = name {
            tool.name.clone_from(name);
            tool.definition.insert("name".to_owned(), name.as_str().into());
        }
        if let Some(description) = description {
            tool.definition.insert("description".to_owned(), description.as_str().into());
        }
        let Some(Value::Object(schema)) = tool.definition.get_mut("inputSchema") else { return };
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            let is_given = |name: &str| fixed.contains_key(name) || defaults.contains_key(name);
            required.retain(|name| !name.as_str().is_some_and(is_given));
        }
        let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
        properties.retain(|name, _| !fixed.contains_key(name));
        for (name, default) in defaults {
            if let Some(Value::Object(property)) = properties.get_mut(name) {
                property.insert("default".to_owned(), default.clone());
            }
        }
    }

    /// Whether the user has to agree to each call.
    pub(crate) fn wants_consent(&self) -> bool {
        self.config.consent
    }

    /// The arguments for the server: with the defaults, and with the fixed arguments in place of the client's.
    pub(crate) fn apply(&self, arguments: &Value) -> Result<Value, Refusal> {
        let ToolConfig { fixed, defaults, .. } = &self.config;
        let mut arguments = arguments.clone();
        if let Some(given) = arguments.as_object_mut() {
            given.retain(|name, _| !fixed.contains_key(name));
            for (name, default) in defaults {
                given.entry(name.as_str()).or_insert_with(|| default.clone());
            }
        }
        if let Some(Err(faults)) = self.allow.as_ref().map(|schema| schema.check(&arguments)) {
            return Err(Refusal::NotAllowed(faults.to_string()));
        }
        if self.deny.as_ref().is_some_and(|schema| schema.check(&arguments).is_ok()) {
            return Err(Refusal::Denied);
        }
        if let Some(given) = arguments.as_object_mut() {
            given.extend(fixed.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(text: &str) -> Result<Policies, InvalidPolicy> {
        let config: ToolConfig = toml::from_str(text).expect("a policy");
        Policies::new(&BTreeMap::from([("query".to_owned(), config)]))
    }

    #[test]
    fn arguments_are_fixed_filled_in_and_refused() {
        let text = "fixed = { db = 'test' }\ndefaults = { limit = 10 }\n\
                    allow = { properties = { limit = { maximum = 100 } } }\n\
                    deny = { required = ['sql'], properties = { sql = { pattern = '(?i)drop' } } }\n";
        let all = policy(text).unwrap();
        let policy = &all.0["query"];
        let apply =
            |arguments: Value| policy.apply(&arguments).map_err(|refusal| refusal.to_string());
        let expected = json!({"db": "test", "limit": 10, "sql": "select"});
        assert_eq!(apply(json!({"sql": "select", "db": "live"})).unwrap(), expected);
        assert!(apply(json!({"limit": 1000})).unwrap_err().contains("does not allow"));
        assert!(apply(json!({"sql": "DROP TABLE"})).is_err());
    }

    #[test]
    fn an_invalid_policy_is_refused_at_load() {
        assert!(matches!(policy("name = 'a b'"), Err(InvalidPolicy::Name(_))));
        let invalid = policy("allow = { type = 'nonsense' }");
        assert!(matches!(invalid, Err(InvalidPolicy::Schema { key: "allow", .. })));
    }
}
