//! The tools, prompts and resources that an upstream server lists. They are checked and sanitised, because models and
//! people read their untrusted texts.

use serde_json::Value;

use crate::digest::digest;
use crate::headers::{self, HeaderParam, HeaderParamError};
use crate::message::Object;
use crate::names::{Names, is_legal};
use crate::task;
use crate::text;

/// The longest texts, in characters.
const NAME: usize = 128;
const TITLE: usize = 200;
const DESCRIPTION: usize = 256 * 1024;

/// The largest size of all items of one list, in bytes of JSON.
const LIST_BYTES: usize = 4 * 1024 * 1024;

/// The longest name of an item at its upstream, in bytes.
const WIRE_NAME: usize = 1024;

/// The largest size of a schema in bytes of JSON, and its largest depth.
const SCHEMA_BYTES: usize = 64 * 1024;
const SCHEMA_DEPTH: usize = 64;

/// The largest depth of a definition. Parts of a deeper one may be missing: see [`crate::prune`].
const DEPTH: usize = 100;

/// Why an item of a list is left out.
#[derive(Debug, thiserror::Error)]
enum ItemError {
    #[error("it is nested deeper than {DEPTH} levels")]
    TooDeep,
    #[error("it is not an object")]
    NotAnObject,
    #[error("with it, the list would have more than {LIST_BYTES} bytes")]
    ListTooLarge,
    #[error("its name is empty, or longer than {WIRE_NAME} bytes")]
    NameLength,
    #[error("another item has the same name")]
    SameName,
    #[error("the name for clients that was made from its name already belongs to another item")]
    ForgedName,
    #[error("it has no `inputSchema`")]
    NoInputSchema,
    #[error("its `{0}` is not an object")]
    SchemaNotAnObject(&'static str),
    #[error("its `{0}` has more than {SCHEMA_BYTES} bytes")]
    SchemaTooLarge(&'static str),
    #[error("its `{0}` is nested deeper than {SCHEMA_DEPTH} levels")]
    SchemaTooDeep(&'static str),
    #[error(transparent)]
    HeaderParam(#[from] HeaderParamError),
    #[error("one of its arguments is not an object")]
    ArgumentNotAnObject,
    #[error("the name of one of its arguments is not plain text")]
    ArgumentName,
}

/// A tool of an upstream.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamTool {
    /// The name for clients: `[A-Za-z0-9_.-]{1,128}`, unique within this upstream.
    pub name: String,
    /// The name at the upstream: the `name` of `tools/call`.
    pub wire_name: String,
    /// The definition with [`Self::name`] and sanitised texts, without the demand for a task, which the host meets itself.
    /// Unknown members are unchanged.
    pub definition: Object,
    /// Whether the tool can be called only as a task of MCP 2025-11-25.
    pub(crate) needs_task: bool,
    /// SHA-256 of the original name, title, description, schemas and annotations.
    pub digest: String,
    /// The arguments that are also sent in headers.
    pub(crate) header_params: Vec<HeaderParam>,
}

/// A prompt of an upstream.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamPrompt {
    /// As [`UpstreamTool::name`].
    pub name: String,
    /// The name at the upstream: the `name` of `prompts/get`.
    pub wire_name: String,
    /// As [`UpstreamTool::definition`].
    pub definition: Object,
}

/// The valid tools of a list. Each invalid tool adds a warning. `headers`: whether arguments may have to be sent in
/// headers.
pub(crate) fn tools(
    raw: Vec<Value>,
    headers: bool,
    warnings: &mut Vec<String>,
) -> Vec<UpstreamTool> {
    named(raw, "tool", warnings, |mut definition, wire_name, name| {
        let digest = digest(&definition);
        if !definition.contains_key("inputSchema") {
            return Err(ItemError::NoInputSchema);
        }
        let mut header_params = Vec::new();
        for key in ["inputSchema", "outputSchema"] {
            let Some(schema) = definition.get_mut(key) else { continue };
            let Value::Object(schema) = schema else {
                return Err(ItemError::SchemaNotAnObject(key));
            };
            check_schema(key, schema)?;
            if headers && key == "inputSchema" {
                header_params = headers::params_of(schema)?;
            }
            clean_schema(schema);
        }
        if let Some(Value::Object(annotations)) = definition.get_mut("annotations") {
            clean(annotations, "title", |title| text::line(title, TITLE));
        }
        let needs_task = task::take_demand(&mut definition);
        clean_texts(&mut definition);
        definition.insert("name".to_owned(), name.clone().into());
        Ok(UpstreamTool { name, wire_name, definition, needs_task, digest, header_params })
    })
}

/// The valid prompts of a list. Each invalid prompt adds a warning.
pub(crate) fn prompts(raw: Vec<Value>, warnings: &mut Vec<String>) -> Vec<UpstreamPrompt> {
    named(raw, "prompt", warnings, |mut definition, wire_name, name| {
        if let Some(Value::Array(arguments)) = definition.get_mut("arguments") {
            for argument in arguments {
                let Some(argument) = argument.as_object_mut() else {
                    return Err(ItemError::ArgumentNotAnObject);
                };
                if !argument.get("name").and_then(Value::as_str).is_some_and(text::is_plain) {
                    return Err(ItemError::ArgumentName);
                }
                clean_texts(argument);
            }
        }
        clean_texts(&mut definition);
        definition.insert("name".to_owned(), name.clone().into());
        Ok(UpstreamPrompt { name, wire_name, definition })
    })
}

/// The valid resources or resource templates of a list. Each invalid one adds a warning. `key`: the member with the
/// address, `uri` or `uriTemplate`.
pub(crate) fn resources(raw: Vec<Value>, key: &str, warnings: &mut Vec<String>) -> Vec<Object> {
    let mut resources = Vec::new();
    let mut left = LIST_BYTES;
    for value in raw {
        if !fits(&value, &mut left) {
            let why = ItemError::ListTooLarge;
            warnings.push(format!("a resource is left out: {why}"));
            continue;
        }
        if depth(&value) > DEPTH {
            warnings
                .push(format!("a resource is left out: it is nested deeper than {DEPTH} levels"));
            continue;
        }
        let Value::Object(mut resource) = value else {
            warnings.push("a resource is left out: it is not an object".to_owned());
            continue;
        };
        let address = resource.get(key).and_then(Value::as_str);
        if !address.is_some_and(|address| !address.is_empty() && text::is_plain(address)) {
            let shown = text::line(address.unwrap_or_default(), NAME);
            warnings.push(format!(
                "the resource {shown:?} is left out: its `{key}` is not a valid address"
            ));
            continue;
        }
        clean(&mut resource, "name", |name| text::line(name, NAME));
        clean_texts(&mut resource);
        resources.push(resource);
    }
    resources
}

/// Checks JSON objects with names, and makes an item of each. Each object that is left out adds a warning.
fn named<T>(
    raw: Vec<Value>,
    what: &str,
    warnings: &mut Vec<String>,
    make: impl Fn(Object, String, String) -> Result<T, ItemError>,
) -> Vec<T> {
    let name_of = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    let originals: Vec<_> = raw.iter().filter_map(name_of).collect();
    let mut names = Names::new(originals.iter().map(String::as_str));
    let mut seen = std::collections::HashSet::new();
    let mut things = Vec::new();
    let mut left = LIST_BYTES;
    for value in raw {
        let original = name_of(&value).unwrap_or_default();
        let made = (|| {
            if !fits(&value, &mut left) {
                return Err(ItemError::ListTooLarge);
            }
            if depth(&value) > DEPTH {
                return Err(ItemError::TooDeep);
            }
            let Value::Object(definition) = value else { return Err(ItemError::NotAnObject) };
            if original.is_empty() || original.len() > WIRE_NAME {
                return Err(ItemError::NameLength);
            }
            if !seen.insert(original.clone()) {
                return Err(ItemError::SameName);
            }
            let name = match is_legal(&original) {
                true => original.clone(),
                false => names.instead_of(&original).ok_or(ItemError::ForgedName)?,
            };
            make(definition, original.clone(), name)
        })();
        match made {
            Ok(thing) => things.push(thing),
            Err(why) => {
                let shown = text::line(&original, NAME);
                warnings.push(format!("the {what} {shown:?} is left out: {why}"));
            }
        }
    }
    things
}

/// Whether the rest of a list has room for an item. If so, takes the room.
fn fits(item: &Value, left: &mut usize) -> bool {
    let size = serde_json::to_string(item).expect("it consists of JSON values").len();
    let rest = left.checked_sub(size);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// Checks the size and the depth of a schema.
fn check_schema(key: &'static str, schema: &Object) -> Result<(), ItemError> {
    let size = serde_json::to_string(schema).expect("it consists of JSON values").len();
    if size > SCHEMA_BYTES {
        return Err(ItemError::SchemaTooLarge(key));
    }
    if schema.values().map(depth).max().unwrap_or_default() >= SCHEMA_DEPTH {
        return Err(ItemError::SchemaTooDeep(key));
    }
    Ok(())
}

/// The number of nested arrays and objects. It is at most 127 for parsed JSON.
fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Object(members) => members.values().map(depth).max(),
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + inner.unwrap_or_default()
}

/// Sanitises the titles and descriptions of a schema. Its data, such as default values, stay unchanged.
fn clean_schema(schema: &mut Object) {
    clean_texts(schema);
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("const" | "default" | "enum" | "examples", _) => {}
            // The keys of these objects are names, not keywords: a property may be called `examples`.
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(schemas),
            ) => schemas.values_mut().for_each(clean_within),
            (_, value) => clean_within(value),
        }
    }
}

fn clean_within(value: &mut Value) {
    match value {
        Value::Object(schema) => clean_schema(schema),
        Value::Array(items) => items.iter_mut().for_each(clean_within),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn clean_texts(object: &mut Object) {
    clean(object, "title", |title| text::line(title, TITLE));
    clean(object, "description", |description| text::block(description, DESCRIPTION));
}

/// Sanitises one member, if it is a text.
fn clean(object: &mut Object, key: &str, cleaned: impl Fn(&str) -> String) {
    if let Some(Value::String(text)) = object.get_mut(key) {
        *text = cleaned(text);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(definition: Value) -> Result<UpstreamTool, Vec<String>> {
        let mut warnings = Vec::new();
        tools(vec![definition], true, &mut warnings).pop().ok_or(warnings)
    }

    #[test]
    fn shown_texts_are_sanitised_and_the_rest_is_unchanged() {
        let tool = one(json!({
            "name": "run\u{e0041} it", "title": "\u{1b}[31mRun\n", "description": "x".repeat(300_000),
            "inputSchema": {"type": "object", "x-odd": {"description": "a\u{202e}b"}, "properties": {
                "examples": {"description": "i\u{200b}j"},
                "description": {"type": "string", "description": "c\u{200b}d", "default": "e\u{200b}f",
                    "examples": [{"description": "g\u{200b}h"}]}}},
            "hologram": [1, null, {"title": 7}],
        }))
        .unwrap();
        assert!(tool.name.starts_with("run__it-"), "{}", tool.name);
        assert_eq!(tool.wire_name, "run\u{e0041} it");
        let shown = &tool.definition;
        assert_eq!((&shown["name"], &shown["title"]), (&json!(tool.name), &json!("Run")));
        assert_eq!(shown["description"].as_str().unwrap().chars().count(), DESCRIPTION + 1);
        assert_eq!(shown["hologram"], json!([1, null, {"title": 7}]));
        let schema = &shown["inputSchema"];
        assert_eq!(schema["x-odd"]["description"], "ab");
        assert_eq!(schema["properties"]["examples"]["description"], "ij");
        assert_eq!(
            schema["properties"]["description"],
            json!({"type": "string", "description": "cd", "default": "e\u{200b}f",
                "examples": [{"description": "g\u{200b}h"}]})
        );
    }

    #[test]
    fn invalid_items_are_left_out_with_a_warning() {
        let nested = (0..70).fold(json!({}), |inner, _| json!({"not": inner}));
        for (definition, why) in [
            (json!(7), "not an object"),
            (json!({"name": "", "inputSchema": {}}), "empty"),
            (json!({"name": "a"}), "`inputSchema`"),
            (json!({"name": "a", "inputSchema": true}), "`inputSchema` is not an object"),
            (json!({"name": "a", "inputSchema": {}, "outputSchema": []}), "`outputSchema`"),
            (json!({"name": "a", "inputSchema": nested}), "deeper"),
            (json!({"name": "a", "inputSchema": {"x": "y".repeat(70_000)}}), "more than 65536"),
            (json!({"name": "a", "inputSchema": {"x-mcp-header": "A"}}), "x-mcp-header"),
        ] {
            let warnings = one(definition).unwrap_err();
            assert!(warnings[0].contains(why), "{warnings:?}");
        }
    }

    #[test]
    fn long_descriptions_are_kept_and_a_list_is_bounded() {
        let tool = |at: usize, size| json!({"name": format!("t{at}"), "description": "d".repeat(size), "inputSchema": {}});
        let long = one(tool(0, 100_000)).unwrap();
        assert_eq!(long.definition["description"].as_str().unwrap().len(), 100_000);
        let many: Vec<_> = (0..50).map(|at| tool(at, 100_000)).chain([tool(50, 10)]).collect();
        let mut warnings = Vec::new();
        let listed = tools(many, false, &mut warnings);
        assert_eq!((listed.len(), warnings.len()), (42, 9));
        assert_eq!(listed.last().unwrap().name, "t50", "a short item still fits");
        assert!(warnings[0].contains("more than 4194304 bytes"), "{warnings:?}");
    }

    #[test]
    fn of_two_items_with_the_same_name_the_first_is_kept() {
        let mut warnings = Vec::new();
        let twin = |title| json!({"name": "a", "title": title, "inputSchema": {}});
        let both = tools(vec![twin("first"), twin("second")], false, &mut warnings);
        assert_eq!((both.len(), warnings.len()), (1, 1));
        assert_eq!(both[0].definition["title"], "first");
    }

    #[test]
    fn resources_keep_their_address() {
        let mut warnings = Vec::new();
        let raw = vec![
            json!({"uri": "x://a b", "name": "a\u{200b}\nb", "odd": {}}),
            json!({"uri": "x://\u{202e}"}),
            json!({"name": "none"}),
        ];
        let listed = resources(raw, "uri", &mut warnings);
        assert_eq!(listed.len(), 1);
        assert_eq!(
            Value::from(listed[0].clone()),
            json!({"uri": "x://a b", "name": "a b", "odd": {}})
        );
        assert_eq!(warnings.len(), 2);
        let prompt = json!({"name": "p", "arguments": [{"name": "a\u{200b}"}]});
        assert!(prompts(vec![prompt], &mut warnings).is_empty());
    }
}
