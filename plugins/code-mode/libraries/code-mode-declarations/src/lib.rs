//! Writes TypeScript declarations of tools from their JSON Schemas. Declarations are shorter than schemas,
//! and models know TypeScript well.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Maximum depth of a type. Deeper types are written as `unknown`, since schemas may refer to themselves.
const MAX_DEPTH: usize = 6;

/// Maximum number of values of an enumeration, and of alternatives of a union.
const MAX_ALTERNATIVES: usize = 40;

/// Maximum number of members of an object that are written.
const MAX_MEMBERS: usize = 60;

/// Maximum length of the description of a tool, in characters.
const MAX_DESCRIPTION: usize = 400;
/// Maximum length of the description of a member, in characters.
const MAX_MEMBER: usize = 120;

/// A tool to declare.
#[derive(Debug, Clone)]
pub struct Tool<'a> {
    /// The name that clients use.
    pub name: &'a str,
    /// The operator's name for the plugin or upstream server that offers the tool.
    pub source: &'a str,
    /// The description of the tool.
    pub description: &'a str,
    /// The JSON Schema of the arguments.
    pub input: &'a Value,
    /// The JSON Schema of the structured content of the answer.
    pub output: Option<&'a Value>,
}

/// Returns the declarations of tools, grouped by source.
pub fn declarations<'a>(tools: impl IntoIterator<Item = Tool<'a>>) -> String {
    let mut sources: BTreeMap<&str, Vec<Tool<'a>>> = BTreeMap::new();
    for tool in tools {
        sources.entry(tool.source).or_default().push(tool);
    }
    let mut text = String::new();
    for (source, tools) in sources {
        let reached = member("tools", source);
        // Writing to a string does not fail.
        let _ = writeln!(text, "// {reached}");
        for tool in tools {
            text += &comment(tool.description, MAX_DESCRIPTION, "");
            let input = Schema { root: tool.input }.written(tool.input, 1).text;
            let optional = if needs_arguments(tool.input) { "" } else { "?" };
            let output = match tool.output {
                Some(output) => Schema { root: output }.written(output, 1).text,
                None => "unknown".to_owned(),
            };
            let call = member(&reached, tool.name);
            let _ = writeln!(text, "{call}(args{optional}: {input}): Promise<{output}>");
        }
    }
    text
}

/// The expression for a member of an object: `tools.list`, or `tools["list-all"]` if the name is not an
/// identifier.
fn member(object: &str, name: &str) -> String {
    if is_identifier(name) {
        format!("{object}.{name}")
    } else {
        format!("{object}[{}]", quoted(name))
    }
}

fn is_identifier(name: &str) -> bool {
    let mut all = name.chars();
    let starts =
        all.next().is_some_and(|one| one.is_ascii_alphabetic() || matches!(one, '_' | '$'));
    starts && all.all(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '$'))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn needs_arguments(input: &Value) -> bool {
    input["required"].as_array().is_some_and(|required| !required.is_empty())
}

/// A description as a one-line comment, or an empty text. A `*/` in the description becomes `* /`.
fn comment(description: &str, most: usize, indent: &str) -> String {
    let words = description.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "* /");
    let short: String = words.chars().take(most).collect();
    let more = if short.len() < words.len() { "…" } else { "" };
    if short.is_empty() { String::new() } else { format!("{indent}/** {short}{more} */\n") }
}

/// A TypeScript type.
struct Type {
    text: String,
    /// The operator between the parts of the type, which decides where the type needs parentheses.
    operator: Operator,
}

/// How a type is composed.
#[derive(Clone, Copy, PartialEq)]
enum Operator {
    None,
    Union,
    Intersection,
}

impl Type {
    /// A type without an operator outside of brackets.
    fn single(text: impl Into<String>) -> Self {
        Self { text: text.into(), operator: Operator::None }
    }

    /// The type as an operand of a stronger operator.
    fn grouped(self) -> String {
        match self.operator {
            Operator::None => self.text,
            Operator::Union | Operator::Intersection => format!("({})", self.text),
        }
    }
}

/// A JSON Schema. Its `$ref`s point into `root`.
struct Schema<'a> {
    root: &'a Value,
}

impl Schema<'_> {
    /// The TypeScript type of a schema. `depth` is the depth of this type, from 1.
    fn written(&self, schema: &Value, depth: usize) -> Type {
        if depth > MAX_DEPTH {
            return Type::single("unknown");
        }
        let Some(object) = schema.as_object() else { return Type::single("unknown") };
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            let found = reference.strip_prefix('#').and_then(|at| self.root.pointer(at));
            return match found {
                Some(found) => self.written(found, depth + 1),
                None => Type::single("unknown"),
            };
        }
        if let Some(constant) = object.get("const") {
            return Type::single(literal(constant));
        }
        if let Some(values) = object.get("enum").and_then(Value::as_array) {
            return union(values.iter().map(|value| Type::single(literal(value))));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(all) = object.get(key).and_then(Value::as_array) {
                return union(all.iter().map(|one| self.written(one, depth + 1)));
            }
        }
        if let Some(all) = object.get("allOf").and_then(Value::as_array) {
            let mut parts: Vec<_> = all.iter().map(|one| self.written(one, depth + 1)).collect();
            if object.contains_key("properties") {
                parts.push(Type::single(self.object(object, depth)));
            }
            return intersection(parts);
        }
        match object.get("type") {
            Some(Value::Array(types)) => {
                let one =
                    |kind: &Value| self.of_type(kind.as_str().unwrap_or_default(), object, depth);
                union(types.iter().map(one))
            }
            Some(Value::String(kind)) => self.of_type(kind, object, depth),
            Some(_) | None if object.contains_key("properties") => {
                Type::single(self.object(object, depth))
            }
            Some(_) | None => Type::single("unknown"),
        }
    }

    fn of_type(&self, kind: &str, object: &Map<String, Value>, depth: usize) -> Type {
        Type::single(match kind {
            "string" => "string".into(),
            "number" | "integer" => "number".into(),
            "boolean" => "boolean".into(),
            "null" => "null".into(),
            "array" => match object.get("items") {
                Some(items) => format!("{}[]", self.written(items, depth + 1).grouped()),
                None => "unknown[]".to_owned(),
            },
            "object" => self.object(object, depth),
            _ => "unknown".into(),
        })
    }

    fn object(&self, object: &Map<String, Value>, depth: usize) -> String {
        let empty = Map::new();
        let properties = object.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let additional = object.get("additionalProperties").filter(|more| more.is_object());
        if properties.is_empty() {
            return match additional {
                Some(more) => format!("Record<string, {}>", self.written(more, depth + 1).text),
                None if object.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    "{}".into()
                }
                None => "Record<string, unknown>".into(),
            };
        }
        let required = object.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
        };
        let one = |(name, schema): (&String, &Value)| {
            let mark = if is_required(name) { "" } else { "?" };
            let key = if is_identifier(name) { name.clone() } else { quoted(name) };
            let about = comment(schema["description"].as_str().unwrap_or_default(), MAX_MEMBER, "");
            let about = about.trim_end();
            let space = if about.is_empty() { "" } else { " " };
            format!("{about}{space}{key}{mark}: {}", self.written(schema, depth + 1).text)
        };
        let mut members: Vec<_> = properties.iter().take(MAX_MEMBERS).map(one).collect();
        if let Some(more @ 1..) = properties.len().checked_sub(MAX_MEMBERS) {
            members.push(format!("/* and {more} more */ [key: string]: unknown"));
        }
        format!("{{ {} }}", members.join("; "))
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => "unknown".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// The union of types; `never` if there are none.
fn union(types: impl Iterator<Item = Type>) -> Type {
    let mut all: Vec<Type> = Vec::new();
    for one in types {
        if !all.iter().any(|known| known.text == one.text) {
            all.push(one);
        }
    }
    if all.len() > MAX_ALTERNATIVES {
        all.truncate(MAX_ALTERNATIVES);
        all.push(Type::single("unknown"));
    }
    // `&` is stronger than `|`, so an intersection needs no parentheses here.
    joined(all, Operator::Union, " | ", |one| one.text).unwrap_or_else(|| Type::single("never"))
}

/// The intersection of types; `unknown` if there are none.
fn intersection(types: Vec<Type>) -> Type {
    let operand =
        |one: Type| if one.operator == Operator::Union { one.grouped() } else { one.text };
    let joined = joined(types, Operator::Intersection, " & ", operand);
    joined.unwrap_or_else(|| Type::single("unknown"))
}

/// Types with an operator between them. One type stays as it is. `None`: there is no type.
fn joined(
    mut types: Vec<Type>,
    operator: Operator,
    between: &str,
    operand: impl Fn(Type) -> String,
) -> Option<Type> {
    if types.len() <= 1 {
        return types.pop();
    }
    let operands: Vec<_> = types.into_iter().map(operand).collect();
    Some(Type { text: operands.join(between), operator })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(schema: Value) -> String {
        Schema { root: &schema }.written(&schema, 1).text
    }

    #[test]
    fn a_schema_becomes_a_type() {
        for (schema, expected) in [
            (json!({ "type": "string" }), "string"),
            (json!({ "type": "integer" }), "number"),
            (json!({ "type": ["string", "null"] }), "string | null"),
            (json!({ "enum": ["open", "closed", 1, null] }), "\"open\" | \"closed\" | 1 | null"),
            (json!({ "const": "a\"b" }), "\"a\\\"b\""),
            (json!({ "type": "array", "items": { "type": "number" } }), "number[]"),
            (
                json!({ "type": "array", "items": { "type": ["string", "null"] } }),
                "(string | null)[]",
            ),
            (json!({ "type": "array" }), "unknown[]"),
            (
                json!({ "type": "array", "items": { "anyOf": [{ "type": "object", "additionalProperties": false }, { "type": "null" }] } }),
                "({} | null)[]",
            ),
            (
                json!({ "allOf": [{ "enum": ["a", "b"] }, { "type": "string" }] }),
                "(\"a\" | \"b\") & string",
            ),
            (
                json!({ "anyOf": [{ "allOf": [{ "type": "string" }, { "const": "a" }] }, { "type": "null" }] }),
                "string & \"a\" | null",
            ),
            (json!({ "allOf": [{ "type": "string" }] }), "string"),
            (json!({ "allOf": [] }), "unknown"),
            (json!({ "anyOf": [] }), "never"),
            (
                json!({ "anyOf": [{ "type": "string" }, { "type": "number" }, { "type": "integer" }] }),
                "string | number",
            ),
            (
                json!({ "type": "object", "additionalProperties": { "type": "number" } }),
                "Record<string, number>",
            ),
            (json!({ "type": "object", "additionalProperties": false }), "{}"),
            (json!({ "type": "object" }), "Record<string, unknown>"),
            (json!(true), "unknown"),
            (json!({}), "unknown"),
            (
                json!({ "type": "object", "properties": { "a": { "type": "string", "description": "An\n a." }, "b-c": { "type": "boolean" } }, "required": ["a"] }),
                "{ /** An a. */ a: string; \"b-c\"?: boolean }",
            ),
            (
                json!({ "$defs": { "N": { "type": "number" } }, "type": "object", "properties": { "n": { "$ref": "#/$defs/N" } } }),
                "{ n?: number }",
            ),
        ] {
            assert_eq!(written(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let tree = json!({ "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#" } } } });
        let text = written(tree);
        assert!(text.contains("children?: { children?: ") && text.contains("unknown"), "{text}");
        assert_eq!(written(json!({ "$ref": "https://elsewhere.example/a" })), "unknown");
    }

    #[test]
    fn tools_are_declared_as_a_program_calls_them() {
        let input = json!({ "type": "object", "properties": { "owner": { "type": "string" } }, "required": ["owner"] });
        let none = json!({ "type": "object", "additionalProperties": false });
        let output = json!({ "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] });
        let tool = |name, source, input, output| Tool {
            name,
            source,
            description: "Lists */ them.",
            input,
            output,
        };
        let text = declarations([
            tool("list", "github", &input, Some(&output)),
            tool("list-all", "my-server", &none, None),
        ]);
        assert_eq!(
            text,
            "// tools.github\n/** Lists * / them. */\ntools.github.list(args: { owner: string }): Promise<{ n: number }>\n\
             // tools[\"my-server\"]\n/** Lists * / them. */\ntools[\"my-server\"][\"list-all\"](args?: {}): Promise<unknown>\n"
        );
    }
}
