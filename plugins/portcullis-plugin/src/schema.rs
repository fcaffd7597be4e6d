//! Builds the JSON Schema 2020-12 of a Rust type, without details that mean nothing outside Rust.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::{Map, Value, json};

/// The schema of arguments.
pub fn of_input<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of structured content.
pub fn of_output<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// The schema of a form, within the subset that MCP allows in elicitation.
pub fn of_form<T: JsonSchema>() -> Value {
    let mut schema = of_input::<T>();
    take_description(&mut schema);
    if let Some(form) = schema.as_object_mut() {
        form.shift_remove("additionalProperties");
        let fields = form.get_mut("properties").and_then(Value::as_object_mut);
        fields.into_iter().flat_map(Map::values_mut).for_each(make_form_field);
    }
    schema
}

/// Writes `oneOf` of an enum as a list of choices with titles, the form that MCP defines.
fn make_form_field(field: &mut Value) {
    let Some(map) = field.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(schemas)) = map.shift_remove("oneOf") {
        map.insert("type".to_owned(), Value::from("string"));
        map.insert("oneOf".to_owned(), schemas.iter().flat_map(choices).collect());
    }
}

/// The choices of one schema in `oneOf`. Schemars makes one schema for each variant with a description, and one schema
/// for all variants without a description.
fn choices(schema: &Value) -> Vec<Value> {
    let title = schema.get("title").or_else(|| schema.get("description"));
    let others = schema.get("enum").and_then(Value::as_array);
    let values = schema.get("const").into_iter().chain(others.into_iter().flatten());
    values.map(|value| json!({ "const": value, "title": title.unwrap_or(value) })).collect()
}

/// Removes and returns the description of the outermost type.
pub fn take_description(schema: &mut Value) -> Option<String> {
    let description = schema.as_object_mut()?.shift_remove("description")?;
    description.as_str().map(str::to_owned)
}

/// Sets `"type": "object"` if every alternative of `oneOf` or `anyOf` is an object.
///
/// # Panics
///
/// If the value can be something other than an object, which MCP does not allow.
pub fn require_object(schema: &mut Value, whose: &str) {
    if is_object(schema) {
        return;
    }
    let all_objects = ["oneOf", "anyOf"].iter().any(|key| {
        let forms = schema.get(key).and_then(Value::as_array);
        forms.is_some_and(|forms| !forms.is_empty() && forms.iter().all(is_object))
    });
    assert!(all_objects, "{whose} is not always a JSON object: put it in a field of a struct");
    if let Value::Object(schema) = schema {
        schema.shift_insert(0, "type".to_owned(), Value::from("object"));
    }
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(drop_rust_formats)
        .with_transform(drop_null_of_optional_fields);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // Drops the name of the Rust type, unless the author chose another title.
    if schema.get("title").is_some_and(|title| *title == *T::schema_name()) {
        schema.remove("title");
    }
    schema.to_value()
}

/// Removes formats such as `uint32`, which mean nothing outside Rust: strict validators refuse unknown
/// formats.
fn drop_rust_formats(schema: &mut Schema) {
    let is_rust_format = |format: &str| {
        let format = format.strip_prefix('u').unwrap_or(format);
        format.starts_with("int") || format == "float" || format == "double"
    };
    if schema.get("format").and_then(Value::as_str).is_some_and(is_rust_format) {
        schema.remove("format");
    }
    transform_subschemas(&mut drop_rust_formats, schema);
}

/// Removes `null` from the types of optional fields. A missing value is left out instead, since some clients
/// do not support nullable types.
fn drop_null_of_optional_fields(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        let required = object.get("required").and_then(Value::as_array).cloned();
        let is_required = |name: &str| required.iter().flatten().any(|required| required == name);
        let fields = object.get_mut("properties").and_then(Value::as_object_mut);
        let optional = fields.into_iter().flatten().filter(|(name, _)| !is_required(name));
        optional.filter_map(|(_, field)| field.as_object_mut()).for_each(drop_null);
    }
    transform_subschemas(&mut drop_null_of_optional_fields, schema);
}

fn drop_null(field: &mut Map<String, Value>) {
    if let Some(Value::Array(forms)) = field.get_mut("anyOf") {
        forms.retain(|form| form.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = forms.as_slice() {
            let only = only.clone();
            field.shift_remove("anyOf");
            for (key, value) in only {
                field.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(kinds)) = field.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            field.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = field.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if field.get("default").is_some_and(Value::is_null) {
        field.shift_remove("default");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// How to write it.
    #[data]
    #[derive(Default)]
    enum Style {
        /// As few words as possible.
        #[default]
        VeryShort,
        Long,
    }

    #[data]
    enum Plain {
        One,
        TwoAndHalf,
    }

    /// The whole.
    #[data]
    struct Everything {
        /// A number.
        small_number: u8,
        large: Option<u64>,
        #[serde(default)]
        style: Style,
        plain: Option<Plain>,
        inner: Vec<Inner>,
        #[serde(rename = "type")]
        kind: String,
    }

    #[data]
    struct Inner {
        ratio: f32,
    }

    #[data]
    struct Tree {
        children: Vec<Tree>,
    }

    #[test]
    fn a_schema_has_names_doc_comments_and_limits_only() {
        let schema = of_input::<Everything>();
        let expected = json!({
            "type": "object",
            "description": "The whole.",
            "properties": {
                "smallNumber": { "description": "A number.", "type": "integer", "minimum": 0, "maximum": 255 },
                "large": { "type": "integer", "minimum": 0 },
                "style": {
                    "description": "How to write it.",
                    "oneOf": [
                        { "type": "string", "enum": ["long"] },
                        { "description": "As few words as possible.", "type": "string", "const": "veryShort" },
                    ],
                    "default": "veryShort",
                },
                "plain": { "type": "string", "enum": ["one", "twoAndHalf"] },
                "inner": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": { "ratio": { "type": "number" } },
                        "additionalProperties": false,
                        "required": ["ratio"],
                    },
                },
                "type": { "type": "string" },
            },
            "additionalProperties": false,
            "required": ["smallNumber", "inner", "type"],
        });
        assert_eq!(schema, expected, "{schema:#}");
    }

    #[test]
    fn a_field_that_is_always_written_can_be_null() {
        #[data]
        struct Answer {
            always: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            style: Option<Style>,
        }
        let schema = of_output::<Answer>();
        assert_eq!(schema["required"], json!(["always"]));
        assert_eq!(schema["properties"]["always"]["type"], json!(["string", "null"]));
        let style = &schema["properties"]["style"];
        assert!(style.get("anyOf").is_none() && style["oneOf"].is_array(), "{schema:#}");
    }

    #[test]
    fn a_type_that_contains_itself_becomes_a_reference() {
        let schema = of_input::<Tree>();
        assert_eq!(schema["properties"]["children"]["items"]["$ref"], "#", "{schema:#}");
    }

    #[test]
    fn a_form_is_flat_and_knows_no_null() {
        #[data]
        struct Form {
            name: String,
            age: Option<u8>,
            #[serde(default)]
            style: Option<Style>,
            plain: Option<Plain>,
        }
        let schema = of_form::<Form>();
        let expected = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "age": { "type": "integer", "minimum": 0, "maximum": 255 },
                "style": {
                    "type": "string",
                    "description": "How to write it.",
                    "oneOf": [
                        { "const": "long", "title": "long" },
                        { "title": "As few words as possible.", "const": "veryShort" },
                    ],
                },
                "plain": { "type": "string", "enum": ["one", "twoAndHalf"] },
            },
            "required": ["name"],
        });
        assert_eq!(schema, expected, "{schema:#}");
    }

    #[test]
    fn an_enum_of_objects_is_an_object() {
        #[data]
        #[serde(tag = "kind")]
        enum Tagged {
            Found { path: String },
            Lost,
        }
        let mut schema = of_output::<Tagged>();
        require_object(&mut schema, "Tagged");
        assert_eq!(schema["type"], "object");
    }

    #[test]
    #[should_panic(expected = "Plain is not always a JSON object")]
    fn an_output_that_is_not_an_object_is_refused() {
        require_object(&mut of_output::<Plain>(), "Plain");
    }
}
