//! Parses JSON like JavaScript, since Ajv reports members in JavaScript's order.

use serde_json::{Map, Number, Value};

/// The result of `JSON.parse`.
///
/// Members whose names are array indices come first, in numeric order; numbers are doubles.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::from_str(text)?;
    adapt(&mut value);
    Ok(value)
}

fn adapt(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(adapt),
        Value::Object(members) => {
            members.values_mut().for_each(adapt);
            if members.keys().any(|name| index(name).is_some()) {
                *members = indices_first(std::mem::take(members));
            }
        }
        Value::Number(number) => {
            if let Some(double) = number.as_f64() {
                *number = from_double(double);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn indices_first(members: Map<String, Value>) -> Map<String, Value> {
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_by_key(|(name, _)| index(name).map_or((1, 0), |index| (0, index)));
    members.into_iter().collect()
}

/// The array index that the name denotes, if any.
fn index(name: &str) -> Option<u32> {
    let index: u32 = name.parse().ok()?;
    (index < u32::MAX && index.to_string() == name).then_some(index)
}

/// Writes whole numbers below 2^53 without a fraction, like JavaScript.
fn from_double(double: f64) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if double.fract() == 0.0 && double.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within the range")]
        return Number::from(double as i64);
    }
    Number::from_f64(double).unwrap_or_else(|| Number::from(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(text: &str) -> String {
        parse(text).expect("it is JSON").to_string()
    }

    #[test]
    fn members_and_numbers_are_those_of_javascript() {
        for (text, kept) in [
            (r#"{"b":1,"10":2,"a":3,"9":4,"01":5}"#, r#"{"9":4,"10":2,"b":1,"a":3,"01":5}"#),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (r#"{"4294967295":1,"4294967294":2}"#, r#"{"4294967294":2,"4294967295":1}"#),
            ("[1.0,-0,1e2,0.10,9007199254740993]", "[1,0,100,0.1,9007199254740992.0]"),
            (r#"[{"x":{"2":0,"1":0}}]"#, r#"[{"x":{"1":0,"2":0}}]"#),
        ] {
            assert_eq!(there_and_back(text), kept);
        }
    }

    #[test]
    fn invalid_json_is_refused() {
        for text in ["", "{", "{'a':1}", "[1,]", "\u{feff}{}", "NaN", "// x\n{}", "1e999"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).is_err());
    }
}
