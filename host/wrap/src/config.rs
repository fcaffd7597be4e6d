//! What an operator writes about another server, under `[upstreams.NAME]`.

use portcullis_outgoing::Secret;
use serde::Deserialize;

/// What the operator says of another MCP server.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct Config {
    /// Whether it is used; it is unless this is false.
    pub enabled: Option<bool>,
    /// What is put before the names of its tools and prompts, with `_` between.
    pub prefix: Option<String>,
    /// Tools of it that no client sees.
    pub tools_off: Vec<String>,
    /// How it is started or reached.
    pub definition: portcullis_upstream::Definition,
}

impl TryFrom<toml::Table> for Config {
    type Error = String;

    /// What is not about how it is used is about how it is reached. Values of `env` and `headers` may
    /// be secrets, `{ env = "NAME" }` or `{ file = "PATH" }`, as those of plugins' requests.
    fn try_from(mut table: toml::Table) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        struct Own {
            enabled: Option<bool>,
            prefix: Option<String>,
            #[serde(default)]
            tools_off: Vec<String>,
        }
        let mut own = toml::Table::new();
        for key in ["enabled", "prefix", "tools-off"] {
            own.extend(table.remove(key).map(|value| (key.to_owned(), value)));
        }
        for key in ["env", "headers"] {
            let Some(values) = table.get_mut(key).and_then(toml::Value::as_table_mut) else {
                continue;
            };
            for (name, value) in values.iter_mut().filter(|(_, value)| value.is_table()) {
                let secret: Secret =
                    value.clone().try_into().map_err(|error| format!("`{key}.{name}`: {error}"))?;
                *value = secret.read().map_err(|error| format!("`{key}.{name}`: {error}"))?.into();
            }
        }
        let Own { enabled, prefix, tools_off } =
            own.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let definition =
            table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        Ok(Self { enabled, prefix, tools_off, definition })
    }
}
