//! Writes IoStore containers.

use super::{ByteWriter, place};
use flate2::{Compression, write::ZlibEncoder};
use std::io::Write;

/// Size of a block before compression, in bytes.
const BLOCK_SIZE: usize = 1024;
/// Marks references to script objects.
const SCRIPT: u64 = 1 << 62;
/// Marks references to objects of other packages.
const IMPORT: u64 = 2 << 62;
const NONE: u64 = u64::MAX;

/// A container under construction.
#[derive(Clone, Debug)]
pub struct Container {
    /// Version of the table of contents. Unreal Engine 4.26 and 4.27 write versions below 4.
    pub version: u8,
    /// Version of the container header.
    pub header_version: u32,
    /// The compression method that the blocks state. The blocks are compressed only if the method
    /// is `Zlib`.
    pub method: Option<&'static str>,
    /// Whether the container states that it is encrypted. The data are never encrypted.
    pub encrypted: bool,
    /// Maximum size of a `.ucas` file, in bytes; 0 for one file of any size.
    pub partition_size: u64,
    packages: Vec<Draft>,
    /// The chunks: id, number of the kind, data, and path.
    chunks: Vec<(u64, u8, Vec<u8>, Option<String>)>,
}

/// A package under construction.
#[derive(Clone, Debug)]
struct Draft {
    id: u64,
    imports: Vec<u64>,
}

impl Container {
    /// An empty container of Unreal Engine 5.8.
    pub fn new() -> Self {
        Self {
            version: 8,
            header_version: 5,
            method: None,
            encrypted: false,
            partition_size: 0,
            packages: Vec::new(),
            chunks: Vec::new(),
        }
    }

    fn is_ue5(&self) -> bool {
        self.version >= 4
    }

    /// Adds a package with an asset and a part of the asset. `class` is the hash of the script
    /// object that is the asset's class. `imports` are ids and names of packages. In Unreal Engine
    /// 5, the part's class is in the first imported package.
    pub fn package(&mut self, id: u64, name: &str, class: u64, imports: &[(u64, &str)]) {
        let data = if self.is_ue5() {
            self.ue5_package(name, class, imports)
        } else {
            ue4_package(name, class)
        };
        let folder = name.trim_start_matches("/Game/");
        let path = format!("MyGame/Content/{folder}.uasset");
        self.chunks.push((id, if self.is_ue5() { 1 } else { 2 }, data, Some(path)));
        self.packages.push(Draft { id, imports: imports.iter().map(|(id, _)| *id).collect() });
    }

    /// Adds bulk data.
    pub fn bulk(&mut self, id: u64, path: &str, data: &[u8]) {
        let kind = if self.is_ue5() { 2 } else { 3 };
        self.chunks.push((id, kind, data.to_vec(), Some(path.to_owned())));
    }

    /// Adds script objects, as in `global.utoc`.
    pub fn scripts(&mut self, objects: &[u8]) {
        self.chunks.push((0, 5, objects.to_vec(), None));
    }

    /// The header of a package of Unreal Engine 5, and its data.
    fn ue5_package(&self, name: &str, class: u64, imports: &[(u64, &str)]) -> Vec<u8> {
        let asset = name.rsplit('/').next().unwrap_or(name);
        let names = vec![name.to_owned(), asset.to_owned(), "Part".to_owned()];
        let is_new = self.header_version >= 3;
        let start = if is_new { 52 } else { 44 } + if self.header_version >= 5 { 8 } else { 0 };
        let mut table = ByteWriter::default();
        table.names(&names);
        let import_map = start + table.0.len();
        let exports = import_map + 8;
        let bundles = exports + 2 * 72;
        let mut imported = ByteWriter::default();
        let imported_names: Vec<String> =
            imports.iter().map(|(_, name)| (*name).to_owned()).collect();
        imported.names(&imported_names);
        imported_names.iter().for_each(|_| {
            imported.u32(0);
        });
        let header = bundles + if is_new { imported.0.len() } else { 0 };
        let mut writer = ByteWriter::default();
        writer.u32(0).count(header).u32(0).u32(0).u32(0x8000_0200).count(header);
        writer.count(import_map).count(import_map).count(exports).count(bundles);
        if is_new {
            writer.count(bundles).count(bundles).count(bundles);
        } else {
            writer.count(bundles);
        }
        if self.header_version >= 5 {
            writer.count(bundles).count(bundles);
        }
        writer.bytes(&table.0).u64(SCRIPT | class);
        export(&mut writer, 1, NONE, SCRIPT | class);
        export(&mut writer, 2, 0, if imports.is_empty() { NONE } else { IMPORT });
        if is_new {
            writer.bytes(&imported.0);
        }
        writer.bytes(&[7; 100]);
        writer.0
    }

    /// The data of the container header.
    fn header(&self) -> Vec<u8> {
        let mut writer = ByteWriter::default();
        let (size, field) = match (self.is_ue5(), self.header_version) {
            (false, _) => (32, 24),
            (true, ..3) => (24, 8),
            (true, 3..) => (16, 0),
        };
        if self.is_ue5() {
            writer.u32(0x496F_436E).u32(self.header_version).u64(1);
            if self.header_version < 2 {
                writer.count(self.packages.len());
            }
        } else {
            writer.u64(1).count(self.packages.len()).u32(0).u32(0);
        }
        writer.count(self.packages.len());
        self.packages.iter().for_each(|package| {
            writer.u64(package.id);
        });
        let (mut entries, mut lists) = (vec![0; size * self.packages.len()], Vec::new());
        for (at, package) in self.packages.iter().enumerate() {
            let list_at = at * size + field;
            let offset = entries.len() + lists.len() - list_at;
            let mut list = ByteWriter::default();
            list.count(package.imports.len()).count(offset);
            entries[list_at..list_at + 8].copy_from_slice(&list.0);
            package.imports.iter().for_each(|id| lists.extend(id.to_le_bytes()));
        }
        writer.count(entries.len() + lists.len()).bytes(&entries).bytes(&lists);
        writer.0
    }

    /// The `.utoc` file and the `.ucas` files.
    pub fn files(&self) -> (Vec<u8>, Vec<Vec<u8>>) {
        let mut chunks = self.chunks.clone();
        if !self.packages.is_empty() {
            chunks.push((1, if self.is_ue5() { 6 } else { 10 }, self.header(), None));
        }
        let (mut ids, mut places, mut blocks) =
            (ByteWriter::default(), ByteWriter::default(), ByteWriter::default());
        let (mut data, mut offset) = (vec![Vec::new()], 0_usize);
        for (id, kind, bytes, _) in &chunks {
            ids.u64(*id).bytes(&[0, 0, 0, *kind]);
            let big = |value: usize| (value as u64).to_be_bytes();
            places.bytes(&big(offset)[3..]).bytes(&big(bytes.len())[3..]);
            // The container header is never compressed.
            let is_plain = *kind == 6 || *kind == 10;
            for block in bytes.chunks(BLOCK_SIZE) {
                let packed = match self.method {
                    Some("Zlib") if !is_plain => compress(block),
                    _ => block.to_vec(),
                };
                let at = self.append(&mut data, &packed);
                let method = if is_plain { 0 } else { u8::from(self.method.is_some()) };
                blocks.bytes(&at.to_le_bytes()[..5]);
                blocks.bytes(&packed.len().to_le_bytes()[..3]);
                blocks.bytes(&block.len().to_le_bytes()[..3]).bytes(&[method]);
            }
            offset += bytes.len().div_ceil(BLOCK_SIZE) * BLOCK_SIZE;
        }
        let directory = directory(chunks.iter().map(|(.., path)| path.as_deref()));
        let mut toc = ByteWriter::default();
        toc.bytes(b"-==--==--==--==-").bytes(&[self.version, 0, 0, 0]).u32(144);
        toc.count(chunks.len()).count(blocks.0.len() / 12).u32(12);
        toc.count(self.method.iter().len()).u32(32).count(BLOCK_SIZE);
        toc.count(directory.len()).count(data.len()).u64(1).bytes(&[0; 16]);
        let flags = 8 | u8::from(self.method.is_some()) | u8::from(self.encrypted) << 1;
        let vectors = if self.version >= 10 && self.encrypted { 2 } else { 0 };
        toc.bytes(&[flags, 0, 0, 0]).u32(0).u64(self.partition_size).u32(0).u32(0).u32(vectors);
        toc.0.resize(144, 0);
        toc.bytes(&ids.0).bytes(&places.0).bytes(&blocks.0);
        toc.bytes(&vec![9; 12 * vectors as usize]);
        if let Some(method) = self.method {
            let mut name = method.as_bytes().to_vec();
            name.resize(32, 0);
            toc.bytes(&name);
        }
        toc.bytes(&directory);
        (toc.0, data)
    }

    /// Appends a block, in a new file if the last file is full. Returns the block's offset over all
    /// files.
    fn append(&self, data: &mut Vec<Vec<u8>>, block: &[u8]) -> u64 {
        let size = self.partition_size;
        let fits = |file: &Vec<u8>| size == 0 || (file.len() + block.len()) as u64 <= size;
        if !data.last().is_some_and(fits) {
            data.push(Vec::new());
        }
        let number = data.len() as u64 - 1;
        data.last_mut().map_or(0, |file| {
            let at = number * size + file.len() as u64;
            file.extend_from_slice(block);
            at
        })
    }
}

impl Default for Container {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes an entry of the export map.
fn export(writer: &mut ByteWriter, name: u32, outer: u64, class: u64) {
    writer.u64(0).u64(50).u32(name).u32(0).u64(outer).u64(class);
    writer.u64(NONE).u64(NONE).u64(0).u32(1).u32(0);
}

/// The header of a package of 4.26 or 4.27, with its own names, and its data.
fn ue4_package(name: &str, class: u64) -> Vec<u8> {
    let asset = name.rsplit('/').next().unwrap_or(name);
    let mut names = ByteWriter::default();
    names.sequence(&[name.to_owned(), asset.to_owned(), "Part".to_owned()]);
    let import_map = 64 + names.0.len();
    let exports = import_map + 8;
    let bundles = exports + 2 * 72;
    let mut writer = ByteWriter::default();
    writer.u64(0).u64(0).u32(0x8000_0200).count(bundles);
    writer.u32(64).count(names.0.len()).u32(0).u32(0);
    writer.count(import_map).count(exports).count(bundles).count(bundles).u32(0).u32(0);
    writer.bytes(&names.0).u64(SCRIPT | class);
    export(&mut writer, 1, NONE, SCRIPT | class);
    export(&mut writer, 2, 0, SCRIPT | class);
    writer.bytes(&[7; 100]);
    writer.0
}

/// The data of script objects. Each object is given as its hash, the hash of its outer (0 for
/// none), and its name.
pub fn script_objects(objects: &[(u64, u64, &str)]) -> Vec<u8> {
    let names: Vec<String> = objects.iter().map(|(.., name)| (*name).to_owned()).collect();
    let mut writer = ByteWriter::default();
    writer.names(&names).count(objects.len());
    for (at, (hash, outer, _)) in objects.iter().enumerate() {
        let outer = if *outer == 0 { NONE } else { SCRIPT | outer };
        writer.count(at).u32(0).u64(SCRIPT | hash).u64(outer).u64(NONE);
    }
    writer.0
}

/// The directory of chunks with paths: one folder for each part of a path.
fn directory<'p>(paths: impl Iterator<Item = Option<&'p str>>) -> Vec<u8> {
    const NONE: u32 = u32::MAX;
    let (mut names, mut files) = (Vec::new(), Vec::new());
    // Name, first child, next sibling, first file.
    let mut folders = vec![[NONE; 4]];
    for (chunk, path) in paths.enumerate() {
        let Some((folder, name)) = path.and_then(|path| path.rsplit_once('/')) else { continue };
        let mut at = 0;
        for part in folder.split('/') {
            let part = place(&mut names, part);
            let mut child = folders[at][1];
            while child != NONE && folders[child as usize][0] != part {
                child = folders[child as usize][2];
            }
            if child == NONE {
                child = u32::try_from(folders.len()).unwrap_or(NONE);
                folders.push([part, NONE, folders[at][1], NONE]);
                folders[at][1] = child;
            }
            at = child as usize;
        }
        let file = u32::try_from(files.len()).unwrap_or(NONE);
        files.push([place(&mut names, name), folders[at][3], u32::try_from(chunk).unwrap_or(NONE)]);
        folders[at][3] = file;
    }
    let mut writer = ByteWriter::default();
    writer.string("../../../").count(folders.len());
    folders.iter().flatten().for_each(|word| {
        writer.u32(*word);
    });
    writer.count(files.len());
    files.iter().flatten().for_each(|word| {
        writer.u32(*word);
    });
    writer.count(names.len());
    names.iter().for_each(|name| {
        writer.string(name);
    });
    writer.0
}

/// Compresses with zlib.
fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}
