//! Expands the environment variables in the default configuration, which is part of the binary.

use std::path::Path;

use portcullis_egress::{Origin, ParseOriginError};

/// The error for an environment variable that should hold a URL and does not.
#[derive(Debug, thiserror::Error)]
#[error("the environment variable {name}")]
pub struct InvalidVariable {
    name: String,
    #[source]
    cause: ParseOriginError,
}

/// Expands the environment variables in a default configuration:
///
/// - `${NAME:-DEFAULT}` in a string is the variable's value, or `DEFAULT` if the variable is not set. In
///   `${NAME|OTHER:-DEFAULT}`, the first variable that is set counts.
///   If the result begins with `~/`, the `~` becomes the user's home directory.
/// - `${filled NAME|OTHER:-DEFAULT}` is the value of the first variable that is not empty, or `DEFAULT`. POSIX reads the
///   variables of locales in this way.
/// - `${origin NAME:-DEFAULT}` is the origin (scheme, host and port) of the URL in the variable.
/// - `"${hosts NAME:-DEFAULT}"` as a whole value is a list of hosts, which commas separate in the variable. If the
///   variable is set and empty, the list is `["*"]`: all hosts.
/// - `"${set NAME}"` as a whole value is `true` if the variable is set and not empty, else `false`.
///   `"${unset NAME}"` is the opposite.
///
/// Environment variables in the operator's own file are never expanded: the file alone says what it grants.
///
/// # Errors
///
/// The variable in `${origin …}` does not hold a URL: [`InvalidVariable`].
///
/// # Panics
///
/// If the text does not have this form: a fault of this program.
#[expect(clippy::disallowed_methods, reason = "default configurations name environment variables")]
pub fn expand(text: &str) -> Result<String, InvalidVariable> {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, behind) = after.split_once('}').expect("each variable ends with `}`");
        if let Some((is_true_if_set, name)) = parse_flag(variable) {
            let is_set = std::env::var_os(name).is_some_and(|value| !value.is_empty());
            expanded += before.strip_suffix('"').expect("a flag is a whole value");
            expanded += if is_set == is_true_if_set { "true" } else { "false" };
            rest = behind.strip_prefix('"').expect("a flag is a whole value");
            continue;
        }
        let (names, default) = variable.split_once(":-").expect("each variable has a default");
        if let Some(names) = names.strip_prefix("hosts ") {
            let value = first_set(names).unwrap_or_else(|| default.to_owned());
            expanded += before.strip_suffix('"').expect("a list is a whole value");
            expanded += &hosts(&value);
            rest = behind.strip_prefix('"').expect("a list is a whole value");
            continue;
        }
        if let Some(names) = names.strip_prefix("filled ") {
            let value = first_filled(names, |name| std::env::var(name).ok());
            expanded += before;
            expanded += &escaped(&value.unwrap_or_else(|| default.to_owned()));
            rest = behind;
            continue;
        }
        let (is_origin, names) = match names.strip_prefix("origin ") {
            Some(names) => (true, names),
            None => (false, names),
        };
        let value = match first_set(names) {
            Some(value) if is_origin => origin(names, &value)?.to_string(),
            Some(value) => value,
            None => default.to_owned(),
        };
        let value = match value.starts_with("~/") {
            true => portcullis_confine::at_home(Path::new(&value)).display().to_string(),
            false => value,
        };
        expanded += before;
        expanded += &escaped(&value);
        rest = behind;
    }
    Ok(expanded + rest)
}

/// The text as the content of a string in TOML.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The value of the first variable that is set and not empty.
fn first_filled(names: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    names.split('|').find_map(|name| value(name).filter(|value| !value.is_empty()))
}

/// The value of the first variable that is set.
#[expect(clippy::disallowed_methods, reason = "default configurations name environment variables")]
fn first_set(names: &str) -> Option<String> {
    names.split('|').find_map(|name| std::env::var(name).ok())
}

/// A TOML list of the hosts in a text with commas.
fn hosts(text: &str) -> String {
    let names: Vec<&str> = match text.trim() {
        "" => vec!["*"],
        text => text.split(',').map(str::trim).collect(),
    };
    toml::Value::from(names).to_string()
}

/// The origin of the URL in a variable.
fn origin(name: &str, value: &str) -> Result<Origin, InvalidVariable> {
    value.parse().map_err(|cause| InvalidVariable { name: name.to_owned(), cause })
}

/// Parses `set NAME` and `unset NAME`: whether the flag is true if the variable is set, and the variable's name.
fn parse_flag(text: &str) -> Option<(bool, &str)> {
    let set = text.strip_prefix("set ").map(|name| (true, name));
    set.or_else(|| text.strip_prefix("unset ").map(|name| (false, name)))
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn flags_say_whether_variables_are_set() {
        let text = "a = \"${set PORTCULLIS_TEST_NONE}\"\nb = \"${unset PORTCULLIS_TEST_NONE}\"\n\
                    c = \"${set PATH}\"\nd = \"${unset PATH}\"\n";
        assert_eq!(expand(text).unwrap(), "a = false\nb = true\nc = true\nd = false\n");
    }

    #[test]
    fn an_empty_variable_of_a_locale_counts_as_not_set() {
        const NAMES: &str = "LC_ALL|LC_MESSAGES|LANG";
        for (variables, expected) in [
            (&[("LC_ALL", "de"), ("LC_MESSAGES", "fr"), ("LANG", "ja")][..], Some("de")),
            (&[("LC_ALL", ""), ("LC_MESSAGES", "fr"), ("LANG", "ja")], Some("fr")),
            (&[("LC_ALL", ""), ("LANG", "ja")], Some("ja")),
            (&[("LANG", "")], None),
        ] {
            let value = |name: &str| {
                let found = variables.iter().find(|(one, _)| *one == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(first_filled(NAMES, value).as_deref(), expected, "{variables:?}");
        }
        let text = "a = \"${filled PORTCULLIS_TEST_NONE:-b}\"";
        assert_eq!(expand(text).unwrap(), "a = \"b\"");
    }

    #[test]
    fn a_variable_that_is_not_set_has_its_default() {
        let text =
            "a = \"${PORTCULLIS_TEST_NONE:-b}\"\nc = \"${origin PORTCULLIS_TEST_NONE:-d.example}\"";
        assert_eq!(expand(text).unwrap(), "a = \"b\"\nc = \"d.example\"");
        assert_eq!(expand("nothing").unwrap(), "nothing");
        let text = "a = \"${hosts PORTCULLIS_TEST_NONE|PORTCULLIS_TEST_NO:-b, .c}\" # d";
        assert_eq!(expand(text).unwrap(), "a = [\"b\", \".c\"] # d");
    }

    #[test]
    fn hosts_in_a_variable_become_a_list_and_nothing_else() {
        assert_eq!(hosts("a.example,b.example"), "[\"a.example\", \"b.example\"]");
        assert_eq!(hosts(" "), "[\"*\"]");
        let text = "a\"]\nother = [\"";
        let parsed: toml::Table = toml::from_str(&format!("x = {}", hosts(text))).unwrap();
        assert_eq!(parsed.keys().collect::<Vec<_>>(), ["x"]);
        assert_eq!(parsed["x"].as_array().unwrap()[0].as_str(), Some(text));
    }

    #[test]
    fn a_variable_that_should_hold_a_url_is_named_in_the_error() {
        let error = origin("SERVER_URL", "not a host").unwrap_err();
        assert_eq!(error.to_string(), "the environment variable SERVER_URL");
        assert!(error.source().is_some());
    }
}
