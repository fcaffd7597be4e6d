//! Reads the header of a package in a container (`FZenPackageSummary`; `FPackageSummary` before 5.0).

use super::script_objects::{NAME_INDEX, ScriptObjects};
use crate::{Fault, names};
use std::borrow::Cow;
use unreal_package::Cursor;

/// Size of an entry of the export map, in bytes.
const EXPORT_BYTES: usize = 72;
/// Maximum depth of nested objects.
const MAX_NESTING: usize = 64;
/// The kind of a reference is in its two highest bits.
const KIND_SHIFT: u32 = 62;

/// The header of a package in a container.
#[derive(Clone, Debug)]
pub struct PackageHeader<'a> {
    /// Name under which the package was cooked.
    pub name: String,
    /// Package flags (`EPackageFlags`).
    pub flags: u32,
    /// Object versions of Unreal Engine 4 and 5, where the package has them.
    pub versions: Option<(i32, i32)>,
    /// The objects of the package.
    pub exports: Vec<PackageExport>,
    /// Number of imported objects.
    pub imports: usize,
    /// The imported packages by name, in the order of the container header; empty before 5.3.
    pub imported_packages: Vec<String>,
    names: Vec<Cow<'a, str>>,
    is_ue5: bool,
}

/// An object of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageExport {
    /// Name without its outers.
    pub name: String,
    /// Size of its data, in bytes.
    pub size: u64,
    /// `EObjectFlags`.
    pub flags: u32,
    outer: u64,
    class: u64,
}

/// Fields of a header, with the offsets of its tables in bytes.
struct HeaderFields {
    name: (u32, u32),
    flags: u32,
    versions: Option<(i32, i32)>,
    imports: usize,
    exports: usize,
    end_of_exports: usize,
    imported_packages: Option<usize>,
}

impl<'a> PackageHeader<'a> {
    /// The size of the header in bytes, as the first 64 bytes of the chunk state it. `None` if
    /// `start` is too short.
    pub fn size(start: &[u8], is_ue5: bool) -> Option<u64> {
        let word = |at: usize| Some(u32::from_le_bytes(start.get(at..at + 4)?.try_into().ok()?));
        let size = match is_ue5 {
            true => u64::from(word(4)?),
            // In Unreal Engine 4, the header ends with the graph data.
            false => u64::from(word(52)?) + u64::from(word(56)?),
        };
        Some(size)
    }

    /// Reads the header; `bytes` is the start of the chunk, at least the whole header.
    /// `scripts` has the global names that packages of 4.26 and 4.27 use.
    ///
    /// # Errors
    ///
    /// When the header is damaged.
    pub fn read(bytes: &'a [u8], is_ue5: bool, scripts: &ScriptObjects<'_>) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(bytes, bytes.len() as u64);
        let (fields, names) =
            if is_ue5 { read_ue5(&mut cursor)? } else { read_ue4(&mut cursor, bytes)? };
        let mut header = Self {
            name: String::new(),
            flags: fields.flags,
            versions: fields.versions,
            exports: Vec::new(),
            imports: fields.exports.saturating_sub(fields.imports) / 8,
            imported_packages: Vec::new(),
            names,
            is_ue5,
        };
        header.name = header.text(fields.name, scripts);
        let what = "exports";
        let count = fields.end_of_exports.saturating_sub(fields.exports) / EXPORT_BYTES;
        let mut cursor = cursor.from(what, fields.exports as i64)?;
        for _ in 0..count {
            cursor.skip(what, 8)?;
            let size = cursor.u64(what)?;
            let name = (cursor.u32(what)?, cursor.u32(what)?);
            let (outer, class) = (cursor.u64(what)?, cursor.u64(what)?);
            cursor.skip(what, 24)?;
            let flags = cursor.u32(what)?;
            cursor.skip(what, 4)?;
            let name = header.text(name, scripts);
            header.exports.push(PackageExport { name, size, flags, outer, class });
        }
        if let Some(at) = fields.imported_packages {
            header.imported_packages = imported_packages(&cursor, at)?;
        }
        Ok(header)
    }

    fn text(&self, (index, number): (u32, u32), scripts: &ScriptObjects<'_>) -> String {
        let at = index & NAME_INDEX;
        let text = match index >> 30 {
            2 => scripts.name(at),
            _ => self.names.get(at as usize).map(AsRef::as_ref),
        };
        names::numbered(text.unwrap_or("?"), number).into_owned()
    }

    /// The path of an object within the package, such as `BP_Door_C:Mesh`.
    pub fn path(&self, export: usize) -> String {
        let mut chain = Vec::new();
        let mut at = Some(export);
        while let Some(export) = at.and_then(|at| self.exports.get(at)) {
            chain.push(export.name.as_str());
            if chain.len() > MAX_NESTING {
                break;
            }
            at = as_export(export.outer);
        }
        let mut path = chain.pop().unwrap_or_default().to_owned();
        for (depth, name) in chain.iter().rev().enumerate() {
            path.push(if depth == 0 { ':' } else { '.' });
            path.push_str(name);
        }
        path
    }

    /// The class of an object: the path of a native class, the name of a class of this package, or
    /// `a class of` and the name of another package. `imported` has the names of the packages that
    /// this package imports, in the order of the container header. `None` if the class is unknown.
    pub fn class(
        &self,
        export: &PackageExport,
        scripts: &ScriptObjects<'_>,
        imported: &[String],
    ) -> Option<String> {
        let class = export.class;
        match class >> KIND_SHIFT {
            0 => self.exports.get(as_export(class)?).map(|class| class.name.clone()),
            1 => scripts.path(class),
            2 if self.is_ue5 => {
                let at = usize::try_from(class << 2 >> 34).ok()?;
                imported.get(at).map(|package| format!("a class of {package}"))
            }
            _ => None,
        }
    }

    /// Whether the object has no outer in this package, as is the case for assets.
    pub fn is_outermost(&self, export: &PackageExport) -> bool {
        as_export(export.outer).is_none()
    }
}

/// The export to which a reference leads. `None` for references of another kind.
fn as_export(reference: u64) -> Option<usize> {
    if reference >> KIND_SHIFT != 0 {
        return None;
    }
    usize::try_from(reference).ok()
}

type Start<'a> = (HeaderFields, Vec<Cow<'a, str>>);

/// Reads the start of a header of Unreal Engine 5. Headers have more fields since 5.3, and later
/// engines add two offsets before the names. The header does not state its layout, so all layouts
/// are tried. The right layout leads to a name table, which has the id of its hash algorithm.
fn read_ue5<'a>(cursor: &mut Cursor<'a>) -> Result<Start<'a>, Fault> {
    let what = "package header";
    let has_versions = cursor.u32(what)? != 0;
    cursor.skip(what, 4)?;
    let name = (cursor.u32(what)?, cursor.u32(what)?);
    let flags = cursor.u32(what)?;
    cursor.skip(what, 8)?;
    let (imports, exports) = (read_offset(cursor)?, read_offset(cursor)?);
    let end_of_exports = read_offset(cursor)?;
    for (rest, cells) in [(12, 0), (12, 8), (4, 0), (4, 8)] {
        let mut at = cursor.clone();
        let Ok(versions) = read_versions(&mut at, rest, has_versions) else { continue };
        if at.skip(what, cells).is_err() || !names::is_batch(at.clone()) {
            continue;
        }
        let imported_packages = if rest == 12 {
            cursor.skip(what, 8)?;
            Some(read_offset(cursor)?)
        } else {
            None
        };
        let names = names::batch(&mut at)?;
        let fields = HeaderFields {
            name,
            flags,
            versions,
            imports,
            exports,
            end_of_exports,
            imported_packages,
        };
        return Ok((fields, names));
    }
    Err(cursor.damaged("names").into())
}

/// Skips the rest of the summary, `rest` bytes, and reads the versions after it.
fn read_versions(
    cursor: &mut Cursor<'_>,
    rest: usize,
    has_versions: bool,
) -> Result<Option<(i32, i32)>, Fault> {
    let what = "versions";
    cursor.skip(what, rest)?;
    if !has_versions {
        return Ok(None);
    }
    cursor.skip(what, 4)?;
    let versions = (cursor.i32(what)?, cursor.i32(what)?);
    cursor.skip(what, 4)?;
    let customs = cursor.count(what, 20)?;
    cursor.skip(what, customs * 20)?;
    Ok(Some(versions))
}

/// The start of a header of 4.26 or 4.27.
fn read_ue4<'a>(cursor: &mut Cursor<'a>, bytes: &'a [u8]) -> Result<Start<'a>, Fault> {
    let what = "package header";
    let name = (cursor.u32(what)?, cursor.u32(what)?);
    cursor.skip(what, 8)?;
    let flags = cursor.u32(what)?;
    cursor.skip(what, 4)?;
    let (names, size) = (read_offset(cursor)?, read_offset(cursor)?);
    cursor.skip(what, 8)?;
    let (imports, exports, end_of_exports) =
        (read_offset(cursor)?, read_offset(cursor)?, read_offset(cursor)?);
    let table = names.checked_add(size).and_then(|end| bytes.get(names..end));
    let names = names::sequence(table.ok_or_else(|| cursor.damaged("names"))?)?;
    let (versions, imported_packages) = (None, None);
    let fields =
        HeaderFields { name, flags, versions, imports, exports, end_of_exports, imported_packages };
    Ok((fields, names))
}

fn read_offset(cursor: &mut Cursor<'_>) -> Result<usize, Fault> {
    let offset = cursor.i32("offset")?;
    usize::try_from(offset).map_err(|_| cursor.damaged("offset").into())
}

/// Reads the names of the imported packages: a name batch, then the appended number of each name.
fn imported_packages(cursor: &Cursor<'_>, at: usize) -> Result<Vec<String>, Fault> {
    let what = "imported packages";
    let mut cursor = cursor.from(what, at as i64)?;
    if cursor.left() == 0 {
        return Ok(Vec::new());
    }
    let names = names::batch(&mut cursor)?;
    names.iter().map(|name| Ok(names::numbered(name, cursor.u32(what)?).into_owned())).collect()
}
