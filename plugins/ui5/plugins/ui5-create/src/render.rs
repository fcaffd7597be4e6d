//! Renders templates: `[= value =]` is escaped for its file, `[% if .. %]` is a condition.

use crate::escape::{Syntax, code_span};
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior, Value,
    syntax::SyntaxConfig, value::ValueKind,
};
use semver::Version;
use serde::Serialize;

/// A template of a file.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The path relative to the created directory.
    pub target: &'static str,
    /// The text of the template.
    pub text: &'static str,
}

/// A finished file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path relative to the created directory, with `/`.
    pub path: String,
    /// The content.
    pub text: String,
}

/// Renders templates. In a template, `since("1.124")` is true if the UI5 version is 1.124 or newer.
///
/// # Panics
///
/// If a template is invalid. Templates are part of the program, and tests render all of them.
pub fn render(
    templates: &[Template],
    parts: &'static [Template],
    version: &Version,
    values: &impl Serialize,
) -> Vec<File> {
    let environment = environment(parts, version.clone());
    let values = Value::from_serialize(values);
    templates
        .iter()
        .map(|template| File {
            path: template.target.to_owned(),
            text: environment
                .render_named_str(template.target, template.text, &values)
                .unwrap_or_else(|error| {
                    panic!("the template {} is wrong: {error:#}", template.target)
                }),
        })
        .collect()
}

fn environment(parts: &'static [Template], version: Version) -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .block_delimiters("[%", "%]")
        .variable_delimiters("[=", "=]")
        .comment_delimiters("[#", "#]")
        .build()
        .expect("these delimiters differ");
    environment.set_syntax(syntax);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| AutoEscape::Custom(Syntax::of(name).name()));
    environment.set_formatter(write_escaped);
    environment.add_filter("code", |value: &str| Value::from_safe_string(code_span(value)));
    environment.add_function("since", move |minor: &str| {
        Version::parse(&format!("{minor}.0")).map(|since| version >= since).map_err(|error| {
            Error::new(ErrorKind::InvalidOperation, format!("{minor} is not a version: {error}"))
        })
    });
    for part in parts {
        environment.add_template(part.target, part.text).expect("the parts are valid templates");
    }
    environment
}

fn write_escaped(
    out: &mut minijinja::Output<'_>,
    state: &State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let syntax =
        if let AutoEscape::Custom(name) = state.auto_escape() { Syntax::named(name) } else { None };
    let syntax = syntax.ok_or_else(|| {
        Error::new(ErrorKind::InvalidOperation, "the syntax of this file is not known")
    })?;
    match value.as_str() {
        Some(text) if value.is_safe() => out.write_str(text)?,
        Some(text) => out.write_str(&syntax.escape(text))?,
        None if value.kind() == ValueKind::Number => write!(out, "{value}")?,
        None => {
            let what = format!("{value} is neither text nor a number");
            return Err(Error::new(ErrorKind::InvalidOperation, what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(target: &'static str, text: &'static str, values: &serde_json::Value) -> String {
        let files = render(&[Template { target, text }], &[], &Version::new(1, 120, 3), values);
        files[0].text.clone()
    }

    #[test]
    fn values_are_escaped_for_their_file() {
        let values = serde_json::json!({ "a": "<\"[= a =]\">" });
        assert_eq!(rendered("a.json", "\"[= a =]\"\n", &values), "\"<\\\"[= a =]\\\">\"\n");
        assert_eq!(rendered("a.html", "[= a =]", &values), "&lt;&quot;[= a =]&quot;&gt;");
        assert_eq!(rendered("LICENSE", "[= a =]", &values), "<\"[= a =]\">");
    }

    #[test]
    fn conditions_depend_on_the_version() {
        let text =
            "[% if since(\"1.120\") %]new[% endif %][% if since(\"1.121\") %]newest[% endif %]";
        assert_eq!(rendered("a.js", text, &serde_json::json!({})), "new");
    }

    #[test]
    fn bindings_of_ui5_are_left_alone() {
        let text = "{i18n>a} {{b}} {= ${c} }";
        assert_eq!(rendered("a.xml", text, &serde_json::json!({})), text);
    }

    #[test]
    #[should_panic(expected = "the template a.js is wrong")]
    fn an_unknown_name_is_a_fault() {
        rendered("a.js", "[= a.b =]", &serde_json::json!({}));
    }
}
