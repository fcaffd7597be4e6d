//! Reads the variables of Niagara: their names, types and values.
//!
//! A parameter store has the offsets of its variables, and the bytes of all values. Sources: `Serialize` of
//! `FNiagaraVariableBase`, `FNiagaraVariable` and `FNiagaraVariableWithOffset` in the engine, and the structures of
//! `NiagaraTypes.h`.

use crate::{
    cursor::Cursor,
    fault::CursorStop,
    instanced::{field, structured},
    properties::Decoder,
    tables::{Index, Name},
    value::{Label, Property, Struct, Value},
};

const WHAT: &str = "variable of Niagara";
/// Maximum size, in bytes, of a value of unknown type whose bytes are kept: the size of a matrix.
const MAX_VALUE_BYTES: usize = 64;

/// The data after the name and the type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// Nothing: `FNiagaraVariableBase`.
    None,
    /// The value: `FNiagaraVariable`.
    Value,
    /// The offset of the value in the store: `FNiagaraVariableWithOffset`.
    Offset,
}

impl Tail {
    fn of(structure: &str) -> Option<Self> {
        Some(match structure {
            "NiagaraVariableBase" => Self::None,
            "NiagaraVariable" => Self::Value,
            "NiagaraVariableWithOffset" => Self::Offset,
            _ => return None,
        })
    }
}

/// The layout of a value of a Niagara type.
#[derive(Clone, Copy)]
enum NiagaraLayout {
    /// This many numbers of single precision.
    Floats(usize),
    /// This many integers of 32 bits.
    Ints(usize),
    Flag,
}

impl NiagaraLayout {
    /// The layout of a structure. In a store, vectors have single precision in all versions.
    fn of(structure: &str) -> Option<Self> {
        Some(match structure {
            "NiagaraFloat" | "NiagaraHalf" => Self::Floats(1),
            "Vector2f" | "Vector2D" => Self::Floats(2),
            "Vector3f" | "Vector" | "NiagaraPosition" => Self::Floats(3),
            "Vector4f" | "Vector4" | "Quat4f" | "Quat" | "LinearColor" => Self::Floats(4),
            "NiagaraMatrix" => Self::Floats(16),
            "NiagaraInt32" => Self::Ints(1),
            "NiagaraID" => Self::Ints(2),
            "NiagaraBool" => Self::Flag,
            _ => return None,
        })
    }

    fn read<'a>(self, bytes: &[u8]) -> Option<Value<'a>> {
        let (words, rest) = bytes.as_chunks::<4>();
        let one_or_list = |count: usize, read: fn([u8; 4]) -> Value<'a>| {
            let mut values: Vec<_> = words.iter().map(|word| read(*word)).collect();
            let is_whole = rest.is_empty() && values.len() == count;
            is_whole.then(|| match count {
                1 => values.remove(0),
                _ => Value::List(values),
            })
        };
        match self {
            Self::Floats(count) => {
                one_or_list(count, |word| Value::Float(f32::from_le_bytes(word).into()))
            }
            Self::Ints(count) => {
                one_or_list(count, |word| Value::Int(i32::from_le_bytes(word).into()))
            }
            Self::Flag => one_or_list(1, |word| Value::Bool(word != [0; 4])),
        }
    }

    /// Size of the value in bytes.
    fn size(self) -> usize {
        match self {
            Self::Floats(count) | Self::Ints(count) => 4 * count,
            Self::Flag => 4,
        }
    }
}

impl<'a> Decoder<'_, 'a> {
    /// Reads a variable with native serialization. `None` for another structure, or if the package
    /// is of an older version, which stores variables as tagged properties.
    pub(crate) fn niagara_variable(
        &self,
        cursor: &mut Cursor<'a>,
        structure: Name,
        depth: usize,
    ) -> Result<Option<Value<'a>>, CursorStop> {
        let tail = Tail::of(&self.header.name(structure));
        let Some(tail) = tail.filter(|_| self.layout.niagara_variables) else { return Ok(None) };
        let name = Name::read(cursor, WHAT)?;
        let kind = self.properties(cursor, depth + 1)?;
        let type_object = self.object_in(&kind, "ClassStructOrEnum");
        let mut fields = vec![field("Name", Value::Name(name))];
        // If the type refers to an object, its flags are left out, since they can be derived from the object.
        fields.push(field("Type", type_object.map_or_else(|| structured(kind), Value::Object)));
        match tail {
            Tail::None => {}
            Tail::Offset => fields.push(field("Offset", Value::Int(cursor.i32(WHAT)?.into()))),
            Tail::Value => {
                let size = cursor.count(WHAT, 1)?;
                let bytes = cursor.take(WHAT, size)?;
                let layout = type_object.and_then(|kind| self.layout_of(kind));
                let value = layout.and_then(|layout| layout.read(bytes)).or_else(|| raw(bytes));
                fields.extend(value.map(|value| field("Value", value)));
            }
        }
        Ok(Some(Value::Struct(Box::new(Struct { kind: Some(structure), fields }))))
    }

    /// Adds to each variable of a parameter store the value that is at the offset of the variable.
    pub(crate) fn niagara_store(&self, fields: &mut [Property<'a>]) {
        let is = |field: &Property<'_>, name: &str| match &field.name {
            Label::Name(label) => self.header.is_named(*label, name),
            Label::Text(label) => label == name,
        };
        let data = fields.iter().find(|field| is(field, "ParameterData"));
        let Some(Value::List(data)) = data.map(|field| field.value.clone()) else { return };
        let Some(data) =
            data.iter().map(|byte| as_integer(byte)?.try_into().ok()).collect::<Option<Vec<u8>>>()
        else {
            return;
        };
        let offsets = fields.iter_mut().find(|field| is(field, "SortedParameterOffsets"));
        let Some(Value::List(variables)) = offsets.map(|field| &mut field.value) else { return };
        for variable in variables {
            let Value::Struct(variable) = variable else { continue };
            let offset = variable.fields.iter().find(|field| is(field, "Offset"));
            let offset = offset.and_then(|field| usize::try_from(as_integer(&field.value)?).ok());
            let layout =
                self.object_in(&variable.fields, "Type").and_then(|kind| self.layout_of(kind));
            let value = offset.zip(layout).and_then(|(offset, layout)| {
                layout.read(data.get(offset..offset.checked_add(layout.size())?)?)
            });
            variable.fields.extend(value.map(|value| field("Value", value)));
        }
    }

    /// The object in the field with this name.
    fn object_in(&self, fields: &[Property<'a>], name: &str) -> Option<Index> {
        fields.iter().find_map(|field| match (&field.name, &field.value) {
            (Label::Name(label), Value::Object(object)) if self.header.is_named(*label, name) => {
                Some(*object)
            }
            (Label::Text(label), Value::Object(object)) if label == name => Some(*object),
            _ => None,
        })
    }

    /// The layout of a type. Entries of enumerations are whole numbers.
    fn layout_of(&self, kind: Index) -> Option<NiagaraLayout> {
        match self.header.class_name(kind).as_ref() {
            "Enum" | "UserDefinedEnum" => Some(NiagaraLayout::Ints(1)),
            _ => NiagaraLayout::of(&self.header.object_name(kind)),
        }
    }
}

/// The integer, if the value is one.
fn as_integer(value: &Value<'_>) -> Option<i64> {
    if let Value::Int(number) = value { Some(*number) } else { None }
}

/// The value of bytes of unknown type; `None` if there are no bytes.
fn raw<'a>(bytes: &[u8]) -> Option<Value<'a>> {
    match bytes.len() {
        0 => None,
        1..=MAX_VALUE_BYTES => {
            let numbers = bytes.iter().map(|byte| Value::Int((*byte).into()));
            Some(Value::List(numbers.collect()))
        }
        size => Some(Value::Undecoded { bytes: size as u64 }),
    }
}
