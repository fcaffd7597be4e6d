//! Resolves `$ref` within the schema or into other given documents. Nothing is fetched.

use crate::{CannotValidate, Dialect};
use serde_json::{Map, Value};
use std::{borrow::Cow, cell::RefCell, collections::HashMap, ptr};

/// Finds a document by its URI.
type Lookup<'s> = Box<dyn Fn(&str) -> Option<&'s Value> + 's>;

/// The schema and the documents referred to so far.
pub struct Documents<'s> {
    /// The class of Ajv that reads all documents, whatever their `$schema`.
    pub dialect: Dialect,
    lookup: Lookup<'s>,
    known: RefCell<Vec<(String, &'s Value)>>,
    holding_references: RefCell<HashMap<*const Value, bool>>,
}

/// A schema inside one of the [`Documents`].
#[derive(Clone, Copy, Debug)]
pub struct Place<'s> {
    /// Index of the document to which references without a URI refer.
    document: usize,
    /// The schema itself.
    pub schema: &'s Value,
}

impl<'s> Place<'s> {
    /// A part of this schema.
    pub fn part(self, schema: &'s Value) -> Self {
        Self { schema, ..self }
    }
}

impl<'s> Documents<'s> {
    /// Starts with the schema and no other document.
    pub fn new(
        dialect: Dialect,
        schema: &'s Value,
        lookup: impl Fn(&str) -> Option<&'s Value> + 's,
    ) -> Self {
        let id = schema.get("$id").and_then(Value::as_str).unwrap_or("");
        let known = vec![(without_fragment(id).to_owned(), schema)];
        Self {
            dialect,
            lookup: Box::new(lookup),
            known: RefCell::new(known),
            holding_references: RefCell::default(),
        }
    }

    /// The whole schema.
    pub fn root(&self) -> Place<'s> {
        Place { document: 0, schema: self.known.borrow()[0].1 }
    }

    /// Whether Ajv compiles the schema separately instead of inlining it at a `$ref`.
    pub fn holds_reference(&self, at: Place<'s>) -> bool {
        let mut known = self.holding_references.borrow_mut();
        *known.entry(ptr::from_ref(at.schema)).or_insert_with(|| holds_reference(at.schema))
    }

    /// Whether the schema is a whole document.
    pub fn is_document(&self, schema: &Value) -> bool {
        self.known.borrow().iter().any(|(_, known)| ptr::eq(*known, schema))
    }

    /// Resolves a reference of this schema. Like Ajv, skips schemas that consist of a `$ref` alone.
    pub fn follow(&self, from: Place<'s>, reference: &str) -> Result<Place<'s>, CannotValidate> {
        let mut target = self.step(from, reference)?;
        // A longer chain of references counts as a cycle.
        for _ in 0..64 {
            let Some(next) =
                target.schema.as_object().and_then(|schema| self.only_reference(schema))
            else {
                return Ok(target);
            };
            target = self.step(target, next)?;
        }
        Err(CannotValidate::new(format!("the reference {reference} leads only to itself")))
    }

    fn step(&self, from: Place<'s>, reference: &str) -> Result<Place<'s>, CannotValidate> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let document = if uri.is_empty() { from.document } else { self.document(uri)? };
        let root = self.known.borrow()[document].1;
        let pointer = percent_decoded(fragment);
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(CannotValidate::new(format!(
                "references by name such as {reference} are not supported"
            )));
        }
        match root.pointer(&pointer) {
            Some(schema) => Ok(Place { document, schema }),
            None => Err(CannotValidate::new(format!(
                "the target of the reference {reference} does not exist"
            ))),
        }
    }

    fn document(&self, uri: &str) -> Result<usize, CannotValidate> {
        let mut known = self.known.borrow_mut();
        if let Some(index) = known.iter().position(|(name, _)| name == uri) {
            return Ok(index);
        }
        let Some(schema) = (self.lookup)(uri) else {
            return Err(CannotValidate::new(format!(
                "the schema refers to {uri}, which is not at hand"
            )));
        };
        known.push((uri.to_owned(), schema));
        Ok(known.len() - 1)
    }

    /// The reference of a schema with no other keyword. Annotations do not count as keywords.
    fn only_reference<'v>(&self, schema: &'v Map<String, Value>) -> Option<&'v str> {
        let reference = schema.get("$ref")?.as_str()?;
        let is_alone =
            schema.keys().all(|name| name == "$ref" || self.dialect.keyword(name).is_none());
        is_alone.then_some(reference)
    }
}

/// Whether a schema holds a reference. Like Ajv, looks for the keywords of references at any depth, and mistakes a
/// property with such a name for a keyword.
fn holds_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(name, value)| {
            matches!(
                name.as_str(),
                "$ref" | "$recursiveRef" | "$recursiveAnchor" | "$dynamicRef" | "$dynamicAnchor"
            ) || holds_reference(value)
        }),
        Value::Array(items) => items.iter().any(holds_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn without_fragment(uri: &str) -> &str {
    uri.split_once('#').map_or(uri, |(uri, _)| uri)
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        // `from_str_radix` would also accept a sign.
        let is_hex = |hex: &&[u8]| *byte == b'%' && hex.iter().all(u8::is_ascii_hexdigit);
        let hex = tail.get(..2).filter(is_hex);
        let decoded = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(decoded.unwrap_or(*byte));
        rest = if decoded.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_hexadecimal_digits_are_decoded() {
        assert_eq!(percent_decoded("a%20b%C3%a9"), "a b\u{e9}");
        assert_eq!(percent_decoded("%+f%-0%4%zz%"), "%+f%-0%4%zz%");
    }
}
