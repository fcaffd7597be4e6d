//! Writes asset registries.

use super::{ByteWriter, place};

/// A registry under construction.
#[derive(Clone, Debug, Default)]
pub struct DraftRegistry {
    /// Version of the format, from 4 on.
    pub version: u32,
    /// The assets.
    pub assets: Vec<DraftAsset>,
    /// Dependencies: a package, the package that it needs, and whether both are loaded together.
    pub needs: Vec<(String, String, bool)>,
}

/// An asset under construction.
#[derive(Clone, Debug)]
pub struct DraftAsset {
    /// Name of the package.
    pub package: String,
    /// Package of the class, and the class.
    pub class: (String, String),
    /// Keys and values.
    pub tags: Vec<(String, String)>,
    /// Size of the package on disk, in bytes.
    pub size: u64,
}

impl DraftRegistry {
    /// The bytes of the registry's file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut names = Vec::new();
        // A first pass fills the name table, which some versions store before everything else.
        self.body(&mut names, 0);
        let mut start = ByteWriter::default();
        for word in [0x717F_9EE7, 0xE9B0_493A, 0x88B3_9132, 0x1B38_8107, self.version] {
            start.u32(word);
        }
        if self.version >= 16 {
            start.u32(0);
        }
        if self.version >= 8 {
            start.names(&names);
            let body = self.body(&mut names, start.0.len());
            start.bytes(&body);
            return start.0;
        }
        let body = self.body(&mut names, 0);
        start.u64((start.0.len() + 8 + body.len()) as u64).bytes(&body).count(names.len());
        for name in &names {
            start.string(name).u32(0);
        }
        start.0
    }

    fn body(&self, names: &mut Vec<String>, offset: usize) -> Vec<u8> {
        let mut writer = ByteWriter::default();
        if self.version >= 8 {
            self.store(&mut writer, names, offset);
        }
        writer.count(self.assets.len());
        let mut first = 0;
        for asset in &self.assets {
            self.asset(&mut writer, names, asset, &mut first);
        }
        let nodes = self.nodes(names);
        if self.version >= 7 {
            writer.u64(nodes.len() as u64);
        }
        writer.bytes(&nodes).count(self.assets.len());
        for asset in &self.assets {
            self.name(&mut writer, names, &asset.package);
            writer.u64(asset.size);
            self.details(&mut writer, names);
        }
        writer.0
    }

    fn name(&self, writer: &mut ByteWriter, names: &mut Vec<String>, name: &str) {
        writer.u32(place(names, name));
        if self.version < 8 {
            writer.u32(0);
        }
    }

    fn class(
        &self,
        writer: &mut ByteWriter,
        names: &mut Vec<String>,
        (package, class): &(String, String),
    ) {
        if self.version >= 14 {
            self.name(writer, names, package);
        }
        self.name(writer, names, class);
    }

    fn asset(
        &self,
        writer: &mut ByteWriter,
        names: &mut Vec<String>,
        asset: &DraftAsset,
        first: &mut usize,
    ) {
        let (folder, name) = asset.package.rsplit_once('/').unwrap_or(("", &asset.package));
        if self.version < 15 {
            self.name(writer, names, &format!("{}.{name}", asset.package));
        }
        self.name(writer, names, folder);
        self.class(writer, names, &asset.class);
        self.name(writer, names, &asset.package);
        self.name(writer, names, name);
        if self.version >= 15 {
            // Each asset names its outer if editor-only data are not filtered out.
            self.name(writer, names, "None");
        }
        if self.version < 8 {
            writer.count(asset.tags.len());
            for (key, value) in &asset.tags {
                self.name(writer, names, key);
                writer.string(value);
            }
        } else {
            writer.u64(1 << 63 | (asset.tags.len() as u64) << 32 | *first as u64).u32(1);
            *first += asset.tags.len();
            // A bundle with one asset.
            self.name(writer, names, "Bundle");
            writer.u32(1);
            self.class(writer, names, &asset.class);
            writer.string("");
        }
        writer.u32(1).u32(0).u32(0x8000_0200);
    }

    /// The tags of all assets: plain strings, which assets do not share.
    fn store(&self, writer: &mut ByteWriter, names: &mut Vec<String>, offset: usize) {
        let tags: Vec<&(String, String)> =
            self.assets.iter().flat_map(|asset| &asset.tags).collect();
        let align = |writer: &mut ByteWriter| {
            while self.version >= 24 && !(offset + writer.0.len()).is_multiple_of(16) {
                writer.bytes(&[0]);
            }
        };
        let text: Vec<u8> = tags.iter().flat_map(|(_, value)| value.bytes().chain([0])).collect();
        align(writer);
        writer.u32(0x1234_5679);
        for count in [0, 0, 0, 0, 0, tags.len(), 0, text.len(), 0, tags.len(), 0] {
            writer.count(count);
        }
        writer.u32(0);
        (0..6).for_each(|_| align(writer));
        let mut at = 0;
        for (_, value) in &tags {
            writer.count(at);
            at += value.len() + 1;
        }
        align(writer);
        align(writer);
        writer.bytes(&text);
        align(writer);
        for (at, (key, _)) in tags.iter().enumerate() {
            self.name(writer, names, key);
            // The kind 0 is a string of single bytes.
            writer.count(at << 3);
        }
        align(writer);
        writer.u32(0x8765_4321);
    }

    /// The graph: a node for each package in `needs`.
    fn nodes(&self, names: &mut Vec<String>) -> Vec<u8> {
        let mut packages: Vec<&str> = Vec::new();
        for (from, to, _) in &self.needs {
            for name in [from, to] {
                if !packages.contains(&name.as_str()) {
                    packages.push(name);
                }
            }
        }
        let at = |name: &str| packages.iter().position(|known| *known == name).unwrap_or(0);
        let mut writer = ByteWriter::default();
        writer.count(packages.len());
        for package in &packages {
            let mut needs: Vec<(usize, bool)> = Vec::new();
            let dependencies = self.needs.iter().filter(|(from, ..)| from == package);
            needs.extend(dependencies.map(|(_, to, is_hard)| (at(to), *is_hard)));
            needs.sort_by_key(|(_, is_hard)| !is_hard);
            let referencers = self.needs.iter().filter(|(_, to, _)| to == package);
            let referencers: Vec<usize> = referencers.map(|(from, ..)| at(from)).collect();
            writer.bytes(&[1]);
            self.name(&mut writer, names, package);
            let list = |writer: &mut ByteWriter| {
                needs.iter().for_each(|(node, _)| {
                    writer.count(*node);
                })
            };
            if self.version < 7 {
                let hard = needs.iter().filter(|(_, is_hard)| *is_hard).count();
                writer.count(hard).count(needs.len() - hard).u32(0).u32(0);
                if self.version >= 5 {
                    writer.u32(0);
                }
                writer.count(referencers.len());
                list(&mut writer);
            } else {
                writer.count(needs.len());
                list(&mut writer);
                // Five bits for each dependency: the properties hard and game, or game alone.
                let bits = needs
                    .iter()
                    .enumerate()
                    .map(|(at, (_, is_hard))| (if *is_hard { 3_u64 } else { 2 }) << (at * 5));
                let bits = bits.fold(0, |sum, bits| sum | bits);
                let words = (needs.len() * 5).div_ceil(32) * 4;
                writer.bytes(&bits.to_le_bytes()[..words]);
                writer.u32(0).u32(0).count(referencers.len());
            }
            referencers.iter().for_each(|node| {
                writer.count(*node);
            });
        }
        writer.0
    }

    /// Writes the fields of a package after its size.
    fn details(&self, writer: &mut ByteWriter, names: &mut Vec<String>) {
        writer.bytes(&[0; 20][..if self.version >= 20 { 20 } else { 16 }]);
        if self.version >= 6 {
            writer.u32(1).bytes(&[5; 16]);
        }
        if self.version >= 13 {
            writer.u32(1).bytes(&[6; 32]);
        }
        if self.version >= 9 {
            writer.u32(522);
            if self.version >= 11 {
                writer.u32(1017);
            }
            writer.u32(0).u32(0x200).u32(1).bytes(&[3; 20]);
        }
        if self.version >= 10 {
            writer.u32(1);
            self.name(writer, names, "Actor");
        }
        if self.version >= 19 {
            writer.u32(6).bytes(b"uasset");
        } else if self.version >= 17 {
            writer.string("uasset");
        }
    }
}
