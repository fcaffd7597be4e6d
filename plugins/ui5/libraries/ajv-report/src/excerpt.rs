//! Cuts out the part of a schema that applies to an instance, for the `jsonschema` crate.
//!
//! Building a validator costs far more than one validation, and a manifest uses little of its schema. The
//! excerpt lacks the parts of the schema that cannot change the result: annotations, unchecked formats, and
//! schemas for members, names or items that the instance does not have.

use crate::{
    CannotValidate,
    documents::{Documents, Place},
    formats,
    keywords::{Group, Shape},
    patterns::Patterns,
};
use jsonschema::Draft;
use serde_json::{Map, Value, json};
use std::{
    collections::{HashMap, HashSet},
    ptr,
};

/// Represents any member name, for schemas to which the name does not matter.
static ANY_NAME: Value = Value::String(String::new());

/// An excerpt and the options for compiling it.
pub struct Excerpt {
    /// Self-contained schema: all references lead to its own definitions.
    pub schema: Value,
    /// The draft to compile with: draft-07, unless the schema needs a newer one. The `jsonschema` crate first
    /// compiles the meta-schema, which takes several times as long for 2020-12.
    pub draft: Draft,
    /// Whether the regular expressions need an engine with look-around.
    pub looks_around: bool,
}

impl Excerpt {
    /// The excerpt of the schema `at` for this instance.
    pub fn new<'s>(
        documents: &Documents<'s>,
        at: Place<'s>,
        instance: &Value,
    ) -> Result<Self, CannotValidate> {
        let mut applied = AppliedSchemas {
            documents,
            seen: HashSet::new(),
            visited: HashSet::new(),
            targets: Vec::new(),
            numbers: HashMap::new(),
            draft: Draft::Draft7,
        };
        applied.visit(at, instance)?;
        applied.copy(at)
    }
}

/// The schemas that apply to the instance.
struct AppliedSchemas<'s, 'd> {
    documents: &'d Documents<'s>,
    /// The visited schemas, each with the instance.
    seen: HashSet<(*const Value, *const Value)>,
    /// The visited schemas.
    visited: HashSet<*const Value>,
    /// Targets of references, numbered in order of discovery.
    targets: Vec<Place<'s>>,
    numbers: HashMap<*const Value, usize>,
    draft: Draft,
}

impl<'s> AppliedSchemas<'s, '_> {
    fn visit(&mut self, at: Place<'s>, instance: &Value) -> Result<(), CannotValidate> {
        self.visited.insert(ptr::from_ref(at.schema));
        let Value::Object(keywords) = at.schema else { return Ok(()) };
        if !self.seen.insert((ptr::from_ref(at.schema), ptr::from_ref(instance))) {
            return Ok(());
        }
        for (name, value) in keywords {
            let Some((_, keyword)) = self.documents.dialect.keyword(name) else { continue };
            if applies_to(keyword.group, instance) {
                if keyword.newer {
                    self.draft = Draft::Draft202012;
                }
                self.visit_keyword(at, keyword.shape, value, instance)?;
            }
        }
        Ok(())
    }

    fn visit_keyword(
        &mut self,
        at: Place<'s>,
        shape: Shape,
        value: &'s Value,
        instance: &Value,
    ) -> Result<(), CannotValidate> {
        match shape {
            Shape::Plain => Ok(()),
            Shape::Same => self.visit(at.part(value), instance),
            Shape::SameEach => self.visit_each(at, elements(value), std::iter::once(instance)),
            Shape::Children => self.visit_each(at, [value], children(instance)),
            Shape::Positions if value.is_array() => {
                for (schema, item) in elements(value).zip(elements(instance)) {
                    self.visit(at.part(schema), item)?;
                }
                Ok(())
            }
            Shape::Positions => self.visit_each(at, [value], children(instance)),
            Shape::Names => {
                for (name, schema) in members(value) {
                    if let Some(member) = instance.get(name) {
                        self.visit(at.part(schema), member)?;
                    }
                }
                Ok(())
            }
            Shape::Patterns => {
                self.visit_each(at, members(value).map(|(_, schema)| schema), children(instance))
            }
            Shape::MemberNames => self.visit(at.part(value), &ANY_NAME),
            Shape::Dependents => {
                for (name, schema) in members(value) {
                    if instance.get(name).is_some() && !schema.is_array() {
                        self.visit(at.part(schema), instance)?;
                    }
                }
                Ok(())
            }
            Shape::Reference => {
                let target = self.resolve(at, value)?;
                let key = ptr::from_ref(target.schema);
                if !self.numbers.contains_key(&key) {
                    self.numbers.insert(key, self.targets.len());
                    self.targets.push(target);
                }
                self.visit(target, instance)
            }
        }
    }

    fn visit_each<'i>(
        &mut self,
        at: Place<'s>,
        schemas: impl IntoIterator<Item = &'s Value>,
        instances: impl Iterator<Item = &'i Value> + Clone,
    ) -> Result<(), CannotValidate> {
        for schema in schemas {
            for instance in instances.clone() {
                self.visit(at.part(schema), instance)?;
            }
        }
        Ok(())
    }

    fn resolve(&self, at: Place<'s>, reference: &Value) -> Result<Place<'s>, CannotValidate> {
        match reference.as_str() {
            Some(reference) => self.documents.follow(at, reference),
            None => Err(CannotValidate::new("the schema has a $ref that is not a string")),
        }
    }

    /// Copies the schemas that apply, starting at `at`.
    fn copy(&self, at: Place<'s>) -> Result<Excerpt, CannotValidate> {
        let mut patterns = Patterns::default();
        let mut schema = self.copy_schema(at, &mut patterns)?;
        let mut targets = Map::new();
        for (number, target) in self.targets.iter().enumerate() {
            targets.insert(number.to_string(), self.copy_schema(*target, &mut patterns)?);
        }
        if let Value::Object(keywords) = &mut schema {
            keywords.insert("definitions".to_owned(), Value::Object(targets));
        }
        Ok(Excerpt { schema, draft: self.draft, looks_around: patterns.look_around })
    }

    fn copy_schema(&self, at: Place<'s>, patterns: &mut Patterns) -> Result<Value, CannotValidate> {
        if !self.visited.contains(&ptr::from_ref(at.schema)) {
            // The schema is never applied, so `true` can replace it. Only `false` is kept: in `additionalProperties`
            // and `items`, `false` forbids members or items.
            return Ok(Value::Bool(!matches!(at.schema, Value::Bool(false))));
        }
        let keywords = match at.schema {
            Value::Object(keywords) => keywords,
            Value::Bool(_) => return Ok(at.schema.clone()),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(CannotValidate::new(
                    "the schema has something that is not a schema in it",
                ));
            }
        };
        let mut copy = Map::new();
        for (name, value) in keywords {
            if let Some((_, keyword)) = self.documents.dialect.keyword(name) {
                if let Some(value) = self.copy_value(at, name, keyword.shape, value, patterns)? {
                    copy.insert(name.clone(), value);
                }
            } else if name == "nullable"
                || (name == "$id" && !self.documents.is_document(at.schema))
            {
                return Err(CannotValidate::new(format!(
                    "the schema uses {name}, which is not supported"
                )));
            }
        }
        if self.draft == Draft::Draft7 {
            keep_beside_reference(&mut copy);
        }
        Ok(Value::Object(copy))
    }

    fn copy_value(
        &self,
        at: Place<'s>,
        name: &str,
        shape: Shape,
        value: &'s Value,
        patterns: &mut Patterns,
    ) -> Result<Option<Value>, CannotValidate> {
        let mut copy = |schema: &'s Value| self.copy_schema(at.part(schema), patterns);
        let copied = match shape {
            Shape::Plain => return copy_plain(name, value, patterns),
            Shape::Same | Shape::Children | Shape::MemberNames => copy(value)?,
            Shape::SameEach => elements(value).map(copy).collect::<Result<_, _>>()?,
            Shape::Positions if value.is_array() => {
                elements(value).map(copy).collect::<Result<_, _>>()?
            }
            Shape::Positions => copy(value)?,
            Shape::Names => copy_members(value, copy)?,
            Shape::Dependents => {
                copy_members(
                    value,
                    |part| if part.is_array() { Ok(part.clone()) } else { copy(part) },
                )?
            }
            Shape::Patterns => {
                let mut all = Map::new();
                for (pattern, schema) in members(value) {
                    let schema = self.copy_schema(at.part(schema), patterns)?;
                    if all.insert(patterns.adapt(pattern), schema).is_some() {
                        return Err(CannotValidate::new("the schema has the same pattern twice"));
                    }
                }
                Value::Object(all)
            }
            Shape::Reference => {
                let target = self.resolve(at, value)?;
                let number = self.numbers.get(&ptr::from_ref(target.schema));
                // `visit` has followed all references of schemas that apply: `$ref` belongs to `Group::Any`,
                // which applies to every instance.
                let number = number.expect("references of applied schemas have been followed");
                json!(format!("#/definitions/{number}"))
            }
        };
        Ok(Some(copied))
    }
}

/// Moves the reference to one more schema in `allOf`: draft-07 ignores keywords beside a `$ref`, but Ajv does not. The
/// module `trail` skips the added schema in paths.
fn keep_beside_reference(schema: &mut Map<String, Value>) {
    if schema.len() > 1
        && let Some(reference) = schema.shift_remove("$ref")
        && let Value::Array(all) = schema.entry("allOf").or_insert_with(|| json!([]))
    {
        all.push(json!({"$ref": reference}));
    }
}

fn copy_plain(
    name: &str,
    value: &Value,
    patterns: &mut Patterns,
) -> Result<Option<Value>, CannotValidate> {
    match (name, value) {
        ("pattern", Value::String(pattern)) => Ok(Some(json!(patterns.adapt(pattern)))),
        ("format", Value::String(format)) => {
            Ok(formats::is_checked(format)?.then(|| value.clone()))
        }
        _ => Ok(Some(value.clone())),
    }
}

fn applies_to(group: Group, instance: &Value) -> bool {
    match group {
        Group::Any => true,
        Group::Number => instance.is_number(),
        Group::String => instance.is_string(),
        Group::Array => instance.is_array(),
        Group::Object => instance.is_object(),
    }
}

fn copy_members<'s>(
    value: &'s Value,
    mut copy: impl FnMut(&'s Value) -> Result<Value, CannotValidate>,
) -> Result<Value, CannotValidate> {
    members(value).map(|(name, schema)| Ok((name.clone(), copy(schema)?))).collect()
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().into_iter().flatten()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> + Clone {
    value.as_object().into_iter().flatten()
}

/// The values of all members or items of the instance.
fn children(instance: &Value) -> impl Iterator<Item = &Value> + Clone {
    elements(instance).chain(members(instance).map(|(_, member)| member))
}
