//! Reads the data that tables store after their properties: the rows of a DataTable, the curves of
//! a CurveTable and the entries of a StringTable.
//!
//! The layouts are those of `UDataTable::LoadStructData`, `UCurveTable::Serialize` and `FStringTable::Serialize`.

use crate::{
    cursor::Cursor, fault::CursorStop, properties::Decoder, tables::Name, value::Property,
};
use std::borrow::Cow;

const WHAT: &str = "rows of a table";

/// The content of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows<'a> {
    /// Rows of a DataTable or curves of a CurveTable, each with its name and its properties.
    Named(Vec<(Name, Vec<Property<'a>>)>),
    /// The entries of a StringTable.
    Strings(Strings<'a>),
}

/// The content of a StringTable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strings<'a> {
    /// The namespace of the texts.
    pub namespace: Cow<'a, str>,
    /// Keys and texts, in stored order.
    pub entries: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// Metadata of entries: the key of the entry, the name of the metadata, and its text.
    pub remarks: Vec<(Cow<'a, str>, Name, Cow<'a, str>)>,
}

/// The kind of a table.
#[derive(Clone, Copy)]
pub enum Table {
    Data,
    Curves,
    Strings,
}

impl Table {
    /// The kind of table for a class with this name. `None` for classes that are not tables.
    pub fn of_class(class: &str) -> Option<Self> {
        Some(match class {
            "DataTable" | "CompositeDataTable" => Self::Data,
            "CurveTable" | "CompositeCurveTable" => Self::Curves,
            "StringTable" => Self::Strings,
            _ => return None,
        })
    }

    /// Reads the content and moves the cursor after it. The cursor must end where the object ends.
    pub fn read<'a>(
        self,
        decoder: &Decoder<'_, 'a>,
        cursor: &mut Cursor<'a>,
    ) -> Result<Rows<'a>, CursorStop> {
        match self {
            Self::Data => read_rows(decoder, cursor, false).map(Rows::Named),
            Self::Strings => read_strings(cursor).map(Rows::Strings),
            Self::Curves => {
                // Since 4.23, the kind of the curves is stored before the curves. Both layouts are
                // tried: only the right one uses all bytes.
                let mut with_kind = cursor.clone();
                if let Ok(rows) = read_rows(decoder, &mut with_kind, true)
                    && with_kind.left() == 0
                {
                    *cursor = with_kind;
                    return Ok(Rows::Named(rows));
                }
                read_rows(decoder, cursor, false).map(Rows::Named)
            }
        }
    }
}

/// Reads rows of tagged properties. With `has_kind`, a byte for the kind of the rows follows the
/// number of rows.
fn read_rows<'a>(
    decoder: &Decoder<'_, 'a>,
    cursor: &mut Cursor<'a>,
    has_kind: bool,
) -> Result<Vec<(Name, Vec<Property<'a>>)>, CursorStop> {
    // A row has at least its name and the end mark of its properties.
    let count = cursor.count(WHAT, 16)?;
    if has_kind {
        cursor.skip(WHAT, 1)?;
    }
    let row = |_| Ok((Name::read(cursor, WHAT)?, decoder.properties(cursor, 1)?));
    (0..count).map(row).collect()
}

fn read_strings<'a>(cursor: &mut Cursor<'a>) -> Result<Strings<'a>, CursorStop> {
    let what = "entries of a string table";
    let namespace = cursor.string(what)?;
    let count = cursor.count(what, 8)?;
    let entry = |_| Ok((cursor.string(what)?, cursor.string(what)?));
    let entries = (0..count).map(entry).collect::<Result<_, CursorStop>>()?;
    let mut remarks = Vec::new();
    for _ in 0..cursor.count(what, 8)? {
        let key = cursor.string(what)?;
        for _ in 0..cursor.count(what, 12)? {
            remarks.push((key.clone(), Name::read(cursor, what)?, cursor.string(what)?));
        }
    }
    Ok(Strings { namespace, entries, remarks })
}
