//! The default configuration, which is part of the binary, with environment variables expanded.

use std::path::Path;

use portcullis_egress::{Origin, ParseOriginError};

/// An environment variable of the default configuration should hold a URL and does not.
#[derive(Debug, thiserror::Error)]
#[error("the variable {name}")]
pub struct InvalidVariable {
    name: String,
    #[source]
    cause: ParseOriginError,
}

/// Expands the environment variables in a default configuration:
///
/// - `${NAME:-DEFAULT}` in a string is the variable's value, or `DEFAULT` if the variable is not set. In
///   `${NAME|OTHER:-DEFAULT}`, the first variable that is set counts.
/// - `${origin NAME:-DEFAULT}` is the origin (scheme, host and port) of the URL in the variable.
/// - `"${set NAME}"` as a whole value is `true` if the variable is set and not empty, else `false`.
///   `"${unset NAME}"` is the opposite.
///
/// The operator's own file is never expanded: the file alone says what it grants.
///
/// # Errors
///
/// [`InvalidVariable`].
///
/// # Panics
///
/// If the text does not have this form: a fault of this program.
#[expect(clippy::disallowed_methods, reason = "default configurations name environment variables")]
pub fn expand(text: &str) -> Result<String, InvalidVariable> {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, behind) = after.split_once('}').expect("each variable ends with `}`");
        if let Some((if_set, name)) = flag(variable) {
            let is_set = std::env::var_os(name).is_some_and(|value| !value.is_empty());
            expanded += before.strip_suffix('"').expect("a flag is a whole value");
            expanded += if is_set == if_set { "true" } else { "false" };
            rest = behind.strip_prefix('"').expect("a flag is a whole value");
            continue;
        }
        let (names, default) = variable.split_once(":-").expect("each variable has a default");
        let (is_origin, names) = match names.strip_prefix("origin ") {
            Some(names) => (true, names),
            None => (false, names),
        };
        let value = match names.split('|').find_map(|name| std::env::var(name).ok()) {
            Some(value) if is_origin => origin(names, &value)?.to_string(),
            Some(value) => value,
            None => default.to_owned(),
        };
        let value = match value.starts_with("~/") {
            true => portcullis_confine::at_home(Path::new(&value)).display().to_string(),
            false => value,
        };
        expanded += before;
        expanded += &value.replace('\\', "\\\\").replace('"', "\\\"");
        rest = behind;
    }
    Ok(expanded + rest)
}

/// The origin of the URL in a variable.
fn origin(name: &str, value: &str) -> Result<Origin, InvalidVariable> {
    value.parse().map_err(|cause| InvalidVariable { name: name.to_owned(), cause })
}

/// Parses `set NAME` and `unset NAME`: whether the flag is true if the variable is set, and the variable's name.
fn flag(text: &str) -> Option<(bool, &str)> {
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
    fn a_variable_that_is_not_set_has_its_default() {
        let text =
            "a = \"${PORTCULLIS_TEST_NONE:-b}\"\nc = \"${origin PORTCULLIS_TEST_NONE:-d.example}\"";
        assert_eq!(expand(text).unwrap(), "a = \"b\"\nc = \"d.example\"");
        assert_eq!(expand("nothing").unwrap(), "nothing");
    }

    #[test]
    fn a_variable_that_should_hold_a_url_is_named_in_the_error() {
        let error = origin("SERVER_URL", "not a host").unwrap_err();
        assert_eq!(error.to_string(), "the variable SERVER_URL");
        assert!(error.source().is_some());
    }
}
