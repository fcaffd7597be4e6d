//! Writes an API reference in the compact format.

use super::MAGIC;
use miniz_oxide::deflate::compress_to_vec;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// Minimum length of every block except the last, in bytes before compression. Longer blocks compress better, and
/// take longer to inflate.
const MIN_BLOCK_BYTES: usize = 64 * 1024;

/// A symbol to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The name that suggestions show.
    pub name: String,
    /// The number of the library.
    pub library: u32,
    /// The module that exports the symbol.
    pub module: Option<String>,
    /// The keys by which the symbol is found: lower case, with dots.
    pub keys: Vec<String>,
    /// The content, in the form of `api.json`.
    pub content: Map<String, Value>,
}

/// Writes a reference: its name, its version, the libraries with their versions, and the symbols. If several
/// symbols have the same key, the first one counts. `level` is the level of compression, from 0 to 10. Fails
/// if there are too many symbols.
pub fn make(
    (name, version): (&str, &str),
    libraries: &[(String, String)],
    symbols: Vec<Written>,
    level: u8,
) -> Result<Vec<u8>, String> {
    let mut texts = Texts::default();
    let mut blocks = Blocks { level, ..Blocks::default() };
    let mut symbol_table: Vec<usize> = Vec::new();
    let mut keys: BTreeMap<String, usize> = BTreeMap::new();
    let count = symbols.len();
    for (number, symbol) in symbols.into_iter().enumerate() {
        let Written { name, library, module, keys: names, content } = symbol;
        symbol_table.extend(texts.add(&name));
        symbol_table.extend(texts.add(&module.unwrap_or_default()));
        symbol_table.push(library as usize);
        symbol_table.extend(blocks.add(Value::Object(content).to_string().as_bytes()));
        for key in names {
            keys.entry(key).or_insert(number);
        }
    }
    blocks.close();
    let title = [texts.add(name), texts.add(version)].concat();
    let library_table: Vec<usize> = libraries
        .iter()
        .flat_map(|(name, version)| [texts.add(name), texts.add(version)].concat())
        .collect();
    let key_table: Vec<usize> = keys
        .iter()
        .flat_map(|(key, number)| [texts.add(key).as_slice(), &[*number]].concat())
        .collect();
    let counts =
        vec![libraries.len(), blocks.table.len() / 3, count, keys.len(), texts.bytes.len()];
    let mut bytes = MAGIC.to_vec();
    for number in
        [counts, title, library_table, blocks.table, symbol_table, key_table].into_iter().flatten()
    {
        let number = u32::try_from(number).map_err(|_| "there are too many symbols")?;
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&texts.bytes);
    bytes.extend_from_slice(&blocks.bytes);
    Ok(bytes)
}

/// Texts without duplicates.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    known: HashMap<String, usize>,
}

impl Texts {
    /// The offset and the length of a text.
    fn add(&mut self, text: &str) -> [usize; 2] {
        let start = *self.known.entry(text.to_owned()).or_insert_with(|| {
            self.bytes.extend_from_slice(text.as_bytes());
            self.bytes.len() - text.len()
        });
        [start, text.len()]
    }
}

/// The blocks of symbols.
#[derive(Default)]
struct Blocks {
    level: u8,
    bytes: Vec<u8>,
    /// Three numbers for each block: its offset, its length deflated, and its length inflated.
    table: Vec<usize>,
    open: Vec<u8>,
}

impl Blocks {
    /// Adds a symbol. Returns its block, its offset there, and its length.
    fn add(&mut self, symbol: &[u8]) -> [usize; 3] {
        if self.open.len() >= MIN_BLOCK_BYTES {
            self.close();
        }
        let place = [self.table.len() / 3, self.open.len(), symbol.len()];
        self.open.extend_from_slice(symbol);
        place
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            let block = compress_to_vec(&self.open, self.level);
            self.table.extend([self.bytes.len(), block.len(), self.open.len()]);
            self.bytes.extend_from_slice(&block);
            self.open.clear();
        }
    }
}
