//! Tools of the conformance suite whose schemas have to reach the client unchanged.

use std::borrow::Cow;

use portcullis_plugin::prelude::*;
use portcullis_plugin::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use portcullis_plugin::serde::{Deserialize, Deserializer, de::IgnoredAny};

/// Accepts any arguments.
pub struct Schema2020;

impl<'de> Deserialize<'de> for Schema2020 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(from).map(|_| Self)
    }
}

impl JsonSchema for Schema2020 {
    fn schema_name() -> Cow<'static, str> {
        "Schema2020".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "description": "Has keywords of JSON Schema 2020-12.",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {
                        "street": { "type": "string" },
                        "city": { "type": "string" }
                    }
                }
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" }
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": {
                "properties": { "contactMethod": { "const": "phone" } },
                "required": ["contactMethod"]
            },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false
        })
    }
}

impl Arguments for Schema2020 {}

impl Tool for Schema2020 {
    const NAME: &'static str = "json_schema_2020_12_tool";
    type Output = &'static str;

    fn call(self, _request: &Request) -> Result<&'static str, Failure> {
        Ok("JSON Schema 2020-12 tool called")
    }
}

/// Gets one argument by way of a header, too.
#[arguments]
pub struct CustomHeader {
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

impl Tool for CustomHeader {
    const NAME: &'static str = "test_custom_header";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(self.value)
    }
}
