//! Validates JSON against a JSON Schema and reports errors like Ajv 8.
//!
//! The `jsonschema` crate validates. Its errors are converted into the list that Ajv reports with
//! `allErrors`: the same errors, in the same order, with the same messages, so that users of Ajv
//! recognise them.

mod blame;
mod documents;
mod excerpt;
mod formats;
mod json;
mod keywords;
mod patterns;
mod report;
mod trail;
mod wording;

pub use json::parse;
pub use keywords::Dialect;

use serde_json::Value;
use std::{error::Error, fmt};

/// One error, with the members of Ajv's `ErrorObject`.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorObject {
    /// The violated keyword.
    pub keyword: &'static str,
    /// JSON Pointer to the value in the instance.
    pub instance_path: String,
    /// Path of the keyword: a URI reference whose fragment is a JSON Pointer. If a `$ref` led to a
    /// schema that contains references of its own, the path begins at that schema (`#`) and not at
    /// the root.
    pub schema_path: String,
    /// Details, for programs.
    pub params: Value,
    /// The name that was validated, for errors of a schema in `propertyNames`.
    pub property_name: Option<String>,
    /// Message, for people.
    pub message: String,
}

/// A schema to validate with.
pub struct Schema<'s> {
    documents: documents::Documents<'s>,
}

impl<'s> Schema<'s> {
    /// Takes a schema, and a function that finds other documents by their URI without fragment.
    /// Nothing is fetched: a missing document is an error where it is needed.
    pub fn new(
        dialect: Dialect,
        schema: &'s Value,
        lookup: impl Fn(&str) -> Option<&'s Value> + 's,
    ) -> Self {
        Self { documents: documents::Documents::new(dialect, schema, lookup) }
    }

    /// The errors of the instance; empty if the instance is valid.
    pub fn errors(&self, instance: &Value) -> Result<Vec<ErrorObject>, CannotValidate> {
        self.validate(instance).map(|validation| validation.errors)
    }

    /// The errors of the instance, and which of them are root causes.
    pub fn validate(&self, instance: &Value) -> Result<Validation<'s>, CannotValidate> {
        report::validate(&self.documents, instance)
    }
}

/// The result of the validation of an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation<'s> {
    /// Ajv's list; empty if the instance is valid.
    pub errors: Vec<ErrorObject>,
    /// The errors that are root causes, in the same order. Of the alternatives of an `anyOf` or `oneOf`, only
    /// the one that fits best counts. If no alternative allows the type or the constant of a value, the errors
    /// of more than one alternative count: see `blame.rs`. Errors that only state that a nested value is wrong
    /// do not count.
    pub causes: Vec<Cause<'s>>,
}

/// A root cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cause<'s> {
    /// Index in the list of errors.
    pub error: usize,
    /// The schema with the violated keyword, or the schema `false`. `None`: the error only states that
    /// the `then` or `else` of an `if` failed.
    pub schema: Option<&'s Value>,
}

/// The reason why an instance cannot be validated: the schema is not supported or refers to a
/// missing document, or a pattern took too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotValidate(String);

impl CannotValidate {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for CannotValidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for CannotValidate {}
