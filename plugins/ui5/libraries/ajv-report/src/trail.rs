//! Follows the path from the root schema to the violated keyword, like Ajv.
//!
//! The `jsonschema` crate reports the path of keywords to an error. This module follows the path through the
//! schema, and finds the two values that Ajv reports differently: the `schemaPath` and the position in the
//! list.

use crate::{
    CannotValidate,
    documents::{Documents, Place},
    keywords::Shape,
    patterns,
};
use serde_json::{Map, Value};
use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    ptr,
};

/// The start of a trail.
#[derive(Clone, Copy)]
pub struct Start<'s, 'i> {
    /// The schema.
    pub place: Place<'s>,
    /// The path of the schema, in Ajv's notation.
    pub schema_path: &'i str,
    /// The value being validated.
    pub instance: &'i Value,
    /// Path of that value in the whole instance.
    pub instance_path: &'i str,
}

/// The location of an error.
#[derive(Clone, Copy)]
pub struct Site<'e> {
    /// Path of keywords, through references.
    pub evaluation_path: &'e str,
    /// Path in the instance.
    pub instance_path: &'e str,
    /// The name of the member, for errors about a member's name.
    pub name: Option<&'e Value>,
}

/// The path by which Ajv reaches an error.
pub struct Trail<'s, 'i> {
    /// Sort key: earlier errors in Ajv's list compare less.
    pub order: Vec<usize>,
    /// Path of the schema that holds the keyword, without the keyword.
    pub schema_path: String,
    /// The schema that holds the keyword.
    pub place: Place<'s>,
    /// The value that violates the keyword.
    pub instance: &'i Value,
    /// Path of that value in the whole instance.
    pub instance_path: String,
    /// The keyword; `None` if the schema is `false`.
    pub keyword: Option<&'static str>,
    /// The member whose name is validated. Ajv drops this name in schemas that it compiles separately.
    pub property_name: Option<&'i str>,
    /// Each `then` and `else` on the path.
    pub conditions: Vec<Condition<'i>>,
}

/// A `then` or `else` that the instance does not match.
pub struct Condition<'i> {
    /// Sort key of the `if`.
    pub order: Vec<usize>,
    /// Path of the schema that holds the `if`.
    pub schema_path: String,
    /// Path of the value.
    pub instance_path: String,
    /// `then` or `else`.
    pub keyword: &'static str,
    /// The member whose name is validated.
    pub property_name: Option<&'i str>,
}

/// Follows trails. Caches the positions of members, so that many errors stay fast.
pub struct Tracker<'s, 'd> {
    documents: &'d Documents<'s>,
    positions: RefCell<HashMap<*const Map<String, Value>, Positions>>,
}

/// The position of each member among the others, by name.
type Positions = HashMap<String, usize>;

/// Sort key after all other errors of the same keyword.
pub const LAST: usize = usize::MAX;

/// A trail so far, and the rest of the path.
struct Walk<'s, 'i> {
    trail: Trail<'s, 'i>,
    keywords: VecDeque<String>,
    steps: VecDeque<String>,
}

impl<'s, 'd> Tracker<'s, 'd> {
    /// Starts with an empty cache.
    pub fn new(documents: &'d Documents<'s>) -> Self {
        Self { documents, positions: RefCell::default() }
    }

    /// Follows a trail to the location of an error.
    pub fn follow<'i>(
        &self,
        start: Start<'s, 'i>,
        site: Site<'i>,
    ) -> Result<Trail<'s, 'i>, CannotValidate> {
        let mut walk = Walk {
            trail: Trail {
                order: Vec::new(),
                schema_path: start.schema_path.to_owned(),
                place: start.place,
                instance: start.instance,
                instance_path: start.instance_path.to_owned(),
                keyword: None,
                property_name: None,
                conditions: Vec::new(),
            },
            keywords: tokens(site.evaluation_path),
            steps: tokens(site.instance_path),
        };
        while let Some(token) = walk.keywords.pop_front() {
            if self.step(&mut walk, &token, site.name).ok_or_else(|| lost(&site))?? {
                break;
            }
        }
        Ok(walk.trail)
    }

    /// Follows one keyword. `Some(Ok(true))`: this keyword is the violated one. `None`: the schema or the instance has
    /// no such path.
    fn step<'i>(
        &self,
        walk: &mut Walk<'s, 'i>,
        token: &str,
        name: Option<&'i Value>,
    ) -> Option<Result<bool, CannotValidate>> {
        let schema = walk.trail.place.schema.as_object()?;
        if token == "allOf" && walk.skip_added_part(schema) {
            return Some(Ok(false));
        }
        let (place, keyword) = self.documents.dialect.keyword(token)?;
        let value = schema.get(token)?;
        // If the schema in `propertyNames` is `false`, the crate does not name the member.
        let lacks_name = keyword.shape == Shape::MemberNames && name.is_none();
        let is_violated =
            lacks_name || is_violated_itself(keyword.name, keyword.shape, value, schema);
        if walk.keywords.is_empty() && is_violated {
            walk.trail.order.push(match keyword.name {
                "type" => self.documents.dialect.place_of_type(schema),
                // Ajv reports `contains` for both limits.
                "minContains" | "maxContains" => self.documents.dialect.keyword("contains")?.0 + 1,
                _ => place + 1,
            });
            walk.trail.keyword = Some(keyword.name);
            return Some(Ok(true));
        }
        match self.descend(walk, place + 1, keyword.name, value, name, keyword.shape) {
            Some(Ok(())) => Some(Ok(false)),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        }
    }

    fn descend<'i>(
        &self,
        walk: &mut Walk<'s, 'i>,
        rank: usize,
        keyword: &'static str,
        value: &'s Value,
        name: Option<&'i Value>,
        shape: Shape,
    ) -> Option<Result<(), CannotValidate>> {
        let instance = walk.trail.instance;
        match shape {
            Shape::Plain => return None,
            Shape::Reference => return Some(self.follow_reference(walk, rank, value.as_str()?)),
            Shape::Same => self.enter_same(walk, rank, keyword, value),
            Shape::SameEach => {
                let index = walk.take_index()?;
                walk.enter(&[rank, index], &[keyword, &index.to_string()], value.get(index)?);
            }
            Shape::Children => {
                let step = walk.enter_part()?;
                walk.enter(&[rank, self.position(instance, &step)?], &[keyword], value);
            }
            Shape::Positions => {
                let step = walk.enter_part()?;
                let index = self.position(instance, &step)?;
                if let Value::Array(schemas) = value {
                    // The crate writes the index into both paths.
                    walk.take_index()?;
                    walk.enter(&[rank, index], &[keyword, &step], schemas.get(index)?);
                } else {
                    walk.enter(&[rank, index], &[keyword], value);
                }
            }
            Shape::Names => {
                let member = walk.keywords.pop_front()?;
                walk.enter_part()?;
                let position = self.position(value, &member)?;
                walk.enter(&[rank, position], &[keyword, &member], value.get(&member)?);
            }
            Shape::Patterns => {
                let adapted = walk.keywords.pop_front()?;
                let member = walk.enter_part()?;
                let mut patterns = value.as_object()?.iter().enumerate();
                let (index, (pattern, schema)) =
                    patterns.find(|(_, (pattern, _))| patterns::adapt(pattern) == adapted)?;
                let position = self.position(instance, &member)?;
                walk.enter(&[rank, index, position], &[keyword, pattern], schema);
            }
            Shape::MemberNames => {
                let name = name?;
                let position = self.position(instance, name.as_str()?)?;
                walk.trail.property_name = name.as_str();
                walk.trail.instance = name;
                walk.enter(&[rank, position], &[keyword], value);
            }
            Shape::Dependents => {
                let member = walk.keywords.pop_front()?;
                // Ajv checks the lists of names first.
                let position = self.position(value, &member)?;
                walk.enter(&[rank, 1, position], &[keyword, &member], value.get(&member)?);
            }
        }
        Some(Ok(()))
    }

    fn enter_same(
        &self,
        walk: &mut Walk<'s, '_>,
        rank: usize,
        keyword: &'static str,
        value: &'s Value,
    ) {
        if !matches!(keyword, "then" | "else") {
            walk.enter(&[rank, 0], &[keyword], value);
            return;
        }
        let rank = self.documents.dialect.keyword("if").map_or(rank, |(place, _)| place + 1);
        walk.trail.conditions.push(Condition {
            order: [&walk.trail.order[..], &[rank, LAST]].concat(),
            schema_path: walk.trail.schema_path.clone(),
            instance_path: walk.trail.instance_path.clone(),
            keyword,
            property_name: walk.trail.property_name,
        });
        walk.enter(&[rank, 0], &[keyword], value);
    }

    /// After a reference, Ajv's path begins again. It begins with `#` at a schema that Ajv compiles separately, and
    /// with the reference itself at a schema that Ajv inlines.
    fn follow_reference(
        &self,
        walk: &mut Walk<'s, '_>,
        rank: usize,
        reference: &str,
    ) -> Result<(), CannotValidate> {
        let target = self.documents.follow(walk.trail.place, reference)?;
        if self.documents.holds_reference(target) {
            walk.trail.schema_path = "#".to_owned();
            walk.trail.property_name = None;
        } else {
            walk.trail.schema_path = reference.to_owned();
        }
        walk.trail.order.push(rank);
        walk.trail.place = target;
        Ok(())
    }

    /// The index of an item, or the position of a member among the others.
    pub fn position(&self, parent: &Value, key: &str) -> Option<usize> {
        let members = match parent {
            Value::Object(members) => members,
            Value::Array(_) => return key.parse().ok(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
        if members.len() < 16 {
            return members.keys().position(|name| name == key);
        }
        let mut positions = self.positions.borrow_mut();
        let member_positions = positions.entry(ptr::from_ref(members)).or_insert_with(|| {
            members.keys().enumerate().map(|(place, name)| (name.clone(), place)).collect()
        });
        member_positions.get(key).copied()
    }
}

impl<'s> Walk<'s, '_> {
    fn enter(&mut self, order: &[usize], path: &[&str], schema: &'s Value) {
        self.trail.order.extend_from_slice(order);
        for part in path {
            self.trail.schema_path.push('/');
            self.trail.schema_path.push_str(&as_fragment(part));
        }
        self.trail.place = self.trail.place.part(schema);
    }

    /// Enters the part of the instance with the error.
    fn enter_part(&mut self) -> Option<String> {
        let step = self.steps.pop_front()?;
        self.trail.instance = match self.trail.instance.as_array() {
            Some(items) => items.get(step.parse::<usize>().ok()?)?,
            None => self.trail.instance.get(&step)?,
        };
        self.trail.instance_path.push('/');
        self.trail.instance_path.push_str(&escaped(&step));
        Some(step)
    }

    /// Skips a part of `allOf` that the excerpt has added. Returns whether the part was skipped.
    fn skip_added_part(&mut self, schema: &Map<String, Value>) -> bool {
        let own = schema.get("allOf").and_then(Value::as_array).map_or(0, Vec::len);
        let index = self.keywords.front().and_then(|index| index.parse::<usize>().ok());
        let is_added = index == Some(own);
        if is_added {
            self.keywords.pop_front();
        }
        is_added
    }

    fn take_index(&mut self) -> Option<usize> {
        self.keywords.pop_front()?.parse().ok()
    }
}

/// Whether the keyword itself is violated, rather than a schema inside it.
fn is_violated_itself(
    name: &str,
    shape: Shape,
    value: &Value,
    schema: &Map<String, Value>,
) -> bool {
    let has_prefix_items = || schema.contains_key("prefixItems");
    match (shape, name) {
        (Shape::Children, _) => true,
        // Without `prefixItems`, each item is refused separately.
        (Shape::Positions, "items") => value == &Value::Bool(false) && has_prefix_items(),
        (Shape::Same | Shape::MemberNames, _) => name == "not",
        (Shape::Positions | Shape::Names | Shape::Patterns | Shape::Reference, _) => false,
        (Shape::Plain | Shape::SameEach | Shape::Dependents, _) => true,
    }
}

fn lost(site: &Site<'_>) -> CannotValidate {
    CannotValidate::new(format!(
        "the schema has no keyword for the error at {}",
        site.evaluation_path
    ))
}

fn tokens(pointer: &str) -> VecDeque<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

/// Escapes a key for a JSON Pointer.
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Escapes a key for a `schemaPath`: for a JSON Pointer, then for a URI.
fn as_fragment(key: &str) -> String {
    let mut fragment = String::with_capacity(key.len());
    for byte in escaped(key).bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'!'
            | b'~'
            | b'*'
            | b'\''
            | b'('
            | b')' => fragment.push(byte.into()),
            _ => fragment.push_str(&format!("%{byte:02X}")),
        }
    }
    fragment
}
