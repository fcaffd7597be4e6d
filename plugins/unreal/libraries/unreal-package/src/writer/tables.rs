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
        // Sizes do not depend on offsets, so that the second pass is right.
        for _ in 0..2 {
            let pieces = draft.table_pieces(&bodies, 0, places);
            places = pieces.1;
        }
        let start = usize::try_from(places.header).expect("it is positive");
        let (mut ink, _) = draft.table_pieces(&bodies, start, places);
        bodies.iter().for_each(|(body, _)| ink.bytes(&body.0));
        ink.u32(0x9E2A_83C1);
        ink.0
    }

    /// The objects, each with the range of its properties.
    fn bodies(&mut self) -> Vec<(ByteWriter, (usize, usize))> {
        let pieces = std::mem::take(&mut self.exports);
        let layout = self.layout();
        let bodies = pieces
            .iter()
            .enumerate()
            .map(|(position, piece)| {
                let mut ink = ByteWriter::default();
                if piece.is_raw {
                    ink.bytes(&piece.native);
                    return (ink, (0, 0));
                }
                if layout.ue5 >= ue5::TAG_EXTENSIONS {
                    ink.u8(0);
                }
                self.properties(&mut ink, &piece.properties);
                let script = (0, ink.at());
                if !piece.is_default() {
                    ink.u32(0);
                }
                if layout.pins_in_nodes && piece.is_node {
                    self.write_pins(&mut ink, Index::of_export(position), &piece.pins);
                }
                ink.bytes(&piece.native);
                (ink, script)
            })
            .collect();
        self.exports = pieces;
        bodies
    }

    /// The parts before the objects, which begin at `start`; and the offset of each part.
    fn table_pieces(
        &mut self,
        bodies: &[(ByteWriter, (usize, usize))],
        start: usize,
        places: Places,
    ) -> (ByteWriter, Places) {
        let mut ink = ByteWriter::default();
        let mut found = places;
        self.summary(&mut ink, places);
        let here = |ink: &ByteWriter| i32::try_from(ink.at()).expect("it is small");
        let table = |count: usize, ink: &ByteWriter| Table {
            count: i32::try_from(count).expect("they are few"),
            offset: here(ink),
        };
        found.names = table(self.names.len(), &ink);
        for name in &self.names {
            ink.string(name);
            if self.summary.versions.ue4 >= ue4::NAME_HASHES {
                ink.u32(0);
            }
        }
        found.soft_paths = table(self.soft_paths.len(), &ink);
        if self.summary.versions.ue5 >= ue5::SOFT_PATH_TABLE {
            for path in self.soft_paths.clone() {
                let (package, asset) = path.split_once('.').unwrap_or((&path, "None"));
                let (package, asset) = (self.name(package), self.name(asset));
                ink.name(package);
                ink.name(asset);
                ink.string("");
            }
        }
        found.imports = table(self.imports.len(), &ink);
        self.write_imports(&mut ink);
        found.exports = table(self.exports.len(), &ink);
        self.write_exports(&mut ink, bodies, start);
        found.depends = here(&ink);
        (0..self.exports.len()).for_each(|_| ink.u32(0));
        found.soft = table(self.soft.len(), &ink);
        for package in self.soft.clone() {
            if self.summary.versions.ue4 >= ue4::SOFT_OBJECT_PATH {
                let name = self.name(&package);
                ink.name(name);
            } else {
                ink.string(&package);
            }
        }
        if let Some((object, picture)) = self.thumbnail.clone() {
            let at = here(&ink);
            ink.i32(16);
            ink.i32(16);
            ink.len(picture.len());
            ink.bytes(&picture);
            found.thumbnails = here(&ink);
            ink.u32(1);
            ink.string("Blueprint");
            ink.string(&object);
            ink.i32(at);
        }
        found.registry = here(&ink);
        self.write_registry(&mut ink);
        found.header = here(&ink);
        (ink, found)
    }

    fn summary(&self, ink: &mut ByteWriter, places: Places) {
        let versions = self.summary.versions;
        let (legacy, four, five) = (versions.legacy, versions.ue4, versions.ue5);
        ink.u32(0x9E2A_83C1);
        ink.i32(legacy);
        if legacy != -4 {
            ink.i32(864);
        }
        ink.i32(four);
        if legacy <= -8 {
            ink.i32(five);
        }
        ink.i32(0);
        if five >= ue5::SAVED_HASH {
            ink.bytes(&[7; 20]);
            ink.i32(places.header);
        }
        ink.len(self.summary.customs.len());
        for (guid, version) in &self.summary.customs {
            guid.0.iter().for_each(|part| ink.u32(*part));
            ink.i32(*version);
            if legacy >= -5 {
                ink.string("Part");
            }
        }
        if five < ue5::SAVED_HASH {
            ink.i32(places.header);
        }
        ink.string(if five >= ue5::SOFT_PATH_TABLE { &self.package } else { "None" });
        ink.u32(self.summary.flags);
        let table = |ink: &mut ByteWriter, table: Table| {
            ink.i32(table.count);
            ink.i32(table.offset);
        };
        table(ink, places.names);
        if five >= ue5::SOFT_PATH_TABLE {
            table(ink, places.soft_paths);
        }
        if four >= ue4::LOCALIZATION_ID && !self.summary.is_stripped() {
            ink.string("0123456789ABCDEF");
        }
        if four >= ue4::GATHERABLE_TEXT {
            table(ink, Table::default());
        }
        table(ink, places.exports);
        table(ink, places.imports);
        if five >= ue5::CELLS {
            ink.bytes(&[0; 16]);
        }
        if five >= ue5::METADATA {
            ink.u32(0);
        }
        ink.i32(places.depends);
        if four >= ue4::SOFT_REFERENCES {
            table(ink, places.soft);
        }
        if four >= ue4::SEARCHABLE_NAMES {
            ink.u32(0);
        }
        ink.i32(places.thumbnails);
        if five >= ue5::IMPORT_TYPES {
            table(ink, Table::default());
        }
        self.summary_end(ink, places);
    }

    fn summary_end(&self, ink: &mut ByteWriter, places: Places) {
        let versions = self.summary.versions;
        let (legacy, four, five) = (versions.legacy, versions.ue4, versions.ue5);
        if five < ue5::SAVED_HASH {
            ink.bytes(&[9; 16]);
        }
        if four >= ue4::OWNER && !self.summary.is_stripped() {
            ink.bytes(&[0; 16]);
            if four < ue4::IMPORT_PACKAGE {
                ink.bytes(&[0; 16]);
            }
        }
        ink.u32(1);
        ink.len(self.exports.len());
        ink.len(self.names.len());
        let (major, minor) = self.engine;
        let engine = |ink: &mut ByteWriter| {
            [major, minor, 3].iter().for_each(|part| ink.bytes(&part.to_le_bytes()));
            ink.u32(12345);
            ink.string("++UE+Release");
        };
        if four >= ue4::ENGINE_VERSION {
            engine(ink);
        } else {
            ink.u32(12345);
        }
        if four >= ue4::COMPATIBLE_ENGINE {
            engine(ink);
        }
        // Compression, chunks, source, additional packages.
        (0..4).for_each(|_| ink.u32(0));
        if legacy > -7 {
            ink.u32(0);
        }
        ink.i32(places.registry);
        ink.i64(0);
        if four >= ue4::WORLD_TILE {
            ink.u32(0);
        }
        if four >= ue4::CHUNK {
            ink.u32(0);
        }
        if four >= ue4::PRELOAD {
            ink.i32(-1);
            ink.u32(0);
        }
        if five >= ue5::NAMES_FROM_EXPORTS {
            ink.u32(0);
        }
        if five >= ue5::PAYLOAD_TOC {
            ink.i64(-1);
        }
        if five >= ue5::DATA_RESOURCES {
            ink.i32(-1);
        }
    }

    fn write_imports(&mut self, ink: &mut ByteWriter) {
        let versions = self.summary.versions;
        for [class_package, class, outer, name] in self.imports.clone() {
            for text in [&class_package, &class] {
                let name = self.name(text);
                ink.name(name);
            }
            ink.i32(outer.parse().expect("it is a number"));
            let name = self.name(&name);
            ink.name(name);
            if versions.ue4 >= ue4::IMPORT_PACKAGE && !self.summary.is_stripped() {
                let none = self.name("None");
                ink.name(none);
            }
            if versions.ue5 >= ue5::OPTIONAL {
                ink.u32(0);
            }
        }
    }

    fn write_exports(
        &mut self,
        ink: &mut ByteWriter,
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
            ink.i32(class.0);
            ink.u32(0);
            if four >= ue4::TEMPLATE {
                ink.u32(0);
            }
            ink.i32(outer.0);
            let name = self.name(name);
            ink.name(name);
            ink.u32(if piece.is_default() { 0x10 } else { 0 });
            for place in [size, offset] {
                if four >= ue4::WIDE_EXPORTS {
                    ink.i64(i64::try_from(place).expect("it is small"));
                } else {
                    ink.len(place);
                }
            }
            ink.bytes(&[0; 12]);
            if five < ue5::NO_EXPORT_GUID {
                ink.bytes(&[0; 16]);
            }
            let more = [
                five >= ue5::INHERITED,
                true,
                four >= ue4::LOAD_FOR_EDITOR_GAME,
                four >= ue4::COOKED_IN_EDITOR,
                five >= ue5::OPTIONAL,
            ];
            more.into_iter().filter(|there| *there).for_each(|_| ink.u32(0));
            if four >= ue4::PRELOAD {
                ink.bytes(&[0; 20]);
            }
            if five >= ue5::SCRIPT_OFFSETS {
                ink.i64(i64::try_from(script.0).expect("it is small"));
                ink.i64(i64::try_from(script.1).expect("it is small"));
            }
            offset += size;
        }
    }

    fn write_registry(&self, ink: &mut ByteWriter) {
        let versions = self.summary.versions;
        let has_flags = versions.ue4 >= ue4::DEPENDENCY_FLAGS && !self.summary.is_stripped();
        let place = ink.at();
        if has_flags {
            ink.i64(0);
        }
        ink.len(self.assets.len());
        for (path, class, tags) in &self.assets {
            ink.string(path);
            // Until 5.0 a class was stored by its name alone.
            let short = class.rsplit('.').next().unwrap_or(class);
            ink.string(if versions.ue5 >= ue5::SOFT_PATH_TABLE { class } else { short });
            ink.len(tags.len());
            for (key, value) in tags {
                ink.string(key);
                ink.string(value);
            }
        }
        if has_flags {
            let at = i64::try_from(ink.at()).expect("it is small");
            ink.0[place..place + 8].copy_from_slice(&at.to_le_bytes());
            for (count, unused) in
                [(self.imports.len(), &self.editor_imports), (self.soft.len(), &self.editor_soft)]
            {
                ink.len(count);
                for word in 0..count.div_ceil(32) {
                    let bits = (0..32).filter(|bit| !unused.contains(&(word * 32 + bit)));
                    ink.u32(bits.fold(0, |word, bit| word | 1 << bit));
                }
            }
            if versions.ue5 >= ue5::BUILD_DEPENDENCIES {
                ink.u32(0);
            }
        }
    }
}
