//! Builds an index: the tables, followed by the texts.

use super::{Entry, File, HEADER, KEY, MAGIC, SYMBOL, Stamp, hash};
use std::io;

/// An index under construction.
#[derive(Default)]
pub struct Draft {
    /// The files, by number.
    pub files: Vec<File>,
    /// The symbols, by number.
    pub symbols: Vec<Entry>,
    /// The symbol of each key.
    pub keys: Vec<(String, u32)>,
    /// The symbols of each module in a file, in order.
    pub modules: Vec<((u32, String), Vec<u32>)>,
}

impl Draft {
    /// The bytes of the index. Fails if the tables are too large for the format.
    pub fn finish(mut self, stamp: Stamp) -> io::Result<Vec<u8>> {
        self.keys.sort_by_cached_key(|(key, _)| (hash(key.as_bytes()), key.clone()));
        self.modules.sort();
        let listed: Vec<u32> =
            self.modules.iter().flat_map(|(_, symbols)| symbols.iter().copied()).collect();
        let counts = [
            self.files.len(),
            self.symbols.len(),
            self.keys.len(),
            self.modules.len(),
            listed.len(),
        ];
        let tables: usize = counts
            .iter()
            .zip([32, SYMBOL as usize, KEY as usize, 20, 4])
            .map(|(count, width)| count * width)
            .sum();
        let mut bytes =
            Bytes { tables: Vec::new(), texts: Vec::new(), start: HEADER as usize + tables };
        for file in &self.files {
            bytes.text(&file.name)?;
            bytes.text(&file.library)?;
            let stamp = file.stamp.unwrap_or(Stamp { size: u64::MAX, time: 0 });
            bytes.long(stamp.size);
            bytes.long(stamp.time);
        }
        for symbol in &self.symbols {
            bytes.text(&symbol.name)?;
            bytes.short(symbol.file);
            bytes.long(symbol.start);
            bytes.short(symbol.length);
        }
        for (key, symbol) in &self.keys {
            bytes.long(hash(key.as_bytes()));
            bytes.text(key)?;
            bytes.short(*symbol);
        }
        let mut first = 0;
        for ((file, module), symbols) in &self.modules {
            bytes.text(module)?;
            bytes.short(*file);
            bytes.short(first);
            let count = number(symbols.len())?;
            bytes.short(count);
            first += count;
        }
        listed.into_iter().for_each(|symbol| bytes.short(symbol));
        bytes.tables.append(&mut bytes.texts);
        let length = HEADER + bytes.tables.len() as u64;
        let mut result = MAGIC.to_vec();
        for value in [length, stamp.size, stamp.time, hash(&bytes.tables)] {
            result.extend_from_slice(&value.to_le_bytes());
        }
        for count in counts {
            result.extend_from_slice(&number(count)?.to_le_bytes());
        }
        result.append(&mut bytes.tables);
        Ok(result)
    }
}

struct Bytes {
    tables: Vec<u8>,
    texts: Vec<u8>,
    /// The offset of the texts.
    start: usize,
}

impl Bytes {
    fn short(&mut self, value: u32) {
        self.tables.extend_from_slice(&value.to_le_bytes());
    }

    fn long(&mut self, value: u64) {
        self.tables.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let start = number(self.start + self.texts.len())?;
        let length = number(text.len())?;
        self.texts.extend_from_slice(text.as_bytes());
        self.short(start);
        self.short(length);
        Ok(())
    }
}

fn number(value: usize) -> io::Result<u32> {
    u32::try_from(value).map_err(|_| io::Error::other("there is too much for an index"))
}
