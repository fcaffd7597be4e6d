//! Reads tagged properties: the values in which an object differs from its archetype.

use crate::{
    MAX_DEPTH,
    cursor::Cursor,
    fault::CursorStop,
    header::Header,
    layout::Layout,
    natives::Native,
    tables::{Index, Name},
    tags::{Tag, Type},
    value::{Label, Property, Struct, Value},
};
use std::cell::Cell;

const WHAT: &str = "value";
/// Maximum number of items of an array of single bytes. An array with more items is not decoded.
const MAX_BYTES: usize = 4096;

/// Reads the properties of the objects in one package.
pub struct Decoder<'h, 'a> {
    pub header: &'h Header<'a>,
    pub layout: Layout,
    /// Number of values that could not be decoded.
    pub undecoded: Cell<usize>,
}

impl<'h, 'a> Decoder<'h, 'a> {
    pub fn new(header: &'h Header<'a>) -> Self {
        let layout = Layout::of(&header.summary, header.soft_paths.len());
        Self { header, layout, undecoded: Cell::new(0) }
    }

    /// Reads properties up to the end mark. A value that cannot be decoded is skipped, since its
    /// tag states its size.
    pub fn properties(
        &self,
        cursor: &mut Cursor<'a>,
        depth: usize,
    ) -> Result<Vec<Property<'a>>, CursorStop> {
        if depth > MAX_DEPTH {
            return Err(cursor.damaged("nesting"));
        }
        let mut properties = Vec::new();
        while let Some(tag) = Tag::read(self.header, &self.layout, cursor)? {
            let start = cursor.at();
            let body = cursor.part(WHAT, start, start + tag.size as u64)?;
            cursor.skip(WHAT, tag.size)?;
            let value = self.tagged(body, &tag, depth).unwrap_or_else(|_| {
                self.undecoded.set(self.undecoded.get() + 1);
                Value::Undecoded { bytes: tag.size as u64 }
            });
            properties.push(Property { name: Label::Name(tag.name), index: tag.index, value });
        }
        Ok(properties)
    }

    /// Reads the value after a tag. The value must use all bytes of the size that the tag states.
    fn tagged(
        &self,
        mut body: Cursor<'a>,
        tag: &Tag,
        depth: usize,
    ) -> Result<Value<'a>, CursorStop> {
        if self.header.is_named(tag.kind.name, "BoolProperty") {
            return Ok(Value::Bool(tag.truth));
        }
        let size = Some(tag.size);
        let value = self.value(&mut body, &tag.kind, size, tag.native, depth)?;
        if body.left() != 0 {
            return Err(body.damaged(WHAT));
        }
        Ok(value)
    }

    /// Reads a value of a type. `size` is the size of the value in bytes, if known. `native` tells
    /// whether a structure has native serialization, if known.
    fn value(
        &self,
        cursor: &mut Cursor<'a>,
        kind: &Type,
        size: Option<usize>,
        native: Option<bool>,
        depth: usize,
    ) -> Result<Value<'a>, CursorStop> {
        if depth > MAX_DEPTH {
            return Err(cursor.damaged("nesting"));
        }
        Ok(match self.header.name(kind.name).as_ref() {
            "BoolProperty" => Value::Bool(cursor.u8(WHAT)? != 0),
            "Int8Property" => Value::Int(cursor.i8(WHAT)?.into()),
            "Int16Property" => Value::Int(cursor.i16(WHAT)?.into()),
            "IntProperty" => Value::Int(cursor.i32(WHAT)?.into()),
            "Int64Property" => Value::Int(cursor.i64(WHAT)?),
            "UInt16Property" => Value::Int(cursor.u16(WHAT)?.into()),
            "UInt32Property" => Value::Int(cursor.u32(WHAT)?.into()),
            "UInt64Property" => Value::Unsigned(cursor.u64(WHAT)?),
            "FloatProperty" => Value::Float(cursor.f32(WHAT)?.into()),
            "DoubleProperty" => Value::Float(cursor.f64(WHAT)?),
            "ByteProperty" if size != Some(8) => Value::Int(cursor.u8(WHAT)?.into()),
            "ByteProperty" | "EnumProperty" => Value::Enum(Name::read(cursor, WHAT)?),
            "NameProperty" => Value::Name(Name::read(cursor, WHAT)?),
            "StrProperty" | "Utf8StrProperty" | "AnsiStrProperty" => {
                Value::String(cursor.string(WHAT)?)
            }
            "TextProperty" => Value::Text(Box::new(self.layout.text(cursor, depth)?)),
            "ObjectProperty" | "ClassProperty" | "WeakObjectProperty" | "InterfaceProperty"
            | "ObjectPtrProperty" | "ClassPtrProperty" => Value::Object(Index::read(cursor, WHAT)?),
            "LazyObjectProperty" => Value::Guid(crate::Guid::read(cursor)?),
            "SoftObjectProperty" | "SoftClassProperty" => self.layout.soft_path(cursor)?,
            "AssetObjectProperty" | "AssetClassProperty" => Value::String(cursor.string(WHAT)?),
            "DelegateProperty" => self.delegate(cursor)?,
            "MulticastDelegateProperty"
            | "MulticastInlineDelegateProperty"
            | "MulticastSparseDelegateProperty" => {
                let count = cursor.count(WHAT, 12)?;
                let delegates = (0..count).map(|_| self.delegate(cursor));
                Value::List(delegates.collect::<Result<_, _>>()?)
            }
            "FieldPathProperty" => {
                let count = cursor.count(WHAT, 8)?;
                let names = (0..count).map(|_| Name::read(cursor, WHAT).map(Value::Name));
                let names = names.collect::<Result<_, _>>()?;
                cursor.skip(WHAT, 4)?;
                Value::List(names)
            }
            "StructProperty" => self.structure(cursor, kind.inner.first(), native, depth)?,
            "ArrayProperty" => self.array(cursor, kind, depth)?,
            "SetProperty" => self.set(cursor, kind, depth)?,
            "MapProperty" => self.map(cursor, kind, depth)?,
            "OptionalProperty" => match (cursor.flag(WHAT)?, kind.inner.first()) {
                (true, Some(inner)) => self.value(cursor, inner, None, None, depth + 1)?,
                (true, None) => return Err(cursor.damaged(WHAT)),
                (false, _) => Value::List(Vec::new()),
            },
            _ => return Err(cursor.damaged("type of a property")),
        })
    }

    fn delegate(&self, cursor: &mut Cursor<'a>) -> Result<Value<'a>, CursorStop> {
        Ok(Value::Delegate(Index::read(cursor, WHAT)?, Name::read(cursor, WHAT)?))
    }

    /// Reads a structure: by its native layout if it has one, or else as tagged properties.
    fn structure(
        &self,
        cursor: &mut Cursor<'a>,
        kind: Option<&Type>,
        native: Option<bool>,
        depth: usize,
    ) -> Result<Value<'a>, CursorStop> {
        let kind = kind.map(|kind| kind.name);
        if let (Some(name), None | Some(true)) = (kind, native) {
            let instanced = self.instanced(cursor, name, depth)?;
            let value = match instanced {
                None => self.niagara_variable(cursor, name, depth)?,
                Some(value) => Some(value),
            };
            if let Some(value) = value {
                return Ok(value);
            }
            match self.layout.native(cursor, &self.header.name(name))? {
                Some(Native::Value(value)) => return Ok(value),
                Some(Native::Fields(fields)) => {
                    return Ok(Value::Struct(Box::new(Struct { kind, fields })));
                }
                None if native == Some(true) => {
                    // The native function of some structures only registers versions; tagged properties follow.
                    let fields = self.properties(cursor, depth + 1)?;
                    return match fields.is_empty() {
                        true => Err(cursor.damaged("structure")),
                        false => Ok(Value::Struct(Box::new(Struct { kind, fields }))),
                    };
                }
                None => {}
            }
        }
        let mut fields = self.properties(cursor, depth + 1)?;
        if self.layout.niagara_variables {
            self.niagara_store(&mut fields);
        }
        Ok(Value::Struct(Box::new(Struct { kind, fields })))
    }

    fn array(
        &self,
        cursor: &mut Cursor<'a>,
        kind: &Type,
        depth: usize,
    ) -> Result<Value<'a>, CursorStop> {
        let Some(inner) = kind.inner.first() else {
            return Err(cursor.damaged("array without a type"));
        };
        let count = cursor.count(WHAT, 1)?;
        let is_struct = self.header.is_named(inner.name, "StructProperty");
        if is_struct && inner.inner.is_empty() && self.layout.ue4 >= crate::ue4::ARRAY_INNER_TAG {
            let Some(tag) = Tag::read(self.header, &self.layout, cursor)? else {
                return Err(cursor.damaged("tag of an array"));
            };
            return self.items(cursor, &tag.kind, count, depth);
        }
        if is_struct && let Some(keys) = self.layout.untyped_keys(cursor, count)? {
            return Ok(keys);
        }
        self.items(cursor, inner, count, depth)
    }

    fn items(
        &self,
        cursor: &mut Cursor<'a>,
        kind: &Type,
        count: usize,
        depth: usize,
    ) -> Result<Value<'a>, CursorStop> {
        // The size of an item tells whether a byte property is stored as a number or as the name of an enumeration's
        // entry.
        let left = usize::try_from(cursor.left()).unwrap_or(usize::MAX);
        let item_size = left.checked_div(count);
        if count > MAX_BYTES && item_size == Some(1) {
            return Err(cursor.damaged("bytes"));
        }
        let mut items = Vec::with_capacity(count.min(left / 4 + 1));
        for _ in 0..count {
            items.push(self.value(cursor, kind, item_size, None, depth + 1)?);
        }
        Ok(Value::List(items))
    }

    fn set(
        &self,
        cursor: &mut Cursor<'a>,
        kind: &Type,
        depth: usize,
    ) -> Result<Value<'a>, CursorStop> {
        let Some(inner) = kind.inner.first() else {
            return Err(cursor.damaged("set without a type"));
        };
        // The items that were removed from the archetype's set come first.
        for _ in 0..cursor.count(WHAT, 1)? {
            self.item(cursor, inner, depth)?;
        }
        let count = cursor.count(WHAT, 1)?;
        let items = (0..count).map(|_| self.item(cursor, inner, depth));
        Ok(Value::List(items.collect::<Result<_, _>>()?))
    }

    fn map(
        &self,
        cursor: &mut Cursor<'a>,
        kind: &Type,
        depth: usize,
    ) -> Result<Value<'a>, CursorStop> {
        let [key, value] = kind.inner.as_slice() else {
            return Err(cursor.damaged("map without types"));
        };
        for _ in 0..cursor.count(WHAT, 1)? {
            self.item(cursor, key, depth)?;
        }
        let count = cursor.count(WHAT, 2)?;
        let entries = (0..count)
            .map(|_| Ok((self.item(cursor, key, depth)?, self.item(cursor, value, depth)?)));
        Ok(Value::Map(entries.collect::<Result<_, _>>()?))
    }

    /// Reads an item of a set or map. Before 5.4, the type of a structure is not stored. The item
    /// is then read as tagged properties, or else as a GUID, which is the most frequent other type.
    fn item(
        &self,
        cursor: &mut Cursor<'a>,
        kind: &Type,
        depth: usize,
    ) -> Result<Value<'a>, CursorStop> {
        let is_typed = !kind.inner.is_empty() || !self.header.is_named(kind.name, "StructProperty");
        let enumeration = self.header.is_named(kind.name, "ByteProperty") && !kind.inner.is_empty();
        if is_typed {
            return self.value(cursor, kind, enumeration.then_some(8), None, depth + 1);
        }
        let mut attempt = cursor.clone();
        let undecoded = self.undecoded.get();
        match self.properties(&mut attempt, depth + 1) {
            Ok(fields) => {
                *cursor = attempt;
                Ok(Value::Struct(Box::new(Struct { kind: None, fields })))
            }
            Err(_) => {
                self.undecoded.set(undecoded);
                Ok(Value::Guid(crate::Guid::read(cursor)?))
            }
        }
    }
}
