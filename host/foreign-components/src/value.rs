//! Converts JSON to values of WIT types and back. The form of the JSON is the one that [`schema`](crate::schema)
//! describes.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "wasmtime may add types: JSON has a form only for those named here"
)]

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use wasmtime::component::Val;
use wasmtime::component::types::Type;

/// A JSON value does not fit a WIT type.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// The JSON value does not have the expected form.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The form of JSON that the type needs.
        expected: Cow<'static, str>,
        /// The kind of the JSON.
        found: &'static str,
    },
    /// The JSON is not a list.
    #[error("expected a list, found {found}")]
    NotAList {
        /// The kind of the JSON.
        found: &'static str,
    },
    /// JSON has no form for the type.
    #[error("JSON cannot express this type")]
    NotInJson,
    /// A field of a record does not fit.
    #[error("{name}: {cause}")]
    Field {
        /// The name of the field.
        name: String,
        /// What is wrong with its value.
        #[source]
        cause: Box<ValueError>,
    },
}

/// The error for a value that does not have the expected form.
fn unexpected(value: &Value, expected: impl Into<Cow<'static, str>>) -> ValueError {
    ValueError::Unexpected { expected: expected.into(), found: kind(value) }
}

/// Makes streams and futures of arguments.
pub(crate) trait Make {
    /// A stream of these items. `ty` is their type.
    fn stream(&mut self, ty: &Type, items: Vec<Val>) -> Result<Val, ValueError>;

    /// A future that has this value. `ty` is its type.
    fn future(&mut self, ty: &Type, value: Val) -> Result<Val, ValueError>;
}

/// Converts JSON to a value of this type. `make` makes the streams and futures in it.
///
/// # Errors
///
/// The JSON does not fit the type.
pub(crate) fn read(ty: &Type, value: &Value, make: &mut dyn Make) -> Result<Val, ValueError> {
    let expected = |what: &'static str| unexpected(value, what);
    macro_rules! integer {
        ($case:ident, $of:ty) => {
            Val::$case(integer(value).and_then(|n| <$of>::try_from(n).ok()).ok_or_else(|| {
                let range = format!("an integer from {} to {}", <$of>::MIN, <$of>::MAX);
                unexpected(value, range)
            })?)
        };
    }
    Ok(match ty {
        Type::Bool => Val::Bool(value.as_bool().ok_or_else(|| expected("a boolean"))?),
        Type::S8 => integer!(S8, i8),
        Type::U8 => integer!(U8, u8),
        Type::S16 => integer!(S16, i16),
        Type::U16 => integer!(U16, u16),
        Type::S32 => integer!(S32, i32),
        Type::U32 => integer!(U32, u32),
        Type::S64 => integer!(S64, i64),
        Type::U64 => integer!(U64, u64),
        #[expect(clippy::cast_possible_truncation, reason = "that is what a float32 is")]
        Type::Float32 => Val::Float32(value.as_f64().ok_or_else(|| expected("a number"))? as f32),
        Type::Float64 => Val::Float64(value.as_f64().ok_or_else(|| expected("a number"))?),
        Type::Char => {
            let mut chars = value.as_str().unwrap_or_default().chars();
            match (chars.next(), chars.next()) {
                (Some(one), None) => Val::Char(one),
                (Some(_) | None, _) => return Err(expected("a single character")),
            }
        }
        Type::String => Val::String(value.as_str().ok_or_else(|| expected("a string"))?.to_owned()),
        Type::List(list) if list.ty() == Type::U8 => Val::List(bytes(value)?),
        Type::List(list) => Val::List(items(value, &list.ty(), make)?),
        Type::FixedLengthList(list) => {
            let all = items(value, &list.ty(), make)?;
            if all.len() != list.len() as usize {
                return Err(unexpected(value, format!("a list of {} items", list.len())));
            }
            Val::FixedLengthList(all)
        }
        Type::Map(map) => {
            let pairs = value.as_array().ok_or_else(|| expected("a list of pairs"))?;
            let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
                Some([key, value]) => {
                    Ok((read(&map.key(), key, make)?, read(&map.value(), value, make)?))
                }
                Some(_) | None => Err(expected("a list of pairs")),
            };
            Val::Map(pairs.iter().map(pair).collect::<Result<_, ValueError>>()?)
        }
        Type::Record(_) | Type::Tuple(_) | Type::Variant(_) | Type::Result(_) | Type::Flags(_) => {
            read_composed(ty, value, make)?
        }
        Type::Enum(names) => {
            let name = value.as_str().filter(|name| names.names().any(|known| known == *name));
            Val::Enum(name.ok_or_else(|| expected("a name of the enum"))?.to_owned())
        }
        Type::Option(_) if value.is_null() => Val::Option(None),
        Type::Option(option) => Val::Option(Some(Box::new(read(&option.ty(), value, make)?))),
        Type::Stream(stream) => {
            read_stream(&stream.ty().ok_or(ValueError::NotInJson)?, value, make)?
        }
        Type::Future(future) => {
            let ty = future.ty().ok_or(ValueError::NotInJson)?;
            let value = read(&ty, value, make)?;
            make.future(&ty, value)?
        }
        Type::Own(_) | Type::Borrow(_) | Type::ErrorContext => return Err(ValueError::NotInJson),
    })
}

/// Reads a record, a tuple, a variant, flags or a result.
fn read_composed(ty: &Type, value: &Value, make: &mut dyn Make) -> Result<Val, ValueError> {
    let expected = |what: &'static str| unexpected(value, what);
    Ok(match ty {
        Type::Record(record) => {
            let object = value.as_object().ok_or_else(|| expected("an object"))?;
            let mut field = |name: &str, ty: &Type| {
                let value = read(ty, object.get(name).unwrap_or(&Value::Null), make);
                let name = name.to_owned();
                match value {
                    Ok(value) => Ok((name, value)),
                    Err(cause) => Err(ValueError::Field { name, cause: cause.into() }),
                }
            };
            Val::Record(record.fields().map(|f| field(f.name, &f.ty)).collect::<Result<_, _>>()?)
        }
        Type::Tuple(tuple) => {
            let list = value.as_array().filter(|list| list.len() == tuple.types().len());
            let list = list.ok_or_else(|| expected("a list with one item for each type"))?;
            let pairs = tuple.types().zip(list);
            Val::Tuple(pairs.map(|(ty, value)| read(&ty, value, make)).collect::<Result<_, _>>()?)
        }
        Type::Variant(variant) => {
            let (name, payload) = case(value).ok_or_else(|| expected("a case of the variant"))?;
            let found = variant.cases().find(|case| case.name == name);
            match (found.map(|case| case.ty), payload) {
                (Some(None), None) => Val::Variant(name.to_owned(), None),
                (Some(Some(ty)), Some(payload)) => {
                    Val::Variant(name.to_owned(), Some(Box::new(read(&ty, payload, make)?)))
                }
                (Some(_) | None, _) => return Err(expected("a case of the variant")),
            }
        }
        Type::Flags(flags) => {
            let names = value.as_array().ok_or_else(|| expected("a list of names"))?;
            let flag = |name: &Value| {
                let name = name.as_str().filter(|name| flags.names().any(|flag| flag == *name));
                name.map(str::to_owned).ok_or_else(|| expected("a list of names"))
            };
            Val::Flags(names.iter().map(flag).collect::<Result<_, _>>()?)
        }
        Type::Result(result) => match case(value) {
            Some(("ok", Some(payload))) => {
                Val::Result(Ok(read_payload(result.ok(), payload, make)?))
            }
            Some(("err", Some(payload))) => {
                Val::Result(Err(read_payload(result.err(), payload, make)?))
            }
            Some(_) | None => return Err(expected("an object with the member `ok` or `err`")),
        },
        _ => unreachable!("`read` passes only these types"),
    })
}

/// The integer that a number stands for. `None`: the JSON is not a whole number, or is a floating-point number that is
/// too large to be exact. Some programs write integers with a decimal point, such as `7.0`.
fn integer(value: &Value) -> Option<i128> {
    let whole_number = |number: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and within these bounds")]
        (number.fract() == 0.0 && number.abs() < 9.0e15).then_some(number as i128)
    };
    value
        .as_i64()
        .map(i128::from)
        .or_else(|| value.as_u64().map(i128::from))
        .or_else(|| value.as_f64().and_then(whole_number))
}

/// Reads the items of a list.
fn items(value: &Value, ty: &Type, make: &mut dyn Make) -> Result<Vec<Val>, ValueError> {
    let list = value.as_array().ok_or_else(|| ValueError::NotAList { found: kind(value) })?;
    list.iter().map(|item| read(ty, item, make)).collect()
}

/// Reads bytes, which are text in base64.
fn bytes(value: &Value) -> Result<Vec<Val>, ValueError> {
    let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
    let bytes = bytes.ok_or_else(|| unexpected(value, "text in base64"))?;
    Ok(bytes.into_iter().map(Val::U8).collect())
}

/// Reads the items of a stream: a list, or bytes. `ty` is their type.
fn read_stream(ty: &Type, value: &Value, make: &mut dyn Make) -> Result<Val, ValueError> {
    let items = if *ty == Type::U8 { bytes(value)? } else { items(value, ty, make)? };
    make.stream(ty, items)
}

/// Reads the value of a case of a `result`. `ty` is `None` for a case without a value.
fn read_payload(
    ty: Option<Type>,
    value: &Value,
    make: &mut dyn Make,
) -> Result<Option<Box<Val>>, ValueError> {
    ty.map(|ty| read(&ty, value, make).map(Box::new)).transpose()
}

/// Reads a case, which is its name alone, or an object with one member of this name. Returns the name and the value.
fn case(value: &Value) -> Option<(&str, Option<&Value>)> {
    match value {
        Value::String(name) => Some((name, None)),
        Value::Object(object) if object.len() == 1 => {
            object.iter().next().map(|(name, value)| (name.as_str(), Some(value)))
        }
        _ => None,
    }
}

/// The kind of a value, for a message that another value was expected.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Converts a value of this type to JSON. A number that JSON cannot express, such as NaN, becomes `null`. `collected` has
/// what the streams and futures in the value brought, which are numbered in the value.
pub(crate) fn write(ty: &Type, value: &Val, collected: &mut [Value]) -> Value {
    match (ty, value) {
        (Type::List(list), Val::List(items)) if list.ty() == Type::U8 => {
            let byte = |value: &Val| match value {
                Val::U8(byte) => *byte,
                _ => unreachable!("wasmtime has checked its type"),
            };
            STANDARD.encode(items.iter().map(byte).collect::<Vec<_>>()).into()
        }
        (Type::List(list), Val::List(items)) => write_items(&list.ty(), items, collected),
        (Type::FixedLengthList(list), Val::FixedLengthList(items)) => {
            write_items(&list.ty(), items, collected)
        }
        (Type::Map(map), Val::Map(pairs)) => pairs
            .iter()
            .map(|(key, value)| {
                json!([write(&map.key(), key, collected), write(&map.value(), value, collected)])
            })
            .collect(),
        (Type::Record(record), Val::Record(values)) => {
            let fields = record.fields().zip(values);
            let field = fields
                .map(|(field, (name, value))| (name.clone(), write(&field.ty, value, collected)));
            Value::Object(field.collect::<Map<_, _>>())
        }
        (Type::Tuple(tuple), Val::Tuple(values)) => {
            tuple.types().zip(values).map(|(ty, value)| write(&ty, value, collected)).collect()
        }
        (Type::Variant(variant), Val::Variant(name, held)) => {
            let case = variant.cases().find(|case| case.name == name);
            match (case.and_then(|case| case.ty), held) {
                (Some(ty), Some(value)) => json!({ name: write(&ty, value, collected) }),
                (Some(_) | None, _) => name.as_str().into(),
            }
        }
        (Type::Option(option), Val::Option(value)) => {
            value.as_ref().map_or(Value::Null, |value| write(&option.ty(), value, collected))
        }
        (Type::Result(result), Val::Result(Ok(value))) => {
            json!({ "ok": payload(result.ok(), value.as_deref(), collected) })
        }
        (Type::Result(result), Val::Result(Err(value))) => {
            json!({ "err": payload(result.err(), value.as_deref(), collected) })
        }
        (Type::Stream(_) | Type::Future(_), Val::U32(number)) => usize::try_from(*number)
            .ok()
            .and_then(|number| collected.get_mut(number))
            .map_or(Value::Null, Value::take),
        (_, Val::Bool(value)) => (*value).into(),
        (_, Val::S8(value)) => (*value).into(),
        (_, Val::U8(value)) => (*value).into(),
        (_, Val::S16(value)) => (*value).into(),
        (_, Val::U16(value)) => (*value).into(),
        (_, Val::S32(value)) => (*value).into(),
        (_, Val::U32(value)) => (*value).into(),
        (_, Val::S64(value)) => (*value).into(),
        (_, Val::U64(value)) => (*value).into(),
        (_, Val::Float32(value)) => json!(value),
        (_, Val::Float64(value)) => json!(value),
        (_, Val::Char(value)) => value.to_string().into(),
        (_, Val::String(value) | Val::Enum(value)) => value.as_str().into(),
        (_, Val::Flags(names)) => names.iter().map(String::as_str).collect(),
        // A function that returns another type is not a tool: its result has no schema.
        _ => Value::Null,
    }
}

/// Writes the items of a list.
fn write_items(ty: &Type, items: &[Val], collected: &mut [Value]) -> Value {
    items.iter().map(|item| write(ty, item, collected)).collect()
}

/// Writes the value of a case of a `result`: `null` for a case without a value.
pub(crate) fn payload(ty: Option<Type>, value: Option<&Val>, collected: &mut [Value]) -> Value {
    match (ty, value) {
        (Some(ty), Some(value)) => write(&ty, value, collected),
        (Some(_) | None, _) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For types without streams.
    struct NoStreams;

    impl Make for NoStreams {
        fn stream(&mut self, _: &Type, _: Vec<Val>) -> Result<Val, ValueError> {
            Err(ValueError::NotInJson)
        }

        fn future(&mut self, _: &Type, _: Val) -> Result<Val, ValueError> {
            Err(ValueError::NotInJson)
        }
    }

    #[test]
    fn whole_numbers_are_integers_however_they_are_written() {
        assert_eq!(integer(&json!(7)), Some(7));
        assert_eq!(integer(&json!(7.0)), Some(7));
        assert_eq!(integer(&json!(u64::MAX)), Some(u64::MAX.into()));
        assert_eq!(integer(&json!(i64::MIN)), Some(i64::MIN.into()));
        for other in [json!(7.5), json!("7"), json!(1e300), json!(null)] {
            assert_eq!(integer(&other), None, "{other}");
        }
    }

    #[test]
    fn a_case_is_a_name_or_an_object_of_one_member() {
        assert_eq!(case(&json!("none")), Some(("none", None)));
        assert_eq!(case(&json!({ "some": 1 })), Some(("some", Some(&json!(1)))));
        assert_eq!(case(&json!({ "some": 1, "more": 2 })), None);
        assert_eq!(case(&json!(1)), None);
    }

    #[test]
    fn an_error_says_what_was_expected() {
        let why = |ty: &Type, value: Value| {
            read(ty, &value, &mut NoStreams).expect_err("it does not fit").to_string()
        };
        assert_eq!(why(&Type::U8, json!(256)), "expected an integer from 0 to 255, found a number");
        assert_eq!(why(&Type::Char, json!("ab")), "expected a single character, found a string");
        assert_eq!(why(&Type::Bool, json!(null)), "expected a boolean, found null");
    }
}
