//! Writes a draft as a file: summary, tables and objects.

use super::{DraftObject, DraftPackage, byte_writer::ByteWriter};
use crate::{
    summary::Table,
    tables::Index,
    version::{ue4, ue5},
};

/// Offsets of the parts of a file.
#[derive(Clone, Copy, Default)]
struct Places {
    names: Table,
    soft_paths: Table,
    exports: Table,
    imports: Table,
    depends: i32,
    soft: Table,
    thumbnails: i32,
    registry: i32,
    header: i32,
}

impl DraftPackage {
    /// The bytes of the file.
    ///
    /// # Panics
    ///
    /// When the file exceeds the largest size of a package.
    pub fn bytes(&self) -> Vec<u8> {
        let mut draft = self.clone();
        let bodies = draft.bodies();
        // This pass adds the names that the tables use, before the names are counted.
        draft.table_pieces(&[], 0, Places::default());
        let mut places = Places::default();
        // The sizes of the tables do not depend on offsets, so the offsets are right after the second pass.
        for _ in 0..2 {
            let pieces = draft.table_pieces(&bodies, 0, places);
            places = pieces.1;
        }
        let start = usize::try_from(places.header).expect("the size of the header is positive");
        let (mut writer, _) = draft.table_pieces(&bodies, start, places);
        bodies.iter().for_each(|(body, _)| writer.bytes(&body.0));
        writer.u32(0x9E2A_83C1);
        writer.0
    }

    /// The objects, each with the range of its properties.
    fn bodies(&mut self) -> Vec<(ByteWriter, (usize, usize))> {
        let pieces = std::mem::take(&mut self.exports);
        let layout = self.layout();
        let bodies = pieces
            .iter()
            .enumerate()
            .map(|(position, piece)| {
                let mut writer = ByteWriter::default();
                if piece.is_raw {
                    writer.bytes(&piece.native);
                    return (writer, (0, 0));
                }
                if layout.ue5 >= ue5::TAG_EXTENSIONS {
                    writer.u8(0);
                }
                self.properties(&mut writer, &piece.properties);
                let script = (0, writer.at());
                if !piece.is_default() {
                    writer.u32(0);
                }
                if layout.pins_in_nodes && piece.is_node {
                    self.write_pins(&mut writer, Index::of_export(position), &piece.pins);
                }
                writer.bytes(&piece.native);
                (writer, script)
            })
            .collect();
        self.exports = pieces;
        bodies
    }

    /// The parts of the file before the objects, and the offset of each part. The objects begin at `start`.
    fn table_pieces(
        &mut self,
        bodies: &[(ByteWriter, (usize, usize))],
        start: usize,
        places: Places,
    ) -> (ByteWriter, Places) {
        let mut writer = ByteWriter::default();
        let mut new_places = places;
        self.write_summary(&mut writer, places);
        let current_offset =
            |writer: &ByteWriter| i32::try_from(writer.at()).expect("the file is small");
        let table = |count: usize, writer: &ByteWriter| Table {
            count: i32::try_from(count).expect("tables are short"),
            offset: current_offset(writer),
        };
        new_places.names = table(self.names.len(), &writer);
        for name in &self.names {
            writer.string(name);
            if self.summary.versions.ue4 >= ue4::NAME_HASHES {
                writer.u32(0);
            }
        }
        new_places.soft_paths = table(self.soft_paths.len(), &writer);
        if self.summary.versions.ue5 >= ue5::SOFT_PATH_TABLE {
            for path in self.soft_paths.clone() {
                let (package, asset) = path.split_once('.').unwrap_or((&path, "None"));
                let (package, asset) = (self.name(package), self.name(asset));
                writer.name(package);
                writer.name(asset);
                writer.string("");
            }
        }
        new_places.imports = table(self.imports.len(), &writer);
        self.write_imports(&mut writer);
        new_places.exports = table(self.exports.len(), &writer);
        self.write_exports(&mut writer, bodies, start);
        new_places.depends = current_offset(&writer);
        (0..self.exports.len()).for_each(|_| writer.u32(0));
        new_places.soft = table(self.soft.len(), &writer);
        for package in self.soft.clone() {
            if self.summary.versions.ue4 >= ue4::SOFT_OBJECT_PATH {
                let name = self.name(&package);
                writer.name(name);
            } else {
                writer.string(&package);
            }
        }
        if let Some((object, picture)) = self.thumbnail.clone() {
            let at = current_offset(&writer);
            writer.i32(16);
            writer.i32(16);
            writer.len(picture.len());
            writer.bytes(&picture);
            new_places.thumbnails = current_offset(&writer);
            writer.u32(1);
            writer.string("Blueprint");
            writer.string(&object);
            writer.i32(at);
        }
        new_places.registry = current_offset(&writer);
        self.write_registry(&mut writer);
        new_places.header = current_offset(&writer);
        (writer, new_places)
    }

    fn write_summary(&self, writer: &mut ByteWriter, places: Places) {
        let versions = self.summary.versions;
        let (legacy, four, five) = (versions.legacy, versions.ue4, versions.ue5);
        writer.u32(0x9E2A_83C1);
        writer.i32(legacy);
        if legacy != -4 {
            writer.i32(864);
        }
        writer.i32(four);
        if legacy <= -8 {
            writer.i32(five);
        }
        writer.i32(0);
        if five >= ue5::SAVED_HASH {
            writer.bytes(&[7; 20]);
            writer.i32(places.header);
        }
        writer.len(self.summary.customs.len());
        for (guid, version) in &self.summary.customs {
            guid.0.iter().for_each(|part| writer.u32(*part));
            writer.i32(*version);
            if legacy >= -5 {
                writer.string("Part");
            }
        }
        if five < ue5::SAVED_HASH {
            writer.i32(places.header);
        }
        writer.string(if five >= ue5::SOFT_PATH_TABLE { &self.package } else { "None" });
        writer.u32(self.summary.flags);
        let table = |writer: &mut ByteWriter, table: Table| {
            writer.i32(table.count);
            writer.i32(table.offset);
        };
        table(writer, places.names);
        if five >= ue5::SOFT_PATH_TABLE {
            table(writer, places.soft_paths);
        }
        if four >= ue4::LOCALIZATION_ID && !self.summary.is_stripped() {
            writer.string("0123456789ABCDEF");
        }
        if four >= ue4::GATHERABLE_TEXT {
            table(writer, Table::default());
        }
        table(writer, places.exports);
        table(writer, places.imports);
        if five >= ue5::CELLS {
            writer.bytes(&[0; 16]);
        }
        if five >= ue5::METADATA {
            writer.u32(0);
        }
        writer.i32(places.depends);
        if four >= ue4::SOFT_REFERENCES {
            table(writer, places.soft);
        }
        if four >= ue4::SEARCHABLE_NAMES {
            writer.u32(0);
        }
        writer.i32(places.thumbnails);
        if five >= ue5::IMPORT_TYPES {
            table(writer, Table::default());
        }
        self.write_summary_end(writer, places);
    }

    fn write_summary_end(&self, writer: &mut ByteWriter, places: Places) {
        let versions = self.summary.versions;
        let (legacy, four, five) = (versions.legacy, versions.ue4, versions.ue5);
        if five < ue5::SAVED_HASH {
            writer.bytes(&[9; 16]);
        }
        if four >= ue4::OWNER && !self.summary.is_stripped() {
            writer.bytes(&[0; 16]);
            if four < ue4::IMPORT_PACKAGE {
                writer.bytes(&[0; 16]);
            }
        }
        writer.u32(1);
        writer.len(self.exports.len());
        writer.len(self.names.len());
        let (major, minor) = self.engine;
        let engine = |writer: &mut ByteWriter| {
            [major, minor, 3].iter().for_each(|part| writer.bytes(&part.to_le_bytes()));
            writer.u32(12345);
            writer.string("++UE+Release");
        };
        if four >= ue4::ENGINE_VERSION {
            engine(writer);
        } else {
            writer.u32(12345);
        }
        if four >= ue4::COMPATIBLE_ENGINE {
            engine(writer);
        }
        // Compression, chunks, source, additional packages.
        (0..4).for_each(|_| writer.u32(0));
        if legacy > -7 {
            writer.u32(0);
        }
        writer.i32(places.registry);
        writer.i64(0);
        if four >= ue4::WORLD_TILE {
            writer.u32(0);
        }
        if four >= ue4::CHUNK {
            writer.u32(0);
        }
        if four >= ue4::PRELOAD {
            writer.i32(-1);
            writer.u32(0);
        }
        if five >= ue5::NAMES_FROM_EXPORTS {
            writer.u32(0);
        }
        if five >= ue5::PAYLOAD_TOC {
            writer.i64(-1);
        }
        if five >= ue5::DATA_RESOURCES {
            writer.i32(-1);
        }
    }

    fn write_imports(&mut self, writer: &mut ByteWriter) {
        let versions = self.summary.versions;
        for [class_package, class, outer, name] in self.imports.clone() {
            for text in [&class_package, &class] {
                let name = self.name(text);
                writer.name(name);
            }
            writer.i32(outer.parse().expect("the index of the outer is a number"));
            let name = self.name(&name);
            writer.name(name);
            if versions.ue4 >= ue4::IMPORT_PACKAGE && !self.summary.is_stripped() {
                let none = self.name("None");
                writer.name(none);
            }
            if versions.ue5 >= ue5::OPTIONAL {
                writer.u32(0);
            }
        }
    }

    fn write_exports(
        &mut self,
        writer: &mut ByteWriter,
        bodies: &[(ByteWriter, (usize, usize))],
        start: usize,
    ) {
        let versions = self.summary.versions;
        let (four, five) = (versions.ue4, versions.ue5);
        let mut offset = start;
        for (position, piece) in self.exports.clone().iter().enumerate() {
            let (size, script) =
                bodies.get(position).map_or((0, (0, 0)), |(body, script)| (body.at(), *script));
            let DraftObject { class, outer, name, .. } = piece;
            writer.i32(class.0);
            writer.u32(0);
            if four >= ue4::TEMPLATE {
                writer.u32(0);
            }
            writer.i32(outer.0);
            let name = self.name(name);
            writer.name(name);
            writer.u32(if piece.is_default() { 0x10 } else { 0 });
            for place in [size, offset] {
                if four >= ue4::WIDE_EXPORTS {
                    writer.i64(i64::try_from(place).expect("the file is small"));
                } else {
                    writer.len(place);
                }
            }
            writer.bytes(&[0; 12]);
            if five < ue5::NO_EXPORT_GUID {
                writer.bytes(&[0; 16]);
            }
            let extra_fields = [
                five >= ue5::INHERITED,
                true,
                four >= ue4::LOAD_FOR_EDITOR_GAME,
                four >= ue4::COOKED_IN_EDITOR,
                five >= ue5::OPTIONAL,
            ];
            extra_fields.into_iter().filter(|is_present| *is_present).for_each(|_| writer.u32(0));
            if four >= ue4::PRELOAD {
                writer.bytes(&[0; 20]);
            }
            if five >= ue5::SCRIPT_OFFSETS {
                writer.i64(i64::try_from(script.0).expect("the file is small"));
                writer.i64(i64::try_from(script.1).expect("the file is small"));
            }
            offset += size;
        }
    }

    fn write_registry(&self, writer: &mut ByteWriter) {
        let versions = self.summary.versions;
        let has_flags = versions.ue4 >= ue4::DEPENDENCY_FLAGS && !self.summary.is_stripped();
        let place = writer.at();
        if has_flags {
            writer.i64(0);
        }
        writer.len(self.assets.len());
        for (path, class, tags) in &self.assets {
            writer.string(path);
            // Until 5.0 a class was stored by its name alone.
            let short = class.rsplit('.').next().unwrap_or(class);
            writer.string(if versions.ue5 >= ue5::SOFT_PATH_TABLE { class } else { short });
            writer.len(tags.len());
            for (key, value) in tags {
                writer.string(key);
                writer.string(value);
            }
        }
        if has_flags {
            let at = i64::try_from(writer.at()).expect("the file is small");
            writer.0[place..place + 8].copy_from_slice(&at.to_le_bytes());
            for (count, unused) in
                [(self.imports.len(), &self.editor_imports), (self.soft.len(), &self.editor_soft)]
            {
                writer.len(count);
                for word in 0..count.div_ceil(32) {
                    let bits = (0..32).filter(|bit| !unused.contains(&(word * 32 + bit)));
                    writer.u32(bits.fold(0, |word, bit| word | 1 << bit));
                }
            }
            if versions.ue5 >= ue5::BUILD_DEPENDENCIES {
                writer.u32(0);
            }
        }
    }
}
