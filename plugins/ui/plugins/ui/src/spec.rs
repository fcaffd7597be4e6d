//! Validates a view specification against `plugins/ui/resources/view.schema.json`, with messages that name
//! the place and the fix.
//!
//! A general validator can only report that a component matches none of many alternatives. This validator
//! selects the alternative by the component's name, and supports only the keywords that the schema uses.

use portcullis_plugin::serde_json::{self, Map, Value};
use regex_lite::Regex;
use std::{collections::HashMap, fmt};

/// The schema, as shown to models.
pub const SCHEMA: &str = include_str!("../../../resources/view.schema.json");
/// Maximum depth of components in a page.
const LEVELS: usize = 20;
/// Maximum number of components in a page.
const COMPONENTS: usize = 500;
/// Maximum number of problems that are reported.
const PROBLEMS: usize = 20;
const COMPONENT: &str = "#/$defs/component";

/// A fault in a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer to the fault.
    pub at: String,
    /// The fault and the fix.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() { "the specification" } else { &self.at };
        write!(f, "{at}: {}", self.what)
    }
}

/// The parsed schema.
pub fn catalogue() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

/// The faults that a specification has for any tool; empty if it is valid.
pub fn check(specification: &Value) -> Vec<Problem> {
    let schema = catalogue();
    let mut check =
        Check { schema: &schema, patterns: HashMap::new(), problems: Vec::new(), components: 0 };
    check.value(&schema, specification, "", 0);
    check.problems.truncate(PROBLEMS);
    check.problems
}

struct Check<'s> {
    schema: &'s Value,
    patterns: HashMap<&'s str, Regex>,
    problems: Vec<Problem>,
    components: usize,
}

impl<'s> Check<'s> {
    fn wrong(&mut self, at: &str, what: impl Into<String>) {
        self.problems.push(Problem { at: at.to_owned(), what: what.into() });
    }

    fn definition(&self, reference: &str) -> &'s Value {
        let name = reference.strip_prefix("#/$defs/").expect("references are local");
        &self.schema["$defs"][name]
    }

    fn value(&mut self, schema: &'s Value, value: &Value, at: &str, level: usize) {
        let Value::Object(keywords) = schema else { return };
        if self.problems.len() >= PROBLEMS {
            return;
        }
        for (keyword, rule) in keywords {
            match keyword.as_str() {
                "$ref" => match rule.as_str().expect("a reference is text") {
                    COMPONENT => self.component(value, at, level + 1),
                    reference => self.value(self.definition(reference), value, at, level),
                },
                "type" => self.kind(rule, value, at),
                "const" if rule != value => self.wrong(at, format!("must be {rule}")),
                "enum" if !rule.as_array().is_some_and(|all| all.contains(value)) => {
                    self.wrong(at, format!("must be one of {rule}"));
                }
                "anyOf" => self.any_of(rule, keywords, value, at, level),
                "properties" => self.members(keywords, value, at, level),
                "required" => self.required(rule, value, at),
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(rule, item, &format!("{at}/{index}"), level);
                    }
                }
                "pattern" => self.pattern(rule, keywords, value, at),
                "maxLength" | "minItems" | "maxItems" | "maxProperties" => {
                    self.size(keyword, rule, value, at);
                }
                // The arms above report a `const` or `enum` that fails, `properties` checks `additionalProperties`, and
                // the other keywords cannot fail.
                "const"
                | "enum"
                | "additionalProperties"
                | "description"
                | "title"
                | "$schema"
                | "$defs" => {}
                other => unreachable!("view.schema.json uses `{other}`, which is not checked"),
            }
        }
    }

    fn component(&mut self, value: &Value, at: &str, level: usize) {
        self.components += 1;
        if level > LEVELS || self.components > COMPONENTS {
            if level == LEVELS + 1 || self.components == COMPONENTS + 1 {
                self.wrong(
                    at,
                    format!(
                        "too much: at most {LEVELS} levels and {COMPONENTS} components are shown"
                    ),
                );
            }
            return;
        }
        let known = value["component"].as_str().filter(|name| self.names().contains(name));
        match known {
            Some(name) => {
                let definition = &self.schema["$defs"][name];
                self.value(definition, value, at, level);
            }
            None => {
                let names = self.names().join(", ");
                self.wrong(at, format!("must be an object whose `component` is one of {names}"));
            }
        }
    }

    fn names(&self) -> Vec<&'s str> {
        let all = self.schema["$defs"]["component"]["oneOf"].as_array();
        let references = all.into_iter().flatten().filter_map(|one| one["$ref"].as_str());
        references.filter_map(|reference| reference.strip_prefix("#/$defs/")).collect()
    }

    fn kind(&mut self, rule: &Value, value: &Value, at: &str) {
        let is = |kind: &Value| match kind.as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("number") => value.is_number(),
            Some("boolean") => value.is_boolean(),
            Some("null") => value.is_null(),
            kind => unreachable!("view.schema.json uses the type {kind:?}, which is not checked"),
        };
        let fits = rule.as_array().map_or_else(|| is(rule), |kinds| kinds.iter().any(is));
        if !fits {
            self.wrong(at, format!("must be of type {rule}"));
        }
    }

    /// Checks alternatives. If none holds, reports the faults of the alternative that was probably meant.
    fn any_of(
        &mut self,
        rule: &'s Value,
        keywords: &Map<String, Value>,
        value: &Value,
        at: &str,
        level: usize,
    ) {
        let before = std::mem::take(&mut self.problems);
        let mut closest: Option<Vec<Problem>> = None;
        for way in rule.as_array().into_iter().flatten() {
            self.value(way, value, at, level);
            let problems = std::mem::take(&mut self.problems);
            let is_type =
                problems.iter().any(|problem| problem.what.starts_with("must be of type"));
            if problems.is_empty() || closest.is_none() || !is_type {
                closest = Some(problems);
            }
            if closest.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        self.problems = before;
        let closest = closest.unwrap_or_default();
        match keywords.get("description").and_then(Value::as_str) {
            Some(_)
                if closest.iter().any(|problem| {
                    problem.at == at && problem.what.starts_with("must be of type")
                }) =>
            {
                self.wrong(at, "must be a text, or an object with `path`");
            }
            _ => self.problems.extend(closest),
        }
    }

    fn members(&mut self, keywords: &'s Map<String, Value>, value: &Value, at: &str, level: usize) {
        let Value::Object(members) = value else { return };
        let known = keywords["properties"].as_object().expect("properties are an object");
        for (name, member) in members {
            let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            match known.get(name) {
                Some(schema) => self.value(schema, member, &at, level),
                None if keywords.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    let names: Vec<_> = known.keys().map(String::as_str).collect();
                    self.wrong(&at, format!("is not known here; known are {}", names.join(", ")));
                }
                None => {}
            }
        }
    }

    fn required(&mut self, rule: &Value, value: &Value, at: &str) {
        let Value::Object(members) = value else { return };
        for name in rule.as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                self.wrong(at, format!("lacks `{name}`"));
            }
        }
    }

    fn pattern(&mut self, rule: &'s Value, keywords: &Map<String, Value>, value: &Value, at: &str) {
        let (Some(text), Some(pattern)) = (value.as_str(), rule.as_str()) else { return };
        let compiled = self
            .patterns
            .entry(pattern)
            .or_insert_with(|| Regex::new(pattern).expect("the pattern is valid"));
        if !compiled.is_match(text) {
            let meant = keywords.get("description").and_then(Value::as_str);
            let meant = meant.map_or_else(|| format!("must match {pattern}"), str::to_owned);
            self.wrong(at, format!("`{text}` is not valid here. {meant}"));
        }
    }

    fn size(&mut self, keyword: &str, rule: &Value, value: &Value, at: &str) {
        let bound = rule.as_u64().expect("a size is a number");
        let size = match (keyword, value) {
            ("maxLength", Value::String(text)) => text.chars().count(),
            ("minItems" | "maxItems", Value::Array(items)) => items.len(),
            ("maxProperties", Value::Object(members)) => members.len(),
            _ => return,
        } as u64;
        let (is_wrong, most) = if keyword == "minItems" {
            (size < bound, "minimum")
        } else {
            (size > bound, "maximum")
        };
        if is_wrong {
            self.wrong(at, format!("has {size}, and {bound} is the {most}"));
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use portcullis_plugin::serde_json::json;

    /// A specification with every component.
    pub fn everything() -> Value {
        json!({ "version": 1, "root": { "component": "Column", "children": [
            { "component": "Row", "children": [{ "component": "Field", "path": "/input/city" }, { "component": "Button", "label": "Go" }] },
            { "component": "Text", "variant": "heading", "text": "Forecast for {/result/city}" },
            { "component": "Text", "text": { "path": "/result/updated" }, "when": { "path": "/result/storm", "equals": true } },
            { "component": "Card", "title": "Warmest", "children": [
                { "component": "Metric", "label": "High", "value": { "path": "/result/days/2/high", "format": "EUR" }, "unit": "°C" }] },
            { "component": "Tabs", "tabs": [
                { "title": "Chart", "child": { "component": "Chart", "kind": "bar", "rows": "/result/days",
                    "x": { "path": "@/sky", "label": "Sky" }, "y": [{ "path": "@/high", "label": "High" }] } },
                { "title": "Table", "child": { "component": "Table", "rows": "/result/days",
                    "columns": [{ "label": "Rain", "path": "@/rain", "format": "percent" }] } }] },
            { "component": "List", "items": "/result/days", "child": { "component": "Text", "text": "{@/sky}" } },
            { "component": "Details", "path": "/result/days/0" },
            { "component": "Details", "rows": [{ "label": "a", "value": "b" }] },
            { "component": "Image", "path": "/content/0", "alt": "A map" },
            { "component": "Divider" },
            { "component": "Chart", "kind": "pie", "rows": "/result/days",
                "x": { "path": "@/sky", "label": "Sky" }, "y": [{ "path": "@/high", "label": "High" }] },
            { "component": "Map", "points": "/result/days", "latitude": "@/high", "longitude": "@/rain", "label": "{@/sky}" },
            { "component": "Timeline", "items": "/result/days", "time": { "path": "@/sky" }, "title": "{@/high}", "text": "{@/sky}" },
            { "component": "Code", "text": { "path": "/result/updated" }, "language": "json" },
            { "component": "Diff", "before": "{/input/city}", "after": { "path": "/result/city" } },
            { "component": "Icon", "name": "sun", "label": "Sunny" },
            { "component": "Modal", "label": "More", "children": [{ "component": "Text", "text": "{/result/updated}" }] },
            { "component": "Slider", "path": "/input/days", "label": "Days", "min": 1, "max": 14 },
            { "component": "Form" },
            { "component": "Button", "label": "Next", "arguments": { "days": 2, "cursor": { "path": "/result/next" } } }
        ] } })
    }

    fn complaints(specification: &Value) -> String {
        check(specification).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_valid_specification_has_no_faults() {
        assert_eq!(complaints(&everything()), "");
    }

    #[test]
    fn faults_are_reported_with_their_place() {
        let with = |root: Value| json!({ "version": 1, "root": root });
        let table = [
            (json!(null), "the specification: must be of type \"object\""),
            (json!({ "root": { "component": "Form" } }), "the specification: lacks `version`"),
            (json!({ "version": 2, "root": { "component": "Form" } }), "/version: must be 1"),
            (
                with(json!({ "component": "Iframe" })),
                "/root: must be an object whose `component` is one of Column",
            ),
            (with(json!({ "component": "component" })), "/root: must be an object whose"),
            (
                with(json!({ "component": "Form", "onclick": "x" })),
                "/root/onclick: is not known here; known are component, when",
            ),
            (
                with(json!({ "component": "Text", "text": 5 })),
                "/root/text: must be a text, or an object with `path`",
            ),
            (
                with(json!({ "component": "Text", "text": { "path": "result" } })),
                "/root/text/path: `result` is not valid here. A JSON pointer",
            ),
            (
                with(json!({ "component": "Icon", "name": "unicorn" })),
                "/root/name: must be one of [\"check\"",
            ),
            (
                with(
                    json!({ "component": "Slider", "path": "/input/a", "label": "a", "min": "1" }),
                ),
                "/root/min: must be of type \"number\"",
            ),
            (
                with(
                    json!({ "component": "Chart", "kind": "radar", "rows": "/result", "x": {}, "y": [] }),
                ),
                "/root/kind: must be one of",
            ),
            (
                with(json!({ "component": "Text", "text": "a", "variant": "h1" })),
                "/root/variant: must be one of",
            ),
            (
                with(json!({ "component": "Column", "children": [] })),
                "/root/children: has 0, and 1 is the minimum",
            ),
            (with(json!({ "component": "Details" })), "/root: lacks `"),
            (
                with(
                    json!({ "component": "Column", "children": [{ "component": "Field", "path": "/input/a/b" }] }),
                ),
                "/root/children/0/path: `/input/a/b`",
            ),
            (
                with(json!({ "component": "Metric", "label": "x".repeat(5000), "value": "a" })),
                "/root/label: has 5000, and 4000 is the maximum",
            ),
        ];
        for (specification, expected) in table {
            let said = complaints(&specification);
            assert!(said.starts_with(expected), "{specification}: {said}");
        }
    }

    #[test]
    fn specifications_that_are_too_deep_or_too_large_are_refused() {
        let mut deep = json!({ "component": "Form" });
        for _ in 0..40 {
            deep = json!({ "component": "Column", "children": [deep] });
        }
        assert!(complaints(&json!({ "version": 1, "root": deep })).contains("too much"));
        let wide =
            json!({ "component": "Column", "children": vec![json!({ "component": "Form" }); 60] });
        let wider = json!({ "component": "Column", "children": vec![wide; 20] });
        assert!(complaints(&json!({ "version": 1, "root": wider })).contains("too much"));
        let wrong = json!({ "component": "Column", "children": vec![json!(1); 60] });
        assert_eq!(check(&json!({ "version": 1, "root": wrong })).len(), PROBLEMS);
    }

    /// Replaces each value of a valid specification with other values, and compares the verdicts with a general validator's.
    #[test]
    fn verdicts_agree_with_a_general_validator() {
        let general = jsonschema::validator_for(&catalogue()).expect("it is a schema");
        let right = everything();
        assert!(general.is_valid(&right));
        let mut pointers = Vec::new();
        places(&right, String::new(), &mut pointers);
        let mut spoiled = 0;
        for pointer in pointers {
            for spoiling in [
                json!(null),
                json!(7),
                json!("x"),
                json!([]),
                json!({}),
                json!({ "path": "/result" }),
                json!(true),
                json!("/input/a"),
            ] {
                let mut one = right.clone();
                *one.pointer_mut(&pointer).expect("it is there") = spoiling;
                assert_eq!(check(&one).is_empty(), general.is_valid(&one), "{pointer}: {one}");
                spoiled += 1;
            }
        }
        assert!(spoiled > 500);
    }

    fn places(value: &Value, at: String, all: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(name, one)| places(one, format!("{at}/{name}"), all))
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .for_each(|(index, one)| places(one, format!("{at}/{index}"), all)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        all.push(at);
    }
}
