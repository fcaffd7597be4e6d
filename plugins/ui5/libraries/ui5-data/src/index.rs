//! The index of the API data of one version: finds the file and position of a symbol without
//! reading the whole index or file.
//!
//! The index is a file beside the `api.json` files. All numbers are little-endian. A text is stored as its
//! offset in the file and its length, 4 bytes each:
//!
//! ```text
//! MAGIC, then 8 bytes each: length of the file; size and time of index.json; hash of tables and texts
//! then 4 bytes each: number of files, symbols, keys, modules, and listed symbols
//! files     32 bytes each: name, library, size, time; size 2^64 - 1: missing or broken
//! symbols   24 bytes each: name, file, start (8), length; length 0: not in the file
//! keys      20 bytes each, in order of hash and key: hash of the key (8), key, symbol
//! modules   20 bytes each, in order of file and name: name, file, first listed symbol, how many
//! listed     4 bytes each: symbol
//! texts
//! ```

mod draft;

pub use draft::Draft;

use std::io::{self, Read, Seek, SeekFrom};

/// The first bytes of an index. The number changes with the format, and older files are rebuilt.
pub const MAGIC: &[u8; 24] = b"portcullis api index 1\n\0";

/// Size of a key's record in bytes.
const KEY: u64 = 20;

/// Size of a symbol's record in bytes.
const SYMBOL: u64 = 24;

/// Number of records read on each side of the expected position of a key.
const WINDOW: u32 = 96;

const HEADER: u64 = 24 + 4 * 8 + 5 * 4;

/// An opened index.
pub struct Index<R> {
    source: R,
    /// Size and time of `index.json` when the index was built.
    pub stamp: Stamp,
    digest: u64,
    files: Table,
    symbols: Table,
    keys: Table,
    modules: Table,
    listed: Table,
    length: u64,
}

/// Size and time of a file, to detect a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Time of modification in nanoseconds since 1970; 0 if unknown.
    pub time: u64,
}

/// A file with symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The name in the directory.
    pub name: String,
    /// The library of the file.
    pub library: String,
    /// Size and time; `None` if the file was missing or broken.
    pub stamp: Option<Stamp>,
}

/// The place of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in the file.
    pub name: String,
    /// The number of the file.
    pub file: u32,
    /// The offset of the symbol's first byte.
    pub start: u64,
    /// The length of the symbol in bytes; 0 if the file lacks the symbol.
    pub length: u32,
}

#[derive(Clone, Copy)]
struct Table {
    start: u64,
    count: u32,
    width: u64,
}

impl<R: Read + Seek> Index<R> {
    /// Opens an index. Fails if it is not an index or is incomplete.
    pub fn open(mut source: R) -> io::Result<Self> {
        let length = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        let mut header = [0; HEADER as usize];
        source.read_exact(&mut header)?;
        let (magic, rest) = header.split_at(MAGIC.len());
        if magic != MAGIC || long(rest, 0) != length {
            return Err(broken());
        }
        let mut start = HEADER;
        let mut table = |number: usize, width| {
            let count = short(rest, 32 + 4 * number);
            let table = Table { start, count, width };
            start += u64::from(count) * width;
            table
        };
        let index = Self {
            source,
            stamp: Stamp { size: long(rest, 8), time: long(rest, 16) },
            digest: long(rest, 24),
            files: table(0, 32),
            symbols: table(1, SYMBOL),
            keys: table(2, KEY),
            modules: table(3, 20),
            listed: table(4, 4),
            length,
        };
        if start > length { Err(broken()) } else { Ok(index) }
    }

    /// Whether the tables and texts are undamaged. This reads all of them.
    pub fn is_whole(&mut self) -> io::Result<bool> {
        let mut bytes = Vec::new();
        self.source.seek(SeekFrom::Start(HEADER))?;
        self.source.by_ref().take(self.length).read_to_end(&mut bytes)?;
        Ok(hash(&bytes) == self.digest)
    }

    /// The number of the symbol of a key.
    pub fn find(&mut self, key: &str) -> io::Result<Option<u32>> {
        let (wanted, count) = (hash(key.as_bytes()), self.keys.count);
        // Hashes are spread evenly, so that one read around the expected position is nearly always
        // enough.
        let guess = (u128::from(wanted) * u128::from(count)) >> 64;
        let guess = u32::try_from(guess).expect("it is less than the count");
        let (first, end) = (guess.saturating_sub(WINDOW), guess.saturating_add(WINDOW).min(count));
        let mut records = vec![0; (end - first) as usize * KEY as usize];
        self.read(self.keys.start + u64::from(first) * KEY, &mut records)?;
        let hashes = || records.chunks(KEY as usize).map(|record| long(record, 0));
        let begins = first == 0 || hashes().next().is_some_and(|hash| hash < wanted);
        let ends = end == count || hashes().next_back().is_some_and(|hash| hash > wanted);
        if !begins || !ends {
            return self.search(self.keys, |index, record| {
                let order = long(record, 0).cmp(&wanted);
                let same = order.is_eq().then(|| index.text(record, 8)).transpose()?;
                Ok((same.map_or(order, |known| known.as_str().cmp(key)), short(record, 16)))
            });
        }
        for record in records.chunks(KEY as usize).filter(|record| long(record, 0) == wanted) {
            if self.text(record, 8)? == key {
                return Ok(Some(short(record, 16)));
            }
        }
        Ok(None)
    }

    /// The numbers of the symbols of a module in a file, in order; the module's name is in lower
    /// case.
    pub fn module(&mut self, file: u32, module: &str) -> io::Result<Vec<u32>> {
        let found = self.search(self.modules, |index, record| {
            let known = (short(record, 8), index.text(record, 0)?);
            let order = known.0.cmp(&file).then_with(|| known.1.as_str().cmp(module));
            Ok((order, (short(record, 12), short(record, 16))))
        })?;
        let Some((first, count)) = found else { return Ok(Vec::new()) };
        let listed = self.records(self.listed, first, count)?;
        Ok(listed.chunks(4).map(|record| short(record, 0)).collect())
    }

    /// The symbols with these numbers. Takes at most two reads of the index.
    pub fn entries(&mut self, numbers: &[u32]) -> io::Result<Vec<Entry>> {
        let (Some(&first), Some(&last)) = (numbers.iter().min(), numbers.iter().max()) else {
            return Ok(Vec::new());
        };
        if last >= self.symbols.count {
            return Err(broken());
        }
        let records = self.records(self.symbols, first, last - first + 1)?;
        let width = SYMBOL as usize;
        let record = |number: &u32| &records[(number - first) as usize * width..][..width];
        let name = |number| (short(record(number), 0), short(record(number), 4));
        let (start, end) =
            numbers.iter().map(name).fold((u64::MAX, 0), |(start, end), (at, length)| {
                (start.min(at.into()), end.max(u64::from(at) + u64::from(length)))
            });
        if end > self.length {
            return Err(broken());
        }
        let mut names = vec![0; usize::try_from(end - start).map_err(|_| broken())?];
        self.read(start, &mut names)?;
        let entry = |number| {
            let (at, length) = name(number);
            let name = &names[(u64::from(at) - start) as usize..][..length as usize];
            Ok(Entry {
                name: String::from_utf8(name.to_vec()).map_err(|_| broken())?,
                file: short(record(number), 8),
                start: long(record(number), 12),
                length: short(record(number), 20),
            })
        };
        numbers.iter().map(entry).collect()
    }

    /// The symbol with that number.
    pub fn entry(&mut self, number: u32) -> io::Result<Entry> {
        Ok(self.entries(&[number])?.remove(0))
    }

    /// The file with that number.
    pub fn file(&mut self, number: u32) -> io::Result<File> {
        let record = self.records(self.files, number, 1)?;
        let (name, library) = (self.text(&record, 0)?, self.text(&record, 8)?);
        let stamp = Stamp { size: long(&record, 16), time: long(&record, 24) };
        Ok(File { name, library, stamp: (stamp.size != u64::MAX).then_some(stamp) })
    }

    /// All keys. This reads a large part of the index.
    pub fn keys(&mut self) -> io::Result<Vec<String>> {
        let start = self.keys.start;
        let mut bytes = Vec::new();
        self.source.seek(SeekFrom::Start(start))?;
        self.source.by_ref().read_to_end(&mut bytes)?;
        (0..self.keys.count as usize)
            .map(|number| {
                let at = number * KEY as usize;
                let record = bytes.get(at..at + KEY as usize).ok_or_else(broken)?;
                let from = u64::from(short(record, 8)).checked_sub(start).ok_or_else(broken)?;
                let from = usize::try_from(from).map_err(|_| broken())?;
                let text = bytes.get(from..from + short(record, 12) as usize).ok_or_else(broken)?;
                String::from_utf8(text.to_vec()).map_err(|_| broken())
            })
            .collect()
    }

    /// Binary search for a record in a sorted table.
    fn search<T>(
        &mut self,
        table: Table,
        mut look: impl FnMut(&mut Self, &[u8]) -> io::Result<(std::cmp::Ordering, T)>,
    ) -> io::Result<Option<T>> {
        let (mut low, mut high) = (0, table.count);
        let mut record = vec![0; usize::try_from(table.width).expect("records are small")];
        while low < high {
            let middle = low + (high - low) / 2;
            self.read(table.start + u64::from(middle) * table.width, &mut record)?;
            match look(self, &record)? {
                (std::cmp::Ordering::Less, _) => low = middle + 1,
                (std::cmp::Ordering::Greater, _) => high = middle,
                (std::cmp::Ordering::Equal, found) => return Ok(Some(found)),
            }
        }
        Ok(None)
    }

    /// Consecutive records.
    fn records(&mut self, table: Table, first: u32, count: u32) -> io::Result<Vec<u8>> {
        if first.checked_add(count).is_none_or(|end| end > table.count) {
            return Err(broken());
        }
        let length = u64::from(count) * table.width;
        let mut records = vec![0; usize::try_from(length).map_err(|_| broken())?];
        self.read(table.start + u64::from(first) * table.width, &mut records)?;
        Ok(records)
    }

    fn text(&mut self, record: &[u8], at: usize) -> io::Result<String> {
        let (start, length) = (u64::from(short(record, at)), short(record, at + 4));
        if start + u64::from(length) > self.length {
            return Err(broken());
        }
        let mut text = vec![0; length as usize];
        self.read(start, &mut text)?;
        String::from_utf8(text).map_err(|_| broken())
    }

    fn read(&mut self, start: u64, into: &mut [u8]) -> io::Result<()> {
        self.source.seek(SeekFrom::Start(start))?;
        self.source.read_exact(into)
    }
}

/// FNV-1a with a final mix, so that the first bits of the hashes are spread as evenly as the last bits.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

fn short(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("it is 4 bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("it is 8 bytes"))
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the index is broken")
}

#[cfg(test)]
mod tests;
