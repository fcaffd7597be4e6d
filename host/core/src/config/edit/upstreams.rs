//! Adds upstream servers to the text of `portcullis.toml`.

use serde_json::{Map, Value};
use toml_edit::DocumentMut;

use super::{CONFIGURATION, EditError, document, keys_at, unreadable};
use crate::config::Config;

/// The keys of one `[upstreams.NAME]`, as JSON.
pub type UpstreamKeys = Map<String, Value>;

/// How a server relates to a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Nothing has the server's name.
    Absent,
    /// The configuration has the server, with the same keys.
    Same,
    /// The configuration has another server of this name.
    Other,
    /// A plugin has this name.
    Plugin,
}

/// Compares a server with a configuration.
///
/// # Errors
///
/// [`EditError::Before`].
pub fn presence(text: &str, name: &str, keys: &UpstreamKeys) -> Result<Presence, EditError> {
    let config = Config::parse(text).map_err(EditError::Before)?;
    if config.plugins.contains_key(name) || crate::plugins::is_bundled(name) {
        return Ok(Presence::Plugin);
    }
    if !config.upstreams.contains_key(name) {
        return Ok(Presence::Absent);
    }
    let is_same = keys_at(text, &["upstreams", name])?.as_ref() == Some(keys);
    Ok(if is_same { Presence::Same } else { Presence::Other })
}

/// The text with more servers, each as `[upstreams.NAME]`. None of the servers may be in the text before.
///
/// # Errors
///
/// [`EditError`]. No text is returned.
pub fn add_upstreams(text: &str, servers: &[(String, UpstreamKeys)]) -> Result<String, EditError> {
    Config::parse(text).map_err(EditError::Before)?;
    let mut edited: DocumentMut = text.parse().map_err(unreadable(CONFIGURATION))?;
    for (name, keys) in servers {
        let path = ["upstreams", name.as_str()];
        let is_added = !document::has(&edited, &path);
        let changed = document::change(&mut edited, &path, &UpstreamKeys::new(), keys);
        if !is_added || changed.is_none() {
            return Err(EditError::Other);
        }
    }
    let after = edited.to_string();
    Config::parse(&after).map_err(|error| EditError::After(Box::new(error)))?;
    // Check that the edit changed nothing but these servers.
    let parsed = |text: &str| -> Result<toml::Table, EditError> {
        toml::from_str(text).map_err(unreadable(CONFIGURATION))
    };
    let mut rest = parsed(&after)?;
    for (name, _) in servers {
        super::take(&mut rest, &["upstreams", name]);
    }
    let mut before = parsed(text)?;
    let is_empty_table = |value: &toml::Value| value.as_table().is_some_and(toml::Table::is_empty);
    if before.get("upstreams").is_some_and(is_empty_table) {
        before.remove("upstreams");
    }
    if rest == before { Ok(after) } else { Err(EditError::Other) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(value: &Value) -> UpstreamKeys {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn servers_are_added_and_the_rest_of_the_text_stays() {
        let text = "# mine\nroots = [] # none\n\n[upstreams.a]\ncommand = 'a' # it\n";
        let new = keys(&json!({ "command": "npx", "args": ["-y", "b"], "env": { "A": "b" } }));
        let after = add_upstreams(text, &[("b".into(), new.clone())]).unwrap();
        let expected = format!(
            "{text}\n[upstreams.b]\ncommand = \"npx\"\nargs = [\"-y\", \"b\"]\nenv = {{ A = \"b\" }}\n"
        );
        assert_eq!(after, expected);
        assert_eq!(presence(&after, "b", &new).unwrap(), Presence::Same);
        assert_eq!(presence(&after, "a", &new).unwrap(), Presence::Other);
        assert_eq!(presence(&after, "c", &new).unwrap(), Presence::Absent);
        let bundled = Config::parse("").unwrap().plugins.keys().next().unwrap().clone();
        assert_eq!(presence(&after, &bundled, &new).unwrap(), Presence::Plugin);
        assert!(matches!(add_upstreams(&after, &[("a".into(), new)]), Err(EditError::Other)));
    }

    #[test]
    fn a_server_that_the_host_would_refuse_is_not_added() {
        let wrong = keys(&json!({ "comand": "a" }));
        assert!(matches!(add_upstreams("", &[("a".into(), wrong)]), Err(EditError::After(_))));
        assert!(matches!(add_upstreams("oops", &[]), Err(EditError::Before(_))));
    }
}
