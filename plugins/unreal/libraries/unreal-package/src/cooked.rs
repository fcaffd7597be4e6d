//! Reads the header of a cooked package. If the package states no versions, the layouts of all engines are tried.

use crate::{
    cursor::Cursor, fault::Fault, header::Header, summary::Summary, tables, version::Versions,
};

/// Object versions of Unreal Engine 4 and 5 of all layouts of headers, the newest first.
const LAYOUTS: &[(i32, i32)] = &[
    (522, 1018),
    (522, 1017),
    (522, 1013),
    (522, 1012),
    (522, 1009),
    (522, 1008),
    (522, 1004),
    (522, 0),
    (518, 0),
    (517, 0),
    (516, 0),
    (514, 0),
    (513, 0),
    (510, 0),
    (508, 0),
    (505, 0),
    (504, 0),
    (498, 0),
    (482, 0),
    (451, 0),
    (434, 0),
    (413, 0),
    (401, 0),
    (385, 0),
    (382, 0),
    (363, 0),
    (352, 0),
    (342, 0),
];

/// The header of a cooked package.
#[derive(Debug)]
pub struct Cooked<'a> {
    /// The header. If the package states no versions, the header is read in the layout of the
    /// newest engine that fits.
    pub header: Header<'a>,
    /// The engines that fit, the newest first. An entry names one or more engines, such as `5.5` or
    /// `5.2 or 5.3`. There is only one entry if the package states its versions.
    pub engines: Vec<&'static str>,
}

impl<'a> Header<'a> {
    /// Reads the header of a cooked package; `bytes` is the whole file.
    ///
    /// A package without versions has the layout of the engine that wrote it, but does not name the
    /// engine. The layout of an engine fits if the names begin where the summary ends, and if the
    /// names, the imports and the exports each end where the next table begins: cookers leave no gaps there.
    ///
    /// # Errors
    ///
    /// When the file cannot be read at all, and [`Fault::Unversioned`] when no layout fits.
    pub fn read_cooked(bytes: &'a [u8]) -> Result<Cooked<'a>, Fault> {
        let len = bytes.len() as u64;
        match Self::read(bytes, len) {
            Err(Fault::Unversioned) => {}
            read => {
                let header = read?;
                let engines = vec![header.summary.versions.engine()];
                return Ok(Cooked { header, engines });
            }
        }
        let summary_if_fitting = |(ue4, ue5): &(i32, i32)| {
            let assumed = Versions { legacy: 0, ue4: *ue4, ue5: *ue5, licensee: 0 };
            let summary = Summary::read_assuming(bytes, len, Some(assumed)).ok()?;
            fits(bytes, &summary).then_some(summary)
        };
        let mut fitting = LAYOUTS.iter().filter_map(summary_if_fitting);
        let newest = fitting.next().ok_or(Fault::Unversioned)?;
        let mut engines = vec![newest.versions.engine()];
        engines.extend(fitting.map(|summary| summary.versions.engine()));
        engines.dedup();
        Ok(Cooked { header: Self::tables(bytes, newest)?, engines })
    }
}

/// Whether the layout of the summary's versions fits the file.
fn fits(bytes: &[u8], summary: &Summary<'_>) -> bool {
    // The version of the file format is always stated, and is -8 or less since Unreal Engine 5.
    let is_of_engine = (summary.versions.ue5 > 0) == (summary.versions.legacy <= -8);
    is_of_engine
        && summary.is_stripped()
        && names_fit(bytes, summary)
        && objects_fit(bytes, summary)
}

/// Whether the names begin where the summary ends, and end where the next table begins.
fn names_fit(bytes: &[u8], summary: &Summary<'_>) -> bool {
    let whole = Cursor::new(bytes, bytes.len() as u64);
    let Ok(mut cursor) = whole.from("names", summary.names.offset.into()) else { return false };
    let is_adjacent = cursor.at() == summary.end;
    let is_read = tables::names_from(&mut cursor, summary).is_ok();
    let next = match summary.soft_paths.count {
        0 => summary.imports.offset,
        _ => summary.soft_paths.offset,
    };
    is_adjacent && is_read && u64::try_from(next) == Ok(cursor.at())
}

/// Whether the imports and the exports fill the space between the tables.
fn objects_fit(bytes: &[u8], summary: &Summary<'_>) -> bool {
    let (imports, exports) = (summary.imports, summary.exports);
    let size = |from: i32, to: i32| i64::from(to) - i64::from(from);
    let imports_fit = size(imports.offset, exports.offset)
        == i64::from(imports.count) * tables::import_size(summary) as i64;
    let whole = Cursor::new(bytes, bytes.len() as u64);
    let exports_fit = match (exports.count, whole.from("exports", exports.offset.into())) {
        (0, _) => true,
        (count, Ok(mut cursor)) => {
            let start = cursor.at();
            let is_read = tables::export(&mut cursor, summary).is_ok();
            let entry_size = i64::try_from(cursor.at() - start).unwrap_or(0);
            is_read && size(exports.offset, summary.depends) == i64::from(count) * entry_size
        }
        (_, Err(_)) => false,
    };
    imports_fit && exports_fit
}
