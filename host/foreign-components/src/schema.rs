//! Makes JSON Schemas from WIT types.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "wasmtime may add types: JSON has a form only for those named here"
)]

use serde_json::{Map, Value, json};
use wasmtime::component::types::Type;

use crate::named_types::NamedTypes;
use crate::streams;

/// Maximum nesting of a type that has a schema, in levels.
const MAX_DEPTH: usize = 32;

/// Why a function or a type has no JSON Schema.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The type is nested too deep.
    #[error("its type is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The type is a resource.
    #[error("JSON cannot express a resource")]
    Resource,
    /// The type is an error context, or a future or stream without values.
    #[error("JSON cannot express an error context, or a future or stream without values")]
    Async,
    /// The type is a future or a stream of values that this host does not carry.
    #[error(
        "this host carries streams and futures of booleans, numbers, characters, strings, lists of bytes and results \
         with strings only"
    )]
    Carried,
    /// The function belongs to a resource: a method, a static function or the constructor.
    #[error("it belongs to a resource, which JSON cannot express")]
    Method,
    /// A parameter or a field has no schema.
    #[error("`{name}`: {cause}")]
    Member {
        /// The name of the parameter or field.
        name: String,
        /// Why the parameter or field has no schema.
        #[source]
        cause: Box<SchemaError>,
    },
}

/// The schema of a type. Fields of records that `types` has comments of are described.
///
/// # Errors
///
/// JSON cannot express the type.
pub fn of(ty: &Type, types: &NamedTypes) -> Result<Value, SchemaError> {
    schema_at(ty, types, 0)
}

/// The schema of an object with these members. Members of an option type are optional.
///
/// # Errors
///
/// JSON cannot express the type of a member.
pub fn object<'a>(
    members: impl Iterator<Item = (&'a str, Type)>,
    types: &NamedTypes,
) -> Result<Value, SchemaError> {
    members_at(members, (types, None), 0)
}

/// The schema of an object at this depth of nesting. `record`: the type whose fields the members are.
fn members_at<'a>(
    members: impl Iterator<Item = (&'a str, Type)>,
    (types, record): (&NamedTypes, Option<&Type>),
    depth: usize,
) -> Result<Value, SchemaError> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, ty) in members {
        let mut schema = schema_at(&ty, types, depth + 1)
            .map_err(|cause| SchemaError::Member { name: name.to_owned(), cause: cause.into() })?;
        if let Some(text) = record.and_then(|record| types.field(record, name)) {
            schema["description"] = text.into();
        }
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

/// The schema of a type at this depth of nesting.
fn schema_at(ty: &Type, types: &NamedTypes, depth: usize) -> Result<Value, SchemaError> {
    if depth > MAX_DEPTH {
        return Err(SchemaError::TooDeep);
    }
    let inner = |ty: &Type| schema_at(ty, types, depth + 1);
    let optional = |ty: Option<Type>| ty.map_or(Ok(json!({ "type": "null" })), |ty| inner(&ty));
    let integer = |min: i64, max: u64| json!({ "type": "integer", "minimum": min, "maximum": max });
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
        Type::Record(record) => {
            members_at(record.fields().map(|f| (f.name, f.ty)), (types, Some(ty)), depth)?
        }
        Type::Tuple(tuple) => {
            let items = tuple.types().map(|ty| inner(&ty)).collect::<Result<Vec<_>, _>>()?;
            let count = items.len();
            json!({ "type": "array", "prefixItems": items, "minItems": count, "maxItems": count })
        }
        Type::Variant(variant) => {
            let case = |(name, ty): (&str, Option<Type>)| match ty {
                None => Ok(json!({ "const": name })),
                Some(ty) => Ok::<_, SchemaError>(tagged(name, &inner(&ty)?)),
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
        Type::Own(_) | Type::Borrow(_) => return Err(SchemaError::Resource),
        Type::Stream(stream) => match stream.ty().ok_or(SchemaError::Async)? {
            Type::U8 => json!({ "type": "string", "contentEncoding": "base64" }),
            item => json!({ "type": "array", "items": carried(&item)? }),
        },
        Type::Future(future) => carried(&future.ty().ok_or(SchemaError::Async)?)?,
        Type::ErrorContext => return Err(SchemaError::Async),
    })
}

/// The schema of the items of a stream, or of the value of a future.
fn carried(ty: &Type) -> Result<Value, SchemaError> {
    if !streams::can_carry(ty) {
        return Err(SchemaError::Carried);
    }
    of(ty, &NamedTypes::default())
}

/// The schema of a case with a value: an object with one member, named after the case.
fn tagged(name: &str, schema: &Value) -> Value {
    json!({
        "type": "object", "properties": { name: schema },
        "required": [name], "additionalProperties": false,
    })
}
