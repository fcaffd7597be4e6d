//! The tables of names, imports and exports, to which a package refers by number.

use crate::{
    cursor::Cursor,
    fault::CursorStop,
    summary::Summary,
    version::{ue4, ue5},
};
use std::borrow::Cow;

/// Maximum length of a name that engines write (`NAME_SIZE`), in bytes of UTF-8.
const MAX_NAME_BYTES: usize = 1024 * 3;

/// A reference to the name table; a `number` other than 0 appends `_` and `number` - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Index in the name table.
    pub index: u32,
    /// 0, or the appended number plus 1.
    pub number: u32,
}

/// A reference to an object: an export if positive, an import if negative, none if 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(pub i32);

impl Index {
    /// Index in the export table.
    pub fn export(self) -> Option<usize> {
        (self.0 > 0).then(|| self.0 as usize - 1)
    }

    /// Index in the import table.
    pub fn import(self) -> Option<usize> {
        (self.0 < 0).then(|| self.0.unsigned_abs() as usize - 1)
    }

    /// The reference to the export with this index in the export table.
    pub fn of_export(position: usize) -> Self {
        Self(i32::try_from(position + 1).unwrap_or(0))
    }
}

/// An object of another package.
#[derive(Clone, Copy, Debug, Default)]
pub struct Import {
    /// The package of its class.
    pub class_package: Name,
    /// Its class.
    pub class: Name,
    /// Its outer; none for a package.
    pub outer: Index,
    /// Its own name.
    pub name: Name,
}

/// An object of this package.
#[derive(Clone, Copy, Debug, Default)]
pub struct Export {
    /// Its class; none for a class.
    pub class: Index,
    /// The parent of a class, structure or function.
    pub parent: Index,
    /// Its archetype.
    pub template: Index,
    /// Its outer; none for an outermost object.
    pub outer: Index,
    /// Its own name.
    pub name: Name,
    /// `EObjectFlags`.
    pub flags: u32,
    /// Offset of its data in the file, in bytes.
    pub offset: u64,
    /// Size of its data in bytes.
    pub size: u64,
    /// Start and end of its properties within its data, in bytes; since Unreal Engine 5.4.
    pub script: Option<(u64, u64)>,
}

impl Export {
    /// Whether the object is a class default object.
    pub fn is_class_default(&self) -> bool {
        self.flags & 0x10 != 0
    }
}

impl Name {
    pub(crate) fn read(cursor: &mut Cursor<'_>, what: &'static str) -> Result<Self, CursorStop> {
        Ok(Self { index: cursor.u32(what)?, number: cursor.u32(what)? })
    }
}

impl Index {
    pub(crate) fn read(cursor: &mut Cursor<'_>, what: &'static str) -> Result<Self, CursorStop> {
        cursor.i32(what).map(Self)
    }
}

pub fn names<'a>(
    whole: &Cursor<'a>,
    summary: &Summary<'a>,
) -> Result<Vec<Cow<'a, str>>, CursorStop> {
    names_from(&mut whole.from("names", summary.names.offset.into())?, summary)
}

/// Reads the names. The cursor must be at the start of the names, and is moved to their end.
pub fn names_from<'a>(
    cursor: &mut Cursor<'a>,
    summary: &Summary<'_>,
) -> Result<Vec<Cow<'a, str>>, CursorStop> {
    let what = "names";
    let has_hashes = summary.versions.ue4 >= ue4::NAME_HASHES;
    let count = cursor.checked_count(what, summary.names.count, if has_hashes { 8 } else { 4 })?;
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        let name = cursor.string(what)?;
        if name.len() > MAX_NAME_BYTES {
            return Err(cursor.damaged(what));
        }
        if has_hashes {
            cursor.skip(what, 4)?;
        }
        names.push(name);
    }
    Ok(names)
}

pub fn imports(whole: &Cursor<'_>, summary: &Summary<'_>) -> Result<Vec<Import>, CursorStop> {
    let what = "imports";
    let size = import_size(summary);
    let mut cursor = whole.from(what, summary.imports.offset.into())?;
    let count = cursor.checked_count(what, summary.imports.count, size)?;
    let mut imports = Vec::with_capacity(count);
    for _ in 0..count {
        imports.push(Import {
            class_package: Name::read(&mut cursor, what)?,
            class: Name::read(&mut cursor, what)?,
            outer: Index::read(&mut cursor, what)?,
            name: Name::read(&mut cursor, what)?,
        });
        cursor.skip(what, size - 28)?;
    }
    Ok(imports)
}

/// Size of an import in bytes.
pub fn import_size(summary: &Summary<'_>) -> usize {
    let versions = summary.versions;
    let has_package = versions.ue4 >= ue4::IMPORT_PACKAGE && !summary.is_stripped();
    let is_optional = versions.ue5 >= ue5::OPTIONAL;
    28 + if has_package { 8 } else { 0 } + if is_optional { 4 } else { 0 }
}

pub fn exports(whole: &Cursor<'_>, summary: &Summary<'_>) -> Result<Vec<Export>, CursorStop> {
    let what = "exports";
    let mut cursor = whole.from(what, summary.exports.offset.into())?;
    let count = cursor.checked_count(what, summary.exports.count, 56)?;
    let mut exports = Vec::with_capacity(count);
    for _ in 0..count {
        exports.push(export(&mut cursor, summary)?);
    }
    Ok(exports)
}

/// Reads an export.
pub fn export(cursor: &mut Cursor<'_>, summary: &Summary<'_>) -> Result<Export, CursorStop> {
    let what = "exports";
    let (four, five) = (summary.versions.ue4, summary.versions.ue5);
    let class = Index::read(cursor, what)?;
    let parent = Index::read(cursor, what)?;
    let template = if four >= ue4::TEMPLATE { Index::read(cursor, what)? } else { Index(0) };
    let outer = Index::read(cursor, what)?;
    let name = Name::read(cursor, what)?;
    let flags = cursor.u32(what)?;
    let mut place = || {
        let place =
            if four >= ue4::WIDE_EXPORTS { cursor.i64(what)? } else { cursor.i32(what)?.into() };
        u64::try_from(place).map_err(|_| cursor.damaged(what))
    };
    let (size, offset) = (place()?, place()?);
    let rest = 12
        + if five < ue5::NO_EXPORT_GUID { 16 } else { 0 }
        + if five >= ue5::INHERITED { 4 } else { 0 }
        + 4
        + if four >= ue4::LOAD_FOR_EDITOR_GAME { 4 } else { 0 }
        + if four >= ue4::COOKED_IN_EDITOR { 4 } else { 0 }
        + if five >= ue5::OPTIONAL { 4 } else { 0 }
        + if four >= ue4::PRELOAD { 20 } else { 0 };
    cursor.skip(what, rest)?;
    let is_tagged = summary.flags & crate::summary::flags::UNVERSIONED_PROPERTIES == 0;
    let script = if five >= ue5::SCRIPT_OFFSETS && is_tagged {
        let (start, end) = (cursor.u64(what)?, cursor.u64(what)?);
        (start < end && end <= size).then_some((start, end))
    } else {
        None
    };
    Ok(Export { class, parent, template, outer, name, flags, offset, size, script })
}
