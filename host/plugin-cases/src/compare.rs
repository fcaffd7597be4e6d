//! Compares what is expected of a call with what is observed.

use serde_json::Value;

use crate::file::{Expectation, object};

/// What is observed of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Whether the tool failed.
    pub is_error: bool,
    /// The text of the answer.
    pub text: String,
    /// The structured content of the answer.
    pub structured: Option<Value>,
    /// What the plugin was refused: the capability, and the effect with its object.
    pub denied: Vec<String>,
}

/// One difference between what is expected and what is observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// What differs: the key of the expectation.
    pub key: &'static str,
    /// What is expected.
    pub expected: String,
    /// What is observed.
    pub found: String,
}

/// All differences between what is expected and what is observed.
pub fn differences(expectation: &Expectation, observed: &Observed) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut differs = |key, expected: String, found: String| {
        all.push(Difference { key, expected, found });
    };
    if expectation.is_error != observed.is_error {
        let outcome = |is_error: bool, text: &str| match is_error {
            true if text.is_empty() => "the tool fails".to_owned(),
            true => format!("the tool fails: {text}"),
            false => "the tool succeeds".to_owned(),
        };
        let found = outcome(observed.is_error, &observed.text);
        differs("is-error", outcome(expectation.is_error, ""), found);
    }
    if let Some(text) = &expectation.text
        && text.trim_end_matches('\n') != observed.text.trim_end_matches('\n')
    {
        differs("text", text.clone(), observed.text.clone());
    }
    for part in expectation.contains.iter().filter(|part| !observed.text.contains(*part)) {
        differs("contains", part.clone(), observed.text.clone());
    }
    if let Some(structured) = &expectation.structured {
        let expected = Value::from(object(structured));
        let found = observed.structured.clone().unwrap_or_default();
        if !is_same(&expected, &found) {
            differs("structured", format!("{expected:#}"), format!("{found:#}"));
        }
    }
    let is_in = |denial: &String| expectation.denied.iter().any(|start| denial.starts_with(start));
    let is_met = |start: &String| observed.denied.iter().any(|denial| denial.starts_with(start));
    if !observed.denied.iter().all(is_in) || !expectation.denied.iter().all(is_met) {
        let lines = |all: &[String]| all.iter().map(|one| format!("{one}\n")).collect::<String>();
        differs("denied", lines(&expectation.denied), lines(&observed.denied));
    }
    all
}

/// Whether two values are the same. The order of members does not count, and `1` is `1.0`.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64() && (one.is_f64() || other.is_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| is_same(value, other))
            };
            one.len() == other.len() && one.iter().all(has)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(expectation: &str, observed: &Observed) -> Vec<&'static str> {
        let expectation: Expectation = toml::from_str(expectation).unwrap();
        differences(&expectation, observed).iter().map(|difference| difference.key).collect()
    }

    #[test]
    fn each_expectation_fails_when_it_is_not_met() {
        let observed = Observed {
            is_error: false,
            text: "one\ntwo\n".into(),
            structured: Some(json!({"b": 1.0, "a": [1, "x"]})),
            denied: vec!["http GET https://example.org".into()],
        };
        let denied = "denied = [\"http\"]\n";
        for (text, expected) in [
            ("", &[][..]),
            ("is-error = true", &["is-error"]),
            ("text = \"one\\ntwo\"", &[]),
            ("text = \"one\"", &["text"]),
            ("contains = [\"two\", \"one\"]", &[]),
            ("contains = [\"two\", \"three\"]", &["contains"]),
            ("[structured]\na = [1, \"x\"]\nb = 1", &[]),
            ("[structured]\na = [1, \"x\"]", &["structured"]),
            ("[structured]\na = [\"x\", 1]\nb = 1", &["structured"]),
            ("[structured]\na = [1, \"x\"]\nb = 2", &["structured"]),
        ] {
            assert_eq!(keys(&format!("{denied}{text}"), &observed), expected, "{text}");
        }
        for (denied, expected) in [
            ("", &["denied"][..]),
            ("denied = [\"http GET https://example.org\"]", &[]),
            ("denied = [\"http GET https://example.com\"]", &["denied"]),
            ("denied = [\"http\", \"files\"]", &["denied"]),
        ] {
            assert_eq!(keys(denied, &observed), expected, "{denied}");
        }
        let none = Observed { structured: None, denied: Vec::new(), ..observed };
        assert_eq!(keys("[structured]\na = 1", &none), ["structured"]);
        assert_eq!(keys(denied, &none), ["denied"]);
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        assert!(!is_same(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
        assert!(is_same(&json!(2.0), &json!(2)));
    }
}
