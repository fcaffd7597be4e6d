//! Writes pak archives without the data of their files, since the reader reads only the index.

use super::ByteWriter;

/// An archive to write.
#[derive(Clone, Debug)]
pub struct DraftPak {
    /// Version of the format: 1 to 12.
    pub version: u32,
    /// For version 8: whether the format is the variant of 4.22, with four methods and method
    /// numbers of one byte.
    pub is_4_22: bool,
    /// Folder that all paths begin with.
    pub mount: String,
    /// Names of the compression methods, since version 8.
    pub methods: Vec<String>,
    /// GUID of the key. If it is set, the index is marked as encrypted, and cannot be read.
    pub key: Option<[u8; 16]>,
    /// For versions from 10 on: whether the names of files are left out.
    pub is_nameless: bool,
    /// The files.
    pub files: Vec<DraftFile>,
}

/// A file to write.
#[derive(Clone, Debug, Default)]
pub struct DraftFile {
    /// Its folder, which ends with a slash, or is empty.
    pub folder: String,
    /// Its name.
    pub name: String,
    /// Size before compression, in bytes.
    pub size: u64,
    /// Size in the archive, in bytes.
    pub stored: u64,
    /// Number of the compression method; 0 for none.
    pub method: u32,
    /// Bits: 1 for encrypted, 2 for deleted.
    pub flags: u8,
}

impl DraftPak {
    /// The bytes of the archive.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = ByteWriter::default();
        // Filler in place of the files' data, which come first.
        file.bytes(&[7; 64]);
        let mut index = match self.version {
            ..10 => self.old_index(),
            10.. => self.index(&mut file),
        };
        if self.key.is_some() {
            index.0.iter_mut().for_each(|byte| *byte ^= 0xA5);
        }
        let (offset, size) = (file.0.len() as u64, index.0.len() as u64);
        file.bytes(&index.0);
        self.write_footer(&mut file, offset, size);
        file.0
    }

    fn write_footer(&self, file: &mut ByteWriter, offset: u64, size: u64) {
        if self.version >= 7 {
            file.bytes(&self.key.unwrap_or_default());
        }
        if self.version >= 4 {
            file.bytes(&[self.key.is_some().into()]);
        }
        file.u32(0x5A6F_12E1).u32(self.version).u64(offset).u64(size).bytes(&[0; 20]);
        if self.version == 9 {
            file.bytes(&[0]);
        }
        let methods = match self.version {
            ..8 => 0,
            8 if self.is_4_22 => 4,
            8.. => 5,
        };
        for number in 0..methods {
            let mut name = [0; 32];
            let text = self.methods.get(number).map(String::as_bytes).unwrap_or_default();
            name[..text.len()].copy_from_slice(text);
            file.bytes(&name);
        }
    }

    fn old_index(&self) -> ByteWriter {
        let mut index = ByteWriter::default();
        index.string(&self.mount).count(self.files.len());
        for file in &self.files {
            index.string(&format!("{}{}", file.folder, file.name));
            self.write_entry(&mut index, file);
        }
        index
    }

    fn write_entry(&self, index: &mut ByteWriter, file: &DraftFile) {
        index.u64(0).u64(file.stored).u64(file.size);
        match self.version == 8 && self.is_4_22 {
            true => index.bytes(&[u8::try_from(file.method).unwrap_or(u8::MAX)]),
            false => index.u32(file.method),
        };
        if self.version < 2 {
            index.u64(0);
        }
        index.bytes(&[0; 20]);
        if self.version >= 3 {
            if file.method != 0 {
                index.count(1).u64(0).u64(file.stored);
            }
            index.bytes(&[file.flags]).u32(0x1_0000);
        }
    }

    /// The index since 4.26. The folders of the index are written to `file` first.
    fn index(&self, file: &mut ByteWriter) -> ByteWriter {
        let (mut encoded, mut unencoded, mut folders) =
            (ByteWriter::default(), ByteWriter::default(), ByteWriter::default());
        let mut deleted = 0;
        folders.count(self.files.len());
        for file in &self.files {
            let place = if file.flags & 2 != 0 {
                self.write_entry(&mut unencoded, file);
                deleted += 1;
                -deleted
            } else {
                let place = i32::try_from(encoded.0.len()).unwrap_or(i32::MAX);
                Self::write_encoded_entry(&mut encoded, file);
                place
            };
            // The folder is written again for each file, so that it may occur more than once.
            folders.string(&format!("/{}", file.folder)).count(1).string(&file.name);
            folders.bytes(&place.to_le_bytes());
        }
        let (offset, size) = (file.0.len() as u64, folders.0.len() as u64);
        file.bytes(&folders.0);
        let mut index = ByteWriter::default();
        index.string(&self.mount).count(self.files.len()).u64(0x1234);
        index.u32(1).u64(0).u64(0).bytes(&[0; 20]);
        match self.is_nameless {
            true => index.u32(0),
            false => index.u32(1).u64(offset).u64(size).bytes(&[0; 20]),
        };
        index.count(encoded.0.len()).bytes(&encoded.0);
        index.u32(deleted.unsigned_abs()).bytes(&unencoded.0);
        index
    }

    /// Writes an encoded entry: numbers have eight bytes only where four are too few.
    fn write_encoded_entry(encoded: &mut ByteWriter, file: &DraftFile) {
        let fits = |number: u64| u32::try_from(number).is_ok();
        let bit = |is_set: bool, bit: u32| u32::from(is_set) << bit;
        let mut bits = 0x3F | 1 << 6 | bit(file.flags & 1 != 0, 22) | file.method << 23;
        bits |= bit(fits(file.stored), 29) | bit(fits(file.size), 30) | bit(true, 31);
        encoded.u32(bits).u32(0x2_0000).u32(0);
        let mut number = |number: u64| {
            let _written = match u32::try_from(number) {
                Ok(short) => encoded.u32(short),
                Err(_) => encoded.u64(number),
            };
        };
        number(file.size);
        if file.method != 0 {
            number(file.stored);
        }
    }
}
