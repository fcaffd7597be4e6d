//! Reads chunks of a container: blocks of its `.ucas` files, unpacked.

use super::toc::{Chunk, Toc, little};
use crate::Fault;
use flate2::read::ZlibDecoder;
use std::io::{self, Read};

/// The `.ucas` files of a container.
pub trait Partitions {
    /// Reads exactly `len` bytes at `offset` of one file: `partition` is 0 for `Name.ucas`, 1 for
    /// `Name_s1.ucas`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or ends before the last of these bytes.
    fn read(&mut self, partition: u64, offset: u64, len: usize) -> io::Result<Vec<u8>>;
}

/// The place and the compression of a block's data.
struct Block {
    offset: u64,
    packed: usize,
    size: usize,
    method: usize,
}

impl Toc<'_> {
    /// Reads the first bytes of a chunk, at most `max_bytes`.
    ///
    /// # Errors
    ///
    /// When the chunk is encrypted, compressed with another method than Zlib, or cannot be read.
    pub fn start(
        &self,
        chunk: &Chunk,
        max_bytes: u64,
        files: &mut dyn Partitions,
    ) -> Result<Vec<u8>, Fault> {
        let what = "the data";
        if self.is_encrypted() {
            return Err(Fault::Encrypted { what, key: self.key.to_string() });
        }
        let size = u64::from(self.block_size);
        let wanted_len = usize::try_from(chunk.size.min(max_bytes)).unwrap_or(usize::MAX);
        let (mut at, skip) = (chunk.offset / size, (chunk.offset % size) as usize);
        let mut bytes = Vec::new();
        while bytes.len() < skip.saturating_add(wanted_len) {
            let block = self.block(at).ok_or(Fault::NoBlock { number: at })?;
            self.unpack(&block, &mut bytes, files)?;
            at += 1;
        }
        bytes.drain(..skip);
        bytes.truncate(wanted_len);
        Ok(bytes)
    }

    /// Reads a whole chunk.
    ///
    /// # Errors
    ///
    /// As for [`Toc::start`], and when the chunk has more than `max_bytes` bytes.
    pub fn whole(
        &self,
        chunk: &Chunk,
        max_bytes: u64,
        files: &mut dyn Partitions,
    ) -> Result<Vec<u8>, Fault> {
        if chunk.size > max_bytes {
            return Err(Fault::TooLarge {
                what: chunk.kind.words(),
                bytes: chunk.size,
                most: max_bytes,
            });
        }
        self.start(chunk, max_bytes, files)
    }

    fn block(&self, at: u64) -> Option<Block> {
        let entry = self.blocks.chunks_exact(12).nth(usize::try_from(at).ok()?)?;
        Some(Block {
            offset: little(&entry[..5]),
            packed: little(&entry[5..8]) as usize,
            size: little(&entry[8..11]) as usize,
            method: entry[11].into(),
        })
    }

    /// Decompresses a block and appends it to `bytes`.
    fn unpack(
        &self,
        block: &Block,
        bytes: &mut Vec<u8>,
        files: &mut dyn Partitions,
    ) -> Result<(), Fault> {
        let damaged = Fault::Damaged { what: "block", at: block.offset };
        if block.size == 0 || block.size > self.block_size as usize {
            return Err(damaged);
        }
        let method = match block.method.checked_sub(1) {
            None => "",
            Some(at) => self.methods.get(at).map_or("an unnamed method", String::as_str),
        };
        let is_zlib = method.eq_ignore_ascii_case("Zlib");
        if !method.is_empty() && !is_zlib {
            return Err(Fault::Compressed { what: "the data", method: method.to_owned() });
        }
        let (partition, offset) =
            (block.offset / self.partition_size, block.offset % self.partition_size);
        let packed = files.read(partition, offset, block.packed)?;
        let before = bytes.len();
        if is_zlib {
            ZlibDecoder::new(packed.as_slice()).take(block.size as u64).read_to_end(bytes)?;
        } else {
            bytes.extend_from_slice(packed.get(..block.size).unwrap_or_default());
        }
        if bytes.len() - before == block.size { Ok(()) } else { Err(damaged) }
    }
}
