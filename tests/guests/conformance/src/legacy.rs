//! Tools of the conformance suite that ask questions, for revisions up to 2025-11-25.

use std::borrow::Cow;

use crate::content::tool;
use portcullis_plugin::prelude::*;
use portcullis_plugin::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use portcullis_plugin::serde::Deserialize;
use portcullis_plugin::serde_json::Value;
use portcullis_plugin::{FormFields, FormOutcome};

/// Has the client's model complete a prompt.
#[arguments]
pub struct Sampling {
    prompt: String,
}

impl Tool for Sampling {
    const NAME: &'static str = "test_sampling";
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        let message = json!({ "role": "user", "content": { "type": "text", "text": self.prompt } });
        let params = json!({ "messages": [message], "maxTokens": 100 });
        let result = request.ask(sample("sample", params))?;
        Ok(format!("LLM response: {}", text_of(&result)))
    }
}

/// The text in a model's answer.
pub fn text_of(result: &Value) -> String {
    let content = &result["content"];
    let block = content.as_array().and_then(|blocks| blocks.first()).unwrap_or(content);
    block["text"].as_str().unwrap_or_default().to_owned()
}

/// Asks the user what it is told to ask.
#[arguments]
pub struct Elicitation {
    message: String,
}

macro_rules! form {
    ($name:ident, $schema:tt) => {
        #[derive(Deserialize)]
        #[serde(transparent, crate = "portcullis_plugin::serde")]
        struct $name(Value);

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }

        impl From<$name> for Value {
            fn from(form: $name) -> Self {
                form.0
            }
        }
    };
}

form!(User, {
    "type": "object",
    "properties": {
        "username": { "type": "string", "description": "User's response" },
        "email": { "type": "string", "description": "User's email address" }
    },
    "required": ["username", "email"]
});

form!(WithDefaults, {
    "type": "object",
    "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": {
            "type": "string", "enum": ["active", "inactive", "pending"], "default": "active"
        },
        "verified": { "type": "boolean", "default": true }
    },
    "required": []
});

form!(WithEnums, {
    "type": "object",
    "properties": {
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": {
            "type": "string",
            "oneOf": [
                { "const": "value1", "title": "First Option" },
                { "const": "value2", "title": "Second Option" },
                { "const": "value3", "title": "Third Option" }
            ]
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]
        },
        "untitledMulti": {
            "type": "array",
            "items": { "type": "string", "enum": ["option1", "option2", "option3"] }
        },
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": [
                    { "const": "value1", "title": "First Choice" },
                    { "const": "value2", "title": "Second Choice" },
                    { "const": "value3", "title": "Third Choice" }
                ]
            }
        }
    },
    "required": []
});

fn ask<T: FormFields + Into<Value>>(request: &Request, message: &str) -> Result<String, Failure> {
    let (action, content) = match request.ask(form::<T>("form", message).or_declined())? {
        FormOutcome::Accepted(form) => ("accept", form.into()),
        FormOutcome::Declined => ("decline", json!({})),
        FormOutcome::Cancelled => ("cancel", json!({})),
    };
    Ok(format!("action={action}, content={content}"))
}

impl Tool for Elicitation {
    const NAME: &'static str = "test_elicitation";
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        Ok(format!("User response: {}", ask::<User>(request, &self.message)?))
    }
}

tool!(
    /// Asks with a form that has defaults.
    Defaults, "test_elicitation_sep1034_defaults",
    |request| {
        let said = ask::<WithDefaults>(request, "Please review the defaults")?;
        Ok(Reply::new().text(format!("Elicitation completed: {said}")))
    }
);

tool!(
    /// Asks with a form that has choices.
    Enums, "test_elicitation_sep1330_enums",
    |request| {
        let said = ask::<WithEnums>(request, "Please choose")?;
        Ok(Reply::new().text(format!("Elicitation completed: {said}")))
    }
);
