//! Translates the entry of one server from the keys of MCP clients into those of `[upstreams.NAME]`.
//!
//! The keys are those of the clients' documentation, which `host/client-setup/src/clients.rs` names: `command` (goose:
//! `cmd`), `args`, `env` (goose: `envs`), `cwd`, `url` (Gemini CLI: `httpUrl`, Windsurf: `serverUrl`, goose: `uri`),
//! `headers` (Codex: `http_headers`), `type` or `transport`, and `disabled` or `enabled`.

use std::path::Path;

use portcullis_core::config::edit::UpstreamKeys;
use serde_json::{Map, Value, json};

/// A translated server.
#[derive(Debug, Default)]
pub(super) struct Translated {
    /// The keys of `[upstreams.NAME]`, without secrets.
    pub(super) keys: UpstreamKeys,
    /// Secrets: the table, the key in it, and the value.
    pub(super) secrets: Vec<(&'static str, String, String)>,
    /// Remarks for the operator, such as the keys that are not translated.
    pub(super) remarks: Vec<String>,
}

/// Keys that tell a client how to show or use a server. They are left out without a remark.
const CLIENT_KEYS: [&str; 4] = ["name", "display_name", "description", "bundled"];

/// Words in the names of values that are secrets.
const SECRET_WORDS: [&str; 8] =
    ["token", "secret", "password", "passwd", "authorization", "key", "credential", "cookie"];

/// Beginnings of tokens of well-known services.
const TOKEN_PREFIXES: [&str; 8] =
    ["sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "Bearer "];

/// Translates an entry. Unknown keys are left out, with a remark. A value of a known key that cannot be translated is
/// an error, because a server without a value that it needs would fail in a way that is hard to understand.
///
/// # Errors
///
/// The reason why the entry cannot be translated.
pub(super) fn translate(entry: &Value) -> Result<Translated, String> {
    let entry = entry.as_object().ok_or("it is not an object")?;
    let mut server = Translated::default();
    let mut rest = entry.clone();
    let mut take = |names: &[&str]| names.iter().find_map(|name| rest.shift_remove(*name));
    let command = take(&["command", "cmd"]);
    let url = take(&["url", "httpUrl", "serverUrl", "uri"]);
    let (args, env) = (take(&["args"]), take(&["env", "envs"]));
    let (cwd, headers) = (take(&["cwd"]), take(&["headers", "http_headers"]));
    let kind = take(&["type", "transport"]);
    let (disabled, enabled) = (take(&["disabled"]), take(&["enabled"]));
    match (command, url) {
        (Some(Value::Object(inner)), _) => {
            // In Zed's earlier form, `command` is an object with `path` and `args`.
            let path = inner.get("path").cloned().unwrap_or_default();
            server.set_program(&path, args.as_ref().or(inner.get("args")))?;
        }
        (Some(command), _) => server.set_program(&command, args.as_ref())?,
        (None, Some(url)) => {
            let url = replace_variables(text(&url, "url")?)?;
            server.keys.insert("url".into(), url.into());
        }
        (None, None) => return Err("it has neither a `command` nor a `url`".into()),
    }
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_null()) {
        let cwd = replace_variables(text(&cwd, "cwd")?)?;
        if !Path::new(&cwd).is_absolute() && !cwd.starts_with("~/") {
            return Err(format!("its `cwd` is relative: {cwd}"));
        }
        server.keys.insert("cwd".into(), cwd.into());
    }
    server.add_values("env", env)?;
    server.add_values("headers", headers)?;
    server.set_transport(kind.as_ref())?;
    if disabled == Some(json!(true)) || enabled == Some(json!(false)) {
        server.keys.insert("enabled".into(), json!(false));
    }
    let others: Vec<_> = rest
        .iter()
        .filter(|(key, value)| !CLIENT_KEYS.contains(&key.as_str()) && !is_nothing(value))
        .map(|(key, _)| format!("`{key}`"))
        .collect();
    if !others.is_empty() {
        server.remarks.push(format!("not translated: {}", others.join(", ")));
    }
    Ok(server)
}

impl Translated {
    fn set_program(&mut self, command: &Value, args: Option<&Value>) -> Result<(), String> {
        let command = replace_variables(text(command, "command")?)?;
        if command.starts_with('.') {
            return Err(format!("its program is a relative path: {command}"));
        }
        self.keys.insert("command".into(), command.into());
        let args = args.and_then(Value::as_array).into_iter().flatten();
        let args = args
            .map(|arg| replace_variables(text(arg, "args")?))
            .collect::<Result<Vec<_>, String>>()?;
        if args.iter().any(|arg| is_secret("", arg) || has_secret_option(arg)) {
            self.remarks.push(
                "an argument looks like a secret, and other programs can read arguments: pass the secret in `env` if \
                 the server can read it there"
                    .into(),
            );
        }
        if !args.is_empty() {
            self.keys.insert("args".into(), json!(args));
        }
        Ok(())
    }

    /// Adds the values of `env` or `headers`: references, secrets, and plain text.
    fn add_values(&mut self, table: &'static str, values: Option<Value>) -> Result<(), String> {
        let Some(Value::Object(values)) = values else { return Ok(()) };
        let mut plain = Map::new();
        for (key, value) in values {
            let value = match &value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    return Err(format!("`{table}.{key}` is not a string"));
                }
            };
            if let Some(name) = variable(&value) {
                plain.insert(key, json!({ "env": check_set(name)? }));
            } else if let Some(name) = value.strip_prefix("Bearer ").and_then(variable) {
                plain.insert(key, json!({ "bearer-env": check_set(name)? }));
            } else {
                let value = replace_variables(&value)?;
                if is_secret(&key, &value) {
                    self.secrets.push((table, key, value));
                } else {
                    plain.insert(key, value.into());
                }
            }
        }
        if !plain.is_empty() {
            self.keys.insert(table.into(), plain.into());
        }
        Ok(())
    }

    fn set_transport(&mut self, kind: Option<&Value>) -> Result<(), String> {
        let is_program = self.keys.contains_key("command");
        let transport = match kind.and_then(Value::as_str) {
            None | Some("stdio") => return Ok(()),
            Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => "http",
            Some("sse") => "sse",
            Some(other) => return Err(format!("its `type` `{other}` is not supported")),
        };
        if is_program {
            return Err(format!("it has a `command`, and its `type` is `{transport}`"));
        }
        self.keys.insert("transport".into(), transport.into());
        Ok(())
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| format!("`{key}` is not a string"))
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The environment variable to which a whole value refers: `${env:NAME}` (VS Code, Cursor, Windsurf), `${NAME}` (Claude
/// Code) or `$NAME` (Gemini CLI).
fn variable(value: &str) -> Option<&str> {
    let inner = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let name = match inner {
        Some(inner) => inner.strip_prefix("env:").unwrap_or(inner),
        None => value.strip_prefix('$')?,
    };
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    // Names with lower-case letters, such as `${workspaceFolder}`, are variables of clients.
    let is_name = !name.is_empty() && name.bytes().all(fits);
    let is_explicit = value.starts_with("${env:");
    (is_name && (is_explicit || !name.bytes().any(|byte| byte.is_ascii_lowercase())))
        .then_some(name)
}

/// Returns the name of a variable if the variable is set. The host reads the variable with its configuration.
#[expect(
    clippy::disallowed_methods,
    reason = "the configuration would be refused without the variable"
)]
fn check_set(name: &str) -> Result<&str, String> {
    match std::env::var_os(name) {
        Some(_) => Ok(name),
        None => Err(format!(
            "it takes a value from the environment variable {name}, which is not set here: set it for portcullis too, and \
             run the command again"
        )),
    }
}

/// Replaces the variables whose values do not depend on the client. Any other variable is an error.
fn replace_variables(text: &str) -> Result<String, String> {
    let home = std::env::home_dir().map(|home| home.display().to_string()).unwrap_or_default();
    let text = text
        .replace("${userHome}", &home)
        .replace("${env:HOME}", &home)
        .replace("${pathSeparator}", std::path::MAIN_SEPARATOR_STR)
        .replace("${/}", std::path::MAIN_SEPARATOR_STR);
    let Some((_, rest)) = text.split_once("${") else { return Ok(text) };
    let name = rest.split('}').next().unwrap_or_default();
    Err(match name.strip_prefix("input:") {
        Some(input) => format!(
            "its client asks the user for `{input}`: write the value into the file instead of ${{{name}}}, and run the command again"
        ),
        None => format!(
            "it has `${{{name}}}`, which only its client can replace: write the value into the file"
        ),
    })
}

fn is_secret(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let is_named = SECRET_WORDS.iter().any(|word| key.contains(word));
    // Shorter values do not count as secrets, because they could not be removed from answers.
    value.len() >= 8 && (is_named || TOKEN_PREFIXES.iter().any(|token| value.starts_with(token)))
}

/// Whether an argument is an option with a secret: `--api-key=…`.
fn has_secret_option(argument: &str) -> bool {
    argument
        .split_once('=')
        .is_some_and(|(option, value)| option.starts_with('-') && is_secret(option, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_addresses_are_translated() {
        for (entry, expected) in [
            (
                json!({ "type": "stdio", "command": "npx", "args": ["-y", "a"], "env": { "MODE": "fast", "N": 1 } }),
                json!({ "command": "npx", "args": ["-y", "a"], "env": { "MODE": "fast", "N": "1" } }),
            ),
            (
                json!({ "command": "a", "args": ["b${pathSeparator}c${/}d"] }),
                json!({ "command": "a", "args": [Vec::from(["b", "c", "d"]).join(std::path::MAIN_SEPARATOR_STR)] }),
            ),
            (
                json!({ "cmd": "uvx", "args": [], "envs": {}, "enabled": false }),
                json!({ "command": "uvx", "enabled": false }),
            ),
            (
                json!({ "command": { "path": "/a", "args": ["b"] } }),
                json!({ "command": "/a", "args": ["b"] }),
            ),
            (
                json!({ "type": "sse", "url": "https://h/sse" }),
                json!({ "url": "https://h/sse", "transport": "sse" }),
            ),
            (
                json!({ "httpUrl": "https://h/mcp", "type": "streamable-http" }),
                json!({ "url": "https://h/mcp", "transport": "http" }),
            ),
            (
                json!({ "serverUrl": "https://h/mcp", "disabled": true }),
                json!({ "url": "https://h/mcp", "enabled": false }),
            ),
            (
                json!({ "command": "a", "env": { "P": "${env:PATH}", "Q": "$PATH", "R": "${PATH}" } }),
                json!({ "command": "a", "env": { "P": { "env": "PATH" }, "Q": { "env": "PATH" }, "R": { "env": "PATH" } } }),
            ),
            (
                json!({ "url": "https://h", "headers": { "Authorization": "Bearer ${env:PATH}" } }),
                json!({ "url": "https://h", "headers": { "Authorization": { "bearer-env": "PATH" } } }),
            ),
        ] {
            let found = translate(&entry).unwrap_or_else(|why| panic!("{entry}: {why}"));
            assert_eq!(Value::Object(found.keys), expected, "{entry}");
            assert!(
                found.secrets.is_empty() && found.remarks.is_empty(),
                "{entry}: {:?}",
                found.remarks
            );
        }
    }

    #[test]
    fn secrets_are_separated_and_untranslated_keys_are_named() {
        let entry = json!({
            "command": "a", "args": ["--api-key=0123456789"], "timeout": 5, "description": "b", "alwaysAllow": [],
            "env": { "GITHUB_TOKEN": "0123456789", "MODE": "ghp_0123456789", "KEY_ID": "short" },
        });
        let found = translate(&entry).unwrap();
        let names: Vec<_> =
            found.secrets.iter().map(|(table, key, _)| format!("{table}.{key}")).collect();
        assert_eq!(names, ["env.GITHUB_TOKEN", "env.MODE"]);
        assert_eq!(found.keys["env"], json!({ "KEY_ID": "short" }));
        assert_eq!(found.remarks.len(), 2, "{:?}", found.remarks);
        assert!(
            found.remarks[1].contains("`timeout`") && !found.remarks[1].contains("alwaysAllow")
        );
    }

    #[test]
    fn entries_that_cannot_be_translated_are_refused_with_the_reason() {
        for (entry, expected) in [
            (json!([]), "not an object"),
            (json!({}), "neither"),
            (json!({ "command": 1 }), "`command` is not a string"),
            (json!({ "command": "./a" }), "relative path"),
            (json!({ "command": "a", "cwd": "b" }), "`cwd` is relative"),
            (json!({ "command": "a", "type": "http" }), "`command`, and its `type`"),
            (json!({ "url": "https://h", "type": "ws" }), "`ws`"),
            (json!({ "command": "a", "args": ["${workspaceFolder}/b"] }), "${workspaceFolder}"),
            (json!({ "command": "a", "env": { "A": "${input:key}" } }), "asks the user for `key`"),
            (
                json!({ "command": "a", "env": { "A": "${env:PORTCULLIS_TEST_NONE}" } }),
                "PORTCULLIS_TEST_NONE, which is not set",
            ),
            (json!({ "command": "a", "env": { "A": [] } }), "`env.A` is not a string"),
        ] {
            let why = translate(&entry).unwrap_err();
            assert!(why.contains(expected), "{entry}: {why}");
        }
    }
}
