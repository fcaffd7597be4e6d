//! The configuration of an upstream server, `[upstreams.NAME]`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::io;

use portcullis_egress::Secret;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::policy::Policies;
use super::{CommandLineServer, Sharing, ToolConfig};

/// The section of one upstream server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct Config {
    /// Whether the server is used. `None` means true.
    pub enabled: Option<bool>,
    /// The prefix of the names of the server's tools and prompts, followed by `_`.
    pub prefix: Option<String>,
    /// Tools that clients do not see.
    pub tools_off: Vec<String>,
    /// Which sessions share a connection to the server, and the process of its program.
    pub share: Sharing,
    /// The policies for tools, by the server's names for them.
    pub tools: BTreeMap<String, ToolConfig>,
    /// The program that is started, or the URL that is connected to.
    pub definition: portcullis_mcp_client::Definition,
    /// The server as it was given on the command line. `None`: it is from the configuration file, where names are
    /// unique.
    pub typed: Option<CommandLineServer>,
}

/// The definition of an upstream server is invalid.
#[derive(Debug, thiserror::Error)]
pub enum InvalidServer {
    /// The command line names no server.
    #[error("no server is given: give a program or an address")]
    Empty,
    /// The command line has arguments or variables for an address.
    #[error("an address takes neither arguments nor variables")]
    AddressWithArguments,
    /// The path of the program cannot be made absolute.
    #[error("{path}: {cause}")]
    Path {
        /// The path.
        path: String,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// A secret cannot be read.
    #[error("`{key}`: {cause}")]
    Secret {
        /// The key whose value refers to the secret.
        key: String,
        /// The cause, which contains no secret.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A key is unknown or has a wrong value. The parser's whole error is not shown: its text may contain secrets.
    #[error("{}", .0.message())]
    Keys(toml::de::Error),
}

/// The keys about how Portcullis offers the tools of a server.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct OfferKeys {
    /// Whether the server is used.
    #[schemars(extend("default" = true))]
    enabled: Option<bool>,
    /// The prefix of the names of all the server's tools and prompts, followed by `_`. Default: none; only a tool or
    /// prompt whose name another source has gets a prefix, the server's name in this file.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    prefix: Option<String>,
    /// Tools of the server that clients can neither see nor call, by the server's own names for them.
    #[serde(default)]
    tools_off: Vec<String>,
    /// Which sessions share a connection to the server and, for a `command`, its process. MCP 2026-07-28 has no
    /// sessions over HTTP: all requests of one caller then count as one session.
    #[serde(default)]
    #[schemars(extend("default" = "session"))]
    share: Sharing,
    /// Policies for single tools, by the server's names for them.
    #[serde(default)]
    tools: BTreeMap<String, ToolConfig>,
}

/// The keys of a definition whose values may refer to secrets.
const KEYS_WITH_SECRETS: [&str; 2] = ["env", "headers"];

/// The schema of the table that [`Config::try_from`] reads: the keys of `OfferKeys` and the keys of a definition.
impl JsonSchema for Config {
    fn schema_name() -> Cow<'static, str> {
        "Upstream".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = OfferKeys::json_schema(generator);
        let definition = portcullis_mcp_client::Definition::json_schema(generator);
        let value = json_schema!({
            "anyOf": [{ "type": "string" }, generator.subschema_for::<Secret>()],
        });
        schema.insert("additionalProperties".into(), false.into());
        schema.insert("description".into(), "Another MCP server.".into());
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        if let (Some(into), Some(Value::Object(from))) = (properties, definition.get("properties"))
        {
            into.extend(from.clone());
            for key in KEYS_WITH_SECRETS {
                into[key]["additionalProperties"] = value.clone().into();
            }
        }
        schema
    }
}

impl TryFrom<toml::Table> for Config {
    type Error = InvalidServer;

    /// Keys that are not in `OfferKeys` belong to the definition. Values of `env` and `headers` may refer to
    /// secrets: `{ env = "NAME" }` or `{ file = "PATH" }`.
    fn try_from(mut table: toml::Table) -> Result<Self, InvalidServer> {
        let mut offered = toml::Table::new();
        for key in ["enabled", "prefix", "tools-off", "share", "tools"] {
            offered.extend(table.remove(key).map(|value| (key.to_owned(), value)));
        }
        for key in KEYS_WITH_SECRETS {
            let Some(values) = table.get_mut(key).and_then(toml::Value::as_table_mut) else {
                continue;
            };
            for (name, value) in values.iter_mut().filter(|(_, value)| value.is_table()) {
                let invalid = |cause: Box<dyn Error + Send + Sync>| InvalidServer::Secret {
                    key: format!("{key}.{name}"),
                    cause,
                };
                let secret: Secret = value
                    .clone()
                    .try_into()
                    .map_err(|error: toml::de::Error| invalid(error.into()))?;
                *value = secret.read().map_err(|error| invalid(error.into()))?.into();
            }
        }
        let OfferKeys { enabled, prefix, tools_off, share, tools } =
            offered.try_into().map_err(InvalidServer::Keys)?;
        let definition = table.try_into().map_err(InvalidServer::Keys)?;
        Ok(Self { enabled, prefix, tools_off, share, tools, definition, typed: None })
    }
}

impl Config {
    /// Checks the definition of the server and the policies for its tools, without starting or reaching the server.
    ///
    /// # Errors
    ///
    /// The first key or value that is wrong, and why.
    pub(crate) fn check(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.definition.check()?;
        Ok(Policies::new(&self.tools).map(drop)?)
    }

    /// A server of the command line: a program with its arguments, or a URL. `variables` are the names of
    /// environment variables that are passed to the program.
    ///
    /// # Errors
    ///
    /// The command line names no server, a URL has arguments or variables, a path has no absolute form, or a
    /// variable is not set: [`InvalidServer`].
    pub fn typed(server: &[String], variables: &[String]) -> Result<Self, InvalidServer> {
        let (first, rest) = server.split_first().ok_or(InvalidServer::Empty)?;
        let mut table = toml::Table::new();
        if first.starts_with("http://") || first.starts_with("https://") {
            if !rest.is_empty() || !variables.is_empty() {
                return Err(InvalidServer::AddressWithArguments);
            }
            table.insert("url".into(), first.as_str().into());
        } else {
            table.insert("command".into(), program(first)?.into());
            table.insert("args".into(), rest.to_vec().into());
            let secret = |name: &String| {
                let from = toml::Table::from_iter([("env".to_owned(), name.as_str().into())]);
                (name.clone(), toml::Value::from(from))
            };
            let variables: toml::Table = variables.iter().map(secret).collect();
            table.insert("env".into(), variables.into());
        }
        let identity = table.iter().filter(|(key, _)| *key != "env").collect::<Vec<_>>();
        let identity = portcullis_checked_files::digest(format!("{identity:?}").as_bytes());
        let (server, variables) = (server.to_vec(), variables.to_vec());
        let typed = CommandLineServer { digest: identity, server, variables };
        Ok(Self { typed: Some(typed), ..Self::try_from(table)? })
    }
}

/// The program for a definition. A path is made absolute, starting from the working directory.
fn program(typed: &str) -> Result<String, InvalidServer> {
    if !typed.contains('/') {
        return Ok(typed.to_owned());
    }
    let path = std::path::absolute(typed)
        .map_err(|cause| InvalidServer::Path { path: typed.to_owned(), cause })?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(server: &[&str], variables: &[&str]) -> Result<Config, InvalidServer> {
        let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        Config::typed(&own(server), &own(variables))
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let program = typed(&["node", "server.js"], &["PATH"]).unwrap().definition;
        assert_eq!(program.command.unwrap().to_str(), Some("node"));
        assert_eq!(program.args, ["server.js"]);
        assert!(!program.env["PATH"].reveal().is_empty());
        let address = typed(&["https://a.example/mcp"], &[]).unwrap().definition;
        assert_eq!(address.url.as_deref(), Some("https://a.example/mcp"));
        let relative = typed(&["./server"], &[]).unwrap().definition.command.unwrap();
        assert!(relative.is_absolute(), "{}", relative.display());
        let key = |server: &[&str], variables: &[&str]| {
            typed(server, variables).unwrap().typed.unwrap().digest
        };
        assert_eq!(key(&["node", "a"], &[]), key(&["node", "a"], &["PATH"]));
        assert_ne!(key(&["node", "a"], &[]), key(&["node", "b"], &[]));
        assert!(typed(&["https://a.example", "more"], &[]).is_err());
        assert!(typed(&["node"], &["PORTCULLIS_TEST_NO_SUCH_VARIABLE"]).is_err());
        assert!(typed(&[], &[]).is_err());
    }
}
