//! Finds the first place at which a configuration deviates from its schema.
//!
//! The host reads a configuration into its types. If the types refuse the configuration, this search finds the place
//! and the reason, also in tables that are converted after they were read.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Fault;
use super::mends;
use super::schema::expected;

/// Minimum similarity (Jaro, from 0 to 1) of an unknown key and a known key that is suggested instead.
const MIN_SIMILARITY: f64 = 0.7;

/// One deviation from the schema.
pub(super) struct Deviation {
    /// The place in the text, in bytes.
    pub(super) span: Range<usize>,
    /// The keys that lead to the place.
    pub(super) path: Vec<String>,
    /// What is wrong.
    pub(super) fault: Fault,
}

/// The first deviation of a configuration from its schema. `None`: there is none, or the text is not TOML.
pub(super) fn deviation(schema: &Value, text: &str) -> Option<Deviation> {
    let table = DeTable::parse(text).ok()?;
    Search { text, path: Vec::new() }.check_table(schema, table.get_ref(), table.span())
}

struct Search<'a> {
    text: &'a str,
    path: Vec<String>,
}

impl Search<'_> {
    fn deviates(&self, span: Range<usize>, fault: Fault) -> Option<Deviation> {
        Some(Deviation { span, path: self.path.clone(), fault })
    }

    fn check_table(
        &mut self,
        schema: &Value,
        table: &DeTable<'_>,
        span: Range<usize>,
    ) -> Option<Deviation> {
        let fixed = schema["properties"].as_object();
        let patterns = schema["patternProperties"].as_object();
        let others = patterns.and_then(|patterns| patterns.values().next());
        let others = others.unwrap_or(&schema["additionalProperties"]);
        for (key, value) in table {
            let name: &str = key.get_ref();
            let key_schema = match (fixed.and_then(|keys| keys.get(name)), fixed) {
                (Some(schema), _) => schema,
                (None, Some(keys)) => {
                    let known: Vec<_> = keys.keys().cloned().collect();
                    let similar = similar(name, &known);
                    self.path.push(name.to_owned());
                    return self.deviates(key.span(), Fault::UnknownKey { similar, known });
                }
                (None, None) => others,
            };
            self.path.push(name.to_owned());
            let deviation = self.check_value(key_schema, value);
            if deviation.is_some() {
                return deviation;
            }
            self.path.pop();
        }
        let mut required = schema["required"].as_array().into_iter().flatten();
        let missing = required.find_map(|key| key.as_str().filter(|key| !has(table, key)))?;
        let expected = expected(&schema["properties"][missing]);
        self.deviates(span, Fault::MissingKey { key: missing.to_owned(), expected })
    }

    fn check_value(&mut self, schema: &Value, value: &Spanned<DeValue<'_>>) -> Option<Deviation> {
        let span = value.span();
        let choices = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        if let (Some(choices), Value::Null) = (choices, &schema["type"]) {
            let depth = self.path.len();
            let fits = choices.iter().any(|choice| {
                let fits = self.check_value(choice, value).is_none();
                self.path.truncate(depth);
                fits
            });
            return if fits { None } else { self.mistyped(schema, value) };
        }
        let fits = match (schema["type"].as_str().unwrap_or_default(), value.get_ref()) {
            ("object", DeValue::Table(table)) => return self.check_table(schema, table, span),
            ("array", DeValue::Array(items)) if !items.is_empty() => {
                return items.iter().find_map(|item| self.check_value(&schema["items"], item));
            }
            ("array", DeValue::Array(_)) => schema["minItems"].is_null(),
            ("string", DeValue::String(text)) => {
                schema.get("const").is_none_or(|value| value == text.as_ref())
            }
            ("integer", DeValue::Integer(number)) => {
                let digits = number.as_str().replace('_', "");
                let number = i128::from_str_radix(&digits, number.radix()).ok();
                let bound = |keyword: &str| schema[keyword].as_i64().map(i128::from);
                number.is_some_and(|number| {
                    bound("minimum").is_none_or(|least| number >= least)
                        && bound("maximum").is_none_or(|most| number <= most)
                })
            }
            ("boolean", DeValue::Boolean(_)) => true,
            (_, _) => false,
        };
        if fits { None } else { self.mistyped(schema, value) }
    }

    fn mistyped(&self, schema: &Value, value: &Spanned<DeValue<'_>>) -> Option<Deviation> {
        let found = match value.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(items) if items.is_empty() => "an empty list".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => self.text.get(value.span()).unwrap_or_default().to_owned(),
        };
        self.deviates(value.span(), Fault::Type { expected: expected(schema), found })
    }
}

fn has(table: &DeTable<'_>, name: &str) -> bool {
    table.keys().any(|key| key.get_ref() == name)
}

/// The known key that is most similar to this one, if one is similar enough.
fn similar(key: &str, known: &[String]) -> Option<String> {
    if let Some(meant) = mends::synonym(key, known) {
        return Some(meant);
    }
    let key = &mends::spelled(key);
    let rated = known.iter().map(|one| (strsim::jaro(key, one), one));
    let (rate, best) = rated.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (rate >= MIN_SIMILARITY).then(|| best.clone())
}
