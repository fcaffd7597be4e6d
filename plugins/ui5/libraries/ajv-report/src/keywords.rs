//! The JSON Schema keywords that Ajv knows: their order and the kind of their values.

use serde_json::{Map, Value};

/// Ajv's two classes, for two drafts of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `Ajv`: draft-07.
    Draft07,
    /// `Ajv2020`: 2020-12.
    Draft202012,
}

/// The kind of a keyword's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Not a schema.
    Plain,
    /// One schema for the same instance.
    Same,
    /// A list of schemas for the same instance.
    SameEach,
    /// One schema for the members or items of the instance.
    Children,
    /// Schemas for items, by position, or one schema for all of them.
    Positions,
    /// Schemas for members, by name.
    Names,
    /// Schemas for members, by pattern of their names.
    Patterns,
    /// One schema for the names of the members.
    MemberNames,
    /// For each name, a schema or a list of names that applies if the member exists.
    Dependents,
    /// Another schema, by reference.
    Reference,
}

/// The type of instance that a keyword applies to. The keyword ignores other types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Every type.
    Any,
    /// Numbers.
    Number,
    /// Strings.
    String,
    /// Arrays.
    Array,
    /// Objects.
    Object,
}

/// A keyword of a dialect.
#[derive(Clone, Copy, Debug)]
pub struct Keyword {
    /// The name in the schema.
    pub name: &'static str,
    /// The type of instance it applies to.
    pub group: Group,
    /// The kind of its value.
    pub shape: Shape,
    /// Whether draft-07 lacks the keyword.
    pub newer: bool,
}

const fn old(name: &'static str, group: Group, shape: Shape) -> Keyword {
    Keyword { name, group, shape, newer: false }
}

const fn new(name: &'static str, group: Group, shape: Shape) -> Keyword {
    Keyword { name, group, shape, newer: true }
}

/// The keywords in the order in which Ajv 8.20 applies them: by group, whatever the order in the schema.
const KEYWORDS: &[Keyword] = &[
    old("$ref", Group::Any, Shape::Reference),
    old("type", Group::Any, Shape::Plain),
    old("const", Group::Any, Shape::Plain),
    old("enum", Group::Any, Shape::Plain),
    old("not", Group::Any, Shape::Same),
    old("anyOf", Group::Any, Shape::SameEach),
    old("oneOf", Group::Any, Shape::SameEach),
    old("allOf", Group::Any, Shape::SameEach),
    old("if", Group::Any, Shape::Same),
    old("then", Group::Any, Shape::Same),
    old("else", Group::Any, Shape::Same),
    old("maximum", Group::Number, Shape::Plain),
    old("minimum", Group::Number, Shape::Plain),
    old("exclusiveMaximum", Group::Number, Shape::Plain),
    old("exclusiveMinimum", Group::Number, Shape::Plain),
    old("multipleOf", Group::Number, Shape::Plain),
    old("maxLength", Group::String, Shape::Plain),
    old("minLength", Group::String, Shape::Plain),
    old("pattern", Group::String, Shape::Plain),
    old("format", Group::String, Shape::Plain),
    old("maxItems", Group::Array, Shape::Plain),
    old("minItems", Group::Array, Shape::Plain),
    old("additionalItems", Group::Array, Shape::Children),
    new("prefixItems", Group::Array, Shape::Positions),
    old("items", Group::Array, Shape::Positions),
    old("contains", Group::Array, Shape::Children),
    old("uniqueItems", Group::Array, Shape::Plain),
    new("maxContains", Group::Array, Shape::Plain),
    new("minContains", Group::Array, Shape::Plain),
    new("unevaluatedItems", Group::Array, Shape::Children),
    old("maxProperties", Group::Object, Shape::Plain),
    old("minProperties", Group::Object, Shape::Plain),
    old("required", Group::Object, Shape::Plain),
    old("propertyNames", Group::Object, Shape::MemberNames),
    old("additionalProperties", Group::Object, Shape::Children),
    old("dependencies", Group::Object, Shape::Dependents),
    old("properties", Group::Object, Shape::Names),
    old("patternProperties", Group::Object, Shape::Patterns),
    new("dependentRequired", Group::Object, Shape::Plain),
    new("dependentSchemas", Group::Object, Shape::Dependents),
    new("unevaluatedProperties", Group::Object, Shape::Children),
];

impl Dialect {
    /// The keyword and its place in Ajv's order; `None` if the dialect has no such keyword.
    pub fn keyword(self, name: &str) -> Option<(usize, &'static Keyword)> {
        let (place, keyword) = KEYWORDS.iter().enumerate().find(|(_, known)| known.name == name)?;
        let is_known = match self {
            // 2020-12 removed `additionalItems`.
            Self::Draft202012 => name != "additionalItems",
            Self::Draft07 => !keyword.newer,
        };
        is_known.then_some((place, keyword))
    }

    /// The place of the error of `type` in Ajv's order. Usually this is the first place. If the schema allows
    /// a single type other than `integer` and has keywords for this type, it is the place of these keywords.
    pub fn place_of_type(self, schema: &Map<String, Value>) -> usize {
        let only = match schema.get("type") {
            Some(Value::String(name)) => name.as_str(),
            Some(Value::Array(names)) if names.len() == 1 => names[0].as_str().unwrap_or(""),
            _ => "",
        };
        let group = match only {
            "number" => Group::Number,
            "string" => Group::String,
            "array" => Group::Array,
            "object" => Group::Object,
            _ => return 0,
        };
        let has_keywords = schema.keys().any(|name| {
            self.keyword(name).is_some_and(|(_, keyword)| keyword.group == group)
                // `format` also applies to numbers.
                || (group == Group::Number && name == "format")
        });
        let first = KEYWORDS.iter().position(|keyword| keyword.group == group);
        first.filter(|_| has_keywords).unwrap_or(0)
    }
}
