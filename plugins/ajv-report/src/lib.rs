//! Judges JSON by a JSON Schema and says what is wrong exactly as Ajv 8 does.
//!
//! The verdict is the `jsonschema` crate's. The list is Ajv's, with `allErrors`: the same errors in
//! the same order with the same words, so that whoever knows the one knows the other.

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
    /// Which keyword complains.
    pub keyword: &'static str,
    /// About which part of the instance: a JSON Pointer.
    pub instance_path: String,
    /// From where in the schema: a JSON Pointer in a URI fragment.
    pub schema_path: String,
    /// More about it, for programs.
    pub params: Value,
    /// The member whose name is meant, where it is about a name.
    pub property_name: Option<String>,
    /// More about it, for people.
    pub message: String,
}

/// A schema, ready to judge.
pub struct Schema<'s> {
    documents: documents::Documents<'s>,
}

impl<'s> Schema<'s> {
    /// A schema, and how it gets at the documents it refers to, by their URI without fragment.
    /// Nothing is fetched: what `lookup` does not have is an error where it is needed.
    pub fn new(
        dialect: Dialect,
        schema: &'s Value,
        lookup: impl Fn(&str) -> Option<&'s Value> + 's,
    ) -> Self {
        Self { documents: documents::Documents::new(dialect, schema, lookup) }
    }

    /// What is wrong with the instance; nothing when it is valid.
    pub fn errors(&self, instance: &Value) -> Result<Vec<ErrorObject>, Unjudged> {
        self.verdict(instance).map(|verdict| verdict.errors)
    }

    /// What is wrong with the instance, and which of it are root causes.
    pub fn verdict(&self, instance: &Value) -> Result<Verdict<'s>, Unjudged> {
        report::verdict(&self.documents, instance)
    }
}

/// What is wrong with an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict<'s> {
    /// Ajv's list; empty when the instance is valid.
    pub errors: Vec<ErrorObject>,
    /// Which of them are root causes, in the same order: of several alternatives, only what the one
    /// that fits best complains about, and nothing that says no more than that something within is
    /// wrong.
    pub causes: Vec<Cause<'s>>,
}

/// One of the errors that are root causes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cause<'s> {
    /// Its index among the errors.
    pub error: usize,
    /// The schema that holds the keyword that complains.
    pub schema: Option<&'s Value>,
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unjudged(String);

impl Unjudged {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unjudged {}
