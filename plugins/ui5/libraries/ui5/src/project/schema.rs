//! Validates a `ui5.yaml` against the JSON Schemas of UI5 CLI.
//!
//! The schemas use only a part of JSON Schema and are parsed in every call, so they are interpreted
//! instead of compiled. Errors come in Ajv's order.

use super::yaml::escape;
use regex_lite::Regex;
use serde_json::{Map, Value};
use std::{cell::RefCell, collections::HashMap, rc::Rc};

/// Made by `plugins/ui5/resources/make-ui5-yaml-schemas.sh`: one line for each path and its schema.
const SCHEMAS: &str = include_str!("../../../../resources/ui5-yaml.schemas");

/// A violation of the schemas.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// JSON Pointer to the value in the configuration.
    pub pointer: String,
    /// The kind of violation.
    pub kind: Kind,
}

/// The kinds of violations.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A property that is not allowed.
    AdditionalProperty(String),
    /// A property that is missing.
    Required(String),
    /// A value of another type than this.
    Type(String),
    /// A value other than these.
    Enum(Vec<Value>),
    /// The error message that the schema itself defines.
    Told(String),
    /// Another message.
    Other(String),
    /// No alternative holds, or more than one. If none holds, the errors of each are separate
    /// violations.
    Alternatives,
}

/// The violations in a configuration.
pub fn violations(configuration: &Value) -> Vec<Violation> {
    let judge = SchemaValidator { files: RefCell::default() };
    let root = judge.file("ui5.json");
    judge.judge(&root, configuration, "")
}

struct SchemaValidator {
    files: RefCell<HashMap<String, Rc<Value>>>,
}

impl SchemaValidator {
    fn file(&self, path: &str) -> Rc<Value> {
        if let Some(known) = self.files.borrow().get(path) {
            return Rc::clone(known);
        }
        let line = SCHEMAS.lines().find_map(|line| line.strip_prefix(path)?.strip_prefix(' '));
        let text = line.expect("a file that is referred to is there");
        let schema = Rc::new(serde_json::from_str(text).expect("it is made by a program"));
        self.files.borrow_mut().insert(path.to_owned(), Rc::clone(&schema));
        schema
    }

    fn judge(&self, schema: &Value, value: &Value, pointer: &str) -> Vec<Violation> {
        let Value::Object(keywords) = schema else { return Vec::new() };
        let mut found = Vec::new();
        let at = |kind| Violation { pointer: pointer.to_owned(), kind };
        let type_violation = keywords
            .get("type")
            .and_then(Value::as_str)
            .and_then(|name| (!is_of_type(value, name)).then(|| at(Kind::Type(name.to_owned()))));
        let group =
            keywords.get("type").and_then(Value::as_str).filter(|name| has_group(keywords, name));
        if group.is_none() {
            found.extend(type_violation.clone());
        }
        self.judge_text(keywords, value, &at, &mut found);
        if group == Some("string") {
            found.extend(type_violation.clone());
        }
        self.judge_anything(keywords, value, pointer, &mut found);
        self.judge_items(keywords, value, pointer, &mut found);
        if group == Some("array") {
            found.extend(type_violation.clone());
        }
        self.judge_members(keywords, value, pointer, &mut found);
        if group == Some("object") {
            found.extend(type_violation);
        }
        match keywords.get("errorMessage").and_then(Value::as_str) {
            Some(message) if !found.is_empty() => vec![at(Kind::Told(message.to_owned()))],
            _ => found,
        }
    }

    fn holds(&self, schema: &Value, value: &Value) -> bool {
        self.judge(schema, value, "").is_empty()
    }

    fn judge_text(
        &self,
        keywords: &Map<String, Value>,
        value: &Value,
        at: &dyn Fn(Kind) -> Violation,
        found: &mut Vec<Violation>,
    ) {
        let Value::String(text) = value else { return };
        let length = text.chars().count() as u64;
        let limit = |name: &str| keywords.get(name).and_then(Value::as_u64);
        if let Some(most) = limit("maxLength").filter(|most| length > *most) {
            found.push(at(Kind::Other(format!("must NOT have more than {most} characters"))));
        }
        if let Some(least) = limit("minLength").filter(|least| length < *least) {
            found.push(at(Kind::Other(format!("must NOT have fewer than {least} characters"))));
        }
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str)
            && !matches(pattern, text)
        {
            found.push(at(Kind::Other(format!("must match pattern \"{pattern}\""))));
        }
    }

    /// Applies the keywords for values of any type.
    fn judge_anything(
        &self,
        keywords: &Map<String, Value>,
        value: &Value,
        pointer: &str,
        found: &mut Vec<Violation>,
    ) {
        let at = |kind| Violation { pointer: pointer.to_owned(), kind };
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            let (path, place) = reference.split_once('#').unwrap_or((reference, ""));
            let file = self.file(path);
            let schema = file.pointer(place).expect("what is referred to is there");
            found.extend(self.judge(schema, value, pointer));
        }
        if let Some(constant) = keywords.get("const")
            && constant != value
        {
            found.push(at(Kind::Other("must be equal to constant".to_owned())));
        }
        if let Some(Value::Array(allowed)) = keywords.get("enum")
            && !allowed.contains(value)
        {
            found.push(at(Kind::Enum(allowed.clone())));
        }
        if let Some(schema) = keywords.get("not")
            && self.holds(schema, value)
        {
            found.push(at(Kind::Other("must NOT be valid".to_owned())));
        }
        for name in ["anyOf", "oneOf"] {
            let Some(Value::Array(options)) = keywords.get(name) else { continue };
            let judged: Vec<_> =
                options.iter().map(|option| self.judge(option, value, pointer)).collect();
            let holding = judged.iter().filter(|found| found.is_empty()).count();
            if holding == 0 {
                found.extend(judged.into_iter().flatten());
            }
            if holding == 0 || (name == "oneOf" && holding > 1) {
                found.push(at(Kind::Alternatives));
            }
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.holds(condition, value) { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                found.extend(self.judge(schema, value, pointer));
            }
        }
    }

    fn judge_items(
        &self,
        keywords: &Map<String, Value>,
        value: &Value,
        pointer: &str,
        found: &mut Vec<Violation>,
    ) {
        let (Some(schema), Value::Array(items)) = (keywords.get("items"), value) else { return };
        for (index, item) in items.iter().enumerate() {
            found.extend(self.judge(schema, item, &format!("{pointer}/{index}")));
        }
    }

    fn judge_members(
        &self,
        keywords: &Map<String, Value>,
        value: &Value,
        pointer: &str,
        found: &mut Vec<Violation>,
    ) {
        let Value::Object(members) = value else { return };
        let at = |kind| Violation { pointer: pointer.to_owned(), kind };
        let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str).filter(|name| !members.contains_key(*name)) {
            found.push(at(Kind::Required(name.to_owned())));
        }
        let schemas = |name: &str| keywords.get(name).and_then(Value::as_object);
        let (known, patterns) = (schemas("properties"), schemas("patternProperties"));
        let is_known = |name: &str| {
            known.is_some_and(|known| known.contains_key(name))
                || patterns.is_some_and(|all| all.keys().any(|pattern| matches(pattern, name)))
        };
        let of = |name: &str| format!("{pointer}/{}", escape(name));
        if let Some(rest) = keywords.get("additionalProperties") {
            for (name, value) in members.iter().filter(|(name, _)| !is_known(name)) {
                if rest == &Value::Bool(false) {
                    found.push(at(Kind::AdditionalProperty(name.clone())));
                } else {
                    found.extend(self.judge(rest, value, &of(name)));
                }
            }
        }
        for (name, schema) in known.into_iter().flatten() {
            if let Some(value) = members.get(name) {
                found.extend(self.judge(schema, value, &of(name)));
            }
        }
        for (pattern, schema) in patterns.into_iter().flatten() {
            for (name, value) in members.iter().filter(|(name, _)| matches(pattern, name)) {
                found.extend(self.judge(schema, value, &of(name)));
            }
        }
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).expect("the patterns of the schemas are known").is_match(text)
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        other => unreachable!("the schemas have no type `{other}`"),
    }
}

/// Whether the schema has a keyword for that type. If so, the violation of the type comes after the
/// violations of such keywords.
fn has_group(keywords: &Map<String, Value>, name: &str) -> bool {
    let group: &[&str] = match name {
        "string" => &["maxLength", "minLength", "pattern"],
        "array" => &["items"],
        "object" => &["required", "additionalProperties", "properties", "patternProperties"],
        _ => &[],
    };
    group.iter().any(|keyword| keywords.contains_key(*keyword))
}
