//! A location in a tool's data, described by the tool's schema and a sample of the data.

use portcullis_plugin::serde_json::Value;

/// Maximum nesting of references and alternatives that is followed.
const DEPTH: usize = 12;
/// Maximum number of alternatives that are examined.
const WIDTH: usize = 64;
/// Maximum number of items of a sample that are examined.
const SAMPLES: usize = 50;
/// Maximum number of names in a message.
const NAMES: usize = 20;

/// A location in a tool's data.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The document in which references are resolved.
    root: Option<&'a Value>,
    /// The possible schemas; `None`: anything.
    schemas: Option<Vec<&'a Value>>,
    /// The values in the sample.
    samples: Vec<&'a Value>,
}

impl<'a> Place<'a> {
    /// The root of the data.
    pub fn of(schema: Option<&'a Value>, sample: Option<&'a Value>) -> Self {
        Self {
            root: schema,
            schemas: schema.map(|schema| vec![schema]),
            samples: sample.into_iter().collect(),
        }
    }

    /// A location about which nothing is known.
    pub fn anything() -> Self {
        Self { root: None, schemas: None, samples: Vec::new() }
    }

    /// The child with that name or index. The error lists the names that exist, if the child cannot exist.
    pub fn step(&self, token: &str) -> Result<Self, Vec<String>> {
        let samples: Vec<_> =
            self.samples.iter().filter_map(|sample| child(sample, token)).collect();
        let schemas = match self.alternatives() {
            None if self.samples.is_empty() || !samples.is_empty() => None,
            None => return Err(self.names()),
            Some(schemas) => {
                let mut beneath = Some(Vec::new());
                for schema in schemas {
                    match (beneath.as_mut(), children(schema, token)) {
                        (Some(known), Some(more)) => known.extend(more),
                        _ => beneath = None,
                    }
                }
                match beneath {
                    Some(known) if known.is_empty() && samples.is_empty() => {
                        return Err(self.names());
                    }
                    // Undeclared, but present in the sample.
                    Some(known) if known.is_empty() => None,
                    beneath => beneath,
                }
            }
        };
        Ok(Self { root: self.root, schemas, samples })
    }

    /// The items of this list. Objects count as lists of keys and values. The error names the type of a
    /// location that cannot be a list.
    pub fn items(&self) -> Result<Self, String> {
        if !self.may_be(&["array", "object"]) {
            return Err(self.kind());
        }
        let samples: Vec<_> = self.samples.iter().filter_map(|sample| sample.as_array()).collect();
        let is_record = !self.samples.is_empty() && samples.is_empty();
        let mut schemas = None;
        for schema in self.alternatives().unwrap_or_default() {
            let items = [schema.get("items")].into_iter().flatten();
            let items = items
                .chain(schema.get("prefixItems").and_then(Value::as_array).into_iter().flatten());
            let known: &mut Vec<_> = schemas.get_or_insert_default();
            known.extend(items.filter(|schema| schema.is_object()));
        }
        if is_record || schemas.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Self::anything());
        }
        let samples = samples.into_iter().flatten().take(SAMPLES).collect();
        Ok(Self { root: self.root, schemas, samples })
    }

    /// Whether a schema declares the location, or a sample has it.
    pub fn is_known(&self) -> bool {
        self.schemas.as_ref().is_some_and(|schemas| !schemas.is_empty()) || !self.samples.is_empty()
    }

    /// Whether the value may have one of these types.
    pub fn may_be(&self, kinds: &[&str]) -> bool {
        match self.alternatives() {
            Some(schemas) => schemas
                .iter()
                .any(|schema| schema.get("type").is_none_or(|kind| names(kind, kinds))),
            None if self.samples.is_empty() => true,
            None => self.samples.iter().any(|sample| kinds.contains(&kind_of(sample))),
        }
    }

    fn kind(&self) -> String {
        let of_schema = self.alternatives().and_then(|schemas| {
            schemas.iter().find_map(|schema| schema.get("type")?.as_str()).map(str::to_owned)
        });
        let of_sample = || self.samples.first().map(|sample| kind_of(sample).to_owned());
        of_schema.or_else(of_sample).unwrap_or_else(|| "single value".to_owned())
    }

    fn names(&self) -> Vec<String> {
        let schemas = self.alternatives().unwrap_or_default();
        let declared =
            schemas.into_iter().filter_map(|schema| schema.get("properties")?.as_object());
        let found = self.samples.iter().filter_map(|sample| sample.as_object());
        let mut names: Vec<String> = Vec::new();
        for name in declared.chain(found).flat_map(|object| object.keys()) {
            if !names.contains(name) && names.len() < NAMES {
                names.push(name.clone());
            }
        }
        names
    }

    /// The possible schemas, with references resolved and alternatives flattened; `None`: anything.
    fn alternatives(&self) -> Option<Vec<&'a Value>> {
        let mut all = Vec::new();
        for schema in self.schemas.as_ref()? {
            self.spread(schema, DEPTH, &mut all)?;
        }
        Some(all)
    }

    fn spread(&self, schema: &'a Value, depth: usize, all: &mut Vec<&'a Value>) -> Option<()> {
        if depth == 0 || all.len() >= WIDTH {
            return None;
        }
        let object = schema.as_object()?;
        let mut leads_on = false;
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#')?;
            self.spread(self.root?.pointer(pointer)?, depth - 1, all)?;
            leads_on = true;
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for way in object.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.spread(way, depth - 1, all)?;
                leads_on = true;
            }
        }
        // A schema that only refers to others is left out: by itself it would allow anything.
        if !leads_on || object.contains_key("properties") || object.contains_key("items") {
            all.push(schema);
        }
        Some(())
    }
}

fn child<'a>(value: &'a Value, token: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        Value::Object(members) => members.get(token),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The schemas of a schema's child with that name; `None`: anything.
fn children<'a>(schema: &'a Value, token: &str) -> Option<Vec<&'a Value>> {
    let mut known = Vec::new();
    if let Some(property) = schema.get("properties").and_then(|all| all.get(token)) {
        known.push(property);
    } else if schema.get("patternProperties").is_some() {
        return None;
    } else {
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            Some(other @ Value::Object(_)) => known.push(other),
            Some(_) => return None,
            // A schema that declares no members may have any.
            None if schema.get("properties").is_none()
                && schema.get("type").is_none_or(|kind| names(kind, &["object"])) =>
            {
                return None;
            }
            None => {}
        }
    }
    if let Ok(index) = token.parse::<usize>() {
        let first = schema.get("prefixItems").and_then(Value::as_array);
        match first.and_then(|first| first.get(index)).or_else(|| schema.get("items")) {
            Some(Value::Bool(false)) => {}
            Some(item @ Value::Object(_)) => known.push(item),
            Some(_) => return None,
            None if schema.get("type").is_some_and(|kind| names(kind, &["array"])) => return None,
            None => {}
        }
    }
    Some(known)
}

/// Whether a value of the keyword `type` names one of these types.
fn names(kind: &Value, kinds: &[&str]) -> bool {
    let is_one = |kind: &Value| kind.as_str().is_some_and(|kind| kinds.contains(&kind));
    is_one(kind) || kind.as_array().is_some_and(|all| all.iter().any(is_one))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::serde_json::json;

    #[test]
    fn pointers_are_followed_through_every_kind_of_schema() {
        let schema = json!({
            "allOf": [{ "properties": { "a": { "$ref": "#/$defs/list" } } }],
            "oneOf": [{ "properties": { "kind": { "const": "x" } } }, { "properties": { "kind": { "const": "y" }, "y": {} } }],
            "properties": { "self": { "$ref": "#" }, "map": { "patternProperties": { "^x": {} } }, "none": false },
            "$defs": { "list": { "type": "array", "prefixItems": [{ "type": "object", "properties": { "p": {} }, "additionalProperties": false }] } }
        });
        let start = Place::of(Some(&schema), None);
        let leads = |path: &str| {
            path.split('/').try_fold(start.clone(), |place, token| place.step(token)).is_ok()
        };
        for path in ["a/0/p", "a/7/anything", "kind", "y", "self/self/self/a/0", "map/whatever"] {
            assert!(leads(path), "{path}");
        }
        for path in ["b", "a/0/q", "self/b"] {
            assert!(!leads(path), "{path}");
        }
    }

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
            json!({ "$ref": "#/gone" }),
            json!({ "$ref": "https://example.org/" }),
            json!(true),
            json!([]),
        ] {
            let place = Place::of(Some(&schema), None);
            assert!(place.step("a").is_ok(), "{schema}");
            assert!(place.items().is_ok(), "{schema}");
        }
    }
}
