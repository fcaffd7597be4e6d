//! Reads the table of contents of an IoStore container (`FIoStoreTocResource`).

use super::directory::{self, PackedFile};
use crate::Fault;
use unreal_package::{Cursor, Guid};

const MAGIC: &[u8; 16] = b"-==--==--==--==-";
const WHAT: &str = "an IoStore table of contents";
/// Size of the header, in bytes.
const HEADER_BYTES: usize = 144;
/// The newest known version (`EIoStoreTocVersion::ContainerEncryptionMethod`).
const NEWEST: u8 = 10;
/// Maximum size of a block, in bytes: the entry of a block stores the size in three bytes.
const MAX_BLOCK_BYTES: u32 = 1 << 24;
/// Size of an initialisation vector of the encryption, in bytes.
const INITIALISATION_VECTOR_BYTES: usize = 12;

/// Versions that change the layout (`EIoStoreTocVersion`).
mod version {
    pub const DIRECTORY_INDEX: u8 = 2;
    pub const PARTITIONS: u8 = 3;
    /// Since Unreal Engine 5.0.
    pub const PERFECT_HASH: u8 = 4;
    pub const PERFECT_HASH_WITH_OVERFLOW: u8 = 5;
    pub const ENCRYPTION_METHOD: u8 = 10;
}

/// Flags of containers (`EIoContainerFlags`).
mod flag {
    pub const COMPRESSED: u8 = 1;
    pub const ENCRYPTED: u8 = 2;
    pub const SIGNED: u8 = 4;
    pub const INDEXED: u8 = 8;
}

/// The table of contents of a container.
#[derive(Clone, Debug)]
pub struct Toc<'a> {
    /// Version of the table's format.
    pub version: u8,
    /// Id of the container.
    pub container: u64,
    /// GUID of the encryption key; zeros for the game's main key.
    pub key: Guid,
    /// Names of the compression methods in use, such as `Oodle`.
    pub methods: Vec<String>,
    /// Size of a block before compression, in bytes.
    pub block_size: u32,
    /// Number of `.ucas` files.
    pub partitions: u32,
    /// Maximum size of a `.ucas` file, in bytes; further blocks are in the next file.
    pub partition_size: u64,
    /// The named files; empty if the container has no names, or if the names are encrypted.
    pub files: Vec<PackedFile>,
    flags: u8,
    ids: &'a [u8],
    places: &'a [u8],
    pub(super) blocks: &'a [u8],
}

/// A chunk: a package, bulk data, or data of the loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Id; for a package, the hash of its name.
    pub id: u64,
    /// Kind of its data.
    pub kind: ChunkKind,
    /// Offset in the container before compression, in bytes.
    pub offset: u64,
    /// Size before compression, in bytes.
    pub size: u64,
}

/// The kind of a chunk's data (`EIoChunkType`, whose numbers are different in 4.26 and 4.27).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChunkKind {
    /// A package.
    Package,
    /// Bulk data of a package: `.ubulk`.
    Bulk,
    /// Optional bulk data: `.uptnl`.
    OptionalBulk,
    /// Bulk data that are mapped into memory.
    MappedBulk,
    /// Script objects: native classes and their objects.
    ScriptObjects,
    /// The packages of the container and their imports.
    ContainerHeader,
    /// Shaders and shader libraries.
    Shaders,
    /// The names of the script objects, in 4.26 and 4.27.
    GlobalNames,
    /// Any other kind.
    Other(u8),
}

impl ChunkKind {
    fn of(number: u8, is_ue5: bool) -> Self {
        match (is_ue5, number) {
            (true, 1) | (false, 2) => Self::Package,
            (true, 2) | (false, 3) => Self::Bulk,
            (true, 3) | (false, 4) => Self::OptionalBulk,
            (true, 4) | (false, 5) => Self::MappedBulk,
            (true, 5) | (false, 7) => Self::ScriptObjects,
            (true, 6) | (false, 10) => Self::ContainerHeader,
            (true, 8 | 9) => Self::Shaders,
            (false, 8) => Self::GlobalNames,
            (_, other) => Self::Other(other),
        }
    }

    /// The kind in one or two words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Bulk => "bulk data",
            Self::OptionalBulk => "optional bulk data",
            Self::MappedBulk => "mapped bulk data",
            Self::ScriptObjects => "script objects",
            Self::ContainerHeader => "container header",
            Self::Shaders => "shaders",
            Self::GlobalNames => "global names",
            Self::Other(_) => "other",
        }
    }
}

/// The lengths of the tables, from the header.
struct Counts {
    chunks: usize,
    blocks: usize,
    methods: usize,
    method_length: usize,
    directory: usize,
    seeds: usize,
    overflow: usize,
    vectors: usize,
}

impl<'a> Toc<'a> {
    /// Reads a table of contents; `bytes` is the whole `.utoc` file.
    ///
    /// # Errors
    ///
    /// When the file is not a table of contents, has a newer version, or is damaged. Encrypted
    /// names are not an error: `files` is then empty.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        if !bytes.starts_with(MAGIC) {
            return Err(Fault::Unknown(WHAT));
        }
        let mut cursor = Cursor::new(bytes, bytes.len() as u64);
        cursor.skip("beginning", MAGIC.len())?;
        let version = cursor.u8("version")?;
        match version {
            0 => return Err(Fault::Damaged { what: "version", at: MAGIC.len() as u64 }),
            1..=NEWEST => {}
            _ => {
                let (version, newest) = (version.into(), NEWEST.into());
                return Err(Fault::TooNew { what: WHAT, version, newest });
            }
        }
        cursor.skip("version", 3)?;
        let (mut toc, counts) = read_header(&mut cursor, version)?;
        let mut cursor = Cursor::new(bytes, bytes.len() as u64);
        cursor.skip("header", HEADER_BYTES)?;
        toc.read_tables(&mut cursor, &counts)?;
        Ok(toc)
    }

    /// Reads the tables after the header.
    fn read_tables(&mut self, cursor: &mut Cursor<'a>, counts: &Counts) -> Result<(), Fault> {
        self.ids = take_table(cursor, "chunk ids", counts.chunks, 12)?;
        self.places = take_table(cursor, "places of the chunks", counts.chunks, 10)?;
        take_table(cursor, "hash seeds", counts.seeds, 4)?;
        take_table(cursor, "chunks without hash", counts.overflow, 4)?;
        self.blocks = take_table(cursor, "blocks", counts.blocks, 12)?;
        take_table(cursor, "initialisation vectors", counts.vectors, INITIALISATION_VECTOR_BYTES)?;
        let methods =
            take_table(cursor, "compression methods", counts.methods, counts.method_length)?;
        if counts.method_length > 0 {
            self.methods = methods.chunks_exact(counts.method_length).map(method).collect();
        }
        if self.flags & flag::SIGNED != 0 {
            let hash = cursor.count("signatures", 2)?;
            take_table(cursor, "signatures", hash, 2)?;
            take_table(cursor, "hashes of the blocks", counts.blocks, 20)?;
        }
        let is_indexed =
            self.version >= version::DIRECTORY_INDEX && self.flags & flag::INDEXED != 0;
        if is_indexed && counts.directory > 0 {
            let index = cursor.take("directory", counts.directory)?;
            if !self.is_encrypted() {
                self.files = directory::read(index, counts.chunks)?;
            }
        }
        Ok(())
    }

    /// Number of chunks.
    pub fn len(&self) -> usize {
        self.ids.len() / 12
    }

    /// Whether the container has no chunk.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The chunk with this index in the table.
    pub fn chunk(&self, at: usize) -> Option<Chunk> {
        let id = self.ids.chunks_exact(12).nth(at)?;
        let place = self.places.chunks_exact(10).nth(at)?;
        let big_endian =
            |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        Some(Chunk {
            id: little(&id[..8]),
            kind: ChunkKind::of(id[11], self.is_ue5()),
            offset: big_endian(&place[..5]),
            size: big_endian(&place[5..]),
        })
    }

    /// All chunks in the order of the table.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk> {
        (0..self.len()).filter_map(|at| self.chunk(at))
    }

    /// Whether the container was written by Unreal Engine 5.
    pub fn is_ue5(&self) -> bool {
        self.version >= version::PERFECT_HASH
    }

    /// Whether the data, and the names of the files, are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.flags & flag::ENCRYPTED != 0
    }

    /// Whether blocks may be compressed.
    pub fn is_compressed(&self) -> bool {
        self.flags & flag::COMPRESSED != 0
    }

    /// Whether the table is signed. The signature is not checked.
    pub fn is_signed(&self) -> bool {
        self.flags & flag::SIGNED != 0
    }
}

/// Reads the header after the version.
fn read_header<'a>(cursor: &mut Cursor<'a>, version: u8) -> Result<(Toc<'a>, Counts), Fault> {
    let header = cursor.u32("size of the header")?;
    if header as usize != HEADER_BYTES {
        return Err(cursor.damaged("size of the header").into());
    }
    let mut count = |what| cursor.u32(what).map(|count| count as usize);
    let (chunks, blocks) = (count("number of chunks")?, count("number of blocks")?);
    let block_entry = count("size of a block's entry")?;
    let (methods, method_length) = (count("number of methods")?, count("length of a method")?);
    let block_size = cursor.u32("size of a block")?;
    if block_entry != 12 || !(1..=MAX_BLOCK_BYTES).contains(&block_size) {
        return Err(cursor.damaged("size of a block").into());
    }
    let directory = cursor.u32("size of the directory")? as usize;
    let mut partitions = cursor.u32("number of partitions")?;
    let container = cursor.u64("id of the container")?;
    let key = Guid::read(cursor)?;
    let flags = cursor.u8("flags")?;
    cursor.skip("encryption method", 3)?;
    let seeds = cursor.u32("number of hash seeds")? as usize;
    let mut partition_size = cursor.u64("size of a partition")?;
    let overflow = cursor.u32("number of chunks without hash")? as usize;
    cursor.skip("number of source hashes", 4)?;
    let vectors = cursor.u32("number of initialisation vectors")? as usize;
    if version < version::PARTITIONS || partition_size == 0 {
        (partitions, partition_size) = (1, u64::MAX);
    }
    let toc = Toc {
        version,
        container,
        key,
        methods: Vec::new(),
        block_size,
        partitions,
        partition_size,
        files: Vec::new(),
        flags,
        ids: &[],
        places: &[],
        blocks: &[],
    };
    let count_since = |first: u8, count: usize| if version >= first { count } else { 0 };
    let counts = Counts {
        chunks,
        blocks,
        methods,
        method_length,
        directory,
        seeds: count_since(version::PERFECT_HASH, seeds),
        overflow: count_since(version::PERFECT_HASH_WITH_OVERFLOW, overflow),
        vectors: count_since(version::ENCRYPTION_METHOD, vectors),
    };
    Ok((toc, counts))
}

/// Takes a table of `count` entries of `size` bytes.
fn take_table<'a>(
    cursor: &mut Cursor<'a>,
    what: &'static str,
    count: usize,
    size: usize,
) -> Result<&'a [u8], Fault> {
    let bytes = count.checked_mul(size).ok_or_else(|| cursor.damaged(what))?;
    Ok(cursor.take(what, bytes)?)
}

/// The name of a compression method, from bytes that are padded with zeros.
fn method(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A little-endian integer of up to eight bytes.
pub fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
