//! Reads structures whose type is stored beside the value: `FInstancedStruct` and `FInstancedPropertyBag`.
//!
//! Sources: `Serialize` of these two structures and of `FPropertyBagPropertyDesc`, in the engine's `StructUtils`.

use crate::{
    Guid,
    cursor::Cursor,
    fault::CursorStop,
    natives::Native,
    properties::Decoder,
    tables::{Index, Name},
    value::{Label, Property, Struct, Value},
};

const WHAT: &str = "structure of any type";

/// Versions of `FPropertyBagCustomVersion`.
mod bag {
    pub const CONTAINER_TYPES: i32 = 1;
    pub const NESTED_CONTAINER_TYPES: i32 = 2;
    pub const META_CLASS: i32 = 3;
}

impl<'a> Decoder<'_, 'a> {
    /// Reads a structure whose type is stored beside the value. `None` for another structure.
    pub(crate) fn instanced(
        &self,
        cursor: &mut Cursor<'a>,
        structure: Name,
        depth: usize,
    ) -> Result<Option<Value<'a>>, CursorStop> {
        let fields = match self.header.name(structure).as_ref() {
            "InstancedStruct" => self.instanced_struct(cursor, depth)?,
            "InstancedPropertyBag" => self.property_bag(cursor, depth)?,
            _ => return Ok(None),
        };
        Ok(Some(Value::Struct(Box::new(Struct { kind: Some(structure), fields }))))
    }

    /// Reads the type and the members of an `FInstancedStruct`.
    fn instanced_struct(
        &self,
        cursor: &mut Cursor<'a>,
        depth: usize,
    ) -> Result<Vec<Property<'a>>, CursorStop> {
        let mut behind = cursor.clone();
        // Until 5.2, a magic number and a version of one byte came first.
        if behind.u32(WHAT).is_ok_and(|mark| mark == 0xABAB_ABAB) {
            behind.skip(WHAT, 1)?;
            *cursor = behind;
        }
        let structure = Index::read(cursor, WHAT)?;
        let size = cursor.count(WHAT, 1)?;
        let body = self.sized(cursor, size)?;
        if structure.0 == 0 {
            return Ok(Vec::new());
        }
        let name = self.header.object_name(structure);
        let value = self.whole(body, |body| match self.layout.native(body, &name)? {
            Some(Native::Value(value)) => Ok(value),
            Some(Native::Fields(fields)) => Ok(structured(fields)),
            None => self.properties(body, depth + 1).map(structured),
        });
        Ok(vec![field("Struct", Value::Object(structure)), field("Value", value)])
    }

    /// Reads the members of an `FInstancedPropertyBag`. The descriptions of all members come first
    /// and are skipped, since each member is stored with its name and type.
    fn property_bag(
        &self,
        cursor: &mut Cursor<'a>,
        depth: usize,
    ) -> Result<Vec<Property<'a>>, CursorStop> {
        let version = self.layout.property_bag;
        // Packages without the custom version have a version of one byte here. Version 0 stores no
        // size.
        let has_size = version >= bag::CONTAINER_TYPES || cursor.u8(WHAT)? > 0;
        if !cursor.flag(WHAT)? {
            return Ok(Vec::new());
        }
        for _ in 0..cursor.count(WHAT, 33)? {
            self.member(cursor, version)?;
        }
        if !has_size {
            return self.properties(cursor, depth + 1);
        }
        let size = cursor.count(WHAT, 1)?;
        let body = self.sized(cursor, size)?;
        let value = self.whole(body, |body| self.properties(body, depth + 1).map(structured));
        if let Value::Struct(members) = value {
            return Ok(members.fields);
        }
        Ok(vec![field("Value", value)])
    }

    /// Skips the description of a member of a property bag: type object, GUID, name, type, containers, metadata.
    fn member(&self, cursor: &mut Cursor<'a>, version: i32) -> Result<(), CursorStop> {
        Index::read(cursor, WHAT)?;
        Guid::read(cursor)?;
        Name::read(cursor, WHAT)?;
        cursor.skip(WHAT, 1)?;
        if version >= bag::NESTED_CONTAINER_TYPES {
            let containers = cursor.u8(WHAT)?;
            cursor.skip(WHAT, containers.into())?;
        } else if version >= bag::CONTAINER_TYPES {
            cursor.skip(WHAT, 1)?;
        }
        if cursor.flag(WHAT)? {
            for _ in 0..cursor.count(WHAT, 12)? {
                Name::read(cursor, WHAT)?;
                cursor.skip_string(WHAT)?;
            }
            if version >= bag::META_CLASS {
                Index::read(cursor, WHAT)?;
            }
        }
        Ok(())
    }

    /// A cursor over the next `size` bytes, which `cursor` skips.
    fn sized(&self, cursor: &mut Cursor<'a>, size: usize) -> Result<Cursor<'a>, CursorStop> {
        let start = cursor.at();
        let body = cursor.part(WHAT, start, start + size as u64)?;
        cursor.skip(WHAT, size)?;
        Ok(body)
    }

    /// Reads a value from all bytes of `body`. If `read` fails or leaves bytes, the value counts as
    /// not decoded.
    fn whole(
        &self,
        mut body: Cursor<'a>,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<Value<'a>, CursorStop>,
    ) -> Value<'a> {
        let bytes = body.left();
        match read(&mut body) {
            Ok(value) if body.left() == 0 => value,
            Ok(_) | Err(_) => {
                self.undecoded.set(self.undecoded.get() + 1);
                Value::Undecoded { bytes }
            }
        }
    }
}

/// A field with a constant name.
pub(crate) fn field<'a>(name: &'static str, value: Value<'a>) -> Property<'a> {
    Property { name: Label::fixed(name), index: 0, value }
}

/// A structure value without a type, since the place of the value gives the type.
pub(crate) fn structured(fields: Vec<Property<'_>>) -> Value<'_> {
    Value::Struct(Box::new(Struct { kind: None, fields }))
}
