//! Finds and reads objects of a pack: `pack-*.idx` of version 2, and `pack-*.pack`.

use crate::{
    delta,
    fault::Fault,
    id::{Id, Prefix},
    object::{Kind, Object},
};
use flate2::read::ZlibDecoder;
use std::{
    cell::RefCell,
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// The first bytes of an index of version 2.
const INDEX: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
/// Size of the header of an index with its table of 256 counts, in bytes.
const TABLE: u64 = 8 + 256 * 4;
/// Maximum length of a chain of deltas. Git writes at most 4,095.
const MAX_CHAIN: usize = 4096;

/// A pack and its index.
pub struct Pack {
    path: PathBuf,
    /// Length of an object name in bytes.
    length: usize,
    index: RefCell<File>,
    /// For each byte from 0 to 255: the number of objects whose name begins with this byte or a
    /// lower one.
    counts: Vec<u32>,
    /// The file of the pack, which is opened when the first object is read.
    objects: RefCell<Option<File>>,
}

/// An object as the pack stores it.
enum Stored {
    Whole(Object),
    /// A delta, and the place of its base.
    Delta(Vec<u8>, Base),
}

/// The place of the base of a delta: an offset in the pack, or an object name.
enum Base {
    At(u64),
    Named(Id),
}

impl Pack {
    /// Opens the index at a path that ends with `.idx`.
    ///
    /// # Errors
    ///
    /// When the index cannot be read, is malformed, or has another version.
    pub fn open(path: &Path, length: usize) -> Result<Self, Fault> {
        let unreadable = |error| Fault::Unreadable(path.to_owned(), error);
        let mut index = File::open(path).map_err(unreadable)?;
        let mut head = [0; TABLE as usize];
        index.read_exact(&mut head).map_err(unreadable)?;
        if head[..8] != INDEX {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            return Err(Fault::Unsupported(format!(
                "{name}, a pack index of another version than 2"
            )));
        }
        let counts: Vec<u32> = head[8..].chunks_exact(4).map(number).collect();
        if !counts.is_sorted() {
            return Err(Fault::Malformed(format!(
                "the object counts in {} decrease",
                path.display()
            )));
        }
        Ok(Self {
            path: path.with_extension("pack"),
            length,
            index: RefCell::new(index),
            counts,
            objects: RefCell::new(None),
        })
    }

    /// The position of an object in the pack, in bytes. `None` if the pack does not have the object.
    pub fn position(&self, id: &Id) -> Result<Option<u64>, Fault> {
        let first = *id.bytes().first().unwrap_or(&0);
        let (start, names) = self.names_with(first)?;
        let found = (0..names.len() / self.length)
            .find(|at| &names[at * self.length..(at + 1) * self.length] == id.bytes());
        let Some(at) = found else { return Ok(None) };
        self.offset(start + at as u64).map(Some).map_err(|error| self.unreadable_index(error))
    }

    /// Adds the object names that begin with a prefix to `found`.
    pub fn collect(&self, prefix: &Prefix, found: &mut Vec<Id>) -> Result<(), Fault> {
        let first = *prefix.least().bytes().first().unwrap_or(&0);
        let (_, names) = self.names_with(first)?;
        let matching = names.chunks_exact(self.length).filter(|name| prefix.matches(name));
        found.extend(matching.filter_map(|name| Id::of(name, self.length)));
        Ok(())
    }

    /// Reads the object at a position. `other` reads a base that the pack does not have.
    ///
    /// # Errors
    ///
    /// When the pack cannot be read or is malformed, or the object has more than `most` bytes.
    pub fn read(
        &self,
        id: &Id,
        position: u64,
        most: u64,
        other: &dyn Fn(&Id) -> Result<Object, Fault>,
    ) -> Result<Object, Fault> {
        let mut chain = Vec::new();
        let mut position = position;
        let mut object = loop {
            match self.stored(id, position, most)? {
                Stored::Whole(object) => break object,
                Stored::Delta(..) if chain.len() == MAX_CHAIN => {
                    return Err(Fault::object(id, "is stored as a chain of too many deltas"));
                }
                Stored::Delta(_, base) => {
                    chain.push(position);
                    match base {
                        Base::At(before) => position = before,
                        Base::Named(base) => match self.position(&base)? {
                            Some(before) => position = before,
                            None => break other(&base)?,
                        },
                    }
                }
            }
        };
        // Each delta is decompressed a second time here, so that only one delta is in memory at a time.
        while let Some(position) = chain.pop() {
            let Stored::Delta(delta, _) = self.stored(id, position, most)? else {
                return Err(Fault::object(id, "changed while it was read"));
            };
            object.bytes = delta::applied(&object.bytes, &delta, most).ok_or_else(|| {
                Fault::object(id, "has a delta that does not fit, or is too large")
            })?;
        }
        Ok(object)
    }

    /// Reads the entry at a position of the pack. Deltas are not applied.
    fn stored(&self, id: &Id, position: u64, most: u64) -> Result<Stored, Fault> {
        let unreadable = |error| Fault::Unreadable(self.path.clone(), error);
        let mut file = self.objects.borrow_mut();
        if file.is_none() {
            *file = Some(File::open(&self.path).map_err(unreadable)?);
        }
        let Some(file) = file.as_mut() else {
            return Err(unreadable(io::Error::other("not open")));
        };
        file.seek(SeekFrom::Start(position)).map_err(unreadable)?;
        let mut input = BufReader::new(file);
        let malformed = || Fault::object(id, "has an entry without the documented form");
        let byte = byte(&mut input).map_err(unreadable)?;
        let kind = byte >> 4 & 7;
        let mut size = u64::from(byte & 15);
        let (mut is_more, mut shift) = (byte & 0x80 != 0, 4);
        while is_more {
            let byte = self::byte(&mut input).map_err(unreadable)?;
            size |= u64::from(byte & 0x7f)
                .checked_shl(shift)
                .filter(|_| shift < 57)
                .ok_or_else(malformed)?;
            (is_more, shift) = (byte & 0x80 != 0, shift + 7);
        }
        let base = match kind {
            6 => Some(Base::At(
                distance(&mut input)
                    .map_err(unreadable)?
                    .and_then(|back| position.checked_sub(back))
                    .filter(|before| *before < position)
                    .ok_or_else(malformed)?,
            )),
            7 => {
                let mut name = vec![0; self.length];
                input.read_exact(&mut name).map_err(unreadable)?;
                Id::of(&name, self.length).map(Base::Named)
            }
            _ => None,
        };
        let kind = match (kind, &base) {
            (_, Some(_)) => None,
            (1, None) => Some(Kind::Commit),
            (2, None) => Some(Kind::Tree),
            (3, None) => Some(Kind::Blob),
            (4, None) => Some(Kind::Tag),
            _ => return Err(malformed()),
        };
        let bytes = inflated(input, size, most).map_err(|fault| match fault {
            Inflate::TooLarge => Fault::TooLarge { size, most },
            Inflate::Failed => Fault::object(id, "cannot be decompressed"),
        })?;
        Ok(match (kind, base) {
            (Some(kind), _) => Stored::Whole(Object { kind, bytes }),
            (None, Some(base)) => Stored::Delta(bytes, base),
            (None, None) => return Err(malformed()),
        })
    }

    /// The position in the index, from 0, of the first object name that begins with the byte `first`;
    /// and all object names that begin with it.
    fn names_with(&self, first: u8) -> Result<(u64, Vec<u8>), Fault> {
        let count = |at: Option<usize>| {
            at.and_then(|at| self.counts.get(at)).map_or(0, |count| u64::from(*count))
        };
        let (start, end) = (count(usize::from(first).checked_sub(1)), count(Some(first.into())));
        let length = self.length as u64;
        let names = self.part(TABLE + start * length, (end - start) * length);
        Ok((start, names.map_err(|error| self.unreadable_index(error))?))
    }

    /// The offset in the pack, in bytes, of the object with the number `at` in the index.
    fn offset(&self, at: u64) -> io::Result<u64> {
        let all = u64::from(self.counts.last().copied().unwrap_or(0));
        // The names are followed by CRC-32 checksums of four bytes each, then by offsets of four
        // bytes each.
        let offsets = TABLE + all * (self.length as u64 + 4);
        let short = number(&self.part(offsets + at * 4, 4)?);
        if short & 0x8000_0000 == 0 {
            return Ok(short.into());
        }
        let long = offsets + all * 4 + u64::from(short & 0x7fff_ffff) * 8;
        let bytes = self.part(long, 8)?;
        Ok(u64::from(number(&bytes)) << 32 | u64::from(number(&bytes[4..])))
    }

    /// Reads `size` bytes of the index, from the offset `start` on.
    fn part(&self, start: u64, size: u64) -> io::Result<Vec<u8>> {
        let mut index = self.index.borrow_mut();
        let whole = index.metadata()?.len();
        if start.checked_add(size).is_none_or(|end| end > whole) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the index is too short"));
        }
        index.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        index.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn unreadable_index(&self, error: io::Error) -> Fault {
        Fault::Unreadable(self.path.with_extension("idx"), error)
    }
}

/// The reason why data cannot be decompressed.
pub enum Inflate {
    /// The data are larger than the limit.
    TooLarge,
    /// The data are not in zlib's format, or the decompressed data do not have the expected size.
    Failed,
}

/// Decompresses data in zlib's format. The decompressed data must have exactly `size` bytes, and
/// `size` must not exceed `most`.
pub fn inflated(input: impl Read, size: u64, most: u64) -> Result<Vec<u8>, Inflate> {
    if size > most {
        return Err(Inflate::TooLarge);
    }
    let mut bytes = Vec::new();
    let read = ZlibDecoder::new(input).take(size + 1).read_to_end(&mut bytes);
    read.is_ok_and(|read| read as u64 == size).then_some(bytes).ok_or(Inflate::Failed)
}

/// Reads the distance to the base of a delta, in bytes: seven bits per byte, the highest first,
/// with 1 added before each further byte. `None` if the distance is too large.
fn distance(input: &mut impl Read) -> io::Result<Option<u64>> {
    let mut next = byte(input)?;
    let mut value = u64::from(next & 0x7f);
    while next & 0x80 != 0 {
        next = byte(input)?;
        if value >= 1 << 55 {
            return Ok(None);
        }
        value = ((value + 1) << 7) | u64::from(next & 0x7f);
    }
    Ok(Some(value))
}

fn byte(input: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    input.read_exact(&mut byte)?;
    Ok(byte[0])
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
