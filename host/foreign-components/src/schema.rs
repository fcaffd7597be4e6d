//! JSON Schema of WIT types.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "types are wasmtime's: JSON holds those named here"
)]

use serde_json::{Map, Value, json};
use wasmtime::component::types::Type;

/// Deepest nesting that is described.
const DEEPEST: usize = 32;

/// The schema of a type.
///
/// # Errors
///
/// Why there is none.
pub fn of(ty: &Type) -> Result<Value, String> {
    at(ty, 0)
}

/// The schema of an object with these members. Those that are options may be left out.
///
/// # Errors
///
/// Which of them has no schema, and why.
pub fn object<'a>(members: impl Iterator<Item = (&'a str, Type)>) -> Result<Value, String> {
    members_at(members, 0)
}

fn members_at<'a>(
    members: impl Iterator<Item = (&'a str, Type)>,
    depth: usize,
) -> Result<Value, String> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, ty) in members {
        let schema = at(&ty, depth + 1).map_err(|why| format!("`{name}`: {why}"))?;
        properties.insert(name.to_owned(), schema);
        if !matches!(ty, Type::Option(_)) {
            required.push(Value::from(name));
        }
    }
    let mut schema = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    Ok(schema)
}

fn at(ty: &Type, depth: usize) -> Result<Value, String> {
    if depth > DEEPEST {
        return Err(format!("its type is nested over {DEEPEST} levels"));
    }
    let inner = |ty: &Type| at(ty, depth + 1);
    let optional = |ty: Option<Type>| ty.map_or(Ok(json!({ "type": "null" })), |ty| inner(&ty));
    let integer =
        |least: i64, most: u64| json!({ "type": "integer", "minimum": least, "maximum": most });
    Ok(match ty {
        Type::Bool => json!({ "type": "boolean" }),
        Type::S8 => integer(i8::MIN.into(), i8::MAX as u64),
        Type::U8 => integer(0, u8::MAX.into()),
        Type::S16 => integer(i16::MIN.into(), i16::MAX as u64),
        Type::U16 => integer(0, u16::MAX.into()),
        Type::S32 => integer(i32::MIN.into(), i32::MAX as u64),
        Type::U32 => integer(0, u32::MAX.into()),
        Type::S64 => integer(i64::MIN, i64::MAX as u64),
        Type::U64 => integer(0, u64::MAX),
        Type::Float32 | Type::Float64 => json!({ "type": "number" }),
        Type::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        Type::String => json!({ "type": "string" }),
        Type::List(list) => match list.ty() {
            Type::U8 => json!({ "type": "string", "contentEncoding": "base64" }),
            item => json!({ "type": "array", "items": inner(&item)? }),
        },
        Type::FixedLengthList(list) => json!({
            "type": "array", "items": inner(&list.ty())?,
            "minItems": list.len(), "maxItems": list.len(),
        }),
        Type::Map(map) => json!({
            "type": "array", "items": {
                "type": "array", "prefixItems": [inner(&map.key())?, inner(&map.value())?],
                "minItems": 2, "maxItems": 2,
            },
        }),
        Type::Record(record) => members_at(record.fields().map(|f| (f.name, f.ty)), depth)?,
        Type::Tuple(tuple) => {
            let items = tuple.types().map(|ty| inner(&ty)).collect::<Result<Vec<_>, _>>()?;
            let count = items.len();
            json!({ "type": "array", "prefixItems": items, "minItems": count, "maxItems": count })
        }
        Type::Variant(variant) => {
            let case = |(name, ty): (&str, Option<Type>)| match ty {
                None => Ok(json!({ "const": name })),
                Some(ty) => Ok::<_, String>(tagged(name, &inner(&ty)?)),
            };
            let cases = variant.cases().map(|c| case((c.name, c.ty)));
            json!({ "oneOf": cases.collect::<Result<Vec<_>, _>>()? })
        }
        Type::Enum(names) => {
            json!({ "type": "string", "enum": names.names().collect::<Vec<_>>() })
        }
        Type::Option(option) => json!({ "anyOf": [inner(&option.ty())?, { "type": "null" }] }),
        Type::Result(result) => json!({ "oneOf": [
            tagged("ok", &optional(result.ok())?), tagged("err", &optional(result.err())?),
        ]}),
        Type::Flags(flags) => json!({
            "type": "array", "uniqueItems": true,
            "items": { "type": "string", "enum": flags.names().collect::<Vec<_>>() },
        }),
        Type::Own(_) | Type::Borrow(_) => return Err("a resource cannot be said in JSON".into()),
        Type::Future(_) | Type::Stream(_) | Type::ErrorContext => {
            return Err("what comes later cannot be said in JSON".into());
        }
    })
}

/// One case with what it holds: an object whose only member is named after the case.
fn tagged(name: &str, schema: &Value) -> Value {
    json!({
        "type": "object", "properties": { name: schema },
        "required": [name], "additionalProperties": false,
    })
}
