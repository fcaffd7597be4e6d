//! Reads property tags: the name, type and size before each property's value.

use crate::{
    cursor::Cursor,
    fault::CursorStop,
    header::Header,
    layout::Layout,
    tables::Name,
    version::{ue4, ue5},
};

const WHAT: &str = "property tag";
/// Maximum number of parts of one type.
const MAX_TYPES: usize = 64;

/// The type of a property: `ArrayProperty` of `StructProperty` of `Vector`.
#[derive(Clone, Debug, Default)]
pub struct Type {
    pub name: Name,
    /// Type arguments, or the names that qualify the type.
    pub inner: Vec<Type>,
}

/// A property tag.
pub struct Tag {
    pub name: Name,
    pub kind: Type,
    pub size: usize,
    pub index: u32,
    /// The value of a boolean property.
    pub truth: bool,
    /// Whether a structure has native serialization, if the tag states it.
    pub native: Option<bool>,
}

impl Tag {
    /// Reads the next tag; `None` after the last.
    pub fn read(
        header: &Header<'_>,
        layout: &Layout,
        cursor: &mut Cursor<'_>,
    ) -> Result<Option<Self>, CursorStop> {
        let name = Name::read(cursor, WHAT)?;
        if name.index as usize >= header.names.len() {
            return Err(cursor.damaged(WHAT));
        }
        if header.is_named(name, "None") {
            return Ok(None);
        }
        if layout.ue5 >= ue5::COMPLETE_TYPE_NAMES {
            return read_complete_tag(cursor, name).map(Some);
        }
        read_old_tag(header, layout, cursor, name).map(Some)
    }
}

/// Reads a tag of a package since 5.4: the complete type, and flags for optional fields.
fn read_complete_tag(cursor: &mut Cursor<'_>, name: Name) -> Result<Tag, CursorStop> {
    let mut parts_left = MAX_TYPES;
    let kind = type_name(cursor, &mut parts_left, 0)?;
    let size = read_size(cursor)?;
    let flags = cursor.u8(WHAT)?;
    let index = if flags & 0x01 != 0 { cursor.u32(WHAT)? } else { 0 };
    if flags & 0x02 != 0 {
        cursor.skip(WHAT, 16)?;
    }
    if flags & 0x04 != 0 {
        skip_extensions(cursor)?;
    }
    Ok(Tag { name, kind, size, index, truth: flags & 0x10 != 0, native: Some(flags & 0x08 != 0) })
}

fn type_name(
    cursor: &mut Cursor<'_>,
    parts_left: &mut usize,
    depth: usize,
) -> Result<Type, CursorStop> {
    let name = Name::read(cursor, WHAT)?;
    let count = cursor.count(WHAT, 12)?;
    if depth > crate::MAX_DEPTH || count >= *parts_left {
        return Err(cursor.damaged(WHAT));
    }
    *parts_left -= count;
    let mut inner = Vec::with_capacity(count);
    for _ in 0..count {
        inner.push(type_name(cursor, parts_left, depth + 1)?);
    }
    Ok(Type { name, inner })
}

/// Reads a tag of a package until 5.3: the name of the type, then fields that depend on the type.
fn read_old_tag(
    header: &Header<'_>,
    layout: &Layout,
    cursor: &mut Cursor<'_>,
    name: Name,
) -> Result<Tag, CursorStop> {
    let mut kind = Type { name: Name::read(cursor, WHAT)?, inner: Vec::new() };
    let size = read_size(cursor)?;
    let index = cursor.u32(WHAT)?;
    let mut truth = false;
    let has_containers = layout.ue4 >= ue4::SET_AND_MAP;
    let inner = match header.name(kind.name).as_ref() {
        "StructProperty" => {
            kind.inner.push(Type { name: Name::read(cursor, WHAT)?, inner: Vec::new() });
            if layout.ue4 >= ue4::STRUCT_GUID {
                cursor.skip(WHAT, 16)?;
            }
            0
        }
        "BoolProperty" => {
            truth = cursor.u8(WHAT)? != 0;
            0
        }
        "ByteProperty" | "EnumProperty" | "OptionalProperty" => 1,
        "ArrayProperty" if layout.ue4 >= ue4::ARRAY_INNER_TYPE => 1,
        "SetProperty" if has_containers => 1,
        "MapProperty" if has_containers => 2,
        _ => 0,
    };
    for _ in 0..inner {
        kind.inner.push(Type { name: Name::read(cursor, WHAT)?, inner: Vec::new() });
    }
    if layout.ue4 >= ue4::PROPERTY_GUID && cursor.u8(WHAT)? != 0 {
        cursor.skip(WHAT, 16)?;
    }
    if layout.ue5 >= ue5::TAG_EXTENSIONS {
        skip_extensions(cursor)?;
    }
    Ok(Tag { name, kind, size, index, truth, native: None })
}

fn skip_extensions(cursor: &mut Cursor<'_>) -> Result<(), CursorStop> {
    let flags = cursor.u8(WHAT)?;
    if flags & 0x02 != 0 {
        // The kind of override, and whether the override is experimental.
        cursor.skip(WHAT, 5)?;
    }
    if flags & 0x04 != 0 {
        cursor.skip(WHAT, 4)?;
    }
    Ok(())
}

fn read_size(cursor: &mut Cursor<'_>) -> Result<usize, CursorStop> {
    let size = cursor.i32(WHAT)?;
    usize::try_from(size).map_err(|_| cursor.damaged(WHAT))
}
