//! Writes the content of tables, which follows their properties.

use super::{DraftPackage, DraftValue, byte_writer::ByteWriter};
use crate::tables::Index;

impl DraftPackage {
    /// Adds rows to an object, as a DataTable stores them, each with its name and its properties.
    pub fn rows(&mut self, table: Index, rows: &[(&str, Vec<(String, DraftValue)>)]) -> &mut Self {
        self.write_rows(table, rows, None)
    }

    /// Adds curves to an object, as a CurveTable stores them since 4.23. `kind` is 1 for simple and
    /// 2 for rich curves.
    pub fn curves(
        &mut self,
        table: Index,
        kind: u8,
        rows: &[(&str, Vec<(String, DraftValue)>)],
    ) -> &mut Self {
        self.write_rows(table, rows, Some(kind))
    }

    fn write_rows(
        &mut self,
        table: Index,
        rows: &[(&str, Vec<(String, DraftValue)>)],
        kind: Option<u8>,
    ) -> &mut Self {
        let mut writer = ByteWriter::default();
        writer.len(rows.len());
        if let Some(kind) = kind {
            writer.u8(kind);
        }
        for (name, properties) in rows {
            let name = self.name(name);
            writer.name(name);
            self.properties(&mut writer, properties);
        }
        self.native(table, &writer.0)
    }

    /// Adds entries to an object, as a StringTable stores them. `remark` is the name and the text
    /// of metadata of the first entry.
    pub fn strings(
        &mut self,
        table: Index,
        namespace: &str,
        entries: &[(&str, &str)],
        remark: Option<(&str, &str)>,
    ) -> &mut Self {
        let mut writer = ByteWriter::default();
        writer.string(namespace);
        writer.len(entries.len());
        for (key, source) in entries {
            writer.string(key);
            writer.string(source);
        }
        match (entries.first(), remark) {
            (Some((key, _)), Some((kind, remark))) => {
                writer.len(1);
                writer.string(key);
                writer.len(1);
                let kind = self.name(kind);
                writer.name(kind);
                writer.string(remark);
            }
            _ => writer.len(0),
        }
        self.native(table, &writer.0)
    }
}
