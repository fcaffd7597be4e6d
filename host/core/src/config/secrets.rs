//! Keeps secrets of a configuration out of error messages and out of `portcullis config show`.
//!
//! An operator may write a password where `{ env = "NAME" }` belongs. An error that quoted the value would show the
//! password. Therefore errors name the place and the key, and leave out values at places where a secret may stand.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::explain;

/// The replacement of a value that is not shown.
const HIDDEN: &str = "…";

/// Words in keys. A value whose key contains one of these words may be a secret.
const SECRET_WORDS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passphrase",
    "authorization",
    "api-key",
    "apikey",
    "credential",
];

/// One value of a configuration, other than a table or a list.
struct Value {
    /// The place in the text, in bytes.
    span: Range<usize>,
    /// The keys that lead to the value.
    path: Vec<String>,
    /// The content of a string, or any other value as it is written.
    text: String,
}

impl Value {
    /// Whether the value may be secret, so that no error may show it.
    fn may_be_secret(&self) -> bool {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let is_at_secret_place = match path.as_slice() {
            ["upstreams", _, key, ..] => !matches!(
                *key,
                "transport" | "protocol" | "enabled" | "prefix" | "tools-off" | "cwd" | "command"
            ),
            ["plugins", _, "settings", ..] | ["commands", _, "args" | "env" | "more-args", ..] => {
                true
            }
            ["plugins", _, "grants", "http", "headers", ..]
            | ["host", "telemetry", "endpoint" | "headers", ..]
            | ["cluster", "state" | "password", ..] => true,
            _ => has_word(&path),
        };
        // A URL can contain a user and a password.
        (is_at_secret_place || self.text.contains('@')) && !self.is_reference(&path)
    }

    /// Whether `config show` hides the value, because it is a secret itself and not the place where a secret is
    /// kept.
    fn is_secret(&self) -> bool {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let is_secret = match path.as_slice() {
            ["upstreams", _, "headers" | "env", ..] => true,
            ["plugins", _, "grants", "http", "headers", ..]
            | ["host", "telemetry", "headers", ..]
            | ["cluster", "password", ..] => true,
            ["upstreams", _, "url"] | ["host", "telemetry", "endpoint"] | ["cluster", "state"] => {
                self.text.contains(['@', '?'])
            }
            ["upstreams", _, "args", ..] | ["commands", _, "args", ..] => {
                self.text.contains('=') && has_word(&[&self.text])
            }
            _ => has_word(&path),
        };
        is_secret && !self.is_reference(&path)
    }

    /// Whether the value names a variable or a file that holds a secret, and is not a secret itself.
    fn is_reference(&self, path: &[&str]) -> bool {
        match path.last() {
            Some(&("env" | "bearer-env")) => {
                let capital = |part: &str| {
                    !part.is_empty()
                        && part
                            .bytes()
                            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
                };
                self.text.contains('_') && self.text.split('_').all(capital)
            }
            Some(key) if *key == "file" || key.ends_with("-file") => {
                self.text.starts_with(['/', '~']) && self.text.matches('/').count() > 1
            }
            _ => false,
        }
    }
}

fn has_word(path: &[&str]) -> bool {
    let Some(key) = path.last().map(|key| key.to_ascii_lowercase().replace('_', "-")) else {
        return false;
    };
    SECRET_WORDS.iter().any(|word| key.contains(word))
}

/// All values of a configuration. `None`: the text is not TOML.
fn values(text: &str) -> Option<Vec<Value>> {
    let table = DeTable::parse(text).ok()?;
    let mut values = Vec::new();
    collect_table(text, table.get_ref(), &mut Vec::new(), &mut values);
    Some(values)
}

fn collect_table(text: &str, table: &DeTable<'_>, path: &mut Vec<String>, into: &mut Vec<Value>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        collect(text, value, path, into);
        path.pop();
    }
}

fn collect(
    text: &str,
    value: &Spanned<DeValue<'_>>,
    path: &mut Vec<String>,
    into: &mut Vec<Value>,
) {
    let content = match value.get_ref() {
        DeValue::Table(table) => return collect_table(text, table, path, into),
        DeValue::Array(items) => {
            return items.iter().for_each(|item| collect(text, item, path, into));
        }
        DeValue::String(content) => content.to_string(),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
            text.get(value.span()).unwrap_or_default().to_owned()
        }
    };
    into.push(Value { span: value.span(), path: path.clone(), text: content });
}

/// The text `about`, with `…` in place of each value that may be secret. The values are those of the configuration
/// `text`.
pub(super) fn hidden(text: &str, about: &str) -> String {
    let mut secrets: Vec<String> = Vec::new();
    for value in values(text).unwrap_or_default() {
        // Values of one or two characters are not secrets, and many words contain them.
        if value.may_be_secret() && value.text.chars().count() > 2 {
            // Errors of serde quote strings in this form.
            let quoted = format!("{:?}", value.text);
            secrets.push(quoted[1..quoted.len() - 1].to_owned());
            secrets.push(value.text);
        }
    }
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.iter().fold(about.to_owned(), |about, secret| about.replace(secret, HIDDEN))
}

/// The configuration as it is written, with `…` for each secret in it.
///
/// # Errors
///
/// The text is not TOML, so the secrets in it cannot be found.
pub fn shown(text: &str) -> Result<String, ConfigError> {
    let table = DeTable::parse(text).map_err(|error| explain::toml(text, &error))?;
    let mut all = Vec::new();
    collect_table(text, table.get_ref(), &mut Vec::new(), &mut all);
    all.retain(Value::is_secret);
    all.sort_by_key(|value| std::cmp::Reverse(value.span.start));
    let mut shown = text.to_owned();
    for value in all {
        shown.replace_range(value.span, &format!("\"{HIDDEN}\""));
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    /// Configurations that are wrong, each with a secret in it.
    const WRONG: &[&str] = &[
        "[plugins.a.grants.http]\nhosts = [\"h\"]\nheaders.h.authorization = \"Bearer s3cr3t\"",
        "[plugins.a.grants.http]\nhosts = [\"h\"]\nheaders.h = { authorization = \"Bearer s3cr3t\" }",
        "[plugins.a.grants.http]\nhosts = [\"h\"]\nheaders.h = \"Bearer s3cr3t\"",
        "[plugins.a.grants.http]\nhosts = [\"h\"]\nheaders = [\"Bearer s3cr3t\"]",
        "[plugins.a.grants.http]\nhosts = [\"h\"]\nheaders.h.x = { env = \"Bearer s3cr3t\" }",
        "[plugins.a.grants.http]\nhosts = [\"h\"]\nheaders.h.x = { file = \"Bearer s3cr3t\" }",
        "[plugins.a.grants.http]\nhosts = [\"h\"]\nheaders.h.authorization = Bearer s3cr3t",
        "[plugins.a.grants.http]\nhosts = [\"h\"]\nheaders.h.authorization = \"Bearer s3cr3t",
        "[plugins.a.grants.http]\nhosts = [\"https://me:s3cr3t@h\"]",
        "[plugins.a]\nsettings = \"s3cr3t\"",
        "[plugins.a.settings]\nkey = [\"s3cr3t\"]",
        "[plugins.a.settings]\nkey = { value = \"s3cr3t\" }",
        "[upstreams.a]\nurl = \"https://h\"\nheaders = \"Bearer s3cr3t\"",
        "[upstreams.a]\nurl = \"https://h\"\nheaders = [\"Bearer s3cr3t\"]",
        "[upstreams.a]\nurl = \"https://h\"\nheaders.authorization = [\"Bearer s3cr3t\"]",
        "[upstreams.a]\nurl = \"https://h\"\nheaders.x = { token = \"Bearer s3cr3t\" }",
        "[upstreams.a]\nurl = \"https://h\"\nheaders.x = { env = \"s3cr3t\" }",
        "[upstreams.a]\ncommand = \"b\"\nenv = \"KEY=s3cr3t\"",
        "[upstreams.a]\ncommand = \"b\"\nenv.KEY = 987_654_321",
        "[upstreams.a]\nurl = \"https://h\"\nheaders.x = 0x3ade68b1",
        "[upstreams.a]\nurl = \"https://h\"\nheaders.x = { file = 9_876.54321 }",
        "[upstreams.a]\nurl = \"https://h\"\nheaders = 987_654_321",
        "[upstreams.a]\nurl = \"https://h\"\noauth = { client-secret = 987_654_321 }",
        "[upstreams.a]\ncommand = \"b\"\nenv.KEY = [\"s3cr3t\"]",
        "[upstreams.a]\ncommand = \"b\"\nenv.KEY = { file = \"s3cr3t\" }",
        "[upstreams.a]\ncommand = \"b\"\nargs = \"--key=s3cr3t\"",
        "[upstreams.a]\nurl = [\"https://me:s3cr3t@h\"]",
        "[upstreams.a]\nurl = \"https://h\"\noauth = \"s3cr3t\"",
        "[upstreams.a]\nurl = \"https://h\"\n[upstreams.a.oauth]\nclient-secret = \"s3cr3t\"",
        "[upstreams.a]\nurl = \"https://h\"\noauth = { client-key = \"s3\\\"cr3t\" }",
        "[commands.a]\nprogram = \"a\"\nargs = \"--key=s3cr3t\"",
        "[host.telemetry]\nendpoint = \"http://h\"\nheaders.x = \"Bearer s3cr3t\"",
        "[host.telemetry]\nendpoint = \"http://h\"\nheaders = \"Bearer s3cr3t\"",
        "[host.telemetry]\nendpoint = [\"http://me:s3cr3t@h\"]",
        "[cluster]\nstate = \"redis://me:s3cr3t@h\"",
        "[cluster]\nstate = [\"redis://h/s3cr3t\"]",
        "[cluster]\nstate = \"redis://h\"\npassword = \"s3cr3t\"",
        "[cluster]\nstate = \"redis://h\"\npassword = { value = \"s3cr3t\" }",
        "[http]\ntoken = \"s3cr3t\"",
        "[http]\ntoken-file = [\"s3cr3t\"]",
        "[http.oauth]\nclient-secret = \"s3cr3t\"",
    ];

    #[test]
    fn no_error_shows_what_may_be_secret() {
        // Errors shorten long values.
        let of_one_type = WRONG.iter().filter(|text| text.contains("headers = \""));
        let long = of_one_type.map(|text| text.replace("s3cr3t", &"s3cr3t".repeat(20)));
        for text in WRONG.iter().map(|&text| text.to_owned()).chain(long) {
            let error = Config::parse(&text).unwrap_err().to_string();
            assert!(!error.contains("s3cr3t") && !error.contains("cr3t"), "{text}: {error}");
            // Errors can show a number in another form than the configuration.
            assert!(!error.contains("9876") && !error.contains("987_"), "{text}: {error}");
            assert!(error.len() > 10, "{text}: {error}");
        }
    }

    #[test]
    fn an_error_names_the_line_the_key_and_the_right_form() {
        let error = Config::parse(WRONG[0]).unwrap_err().to_string();
        for part in ["line 3", "headers.h.authorization", "{ env = \"NAME\" }"] {
            assert!(error.contains(part), "{error}");
        }
        let error = Config::parse("[plugins.a.grants.files]\naccess = \"execute\"")
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 2") && error.contains("execute"), "{error}");
    }

    #[test]
    fn the_shown_configuration_is_unchanged_except_for_secrets() {
        let text = "# mine\n[upstreams.a]\nurl = 'https://h/?key=s3cr3t'\nheaders = { X-Key = \"s3cr3t\", \
                    Y = { env = \"Y_KEY\" } }\nargs = [ \"--token=s3cr3t\", \"-v\" ]\n\
                    [plugins.a.settings]\napi-key = \"s3cr3t\"\nmodel = \"m\"\n";
        let shown = shown(text).unwrap();
        let expected = "# mine\n[upstreams.a]\nurl = \"…\"\nheaders = { X-Key = \"…\", \
                        Y = { env = \"Y_KEY\" } }\nargs = [ \"…\", \"-v\" ]\n\
                        [plugins.a.settings]\napi-key = \"…\"\nmodel = \"m\"\n";
        assert_eq!(shown, expected);
        assert!(
            super::shown("a = Bearer s3cr3t")
                .is_err_and(|error| !error.to_string().contains("s3cr3t"))
        );
    }
}
